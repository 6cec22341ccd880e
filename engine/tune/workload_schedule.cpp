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
constexpr double kFirstStarts = 1.5;        // times what a search takes to begin, that a first share is at least
constexpr double kFirstShares = 0.5;        // of what is left: if they take no more, first shares come before all else
constexpr double kAmple = 7.0;              // times what all that are new take to begin: with less, none of them is begun twice
constexpr double kEagerness = 0.4;          // power of what is hoped of a problem that its part of the rest is proportional to
constexpr double kLeastStarts = 0.7;        // times what a search takes to begin, that a whole slice searches at least
constexpr double kSearchOfWhole = 0.85;     // the rest of a whole slice is its final round
constexpr double kUsualGain = 0.1;          // logarithm, of a problem that is like none that was timed
constexpr double kUsualWeight = 0.25;       // as if one had gained that which is two octaves away
constexpr double kNothing = 0.1;            // of a first share: what is left of a budget is not worth a start

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
    const auto distance = [&](const Contender* timed) {
      return timed->work > 0.0 && contender.work > 0.0 ? std::abs(std::log(timed->work / contender.work)) : 0.0;
    };
    const auto nearest = std::ranges::min_element(begun_, {}, distance);
    return nearest == begun_.end() ? start_ : (*nearest)->start;
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

std::optional<Slice> WorkloadSchedule::next_by_gain(std::span<const Contender> contenders, double left) const {
  const Untried untried(contenders, share_, start_);
  const auto drop = [&](const Contender& contender) {
    return is_new(contender) ? untried.drop(contender) : expected_drop(contender, share_);
  };
  double parts = 0.0, starts = 0.0;  // of all that are new
  double hopes = 0.0;                // of all that can go on
  for (const Contender& contender : contenders) {
    parts += is_new(contender) ? untried.first_share(contender) + untried.start(contender) : 0.0;
    starts += is_new(contender) ? untried.start(contender) : 0.0;
    hopes += contender.can_go_on ? std::pow(drop(contender), kEagerness) : 0.0;
  }
  std::optional<Slice> chosen;
  std::pair best{false, -1.0};  // whether it comes before all others, and what a slice is expected to save for its cost
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    if (!contender.can_go_on) {
      continue;
    }
    const double first = untried.first_share(contender);
    if (is_new(contender) && untried.start(contender) > left) {
      continue;
    }
    Slice slice{i, first};
    std::pair rank{false, -1.0};
    if (is_new(contender)) {
      slice.is_whole = kAmple * starts > left && contender.work > 0.0;
      if (slice.is_whole) {
        slice.cost =
            std::max(left * std::pow(drop(contender), kEagerness) / hopes, kLeastStarts * untried.start(contender) / kSearchOfWhole);
      }
      rank = {parts <= kFirstShares * left || contender.work == 0.0,
              contender.work == 0.0 ? std::numeric_limits<double>::infinity() : drop(contender) / first};
    } else if (is_timed(contender)) {
      slice.cost = std::max({share_, kGrowth * contender.cost, kLeastSliceTrials * cost_of_trial(contender)});
      rank.second = expected_drop(contender, std::min(left, slice.cost)) / std::min(left, slice.cost);
    } else if (contender.cost < kFirstTries * first) {
      rank = {true, std::numeric_limits<double>::infinity()};
    }
    if (rank > best) {
      best = rank;
      chosen = slice;
    }
  }
  if (chosen) {
    chosen->cost = std::min(chosen->cost, left);
  }
  return chosen;
}

}  // namespace hone
