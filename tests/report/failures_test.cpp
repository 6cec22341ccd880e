#include "engine/report/failures.hpp"

#include <doctest/doctest.h>

#include "tests/report/study_fixture.hpp"

namespace hone::report::test {

TEST_CASE("failures are counted by kind, the most frequent first, and messages that differ in numbers are one") {
  const std::vector<Trial> trials{
      right(configuration(64, 1, false), 1.0), failed(configuration(256, 1, false), Outcome::kWrongResult, "element 17 is 3.5"),
      failed(configuration(256, 2, false), Outcome::kWrongResult, "element 4 is 3.25"),
      failed(configuration(256, 4, false), Outcome::kWrongResult, "an input was changed"),
      failed(configuration(128, 4, true), Outcome::kCompileError, "x.cu:1: warning: w\nx.cu:3: error: no such type\nmore")};
  const std::vector<FailureKind> kinds = failures_of(parameters(), trials);
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].outcome == Outcome::kWrongResult);
  CHECK(kinds[0].count == 3);
  REQUIRE(kinds[0].messages.size() == 2);
  CHECK(kinds[0].messages[0].text == "element 17 is 3.5");
  CHECK(kinds[0].messages[0].count == 2);
  CHECK(kinds[0].example == "block=256,vec=1,fast=false");
  CHECK(kinds[1].messages[0].text == "x.cu:3: error: no such type");
}

TEST_CASE("what all failures of a kind have in common is named, unless most others have it as well") {
  std::vector<Trial> trials;
  for (const std::int64_t vec : {1, 2, 4}) {
    trials.push_back(failed(configuration(256, vec, false), Outcome::kIllegalAccess, "a fault"));
    trials.push_back(right(configuration(64, vec, false), 1.0));
    trials.push_back(right(configuration(128, vec, false), 1.0));
  }
  const std::vector<FailureKind> kinds = failures_of(parameters(), trials);
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].common == std::vector<std::string>{"block=256"});
}

TEST_CASE("messages beyond the first few are counted") {
  std::vector<Trial> trials;
  for (const char* const message : {"a", "b", "c", "d", "e", "f", "g"}) {
    trials.push_back(failed(configuration(64, 1, false), Outcome::kRace, message));
  }
  const std::vector<FailureKind> kinds = failures_of(parameters(), trials);
  CHECK(kinds[0].messages.size() == 5);
  CHECK(kinds[0].further == 2);
}

TEST_CASE("a session in which nothing failed has no failures") {
  CHECK(failures_of(parameters(), std::vector<Trial>{right(configuration(64, 1, false), 1.0)}).empty());
}

}  // namespace hone::report::test
