#include "engine/tune/final_round.hpp"

#include <doctest/doctest.h>

namespace hone {
namespace {

Candidate candidate(Count position, double median_us, bool required = false) {
  Candidate candidate;
  candidate.trial.position = position;
  candidate.trial.measurement = {.samples_us = {median_us},
                                 .median_us = median_us,
                                 .ci95_low_us = median_us,
                                 .ci95_high_us = median_us,
                                 .raced_out = false,
                                 .by_graph = false};
  candidate.required = required;
  return candidate;
}

Trial result(Outcome outcome, double median_us = 1.0) {
  Trial trial = candidate(0, median_us).trial;
  trial.outcome = outcome;
  return trial;
}

using Places = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a round measures the best few and the required, once") {
  FinalRound round({candidate(5, 1.0), candidate(6, 2.0), candidate(7, 3.0), candidate(0, 9.0, true)}, 2);
  REQUIRE(round.next() == Places{0, 1, 3});
  REQUIRE(round.take({0, 1, 3}, {result(Outcome::kOk, 1.5), result(Outcome::kOk, 1.4), result(Outcome::kOk, 8.0)}, true));
  CHECK(round.next().empty());
  const std::vector<Trial> results = round.results();
  REQUIRE(results.size() == 3);
  CHECK(results[0].position == 5);
  CHECK(results[1].measurement.median_us == 1.4);
  CHECK(results[2].position == 0);
}

TEST_CASE("who brings the worker down is dropped, and the others are measured again") {
  FinalRound round({candidate(5, 1.0), candidate(6, 1.0), candidate(0, 9.0, true)}, 2);
  REQUIRE(round.next() == Places{0, 1, 2});
  round.drop(0, Outcome::kTimeout, "hung");
  REQUIRE(round.next() == Places{1, 2});
  REQUIRE(round.take({1, 2}, {result(Outcome::kOk), result(Outcome::kOk)}, true));
  CHECK(round.next().empty());
  CHECK(round.results().front().outcome == Outcome::kTimeout);
  CHECK(round.results().size() == 3);
}

TEST_CASE("when the only fast one falls, the next best compete with the default, and it is measured beside them") {
  FinalRound round({candidate(5, 1.0), candidate(6, 4.0), candidate(7, 5.0), candidate(0, 9.0, true)}, 1);
  REQUIRE(round.next() == Places{0, 3});
  REQUIRE(round.take({0, 3}, {result(Outcome::kWrongResult), result(Outcome::kOk, 9.0)}, true));
  REQUIRE(round.next() == Places{1, 2, 3});
  REQUIRE(round.take({1, 2, 3}, {result(Outcome::kOk, 4.0), result(Outcome::kOk, 5.0), result(Outcome::kOk, 9.0)}, true));
  CHECK(round.next().empty());
  CHECK(round.results().size() == 4);
}

TEST_CASE("a round that broke off keeps only the failures") {
  FinalRound round({candidate(5, 1.0), candidate(6, 1.0), candidate(0, 9.0, true)}, 2);
  REQUIRE(round.next() == Places{0, 1, 2});
  REQUIRE(round.take({0, 1, 2}, {result(Outcome::kOk), result(Outcome::kLaunchFailure), result(Outcome::kOk)}, false));
  CHECK(round.next() == Places{0, 2});
}

TEST_CASE("a worker's results that cannot be are not taken") {
  FinalRound round({candidate(5, 1.0), candidate(0, 9.0, true)}, 2);
  const Places places = round.next();
  CHECK_FALSE(round.take(places, {result(Outcome::kOk)}, true));                                              // one is missing
  CHECK_FALSE(round.take(places, {result(Outcome::kOk), result(Outcome::kOk)}, false));                       // broke off for no reason
  CHECK_FALSE(round.take(places, {result(Outcome::kOk), result(Outcome::kOk), result(Outcome::kOk)}, true));  // one too many
  CHECK(round.next() == places);
}

TEST_CASE("a default that is the fastest needs no rival") {
  FinalRound round({candidate(0, 1.0, true), candidate(6, 4.0)}, 1);
  REQUIRE(round.next() == Places{0});
  REQUIRE(round.take({0}, {result(Outcome::kOk)}, true));
  CHECK(round.next().empty());
}

TEST_CASE("a round without time for all keeps the required and the best of the others") {
  FinalRound round({candidate(5, 1.0), candidate(6, 1.0), candidate(7, 1.0), candidate(0, 9.0, true)}, 3);
  REQUIRE(round.next() == Places{0, 1, 2, 3});
  round.narrow();
  CHECK(round.next() == Places{0, 3});
}

TEST_CASE("a round in which everybody falls ends") {
  FinalRound round({candidate(5, 1.0), candidate(0, 9.0, true)}, 2);
  round.drop(0, Outcome::kIllegalAccess, "crashed");
  round.drop(1, Outcome::kIllegalAccess, "crashed");
  CHECK(round.next().empty());
  CHECK(round.results().size() == 2);
}

}  // namespace hone
