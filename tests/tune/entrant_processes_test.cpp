// Whose processes run in an operation's session.
#include "engine/tune/entrant_processes.hpp"

#include <doctest/doctest.h>

#include "tests/tune/entered.hpp"

namespace hone {
namespace {

struct WithProcesses : test::Entered {
  explicit WithProcesses(std::int64_t memory = std::int64_t{1} << 40) : Entered("1000s", memory) { open(); }
  EntrantProcesses processes{common(), entrants, budget};

  [[nodiscard]] bool runs(std::size_t i) const { return entrants[i].session->started(); }
};

}  // namespace

TEST_CASE("where the device holds one kernel's arrays alone, the processes of one run at a time") {
  WithProcesses one(std::int64_t{100} << 20);
  REQUIRE(one.entrants.one_at_a_time());
  REQUIRE(one.processes.activate(one.entrants[0]).ok());
  CHECK(one.runs(0));
  CHECK_FALSE(one.runs(1));
  REQUIRE(one.processes.activate(one.entrants[1]).ok());
  CHECK_FALSE(one.runs(0));
  CHECK(one.runs(1));
  REQUIRE(one.processes.activate(one.entrants[0]).ok());  // it goes on
  CHECK(one.runs(0));
}

TEST_CASE("where it holds all of them, whoever had a turn goes on compiling beside the others") {
  WithProcesses both;
  REQUIRE_FALSE(both.entrants.one_at_a_time());
  REQUIRE(both.processes.activate(both.entrants[0]).ok());
  REQUIRE(both.processes.activate(both.entrants[1]).ok());
  CHECK(both.runs(0));
  CHECK(both.runs(1));
}

TEST_CASE("who waits for its turn has its default to compile, and nothing more where compiling disturbs the timing") {
  WithProcesses two;
  two.common().device.info.compile_overlaps = false;
  REQUIRE(two.processes.start(two.entrants[0]).ok());
  REQUIRE(two.processes.start(two.entrants[1]).ok());
  const std::size_t first = two.entrants[1].session->evaluator().in_flight();
  CHECK(first >= 1);
  two.processes.feed_others(&two.entrants[0]);
  CHECK(two.entrants[1].session->evaluator().in_flight() == first);
  CHECK(two.entrants[1].session->trials().empty());  // it measures nothing
}

TEST_CASE("who is out gets nothing more to compile") {
  WithProcesses two;
  two.common().device.info.compile_overlaps = true;
  REQUIRE(two.processes.start(two.entrants[1]).ok());
  const std::size_t before = two.entrants[1].session->evaluator().in_flight();
  two.entrants[1].out = true;
  two.processes.feed_others(&two.entrants[0]);
  CHECK(two.entrants[1].session->evaluator().in_flight() == before);
}

}  // namespace hone
