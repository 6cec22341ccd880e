// hone help: topics that fit a terminal and name only what there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// The words that follow `before` in a text.
std::set<std::string> words_after(const std::string& text, const std::string& before, const std::string& letters) {
  std::set<std::string> words;
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    const std::size_t begin = at + before.size(), end = text.find_first_not_of(letters, begin);
    if (end != begin) {
      words.insert(text.substr(begin, end - begin));
    }
  }
  return words;
}

}  // namespace

TEST_CASE("hone help lists verbs and topics, and each topic fits a terminal") {
  const auto listed = run({"help", "--json"}).json();
  REQUIRE(listed["topics"].size() >= 10);
  const std::string overview = run({"help"}).out;
  std::set<std::string> verbs;
  for (const auto& verb : listed["verbs"]) {
    verbs.insert(verb["name"].get<std::string>());
  }
  verbs.insert("help");
  for (const auto& topic : listed["topics"]) {
    const std::string name = topic["name"];
    CAPTURE(name);
    CHECK(overview.find("  " + name + " ") != std::string::npos);
    const auto page = run({"help", name, "--json"}).json();
    std::string text = page["text"];
    if (verbs.contains(name)) {
      text = text.substr(0, text.find("\n" + std::string("  hone ") + name + " ["));  // what follows are the verb's options
    }
    CHECK(run({"help", name}).out == page["text"].get<std::string>());
    for (const std::string& line : lines_of(text)) {
      CAPTURE(line);
      CHECK((line.size() <= 78 || verbs.contains(name)));
    }
    CHECK((lines_of(text).size() <= 40 || verbs.contains(name)));
    for (const std::string& verb : words_after(text, "  hone ", "abcdefghijklmnopqrstuvwxyz")) {
      CAPTURE(verb);
      CHECK(verbs.contains(verb));
    }
  }
}

TEST_CASE("topics name options that there are") {
  std::set<std::string> known;
  const auto listed = run({"help", "--json"}).json();
  for (const auto& verb : listed["verbs"]) {
    for (const std::string& option : lines_of(run({"completion", "candidates", verb["name"], "--"}).out)) {
      known.insert(option.substr(2));
    }
  }
  for (const auto& topic : listed["topics"]) {
    const std::string name = topic["name"];
    for (const std::string& option : words_after(run({"help", name}).out, "--", "abcdefghijklmnopqrstuvwxyz-_")) {
      CAPTURE(name);
      CAPTURE(option);
      CHECK((known.contains(option) || option == "help" || option == "use_fast_math"));  // the last is the compiler's
    }
  }
}

TEST_CASE("hone help VERB is the verb's help, and what is neither is told the nearest") {
  CHECK(run({"help", "tune"}).out == run({"tune", "--help"}).out);
  const Ended unknown = run({"help", "objectiv"});
  CHECK(unknown.exit == 2);
  CHECK(unknown.err.find("did you mean 'objectives'?") != std::string::npos);
  CHECK(run({"completion", "candidates", "help", "obj"}).out == "objectives\n");
  CHECK(run({"completion", "candidates", "tune", "softmax", "--objective", "e"}).out == "edp\nenergy\n");
}

TEST_CASE("the manual page has every verb and every topic, as roff") {
  const std::string page = run({"help", "--man"}).out;
  CHECK(page.starts_with(".TH HONE 1"));
  const auto listed = run({"help", "--json"}).json();
  for (const auto& verb : listed["verbs"]) {
    CHECK(page.find(".SH \"HONE " + verb["name"].get<std::string>() + "\"") != std::string::npos);
  }
  for (const auto& topic : listed["topics"]) {
    CHECK(page.find(".SH \"TOPIC: " + topic["name"].get<std::string>() + "\"") != std::string::npos);
  }
  CHECK(page.find("\\-\\-objective") != std::string::npos);
}

}  // namespace hone::test
