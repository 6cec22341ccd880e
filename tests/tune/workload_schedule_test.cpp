#include "engine/tune/workload_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone {
namespace {

constexpr double kWrong = std::numeric_limits<double>::infinity();

/// A search whose best after n trials is known: it falls from `first` to `last`, by half of the way with each `half` trials.
struct Curve {
  double weight = 1.0, first = 100.0, last = 50.0, half = 8.0, cost_of_trial = 1.0;
  [[nodiscard]] double best_us(std::size_t trials) const {
    return last + (first - last) * std::exp2(-(static_cast<double>(trials) - 1.0) / half);
  }
};

/// Few problems that launch often and take long to tune, many that do not matter, some that have nothing to gain.
std::vector<Curve> uneven_workload() {
  std::vector<Curve> curves;
  for (int i = 0; i < 24; ++i) {
    const bool matters = i % 8 == 3, flat = i % 3 == 1;
    curves.push_back({.weight = matters ? 64.0 : 1.0, .first = 100.0, .last = flat ? 99.0 : 20.0, .half = matters ? 24.0 : 6.0});
  }
  return curves;
}

void search(Contender& contender, const Curve& curve, double cost) {
  const auto trials = std::max<std::size_t>(1, static_cast<std::size_t>(cost / curve.cost_of_trial));
  for (std::size_t i = 0; i < trials; ++i) {
    contender.best_us.push_back(curve.best_us(contender.best_us.size() + 1));
  }
  contender.cost += static_cast<double>(trials) * curve.cost_of_trial;
}

std::vector<Contender> run(Split split, const std::vector<Curve>& curves, double budget) {
  std::vector<Contender> contenders;
  for (const Curve& curve : curves) {
    contenders.push_back({.weight = curve.weight, .best_us = {}, .cost = 0.0});
  }
  const WorkloadSchedule schedule(split, curves.size(), budget);
  while (const std::optional<Slice> slice = schedule.next(contenders)) {
    REQUIRE(slice->cost > 0.0);
    search(contenders[slice->contender], curves[slice->contender], slice->cost);
    contenders[slice->contender].can_go_on = split == Split::kGain;
  }
  return contenders;
}

double weighted_us(const std::vector<Contender>& contenders) {
  double sum = 0.0;
  for (const Contender& contender : contenders) {
    sum += contender.weight * contender.best_us.back();
  }
  return sum;
}

double cost(const std::vector<Contender>& contenders) {
  double sum = 0.0;
  for (const Contender& contender : contenders) {
    sum += contender.cost;
  }
  return sum;
}

Contender timed(double weight, std::vector<double> best_us) {
  const auto trials = static_cast<double>(best_us.size());
  return {.weight = weight, .best_us = std::move(best_us), .cost = trials};
}

Contender level(double weight, std::size_t trials) { return timed(weight, std::vector<double>(trials, 100.0)); }

/// Three problems with as much work, of which the second weighs most and the first next to nothing.
std::vector<Contender> three_of_the_same_work() {
  std::vector<Contender> contenders(3);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    contenders[i].work = 10.0;
    contenders[i].weight = i == 1 ? 100.0 : i == 2 ? 50.0 : 0.01;
  }
  return contenders;
}

}  // namespace

TEST_CASE("a budget split by gain leaves less weighted time than the same budget split evenly") {
  const std::vector<Curve> curves = uneven_workload();
  for (const double budget : {240.0, 480.0, 960.0}) {
    CAPTURE(budget);
    const std::vector<Contender> gain = run(Split::kGain, curves, budget), even = run(Split::kEven, curves, budget);
    CHECK(cost(gain) <= budget + 4.0);
    CHECK(cost(even) <= budget + 4.0);
    CHECK(weighted_us(gain) < 0.9 * weighted_us(even));
  }
}

TEST_CASE("where all problems are alike, a split by gain is about even") {
  const std::vector<Curve> curves(8);
  const std::vector<Contender> gain = run(Split::kGain, curves, 240.0);
  const auto [least, most] = std::ranges::minmax_element(gain, {}, &Contender::cost);
  CHECK(most->cost <= 1.5 * least->cost);
  CHECK(weighted_us(gain) <= 1.01 * weighted_us(run(Split::kEven, curves, 240.0)));
}

TEST_CASE("everybody whose work is not known gets a first share before anybody gets a slice") {
  const WorkloadSchedule schedule(Split::kGain, 3, 90.0);
  std::vector<Contender> contenders{timed(1000.0, {100.0, 50.0, 25.0}), Contender{}, Contender{}};
  CHECK(schedule.next(contenders)->contender == 1);
  CHECK(schedule.next(contenders)->cost == doctest::Approx(15.0));
  contenders[1] = level(1.0, 10);
  CHECK(schedule.next(contenders)->contender == 2);
  contenders[2] = level(1.0, 10);
  CHECK(schedule.next(contenders)->contender == 0);
}

TEST_CASE("first shares that the budget has room for come first, those whose work weighs most before others") {
  const WorkloadSchedule schedule(Split::kGain, 3, 900.0);
  std::vector<Contender> contenders = three_of_the_same_work();
  for (const std::size_t expected : {1U, 2U, 0U}) {
    const std::optional<Slice> slice = schedule.next(contenders);
    CHECK(slice->contender == expected);
    contenders[expected].best_us = {100.0, 90.0, 80.0, 70.0};
    contenders[expected].cost = slice->cost;
  }
  CHECK(schedule.next(contenders)->contender == 1);
}

TEST_CASE("all that are new come before those that were timed, as far as the budget goes") {
  const WorkloadSchedule schedule(Split::kGain, 3, 1200.0);
  std::vector<Contender> contenders = three_of_the_same_work();
  contenders[1].best_us = {100.0, 90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0};
  contenders[1].cost = 400.0;
  contenders[1].start = 200.0;
  CHECK(schedule.next(contenders)->contender == 2);
  contenders[2] = contenders[1];
  CHECK(schedule.next(contenders)->contender == 0);  // next to nothing, but who knows
  contenders[2].cost = 600.0;                        // 200 are left, and a start takes that
  CHECK(schedule.next(contenders)->contender == 0);
  CHECK(schedule.next(contenders)->cost == 200.0);
  contenders[0].can_go_on = false;
  CHECK(schedule.next(contenders)->contender == 1);
}

TEST_CASE("whole slices end where it turns out that to begin takes next to nothing") {
  const WorkloadSchedule schedule(Split::kGain, 3, 60.0, 10.0);
  std::vector<Contender> contenders = three_of_the_same_work();
  REQUIRE(schedule.next(contenders)->is_whole);
  contenders[1].best_us = {100.0, 90.0};
  contenders[1].cost = 20.0;
  contenders[1].can_go_on = false;
  contenders[1].is_finished = true;
  contenders[1].start = 8.0;
  CHECK(schedule.next(contenders)->is_whole);
  CHECK(schedule.next(contenders)->cost == doctest::Approx(20.0));
  contenders[1].start = 0.1;
  CHECK_FALSE(schedule.next(contenders)->is_whole);
}

TEST_CASE("a budget that is too short to begin anything goes to the most hopeful") {
  const WorkloadSchedule schedule(Split::kGain, 3, 5.0, 10.0);
  std::vector<Contender> contenders = three_of_the_same_work();
  const std::optional<Slice> slice = schedule.next(contenders);
  REQUIRE(slice);
  CHECK(slice->contender == 1);
  CHECK(slice->cost == 5.0);
  CHECK(slice->is_whole);
}

TEST_CASE("a first share is worth what searches take to begin") {
  const WorkloadSchedule schedule(Split::kGain, 2, 60.0);
  std::vector<Contender> contenders{level(1.0, 10), Contender{}};
  CHECK(schedule.next(contenders)->cost == doctest::Approx(15.0));
  contenders[0].start = 12.0;
  const std::optional<Slice> slice = schedule.next(contenders);
  CHECK(slice->contender == 1);
  CHECK(slice->cost == doctest::Approx(18.0));
  CHECK_FALSE(slice->is_whole);
}

TEST_CASE("where the budget is no more than some starts of each, each has one whole slice; else final rounds are kept for") {
  const WorkloadSchedule schedule(Split::kGain, 4, 80.0);
  std::vector<Contender> contenders(4, Contender{.weight = 1.0, .best_us = {}, .work = 1.0});
  CHECK_FALSE(schedule.next(contenders)->is_whole);                                 // nobody knows yet what it takes to begin,
  CHECK(WorkloadSchedule(Split::kGain, 4, 80.0, 10.0).next(contenders)->is_whole);  // or somebody does
  contenders[0] = level(1.0, 10);
  contenders[0].work = 1.0;
  contenders[0].can_go_on = false;
  contenders[0].start = contenders[0].final_round = 4.0;
  std::optional<Slice> slice = schedule.next(contenders);
  CHECK(slice->is_whole);
  CHECK(slice->cost == doctest::Approx(66.0 / 3.0));  // what is left, in equal parts,
  contenders[3].weight = 32.0;
  CHECK(schedule.next(contenders)->contender == 3);  // the most hopeful first
  CHECK(schedule.next(contenders)->cost == doctest::Approx(66.0 / 3.0));
  contenders[0].start = contenders[0].final_round = 50.0;  // 20 are left, less than a start: somebody may begin sooner
  slice = schedule.next(contenders);
  CHECK(slice->contender == 3);
  CHECK(slice->is_whole);
  CHECK(slice->cost == doctest::Approx(20.0));
  contenders[0].start = contenders[0].final_round = 18.0;  // 52 are left, enough for two
  CHECK(schedule.next(contenders)->cost == doctest::Approx(52.0 / 2.0));
  contenders[0].start = contenders[0].final_round = 2.0;
  slice = schedule.next(contenders);
  CHECK_FALSE(slice->is_whole);
  CHECK(slice->cost == doctest::Approx(80.0 / 8.0));
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    contenders[i] = level(1.0, 10);
    contenders[i].start = contenders[i].final_round = 13.0;
  }
  CHECK_FALSE(schedule.next(contenders).has_value());  // 40 of 80 are spent, and 41 wait for final rounds
  contenders[3].is_finished = true;
  CHECK(schedule.next(contenders).has_value());
}

TEST_CASE("where a budget is not enough to begin all, the most hopeful are begun, and less weighted time is left than by an even split") {
  constexpr double kStart = 20.0;
  std::vector<Curve> curves = uneven_workload();
  for (Curve& curve : curves) {
    curve.half = 4.0;
  }
  const auto left = [&](Split split) {
    std::vector<Contender> contenders(curves.size());
    for (std::size_t i = 0; i < curves.size(); ++i) {
      contenders[i].weight = curves[i].weight;
      contenders[i].work = curves[i].first;
    }
    const WorkloadSchedule schedule(split, curves.size(), 480.0, kStart);
    while (const std::optional<Slice> slice = schedule.next(contenders)) {
      CHECK(slice->is_whole);
      Contender& contender = contenders[slice->contender];
      search(contender, curves[slice->contender], std::max(1.0, slice->cost - kStart));
      contender.cost = slice->cost;
      contender.start = kStart;
      contender.can_go_on = false;
      contender.is_finished = true;
    }
    CHECK(cost(contenders) <= 480.0 + 1e-9);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      contenders[i].best_us.push_back(contenders[i].best_us.empty() ? curves[i].first : contenders[i].best_us.back());
    }
    return weighted_us(contenders);
  };
  CHECK(left(Split::kGain) < 0.95 * left(Split::kEven));
}

TEST_CASE("one that nobody has timed is expected to gain what those have gained that are like it") {
  const WorkloadSchedule schedule(Split::kGain, 5, 50.0);
  const auto product = [](double m, double before_us) {
    Contender one = level(1.0, 10);
    one.kind = "matmul bf16";
    one.extents = {m, 12.0};
    one.work = 1.0;
    one.before_us = before_us;
    one.can_go_on = false;
    return one;
  };
  const double best_us = level(1.0, 10).best_us.back();
  std::vector<Contender> contenders{product(5.0, 1.4 * best_us), product(11.0, best_us), product(11.5, 0.0), product(5.5, 0.0)};
  contenders[2].weight = 2.0;
  for (const std::size_t i : {2U, 3U}) {
    contenders[i].best_us.clear();
    contenders[i].cost = 0.0;
    contenders[i].can_go_on = true;
  }
  CHECK(schedule.next(contenders)->contender == 3);  // half the weight, and like the one that has gained much
  contenders[0].kind = contenders[1].kind = "softmax bf16";
  CHECK(schedule.next(contenders)->contender == 2);
  contenders[0].kind = contenders[1].kind = "matmul bf16";
  contenders[0].before_us = contenders[1].before_us = 0.0;  // not known
  CHECK(schedule.next(contenders)->contender == 2);
}

TEST_CASE("who has much work is expected to take as long to begin as others with much work") {
  const WorkloadSchedule schedule(Split::kGain, 4, 600.0);
  std::vector<Contender> contenders{level(1.0, 10), level(1.0, 10), Contender{}, Contender{}};
  contenders[0].work = 1.0;
  contenders[0].start = 0.5;
  contenders[1].work = 1000.0;
  contenders[1].start = 80.0;
  contenders[2].work = 2000.0;
  contenders[3].work = 2.0;
  contenders[2].weight = 10.0;
  CHECK(schedule.next(contenders)->contender == 2);
  CHECK(schedule.next(contenders)->cost == doctest::Approx(120.0));
  contenders[2].can_go_on = false;
  CHECK(schedule.next(contenders)->contender == 3);
  CHECK(schedule.next(contenders)->cost == doctest::Approx(75.0));
}

TEST_CASE("one of which it is not known what it took to begin says nothing of what others take") {
  const WorkloadSchedule schedule(Split::kGain, 4, 80.0, 10.0);
  std::vector<Contender> contenders(4, Contender{.weight = 1.0, .best_us = {}, .work = 1.0});
  contenders[0] = level(1.0, 10);
  contenders[0].work = 1.0;
  contenders[0].can_go_on = false;
  CHECK(schedule.next(contenders)->is_whole);
}

TEST_CASE("a problem that has stopped gaining loses its turn, also one that weighs more") {
  const WorkloadSchedule schedule(Split::kGain, 2, 400.0);
  const std::vector<Contender> stopped{level(4.0, 100), timed(1.0, {100.0, 90.0, 80.0, 70.0, 50.0, 40.0, 30.0, 25.0})};
  CHECK(schedule.next(stopped)->contender == 1);
  const std::vector<Contender> heavier{level(100.0, 10), timed(1.0, {100.0, 90.0, 80.0, 70.0, 50.0, 40.0, 30.0, 25.0})};
  CHECK(schedule.next(heavier)->contender == 0);
}

TEST_CASE("what is expected grows with weight, time and cost, and never exceeds what there is") {
  CHECK(expected_drop(level(2.0, 8), 8.0) == doctest::Approx(2.0 * expected_drop(level(1.0, 8), 8.0)));
  CHECK(expected_drop(level(1.0, 8), 16.0) > expected_drop(level(1.0, 8), 8.0));
  CHECK(expected_drop(level(1.0, 64), 8.0) < expected_drop(level(1.0, 8), 8.0));
  CHECK(expected_drop(level(1.0, 2), 1e9) < 100.0);
  CHECK(expected_drop(timed(1.0, {kWrong, kWrong}), 8.0) == 0.0);
}

TEST_CASE("a problem of which nothing is right gets a few first shares and no more") {
  const WorkloadSchedule schedule(Split::kGain, 2, 60.0);
  std::vector<Contender> contenders{timed(1.0, std::vector<double>(10, kWrong)), level(1.0, 10)};
  CHECK(schedule.next(contenders)->contender == 0);
  contenders[0] = timed(1.0, std::vector<double>(46, kWrong));
  CHECK(schedule.next(contenders)->contender == 1);
}

TEST_CASE("who cannot go on is left out, and a spent budget ends the schedule") {
  for (const Split split : {Split::kGain, Split::kEven}) {
    const WorkloadSchedule schedule(split, 2, 60.0);
    std::vector<Contender> contenders{level(100.0, 10), level(1.0, 10)};
    contenders[0].can_go_on = false;
    CHECK(schedule.next(contenders)->contender == 1);
    contenders[1].can_go_on = false;
    CHECK_FALSE(schedule.next(contenders).has_value());
    CHECK_FALSE(schedule.next(std::vector<Contender>{level(1.0, 30), level(1.0, 30)}).has_value());
  }
}

TEST_CASE("an even split gives what one leaves to those after it, and goes on with one that was interrupted") {
  const WorkloadSchedule schedule(Split::kEven, 3, 90.0);
  std::vector<Contender> contenders(3);
  CHECK(schedule.next(contenders)->cost == doctest::Approx(30.0));
  contenders[0] = level(1.0, 10);
  contenders[0].can_go_on = false;
  CHECK(schedule.next(contenders)->contender == 1);
  CHECK(schedule.next(contenders)->cost == doctest::Approx(40.0));
  contenders[1] = level(1.0, 15);
  CHECK(schedule.next(contenders)->contender == 1);
  CHECK(schedule.next(contenders)->cost == doctest::Approx(25.0));
}

TEST_CASE("splits are known by name") {
  CHECK(parse_split("even").value() == Split::kEven);
  CHECK(parse_split(name(Split::kGain)).value() == Split::kGain);
  CHECK(parse_split("gian").error().message.find("did you mean 'gain'") != std::string::npos);
}

}  // namespace hone
