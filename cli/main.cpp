#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "cli/defaults.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "engine/base/names.hpp"
#include "hone/version.h"

namespace hone::cli {
namespace {

/// Prints, and returns `code` unless that fails.
int say(const std::string& text, int code) {
  const Result<void> printed = print_out(text);
  return printed ? code : fail("hone", false, printed.error().message, 1);
}

std::string help_text() {
  std::string text = fmt::format(
      "hone {}: an auto-tuning engine for CUDA kernels\n\nusage: hone VERB [ARGUMENTS]   (details: hone VERB --help)\n\n", HONE_VERSION);
  for (const Verb& verb : verbs()) {
    text += fmt::format("  {:<12} {}\n", verb.name, verb.summary);
  }
  return text +
         "\nfirst steps:\n  hone doctor\n  hone tune softmax --shape rows=4096,cols=1024 --dtype f16 --budget 30s\n"
         "  hone best softmax --shape rows=4096,cols=1024 --dtype f16\n";
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(verbs(), name, &Verb::name);
  return found == verbs().end() ? nullptr : &*found;
}

int fail_unknown(std::string_view given, bool json) {
  std::vector<std::string> known;
  std::ranges::transform(verbs(), std::back_inserter(known), [](const Verb& verb) { return std::string(verb.name); });
  const std::string message = given.starts_with('-') ? fmt::format("the verb comes first, options after it: hone VERB {} ... (verbs: {})",
                                                                   given, fmt::join(known, ", "))
                                                     : unknown_name("verb", given, known);
  return fail("hone", json, message, 2);
}

/// hone help [VERB]
int help(int argc, char** argv) {
  if (argc < 2) {
    return say(help_text(), 0);
  }
  const Verb* const verb = find_verb(argv[1]);
  std::string flag = "--help";
  std::array<char*, 2> arguments{argv[1], flag.data()};
  return verb == nullptr ? fail_unknown(argv[1], wants_json(argc, argv)) : verb->run(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view given = argc > 1 ? argv[1] : "";
  if (given.empty()) {
    return say(help_text(), 2);
  }
  if (given == "--help" || given == "-h" || given == "help") {
    return help(argc - 1, argv + 1);
  }
  if (given == "--version" || given == "version") {
    return say(fmt::format("hone {}\n", HONE_VERSION), 0);
  }
  const Verb* const verb = find_verb(given);
  if (verb == nullptr) {
    return fail_unknown(given, wants_json(argc, argv));
  }
  // A shell that asks must not be told what is wrong with a file.
  if (const Result<void> loaded = given == "completion" ? Result<void>() : load_defaults(); !loaded) {
    return fail(fmt::format("hone {}", given), wants_json(argc, argv), loaded.error().message, 2);
  }
  return verb->run(argc - 1, argv + 1);
}

}  // namespace hone::cli

int main(int argc, char** argv) { return hone::cli::main(argc, argv); }
