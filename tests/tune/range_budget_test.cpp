// What sessions and surveys of a range may have of its budget.
#include "engine/tune/range_budget.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

/// A range of test::copy_kernel() of which nothing is measured, and what its runs have used.
class Budgeted {
 public:
  Budgeted(const char* range, const Budget& whole, std::size_t lanes = 1) : budget(request, table, shapes, lanes, [this] { return used; }) {
    request.operation = &operation_;
    request.range = parse_range(spec_, range).value();
    request.dtypes = DType::kF32;
    request.budget = whole;
  }
  void measure(std::int64_t n) {
    Trial trial;
    trial.configuration = {{Value(1), Value(32)}};
    trial.outcome = Outcome::kOk;
    trial.measurement.median_us = 10.0;
    table.add({{"n", n}}, {}, spec_, {DType::kF32, {{"n", n}}}, {}, {trial});
  }

 private:
  KernelSpec spec_ = test::copy_kernel();
  Operation operation_{spec_.name, {&spec_}, &spec_};

 public:
  PortfolioRequest request;
  PortfolioTable table;
  PortfolioShapes shapes{request};
  RangeBudget::Used used;
  RangeBudget budget;
};

Budget of_seconds(double seconds) { return {.seconds = seconds, .trials = std::nullopt}; }
Budget of_trials(std::int64_t trials) { return {.seconds = std::nullopt, .trials = trials}; }

}  // namespace

TEST_CASE("A session takes long enough for what it takes to begin") {
  CHECK(seconds_for_shape(30.0, 0.0, false) == doctest::Approx(0.9));
  CHECK(seconds_for_shape(120.0, 0.0, false) == doctest::Approx(2.0));
  CHECK(seconds_for_shape(6000.0, 0.0, false) == doctest::Approx(10.0));
  CHECK(seconds_for_shape(120.0, 0.0, true) == doctest::Approx(5.0));
  CHECK(seconds_for_shape(120.0, 0.6, false) == doctest::Approx(3.0));
  CHECK(seconds_for_shape(120.0, 0.1, false) == doctest::Approx(2.0));
  CHECK(seconds_for_shape(20.0, 0.6, false) == doctest::Approx(2.0));  // else the budget would be for few shapes
  CHECK(seconds_for_shape(600.0, 30.0, false) == doctest::Approx(10.0));
}

TEST_CASE("the sessions of a small range share what is left of its seconds, and several lanes have more of them") {
  Budgeted range("n=1..4", of_seconds(100.0));
  CHECK(range.budget.is_small());
  CHECK(range.budget.session_seconds() == doctest::Approx(22.5));  // .9 of the budget, for four
  range.measure(1);
  range.used.seconds = 40.0;
  CHECK(range.budget.session_seconds() == doctest::Approx(18.0));
  range.used.seconds = 99.0;
  CHECK(range.budget.session_seconds() == doctest::Approx(0.9));

  Budgeted two("n=1..4", of_seconds(100.0), 2);
  CHECK(two.budget.session_seconds() == doctest::Approx(45.0));
  for (const std::int64_t n : {1, 2, 3}) {
    two.measure(n);
  }
  CHECK(two.budget.session_seconds() == doctest::Approx(90.0));  // one shape is left for both
}

TEST_CASE("the sessions of a range of many shapes are as long as what they take to begin asks for, or as the request says") {
  Budgeted range("n=1..4096", of_seconds(120.0));
  CHECK_FALSE(range.budget.is_small());
  CHECK(range.budget.session_seconds() == doctest::Approx(2.0));
  range.shapes.note_session({{"n", 64}}, 0.6, 1.0, 10);
  range.used.seconds = 60.0;
  CHECK(range.budget.session_seconds() == doctest::Approx(3.0));
  range.request.seconds_each = 7.0;
  CHECK(range.budget.session_seconds() == doctest::Approx(7.0));

  Budgeted few("n=1..4", of_seconds(100.0));
  few.request.seconds_each = 7.0;
  CHECK_FALSE(few.budget.is_small());
  CHECK(few.budget.session_seconds() == doctest::Approx(7.0));
}

TEST_CASE("the sessions of a small range share its trials, and one of a range of many has a sixtieth, but no fewer than the least") {
  Budgeted small("n=1..4", of_trials(80));
  CHECK(small.budget.each().trials == 20);
  small.measure(1);
  small.used.trials = 50;
  CHECK(small.budget.each().trials == 10);
  CHECK(Budgeted("n=1..4", of_trials(24)).budget.is_small());
  CHECK_FALSE(Budgeted("n=1..4", of_trials(23)).budget.is_small());

  CHECK(Budgeted("n=1..4096", of_trials(1200)).budget.each().trials == 20);
  Budgeted many("n=1..4096", of_trials(60));
  CHECK(many.budget.each().trials == RangeBudget::kLeastTrials);
  many.used.trials = 57;
  CHECK(many.budget.each().trials == 3);  // no more are left
  CHECK_FALSE(many.budget.each().seconds.has_value());
  CHECK(many.budget.session_seconds() == doctest::Approx(10.0));
}

TEST_CASE("trials and shapes that a lane is at are not given to another, until it is done") {
  Budgeted range("n=1..4", of_trials(80));
  const Shape one{{"n", 1}}, other{{"n", 2}};
  {
    const RangeBudget::Reservation here(range.budget, one, 20);
    CHECK(range.shapes.is_reserved(one));
    CHECK(range.budget.trials_left() == 60);
    CHECK(range.budget.each().trials == 20);  // three shapes are left for these
    const RangeBudget::Reservation there(range.budget, other, 58);
    CHECK(range.budget.each().trials == 2);
    CHECK(range.budget.most_surveyed() == 2);
    CHECK(range.budget.spent() == 0.0);
  }
  CHECK_FALSE(range.shapes.is_reserved(one));
  CHECK(range.budget.trials_left() == 80);
  CHECK(range.budget.each().trials == 20);
  range.measure(1);
  const RangeBudget::Reservation again(range.budget, one, 20);  // is no new shape
  CHECK(range.budget.each().trials == 20);
}

TEST_CASE("a budget is spent when either of its limits is reached, and one of no trials from the beginning") {
  Budgeted range("n=1..4096", {.seconds = 100.0, .trials = 50});
  range.used = {.seconds = 20.0, .trials = 25};
  CHECK(range.budget.spent() == doctest::Approx(0.5));
  range.used.seconds = 80.0;
  CHECK(range.budget.spent() == doctest::Approx(0.8));
  CHECK(Budgeted("n=1..4096", of_trials(0)).budget.spent() == 1.0);
  CHECK_FALSE(Budgeted("n=1..4096", of_seconds(1.0)).budget.trials_left().has_value());
}

TEST_CASE("a session begins with two fifths of the trials that it is expected to make, within bounds") {
  Budgeted range("n=1..4096", of_seconds(600.0));
  const Shape shape{{"n", 64}};
  CHECK(range.budget.proposals_for(shape, of_seconds(10.0)) == 40);  // nothing is known of sessions
  range.shapes.note_session(shape, 0.0, 10.0, 50);                   // .2 s each, for .85 of a session
  CHECK(range.budget.proposals_for(shape, of_seconds(10.0)) == 17);
  CHECK(range.budget.proposals_for(shape, {.seconds = 10.0, .trials = 20}) == 8);
  CHECK(range.budget.proposals_for(shape, of_trials(6)) == 4);
  CHECK(range.budget.proposals_for(shape, of_trials(1000)) == 40);
}

TEST_CASE("a survey takes a part of a session's seconds, and a few configurations as much as eight") {
  Budgeted range("n=1..4096", of_seconds(600.0));
  CHECK(range.budget.most_surveyed() == 28);
  CHECK(range.budget.survey_seconds(28) == doctest::Approx(3.0));
  CHECK(range.budget.survey_seconds(14) == doctest::Approx(1.5));
  CHECK(range.budget.survey_seconds(2) == doctest::Approx(range.budget.survey_seconds(8)));
  Budgeted spent("n=1..4096", of_trials(30));
  spent.used.trials = 30;
  CHECK(spent.budget.most_surveyed() == 1);
}

}  // namespace hone
