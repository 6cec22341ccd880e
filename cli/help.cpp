#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "cli/help_topics.hpp"
#include "cli/known_options.hpp"
#include "cli/output.hpp"
#include "cli/run_verb.hpp"
#include "cli/verbs.hpp"
#include "engine/base/names.hpp"
#include "hone/version.h"

namespace hone::cli {
namespace {

template <class Named>
std::string summaries(const Named& all, std::size_t width) {
  std::string text;
  for (const auto& one : all) {
    text += fmt::format("  {:<{}} {}\n", one.name, width, one.summary);
  }
  return text;
}

std::string overview() {
  return fmt::format("{}\ntopics (hone help TOPIC):\n{}\nhone help VERB is hone VERB --help; hone help --man is a manual page\n",
                     help_text(), summaries(topics(), 14));
}

/// As roff takes it, line by line as it stands.
std::string as_roff(std::string_view text) {
  std::string made = ".nf\n";
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line(text.substr(begin, end - begin));
    for (std::size_t at = 0; (at = line.find_first_of("\\-", at)) != std::string::npos; at += 2) {
      line.insert(at, "\\");  // a hyphen that is to be copied into a shell, too
    }
    made += (line.starts_with('.') || line.starts_with('\'') ? "\\&" : "") + line + "\n";
    begin = end + 1;
  }
  return made + ".fi\n";
}

std::string manual() {
  std::string page =
      fmt::format(".TH HONE 1 \"\" \"hone {}\" \"Hone\"\n.SH NAME\nhone \\- auto\\-tuning engine for CUDA kernels\n", HONE_VERSION);
  page += ".SH SYNOPSIS\n.B hone\n.I VERB\n[\n.I ARGUMENTS\n]\n";
  for (const Verb& verb : verbs()) {
    page += fmt::format(".SH \"HONE {}\"\n{}", verb.name, as_roff(help_of(verb)));
  }
  for (const Topic& topic : topics()) {
    page += fmt::format(".SH \"TOPIC: {}\"\n{}", topic.name, as_roff(topic.text));
  }
  return page;
}

int say(const std::string& text, const Json& json, bool as_json) {
  const Result<void> printed = print_out(as_json ? dump(json) + "\n" : text);
  return printed ? 0 : fail("hone help", as_json, printed.error().message, 1);
}

Json listed() {
  Json object{{"verbs", Json::array()}, {"topics", Json::array()}};
  for (const Verb& verb : verbs()) {
    object["verbs"].push_back({{"name", verb.name}, {"summary", verb.summary}});
  }
  for (const Topic& topic : topics()) {
    object["topics"].push_back({{"name", topic.name}, {"summary", topic.summary}});
  }
  return object;
}

Json page(std::string_view name, std::string_view summary, std::string_view text) {
  return {{"name", name}, {"summary", summary}, {"text", text}};
}

}  // namespace

std::string help_text() {
  return fmt::format(
      "hone {}: an auto-tuning engine for CUDA kernels\n\nusage: hone VERB [ARGUMENTS]   (details: hone VERB --help, hone help)\n\n{}"
      "\nfirst steps:\n  hone doctor\n  hone tune softmax --shape rows=4096,cols=1024 --dtype f16 --budget 30s\n"
      "  hone best softmax --shape rows=4096,cols=1024 --dtype f16\n",
      HONE_VERSION, summaries(verbs(), 12));
}

std::vector<std::string> help_words() {
  std::vector<std::string> words;
  std::ranges::transform(verbs(), std::back_inserter(words), [](const Verb& verb) { return std::string(verb.name); });
  std::ranges::transform(topics(), std::back_inserter(words), [](const Topic& topic) { return std::string(topic.name); });
  std::ranges::sort(words);  // some verbs are topics, too
  words.erase(std::ranges::unique(words).begin(), words.end());
  return words;
}

int fail_unknown(const std::string& given, bool json, bool help) {
  std::vector<std::string> known;
  std::ranges::transform(verbs(), std::back_inserter(known), [](const Verb& verb) { return std::string(verb.name); });
  if (help) {
    return fail("hone help", json, unknown_name("verb or topic", given, help_words()), 2);
  }
  const std::string message = given.starts_with('-') ? fmt::format("the verb comes first, options after it: hone VERB {} ... (verbs: {})",
                                                                   given, fmt::join(known, ", "))
                                                     : unknown_name("verb", given, known);
  return fail("hone", json, message, 2);
}

int help(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool json = std::erase(words, "--json") > 0;
  if (words.empty()) {
    return say(overview(), listed(), json);
  }
  if (words.front() == "--man") {
    const std::string text = manual();
    return say(text, page("hone", "the manual page, as roff", text), json);
  }
  const auto verb = std::ranges::find(verbs(), words.front(), &Verb::name);
  const auto topic = std::ranges::find(topics(), words.front(), &Topic::name);
  // A word that is both is the verb's options, and what the topic says before them.
  std::string text(topic == topics().end() ? "" : topic->text);
  if (verb != verbs().end()) {
    text += (text.empty() ? "" : "\n") + help_of(*verb);
  } else if (topic == topics().end()) {
    return fail_unknown(words.front(), json, true);
  }
  return say(text, page(words.front(), verb != verbs().end() ? verb->summary : topic->summary, text), json);
}

}  // namespace hone::cli
