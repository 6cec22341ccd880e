// Who takes part in an operation's session.
#include "engine/tune/entrants.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/tune/entered.hpp"

namespace hone {

TEST_CASE("kernels that are not legal say why, and the others count as stopped early until more is known") {
  const test::Entered two("1000s");
  std::size_t legal = 0;
  for (const KernelReport& report : two.reports) {
    CAPTURE(report.spec->name);
    CHECK((report.part == Part::kIllegal) == !report.why.empty());
    legal += report.part == Part::kBehind ? 1 : 0;
  }
  CHECK(legal == two.entrants.size());
  CHECK(two.reports.size() > legal);
}

TEST_CASE("what serves an operation comes first, then the others in their order") {
  test::Entered two("1000s");
  CHECK(&two.entrants.serving() == &two.entrants.front());
  CHECK(two.entrants.serving_first() == std::vector<std::size_t>{0, 1});
  two.entrants.set_serving(1);
  CHECK(&two.entrants.serving() == &two.entrants[1]);
  CHECK(two.entrants.serving_first() == std::vector<std::size_t>{1, 0});
}

TEST_CASE("nothing is known of what serves before it was tried, unless it takes no part any more") {
  test::Entered two("1000s");
  two.entrants.set_serving(1);
  CHECK_FALSE(two.entrants.knows_serving());
  two.entrants[0].out = two.entrants[0].done = true;
  CHECK_FALSE(two.entrants.knows_serving());
  two.entrants[1].done = true;
  CHECK(two.entrants.knows_serving());
  two.entrants[1].done = false;
  two.entrants[1].out = true;
  CHECK(two.entrants.knows_serving());
  CHECK(two.entrants.alive() == 0);
}

TEST_CASE("a time that was withdrawn from the problem does not make other kernels far behind") {
  test::Entered two("1000s");
  two.open();
  const TuneRequest& request = two.entrants[0].request;
  Trial trial;
  trial.configuration = default_configuration(request.spec.parameters);
  trial.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
  REQUIRE(two.store().add_trial(two.entrants[0].session->session(), request.spec.parameters, trial, 0.1).ok());
  REQUIRE(two.entrants[0].session->release().ok());
  const auto time_of_first = [&] {
    Entrants again;
    std::vector<KernelReport> reports;
    REQUIRE(again.enter(two.request(), two.store(), {}, reports).ok());
    REQUIRE(again[0].session->open(builtin_registry()).ok());
    REQUIRE(again[0].session->release().ok());
    return again.runners().front().times_us;
  };
  CHECK(time_of_first() == std::vector<double>{1.0});

  Record record;
  record.configuration = trial.configuration;
  record.configuration_text = text(request.spec.parameters, trial.configuration);
  record.measurement = trial.measurement;
  const RecordKey key = two.entrants[0].session->key();
  const std::int64_t other = two.store().begin_session({key, "random", "", 7}, "1trials").value();
  REQUIRE(two.store().finish_session(other, key, record, 1.0).value());
  const std::int64_t id = two.store().find_record(key, request.spec.parameters).value()->id;
  REQUIRE(two.store().set_record_state({id}, RecordState::kWithdrawn, "").ok());
  CHECK(time_of_first() == std::vector<double>{std::numeric_limits<double>::infinity()});
}

TEST_CASE("kernels whose buffers do not fit beside one another are measured one at a time") {
  CHECK(test::Entered("1000s", std::int64_t{256} << 20).entrants.one_at_a_time());
  CHECK_FALSE(test::Entered("1000s", std::int64_t{8} << 30).entrants.one_at_a_time());
}

}  // namespace hone
