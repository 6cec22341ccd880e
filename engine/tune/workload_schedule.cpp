#include "engine/tune/workload_schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "engine/base/names.hpp"
#include "engine/tune/turns.hpp"

namespace hone {
namespace {

constexpr std::array<std::pair<Split, std::string_view>, 2> kSplits{{{Split::kGain, "gain"}, {Split::kEven, "even"}}};
constexpr double kShareOfEven = 1.0 / 3.0;  // what the first share of a problem is of its part of an even split, and a slice at least
constexpr double kGrowth = 0.5;             // a slice of what the problem has had: each start of its processes costs
constexpr double kFirstTries = 3.0;         // first shares for a problem of which nothing was right yet
constexpr double kLeastSliceTrials = 4.0;   // that a slice has time for at least
constexpr double kNothing = 0.1;            // of a slice: what is left of a budget is not worth a start

bool is_timed(const Contender& contender) { return !contender.best_us.empty() && std::isfinite(contender.best_us.back()); }

double cost_of_trial(const Contender& contender) {
  return contender.cost / static_cast<double>(std::max<std::size_t>(1, contender.best_us.size()));
}

}  // namespace

std::string_view name(Split split) { return std::ranges::find(kSplits, split, &std::pair<Split, std::string_view>::first)->second; }

Result<Split> parse_split(std::string_view text) {
  std::vector<std::string> known;
  for (const auto& [split, called] : kSplits) {
    if (called == text) {
      return split;
    }
    known.emplace_back(called);
  }
  return Error{ErrorCode::kInvalidArgument, unknown_name("split", text, known)};
}

double expected_drop(const Contender& contender, double cost) {
  if (!is_timed(contender)) {
    return 0.0;
  }
  const double more = cost / std::max(cost_of_trial(contender), std::numeric_limits<double>::min());
  return contender.weight * (contender.best_us.back() - hopeful_us({.times_us = contender.best_us}, more));
}

WorkloadSchedule::WorkloadSchedule(Split split, std::size_t contenders, double budget)
    : split_(split), budget_(budget), share_(budget / static_cast<double>(std::max<std::size_t>(1, contenders)) * kShareOfEven) {}

std::optional<Slice> WorkloadSchedule::next(std::span<const Contender> contenders) const {
  double left = budget_;
  for (const Contender& contender : contenders) {
    left -= contender.cost;
  }
  if (left <= kNothing * share_) {
    return std::nullopt;
  }
  return split_ == Split::kEven ? next_evenly(contenders, left) : next_by_gain(contenders, left);
}

/// In one slice each: what one leaves goes to those after it.
std::optional<Slice> WorkloadSchedule::next_evenly(std::span<const Contender> contenders, double left) {
  std::optional<std::size_t> first;
  double all = left, waiting = 0.0;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (contenders[i].can_go_on) {
      first = first ? first : i;
      all += contenders[i].cost;
      waiting += 1.0;
    }
  }
  return first ? std::optional(Slice{*first, std::clamp(all / waiting - contenders[*first].cost, 0.0, left)}) : std::nullopt;
}

std::optional<Slice> WorkloadSchedule::next_by_gain(std::span<const Contender> contenders, double left) const {
  std::optional<Slice> chosen;
  double best = -1.0;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    if (!contender.can_go_on) {
      continue;
    }
    if (contender.cost == 0.0 || (!is_timed(contender) && contender.cost < kFirstTries * share_)) {
      return Slice{i, std::min(left, share_)};
    }
    const double cost = std::min(left, std::max({share_, kGrowth * contender.cost, kLeastSliceTrials * cost_of_trial(contender)}));
    if (const double rate = expected_drop(contender, cost) / cost; is_timed(contender) && rate > best) {
      best = rate;
      chosen = Slice{i, cost};
    }
  }
  return chosen;
}

}  // namespace hone
