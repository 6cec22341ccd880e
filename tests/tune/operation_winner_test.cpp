// What an operation's session leaves where nothing was right.
#include "engine/tune/operation_winner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/tune/entered.hpp"

namespace hone {
namespace {

struct WithWinner : test::Entered {
  WithWinner() : Entered("1000s") {
    open();
    report.kernels = reports;
  }
  OperationReport report;
  OperationWinner winner{request(), store(), entrants, budget, report};

  [[nodiscard]] bool keeps_any() {
    const RecordKey key = operation_key("matmul", request().problem, common().device.info, entrants.front().session->key().purpose);
    return store().find_operation_record(key).value().has_value();
  }
};

}  // namespace

TEST_CASE("without finalists nothing wins, and nothing is kept") {
  WithWinner none;
  REQUIRE(none.winner.crown({}).ok());
  CHECK_FALSE(none.report.winner);
  CHECK_FALSE(none.keeps_any());
}

TEST_CASE("of a session that was stopped before anything was right nothing is kept, and no kernel has won") {
  WithWinner none;
  REQUIRE(none.winner.keep_best().ok());
  CHECK_FALSE(none.report.winner);
  CHECK_FALSE(none.keeps_any());
  for (const KernelReport& kernel : none.report.kernels) {
    CHECK(kernel.part != Part::kWon);
    CHECK_FALSE(kernel.best_us);
  }
}

TEST_CASE("of a session that is stopped in its final rounds the kernels that have had theirs have ended, and stay so") {
  WithWinner stopped;
  TuningSession& first = *stopped.entrants[0].session;
  TuningSession& second = *stopped.entrants[1].session;
  REQUIRE(first.close().ok());
  CHECK(first.has_ended());
  CHECK_FALSE(second.has_ended());
  REQUIRE(stopped.winner.keep_best().ok());
  CHECK(first.release().ok());
  CHECK(second.release().ok());
  const std::vector<SessionInfo> sessions = stopped.store().sessions().value();
  const auto state_of = [&](const TuningSession& one) { return std::ranges::find(sessions, one.session(), &SessionInfo::id)->state; };
  CHECK(state_of(first) == SessionState::kDone);
  CHECK(state_of(second) == SessionState::kRunning);
}

}  // namespace hone
