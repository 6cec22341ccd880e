#include "engine/tune/range_outcomes.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"

namespace hone {
namespace {

const KernelSpec& kernel() { return *find_builtin_kernel("copy").value(); }

std::vector<Trial> trials_of(std::initializer_list<Outcome> outcomes) {
  std::vector<Trial> trials;
  for (const Outcome outcome : outcomes) {
    Trial trial;
    trial.outcome = outcome;
    trial.detail = fmt::format("trial {}", trials.size());
    trial.configuration = default_configuration(kernel());
    trials.push_back(std::move(trial));
  }
  return trials;
}

TEST_CASE("trials of a range are counted by what became of them, and the first wrong one of a kernel is named") {
  RangeOutcomes outcomes;
  outcomes.add({{"n", 5}}, kernel(), trials_of({Outcome::kOk, Outcome::kTooSlow, Outcome::kRace}));
  outcomes.add({{"n", 7}}, kernel(), trials_of({Outcome::kWrongResult, Outcome::kTimeout, Outcome::kDeadlock}));
  CHECK(outcomes.trials() == 6);
  CHECK(outcomes.counts().at(Outcome::kOk) == 1);
  REQUIRE(outcomes.wrong().size() == 1);
  const WrongTrials& wrong = outcomes.wrong().front();
  CHECK(wrong.kernel == "copy");
  CHECK(wrong.count == 3);
  CHECK(wrong.shape == Shape{{"n", 5}});
  CHECK(wrong.outcome == Outcome::kRace);
  CHECK(wrong.detail == "trial 2");
}

TEST_CASE("what several devices counted is added up") {
  RangeOutcomes one, other, all;
  one.add({{"n", 5}}, kernel(), trials_of({Outcome::kOk, Outcome::kRace}));
  other.add({{"n", 7}}, kernel(), trials_of({Outcome::kOk, Outcome::kWrongResult, Outcome::kIllegalAccess}));
  all.add(one);
  all.add(other);
  CHECK(all.trials() == 5);
  CHECK(all.counts().at(Outcome::kOk) == 2);
  REQUIRE(all.wrong().size() == 1);
  CHECK(all.wrong().front().count == 3);
  CHECK(all.wrong().front().outcome == Outcome::kRace);
}

}  // namespace
}  // namespace hone
