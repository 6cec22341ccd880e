#include "cli/run_verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <ranges>
#include <string_view>
#include <vector>

#include "cli/defaults.hpp"
#include "cli/embedding.hpp"
#include "cli/known_options.hpp"
#include "cli/output.hpp"
#include "engine/base/names.hpp"

namespace hone::cli {
namespace {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kDevice:
    case ErrorCode::kTimeout:
    case ErrorCode::kIo:
      return 1;
    case ErrorCode::kCancelled:
      return 130;  // what shells say of a command that Ctrl-C ended
    default:
      return 2;
  }
}

int fail_verb(const std::string& verb, bool json, const Error& error) {
  if (keep_embedded(error)) {
    return exit_code(error.code);
  }
  return fail(fmt::format("hone {}", verb), json, error.message, exit_code(error.code));
}

/// What a verb has to say, and what became of saying it.
int finish(const std::string& verb, bool json, const Output& output) {
  if (keep_embedded(output)) {
    return output.exit_code;
  }
  const Result<void> printed = print_out(json ? dump(output.json) + "\n" : output.text);
  if (!printed) {
    fmt::print(stderr, "hone {}: {}\n", verb, printed.error().message);
    return exit_code(printed.error().code);
  }
  return output.exit_code;
}

/// The options that a help text shows: those with which a line begins. What is said of them may name others.
std::vector<std::string> option_names(const std::string& help) {
  constexpr std::size_t kIndent = 6;  // of an option without a letter; what is said of it lies farther right
  std::vector<std::string> names;
  for (const auto& line : std::views::split(help, '\n')) {
    const std::string_view text(line.begin(), line.end());
    const std::size_t first = text.find_first_not_of(' '), begin = text.find("--");
    if (first <= kIndent && text[first] == '-' && begin != std::string_view::npos) {
      const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin);
      names.emplace_back(text.substr(begin, end - begin));
    }
  }
  return names;
}

/// What the parser could place nowhere.
Error unexpected(const cxxopts::Options& options, const std::string& argument, const std::string& verb) {
  const std::string name = argument.substr(0, argument.find('='));
  return {ErrorCode::kInvalidArgument, name.starts_with("--")
                                           ? unknown_name("option", name, option_names(options.help()))
                                           : fmt::format("unexpected argument '{}'; see hone {} --help", argument, verb)};
}

/// "-shape" is read as -s -h -a ..., and a help text is no answer to it; empty if there is none.
std::string with_one_dash(const cxxopts::Options& options, int argc, char** argv) {
  const std::vector<std::string> names = option_names(options.help());
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    const bool is_one = word.size() > 2 && word[0] == '-' && word[1] != '-';
    const std::string name = is_one ? "-" + std::string(word.substr(0, word.find('='))) : "";
    if (std::ranges::find(names, name) != names.end()) {
      return fmt::format("options have two dashes: {}", name);
    }
  }
  return "";
}

/// Of an argument of the wrong type cxxopts quotes the value alone, which does not tell the option.
std::string misread(const cxxopts::Options& options, const std::string& message, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const std::string_view value = equals == std::string_view::npos ? word : word.substr(equals + 1);
    const auto quoted = [&](const auto& piece) {
      return message.find(fmt::format("\u2018{}\u2019", std::string_view(piece.begin(), piece.end()))) != std::string::npos;
    };
    if (!quoted(value) && std::ranges::none_of(std::views::split(value, ','), quoted)) {
      continue;
    }
    const std::string_view option = equals != std::string_view::npos ? word.substr(0, equals) : argv[i - 1];
    const std::vector<std::string> names = option_names(options.help());
    if (option.starts_with("--") && std::ranges::find(names, option) == names.end()) {
      return unknown_name("option", option, names);
    }
    const bool whole = value.find_first_not_of("0123456789", value.starts_with("-") ? 1 : 0) == std::string_view::npos;
    if (option.starts_with("-") && whole) {
      return fmt::format("{} takes a whole number, at least 0{}; it cannot be {}", option,
                         value.starts_with("-") ? "" : " and within range", value);
    }
    return option.starts_with("-") ? fmt::format("{} does not take '{}'", option, value)
                                   : fmt::format("'{}' is not a number in range", value);
  }
  return message;
}

/// `word`: "--name=value".
bool has_option(const cxxopts::Options& options, const std::string& word) {
  const std::string name = word.substr(2, word.find('=') - 2);
  return std::ranges::any_of(options.groups(), [&](const std::string& group) {
    return std::ranges::any_of(options.group_help(group).options, [&](const cxxopts::HelpOptionDetails& option) {
      return std::ranges::find(option.l, name) != option.l.end();
    });
  });
}

/// Of an option with one value that was given several, another one each time: cxxopts takes the last and says nothing. Empty if there is
/// none.
std::string given_twice(const cxxopts::Options& options, const cxxopts::ParseResult& arguments) {
  std::map<std::string, std::string> values;
  for (const cxxopts::KeyValue& given : arguments.arguments()) {
    const bool has_one = std::ranges::any_of(options.groups(), [&](const std::string& group) {
      return std::ranges::any_of(options.group_help(group).options, [&](const cxxopts::HelpOptionDetails& option) {
        return !option.is_container && !option.is_boolean && std::ranges::find(option.l, given.key()) != option.l.end();
      });
    });
    const auto [before, is_first] = values.emplace(given.key(), given.value());
    if (has_one && !is_first && before->second != given.value()) {
      return fmt::format("--{} is given twice, as '{}' and as '{}': it takes one value, and several things go into that, with commas",
                         given.key(), before->second, given.value());
    }
  }
  return "";
}

/// The command line, and what the user's file gives beside it.
Result<cxxopts::ParseResult> parse_with_defaults(cxxopts::Options& options, const std::string& verb, int argc, char** argv) {
  cxxopts::ParseResult given = options.parse(argc, argv);
  if (const std::string twice = given_twice(options, given); !twice.empty()) {
    return Error{ErrorCode::kInvalidArgument, twice};
  }
  std::vector<std::string> more = default_words(verb, given);
  std::erase_if(more, [&](const std::string& word) { return !has_option(options, word); });
  if (more.empty()) {
    return given;
  }
  std::vector<const char*> words(argv, argv + argc);
  // Behind the verb and before a "--", behind which nothing is an option.
  words.insert(words.begin() + 1, more.size(), nullptr);
  std::ranges::transform(more, words.begin() + 1, &std::string::c_str);
  return options.parse(static_cast<int>(words.size()), words.data());
}

}  // namespace

bool wants_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

int fail(std::string_view who, bool json, const std::string& message, int code) {
  fmt::print(stderr, "{}: {}\n", who, message);
  if (json) {
    const Result<void> printed = print_out(dump(Json{{"error", {{"message", message}}}}) + "\n");
    if (!printed) {
      fmt::print(stderr, "{}: {}\n", who, printed.error().message);
    }
  }
  return code;
}

int run_verb(cxxopts::Options& options, int argc, char** argv, const std::function<Result<Output>(const cxxopts::ParseResult&)>& body) {
  options.add_options()("json", "print one JSON object on standard output")("h,help", "print this help");
  if (answer_with_options(options)) {
    return 0;
  }
  const std::string verb = argv[0];
  const bool json = wants_json(argc, argv);
  if (const std::string wrong = with_one_dash(options, argc, argv); !wrong.empty()) {
    return fail_verb(verb, json, {ErrorCode::kInvalidArgument, wrong});
  }
  try {
    options.allow_unrecognised_options();
    const Result<cxxopts::ParseResult> parsed = parse_with_defaults(options, verb, argc, argv);
    if (!parsed) {
      return fail_verb(verb, json, parsed.error());
    }
    const cxxopts::ParseResult& arguments = *parsed;
    if (arguments.count("help") > 0) {
      return finish(verb, false, {.json = {}, .text = options.help()});
    }
    if (!arguments.unmatched().empty()) {
      return fail_verb(verb, json, unexpected(options, arguments.unmatched().front(), verb));
    }
    const Result<Output> output = body(arguments);
    if (!output) {
      return fail_verb(verb, json, output.error());
    }
    return finish(verb, json, *output);
  } catch (const cxxopts::exceptions::incorrect_argument_type& wrong) {
    return fail_verb(
        verb, json, {ErrorCode::kInvalidArgument, fmt::format("{}; see hone {} --help", misread(options, wrong.what(), argc, argv), verb)});
  } catch (const cxxopts::exceptions::exception& wrong) {
    return fail_verb(verb, json, {ErrorCode::kInvalidArgument, fmt::format("{}; see hone {} --help", wrong.what(), verb)});
  } catch (const std::bad_alloc&) {
    return fail_verb(verb, json, {ErrorCode::kIo, "not enough memory for this request"});
  } catch (const std::exception& broken) {
    return fail_verb(verb, json, {ErrorCode::kIo, fmt::format("internal error: {}", broken.what())});
  }
}

}  // namespace hone::cli
