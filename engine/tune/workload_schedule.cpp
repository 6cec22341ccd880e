#include "engine/tune/workload_schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/tune/turns.hpp"

namespace hone {
namespace {

constexpr std::array<std::pair<Split, std::string_view>, 2> kSplits{{{Split::kGain, "gain"}, {Split::kEven, "even"}}};
constexpr double kShareOfEven = 1.0 / 3.0;  // what the first share of a problem is of its part of an even split, and a slice at least
constexpr double kGrowth = 0.5;             // a slice of what the problem has had: each start of its processes costs
constexpr double kFirstTries = 3.0;         // first shares for a problem of which nothing was right yet
constexpr double kLeastSliceTrials = 4.0;   // that a slice has time for at least
constexpr double kFirstStarts = 2.0;        // times what a search takes to begin, that a first share is at least
constexpr double kFirstShares = 0.5;        // of what is left: if they take no more, first shares come before all else
constexpr double kNothing = 0.1;            // of a slice: what is left of a budget is not worth a start

bool is_timed(const Contender& contender) { return !contender.best_us.empty() && std::isfinite(contender.best_us.back()); }

double cost_of_trial(const Contender& contender) {
  return contender.cost / static_cast<double>(std::max<std::size_t>(1, contender.best_us.size()));
}

/// Of those that were timed; nothing where none was.
template <class Figure>
std::optional<double> median_of_timed(std::span<const Contender> contenders, Figure figure) {
  std::vector<double> all;
  for (const Contender& contender : contenders) {
    if (const double one = is_timed(contender) ? figure(contender) : 0.0; one > 0.0) {
      all.push_back(one);
    }
  }
  std::ranges::sort(all);
  return all.empty() ? std::nullopt : std::optional(all[(all.size() - 1) / 2]);
}

/// Stands for those that nobody has timed.
class Untried {
 public:
  Untried(std::span<const Contender> contenders, double share)
      : first_share_(
            std::max(share, kFirstStarts * median_of_timed(contenders, [](const Contender& one) { return one.start; }).value_or(0.0))),
        trial_(median_of_timed(contenders, cost_of_trial).value_or(first_share_ / kLeastSliceTrials)),
        us_of_work_(median_of_timed(contenders, [](const Contender& one) {
                      return one.work > 0.0 ? one.best_us.back() / one.work : 0.0;
                    }).value_or(1.0)) {}

  [[nodiscard]] double first_share() const { return first_share_; }
  /// As if it had had a trial.
  [[nodiscard]] Contender expected(const Contender& contender) const {
    Contender one = contender;
    one.best_us = {contender.work * us_of_work_};
    one.cost = trial_;
    return one;
  }

 private:
  double first_share_, trial_, us_of_work_;
};

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
  const Untried untried(contenders, share_);
  const double first = std::min(left, untried.first_share());
  const auto is_new = [](const Contender& contender) { return contender.can_go_on && contender.cost == 0.0; };
  const bool all_have_a_share = first * static_cast<double>(std::ranges::count_if(contenders, is_new)) <= kFirstShares * left;
  std::optional<Slice> chosen;
  std::pair best{false, -1.0};  // whether it comes before all others, and what a slice is expected to save for its cost
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    if (!contender.can_go_on) {
      continue;
    }
    bool comes_first = false;
    double cost = first, rate = -1.0;
    if (is_new(contender)) {
      comes_first = all_have_a_share || contender.work == 0.0;
      rate = contender.work == 0.0 ? std::numeric_limits<double>::infinity() : expected_drop(untried.expected(contender), cost) / cost;
    } else if (is_timed(contender)) {
      cost = std::min(left, std::max({share_, kGrowth * contender.cost, kLeastSliceTrials * cost_of_trial(contender)}));
      rate = expected_drop(contender, cost) / cost;
    } else if (contender.cost < kFirstTries * untried.first_share()) {
      return Slice{i, first};
    }
    if (const std::pair rank(comes_first, rate); rank > best) {
      best = rank;
      chosen = Slice{i, cost};
    }
  }
  return chosen;
}

}  // namespace hone
