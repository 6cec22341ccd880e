#include "engine/tune/workload_schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/tune/turns.hpp"

namespace hone {
namespace {

constexpr std::array<std::pair<Split, std::string_view>, 2> kSplits{{{Split::kGain, "gain"}, {Split::kEven, "even"}}};
constexpr double kShareOfEven = 0.5;       // what the first share of a problem is of its part of an even split, and a slice at least
constexpr double kGrowth = 0.5;            // a slice of what the problem has had: each start of its processes costs
constexpr double kFirstTries = 3.0;        // first shares for a problem of which nothing was right yet
constexpr double kLeastSliceTrials = 4.0;  // that a slice has time for at least
constexpr double kFirstStarts = 1.5;       // times what a search takes to begin, that a first share is at least
constexpr double kAmple = 3.0;             // times what all that are new take to begin and to end: with less, none of them is begun twice
constexpr double kSearchOfWhole = 0.85;    // the rest of a whole slice is its final round
constexpr double kUsualGain = 0.1;         // logarithm, of a problem that is like none that was timed
constexpr double kUsualWeight = 0.25;      // as if one had gained that which is two octaves away
constexpr double kNothing = 0.1;           // of a first share: what is left of a budget is not worth a start

bool is_timed(const Contender& contender) { return !contender.best_us.empty() && std::isfinite(contender.best_us.back()); }

double cost_of_trial(const Contender& contender) {
  return contender.cost / static_cast<double>(std::max<std::size_t>(1, contender.best_us.size()));
}

/// What is expected of a problem that nobody has timed, from those that were.
class Untried {
 public:
  Untried(std::span<const Contender> contenders, double share, double start) : share_(share), start_(start) {
    std::vector<double> rates;
    for (const Contender& contender : contenders) {
      if (is_timed(contender)) {
        timed_.push_back(&contender);
        if (contender.start > 0.0) {
          begun_.push_back(&contender);
        }
        if (contender.work > 0.0) {
          rates.push_back(contender.best_us.back() / contender.work);
        }
      }
    }
    us_of_work_ = lower_median(std::move(rates)).value_or(1.0);
  }

  /// What it is expected to take to begin: as much as the one of which that is known and that has about as much work.
  [[nodiscard]] double start(const Contender& contender) const {
    const Contender* const like = nearest(contender);
    return like == nullptr ? start_ : like->start;
  }
  /// The same with its final round.
  [[nodiscard]] double start_and_end(const Contender& contender) const {
    const Contender* const like = nearest(contender);
    return like == nullptr ? start_ + contender.final_round : like->start + like->final_round;
  }
  [[nodiscard]] double first_share(const Contender& contender) const { return std::max(share_, kFirstStarts * start(contender)); }

  /// The weighted time that its search is expected to save.
  [[nodiscard]] double drop(const Contender& contender) const {
    double gains = kUsualWeight * kUsualGain, weights = kUsualWeight;
    for (const Contender* const timed : timed_) {
      if (timed->before_us > 0.0 && timed->kind == contender.kind) {
        const double weight = std::exp2(-octaves_apart(timed->extents, contender.extents));
        gains += weight * std::max(0.0, std::log(timed->before_us / timed->best_us.back()));
        weights += weight;
      }
    }
    return contender.weight * contender.work * us_of_work_ * std::expm1(gains / weights);
  }

 private:
  [[nodiscard]] const Contender* nearest(const Contender& contender) const {
    const auto distance = [&](const Contender* timed) {
      return timed->work > 0.0 && contender.work > 0.0 ? std::abs(std::log(timed->work / contender.work)) : 0.0;
    };
    const auto found = std::ranges::min_element(begun_, {}, distance);
    return found == begun_.end() ? nullptr : *found;
  }
  static double octaves_apart(std::span<const double> a, std::span<const double> b) {
    double square = 0.0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      square += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return std::sqrt(square);
  }
  static std::optional<double> lower_median(std::vector<double> all) {
    std::ranges::sort(all);
    return all.empty() ? std::nullopt : std::optional(all[(all.size() - 1) / 2]);
  }

  double share_, start_, us_of_work_ = 1.0;
  std::vector<const Contender*> timed_, begun_;
};

bool is_new(const Contender& contender) { return contender.can_go_on && contender.cost == 0.0; }

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

WorkloadSchedule::WorkloadSchedule(Split split, std::size_t contenders, double budget, double start)
    : split_(split),
      budget_(budget),
      share_(budget / static_cast<double>(std::max<std::size_t>(1, contenders)) * kShareOfEven),
      start_(start) {}

std::optional<Slice> WorkloadSchedule::next(std::span<const Contender> contenders) const {
  double left = budget_;
  for (const Contender& contender : contenders) {
    left -= contender.cost + (contender.cost > 0.0 && !contender.is_finished ? contender.final_round : 0.0);
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
  return first ? std::optional(Slice{*first, std::clamp(all / waiting - contenders[*first].cost, 0.0, left), true}) : std::nullopt;
}

/// A first trial gains most of all, and what nobody has timed may take any time: so all that are new come before the others, and of a
/// budget that is short none gets more than others.
std::optional<Slice> WorkloadSchedule::next_by_gain(std::span<const Contender> contenders, double left) const {
  const Untried untried(contenders, share_, start_);
  std::vector<std::pair<double, std::size_t>> waiting;  // what each is hoped to save for what it takes
  double all_begun = 0.0;                               // what it takes to begin all of them, and to end them
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    if (!is_timed(contender) && contender.can_go_on && contender.cost > 0.0 &&
        contender.cost < kFirstTries * untried.first_share(contender)) {
      return Slice{i, std::min(left, untried.first_share(contender))};
    }
    if (is_new(contender)) {
      const bool is_known = contender.work > 0.0;
      waiting.emplace_back(is_known ? untried.drop(contender) / untried.first_share(contender) : std::numeric_limits<double>::infinity(),
                           i);
      all_begun += untried.start_and_end(contender);
    }
  }
  std::ranges::stable_sort(waiting, std::greater(), &std::pair<double, std::size_t>::first);
  std::optional<std::size_t> first;
  double reserved = 0.0, begin = 0.0;  // by all that the budget is enough for, the most hopeful first
  for (const auto& [hope, i] : waiting) {
    const double least = untried.start(contenders[i]) / kSearchOfWhole;
    if (reserved + least <= left) {
      first = first ? first : i;
      reserved += least;
      begin += 1.0;
    }
  }
  if (waiting.empty()) {
    return next_round(contenders, left);
  }
  if (!first) {  // what a start takes is only expected, and to go on with another takes one, too
    return Slice{waiting.front().second, left, true};
  }
  const Contender& contender = contenders[*first];
  if (contender.work == 0.0 || kAmple * all_begun <= left) {
    return Slice{*first, std::min(left, untried.first_share(contender))};
  }
  const double least = untried.start(contender) / kSearchOfWhole;
  return Slice{*first, std::max(least, std::min(left / begin, left - (reserved - least))), true};
}

/// Of those that were timed the one that is expected to save most for what it takes.
std::optional<Slice> WorkloadSchedule::next_round(std::span<const Contender> contenders, double left) const {
  std::optional<Slice> chosen;
  double best = -1.0;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    if (!contender.can_go_on || !is_timed(contender)) {
      continue;
    }
    const double cost = std::min(left, std::max({share_, kGrowth * contender.cost, kLeastSliceTrials * cost_of_trial(contender)}));
    const double rate = expected_drop(contender, cost) / cost;
    if (rate > best) {
      best = rate;
      chosen = Slice{i, cost};
    }
  }
  return chosen;
}

}  // namespace hone
