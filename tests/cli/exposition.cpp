#include "tests/cli/exposition.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

namespace hone::test {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos &&
         (text.front() < '0' || text.front() > '9');
}

/// `rest` begins behind the opening brace; what is behind the closing one is left.
Labels read_labels(std::string_view& rest) {
  Labels labels;
  while (!rest.starts_with('}')) {
    const std::string name(rest.substr(0, rest.find('=')));
    REQUIRE_MESSAGE(is_name(name), name);
    rest.remove_prefix(name.size() + 1);
    REQUIRE(rest.starts_with('"'));
    rest.remove_prefix(1);
    std::string value;
    for (; !rest.starts_with('"'); rest.remove_prefix(1)) {
      REQUIRE(!rest.empty());
      char character = rest.front();
      REQUIRE(character != '\n');
      if (character == '\\') {
        rest.remove_prefix(1);
        const std::string_view known = "\\\"n";
        REQUIRE(known.find(rest.front()) != std::string_view::npos);
        character = rest.front() == 'n' ? '\n' : rest.front();
      }
      value += character;
    }
    rest.remove_prefix(1);
    CHECK_MESSAGE(labels.emplace(name, value).second, "twice: ", name);
    rest.remove_prefix(rest.starts_with(',') ? 1 : 0);
  }
  rest.remove_prefix(1);
  return labels;
}

}  // namespace

Exposition::Exposition(std::string_view text) {
  REQUIRE(text.ends_with('\n'));
  std::istringstream lines{std::string(text)};
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, rest;
    if (line.starts_with("# ")) {
      words >> hash >> what >> name;
      std::getline(words >> std::ws, rest);
      REQUIRE_MESSAGE(is_name(name), line);
      if (what == "HELP") {
        REQUIRE_MESSAGE(families_.emplace(name, Family{.type = "", .help = rest, .samples = {}}).second,
                        "a family is in one piece: ", line);
        CHECK_MESSAGE(!rest.empty(), line);
        last = name;
      } else {
        REQUIRE(what == "TYPE");
        REQUIRE(name == last);
        CHECK((rest == "counter" || rest == "gauge"));
        CHECK_MESSAGE((rest == "counter") == name.ends_with("_total"), line);
        families_.at(name).type = rest;
      }
      continue;
    }
    const std::string_view whole = line;
    const std::string sample(whole.substr(0, whole.find_first_of("{ ")));
    REQUIRE_MESSAGE(sample == last, "a sample stands with its family: ", line);
    std::string_view behind = whole.substr(sample.size());
    Labels labels;
    if (behind.starts_with('{')) {
      behind.remove_prefix(1);
      labels = read_labels(behind);
    }
    REQUIRE(behind.starts_with(' '));
    std::size_t read = 0;
    const double value = std::stod(std::string(behind.substr(1)), &read);
    CHECK_MESSAGE(read + 1 == behind.size(), line);
    CHECK_MESSAGE(families_.at(last).samples.emplace(labels, value).second, "twice: ", line);
    CHECK_MESSAGE((families_.at(last).type != "counter" || value >= 0.0), line);
  }
  for (const auto& [name, family] : families_) {
    CHECK_MESSAGE(!family.samples.empty(), name);
    CHECK_MESSAGE(!family.type.empty(), name);
    for (const std::string_view other : {"_us", "_ms", "_mhz", "milli", "micro", "percent", "minutes"}) {
      CHECK_MESSAGE(name.find(other) == std::string::npos, "not a base unit: ", name);
    }
  }
}

const Family& Exposition::family(const std::string& name) const {
  REQUIRE_MESSAGE(families_.contains(name), name);
  return families_.at(name);
}

double Exposition::value(const std::string& name, const Labels& labels) const {
  const Family& found = family(name);
  REQUIRE_MESSAGE(found.samples.contains(labels), name);
  return found.samples.at(labels);
}

}  // namespace hone::test
