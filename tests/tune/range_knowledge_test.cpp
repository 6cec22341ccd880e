// What a range knows in the end.
#include "engine/tune/range_knowledge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/tune/scratch_store.hpp"
#include "tests/tune/copy_kernel.hpp"

namespace hone {

namespace {

struct CopyRange {
  CopyRange() {
    request.operation = &operation;
    request.range = parse_range(spec, "n=1..65536").value();
    request.dtypes = DType::kF32;
  }
  KernelSpec spec = test::copy_kernel();
  Operation operation{spec.name, {&spec}, &spec};
  PortfolioRequest request;
  ScratchStore scratch = ScratchStore::create().value();
};

}  // namespace

TEST_CASE("a range with enough measurements ends with trees, in its text, too") {
  const KernelSpec spec = test::copy_kernel();
  const Operation operation{spec.name, {&spec}, &spec};
  PortfolioRequest request;
  request.operation = &operation;
  request.common.device.info.product = "Abacus";
  request.range = parse_range(spec, "n=1..65536").value();
  request.dtypes = DType::kF32;
  ScratchStore scratch = ScratchStore::create().value();
  RangeKnowledge knowledge(request, scratch.store());
  const auto measure = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n <= last; n += 4) {
      std::vector<Trial> trials(2);
      for (std::size_t i = 0; i < trials.size(); ++i) {
        trials[i].configuration = {{Value(i == 0 ? 1 : 4), Value(32)}};
        trials[i].outcome = Outcome::kOk;
        trials[i].final_round = true;
        trials[i].measurement.median_us = (n < 512) == (i == 0) ? 10.0 : 14.0;
      }
      REQUIRE(knowledge.note({{"n", n}}, spec, trials).ok());
    }
  };
  measure(4, 400);
  CHECK_FALSE(knowledge.finish().trees);
  measure(404, 1600);
  const Portfolio portfolio = knowledge.finish();
  REQUIRE(portfolio.trees);
  CHECK(portfolio.trees->columns.front() == "n");
  CHECK(parse_portfolio(text(portfolio)).value().trees == portfolio.trees);
  CHECK(knowledge.portfolio().trees == portfolio.trees);

  // What goes on from it asks them.
  REQUIRE(scratch.store().put_portfolio(knowledge.key(), text(portfolio)).ok());
  RangeKnowledge next(request, scratch.store());
  REQUIRE(next.load().ok());
  CHECK(next.portfolio().trees == portfolio.trees);

  request.held_out = parse_range(spec, "n=4..1000").value();
  RangeKnowledge without(request, scratch.store());
  REQUIRE(without.load().ok());
  CHECK(without.table().rows().size() == 150);
  CHECK(without.portfolio().points.size() == 150);
  CHECK_FALSE(without.portfolio().trees == portfolio.trees);
  CHECK(std::ranges::all_of(without.table().rows(), [](const PortfolioTable::Row& row) { return row.shape.front().second > 1000; }));
}

TEST_CASE("what a run took that stored no portfolio is of the budget, and what others tuned is not") {
  CopyRange range;
  const KernelSpec& spec = range.spec;
  const PortfolioRequest& request = range.request;
  ScratchStore& scratch = range.scratch;
  const auto measure = [&](std::int64_t n, const std::string& mark, double seconds) {
    TuneRequest part;
    part.range = mark;
    const RecordKey key = record_key(spec, make_problem(spec, DType::kF32, {{"n", n}}).value(), request.common.device.info);
    const std::int64_t session = scratch.store().begin_session({key, "survey", settings_text(part).value(), 0}, "1s").value();
    Trial trial;
    trial.configuration = {{Value(4), Value(32)}};
    trial.outcome = Outcome::kOk;
    trial.measurement.median_us = 10.0;
    REQUIRE(scratch.store().add_trial(session, spec.parameters, trial, seconds).ok());
    REQUIRE(scratch.store().finish_session(session, key, std::nullopt, seconds).ok());
  };
  std::size_t rows = 0;
  const auto earlier = [&] {
    RangeKnowledge knowledge(request, scratch.store());
    REQUIRE(knowledge.load().ok());
    rows = knowledge.table().rows().size();
    return std::pair(knowledge.earlier_seconds(), knowledge.earlier_trials());
  };
  measure(64, "", 7.0);
  measure(64, range_mark(parse_range(spec, "n=1..64").value()), 7.0);
  CHECK(earlier() == std::pair(0.0, std::int64_t{0}));
  measure(128, range_mark(request.range), 2.0);
  measure(256, range_mark(request.range), 3.0);
  CHECK(earlier() == std::pair(5.0, std::int64_t{2}));
  CHECK(rows == 3);
  range.request.held_out = parse_range(spec, "n=256").value();
  CHECK(earlier() == std::pair(5.0, std::int64_t{2}));  // it was spent
  CHECK(rows == 2);
}

TEST_CASE("what is kept of a range has no member that has not passed the full gate") {
  CopyRange range;
  const KernelSpec& spec = range.spec;
  const PortfolioRequest& request = range.request;
  ScratchStore& scratch = range.scratch;
  RangeKnowledge knowledge(request, scratch.store());
  for (std::int64_t n = 4; n <= 64; n += 4) {
    std::vector<Trial> trials(2);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      trials[i].configuration = {{Value(i == 0 ? 1 : 4), Value(32)}};
      trials[i].outcome = Outcome::kOk;
      trials[i].final_round = i == 0 && n == 32;
      trials[i].measurement.median_us = i == 0 ? 10.0 : 8.0;
    }
    REQUIRE(knowledge.note({{"n", n}}, spec, trials).ok());
  }
  knowledge.prepare_to_finish();
  REQUIRE_FALSE(knowledge.portfolio().members.empty());
  CHECK(knowledge.portfolio().members.front().configuration == "wide=4,block=32");
  CHECK_FALSE(knowledge.table().is_checked(knowledge.portfolio().members.front()));
  const Portfolio kept = knowledge.finish();
  REQUIRE(kept.members.size() == 1);
  CHECK(kept.members.front().configuration == "wide=1,block=32");
}

}  // namespace hone
