#include "engine/store/portfolio_rule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/base/parallel.hpp"

namespace hone {
namespace {

constexpr double kCaution = 0.6;             // of the doubt, added to what is expected: between equals what is known better is chosen
constexpr double kLeastDeviation = 0.01;     // no rule is surer than measurements are
constexpr double kPriorDeviation = 0.15;     // of a process that nothing is known of,
constexpr double kPriorWeight = 4.0;         // as if so many predictions had been that far off
constexpr std::size_t kNearPoints = 128;     // of which measurements are looked at, the nearest first,
constexpr std::size_t kFirstMeasured = 176;  // tell which members may be chosen at all,
constexpr std::size_t kCandidates = 8;       // so many, which are looked at again
constexpr std::size_t kFarPoints = 160;      // with measurements of as many points,
constexpr std::size_t kAgainMeasured = 384;  // so many of them
constexpr std::size_t kFewMembers = 320;     // with more members than this a shape has more at first,
constexpr std::size_t kMoreMeasured = 512;
constexpr double kTreesShare = 2.0 / 3.0;  // of what is expected, where there are trees
// Where trees know much they have more of what is expected (most, if they are deep), the process's doubt has less, and fewer measurements
// are enough to look again (docs/results/untuned-h200-2026-11-30-second.md; of doubt and of deep trees:
// docs/results/untuned-h200-2026-12-01-second.md; how many: docs/results/untuned-h200-2026-11-30-fifth.md#what-the-texts-cost).
constexpr double kShareOfMany = 0.85, kShareOfDeep = 0.95, kCautionOfMany = 0.2;
constexpr std::size_t kAgainOfMany = 96;

double deviation_of(double squares, std::size_t count) {
  squares += kPriorWeight * kPriorDeviation * kPriorDeviation;
  return std::max(kLeastDeviation, std::sqrt(squares / (static_cast<double>(count) + kPriorWeight)));
}

}  // namespace

MemberLaunches launches_at(const PortfolioPoint& point, std::size_t members) {
  MemberLaunches launches(members);
  for (const PortfolioCell& cell : point.cells) {
    launches[cell.member] = cell.launch;
  }
  return launches;
}

PortfolioRule::PortfolioRule(const Portfolio& portfolio) : surrogate_(portfolio) {
  if (portfolio.trees) {
    std::vector<bool> is_own(portfolio.members.size());
    for (const PortfolioPoint& point : portfolio.points) {
      for (const PortfolioCell& cell : point.elsewhere ? std::vector<PortfolioCell>() : point.cells) {
        is_own[cell.member] = true;
      }
    }
    knows_much_ = portfolio.knows_much();
    share_ = !knows_much_ ? kTreesShare : portfolio.trees->trees.are_deep() ? kShareOfDeep : kShareOfMany;
    trees_.emplace(*portfolio.trees, portfolio.members, is_own);
  }
}

std::vector<std::size_t> PortfolioRule::around(const Shape& shape) const {
  std::vector<std::size_t> points;
  for (const Near& one : surrogate_.nearest(surrogate_.place(shape), surrogate_.points(), kNearPoints)) {
    points.push_back(one.point);
  }
  return points;
}

/// By member, whether something is to be expected of it.
std::vector<bool> PortfolioRule::known_at(const std::vector<Near>& near, Unmeasured unmeasured) const {
  std::vector<bool> is_known(surrogate_.members(), unmeasured == Unmeasured::kIsLikeOthers);
  for (const Near& one : near) {
    for (const PortfolioSurrogate::Cell& cell : surrogate_.cells(one.point)) {
      is_known[cell.member] = true;
    }
  }
  return is_known;
}

std::vector<Opinion> PortfolioRule::opinions(const std::vector<Near>& near, const std::vector<std::size_t>& members,
                                             const Launches& launches, std::size_t most, Unmeasured unmeasured) const {
  const std::vector<bool> is_known = known_at(near, unmeasured);
  std::vector<std::size_t> known;
  std::ranges::copy_if(members, std::back_inserter(known), [&](std::size_t member) { return is_known[member]; });
  const PortfolioSurrogate::Prior prior = surrogate_.prior_at(near);
  const std::vector<PortfolioSurrogate::Prediction> predicted = surrogate_.predict(near, prior, known, launches, most);
  std::vector<Opinion> all;
  auto next = predicted.begin();
  for (const std::size_t member : members) {
    const PortfolioSurrogate::Prediction own =
        is_known[member] ? *next++ : PortfolioSurrogate::Prediction{prior.member, std::sqrt(1.0 + surrogate_.settings().noise)};
    all.push_back({member, own.mean - prior.best, own.deviation});
  }
  return all;
}

PortfolioRule::Score PortfolioRule::leave_one_out() const { return leave_one_out(surrogate_.points(), kMeasured); }

PortfolioRule::Score PortfolioRule::leave_one_out(std::size_t most, std::size_t measured) const {
  struct LeftOut {
    double slowdown = 0.0, squares = 0.0, scaled = 0.0, chosen_squares = 0.0;
    std::size_t cells = 0, chosen_cells = 0;
  };
  const std::size_t count = surrogate_.members() == 0 ? 0 : std::min(most, surrogate_.points());
  std::vector<LeftOut> each(count);
  parallel_for(0, count, [&](std::size_t i) {
    LeftOut& one = each[i];
    const std::size_t point = i * surrogate_.points() / count;
    // What was not measured there says nothing. Where nothing was, the best expected would have been the choice.
    std::vector<std::size_t> members;
    Launches launches(surrogate_.members());
    for (const PortfolioSurrogate::Cell& cell : surrogate_.cells(point)) {
      members.push_back(cell.member);
      launches[cell.member] = cell.launch;
    }
    const bool is_measured = !members.empty();
    if (!is_measured) {
      members = everyone();
    }
    const std::vector<Opinion> all =
        opinions(surrogate_.nearest(surrogate_.place(point), point, kNearPoints), members, launches, measured, Unmeasured::kIsSlow);
    const std::size_t choice =
        static_cast<std::size_t>(std::ranges::min_element(all, {}, [&](const Opinion& of) { return wanted(of, kCaution); }) - all.begin());
    one.slowdown = std::max(0.0, all[choice].slowdown);
    for (std::size_t k = 0; k < all.size() && is_measured; ++k) {
      const double actual = surrogate_.cells(point)[k].time - surrogate_.best(point), error = actual - all[k].slowdown;
      const double scaled = error * error / (all[k].doubt * all[k].doubt);
      one.squares += error * error;
      one.scaled += scaled;
      ++one.cells;
      if (k == choice) {
        one.slowdown = actual;
        if (all.size() > 1) {  // of one member there is no choice
          one.chosen_squares += scaled;
          ++one.chosen_cells;
        }
      }
    }
  });
  Score score;
  LeftOut sum;
  for (const LeftOut& one : each) {
    sum.squares += one.squares;
    sum.scaled += one.scaled;
    sum.chosen_squares += one.chosen_squares;
    sum.cells += one.cells;
    sum.chosen_cells += one.chosen_cells;
    score.mean += one.slowdown / static_cast<double>(count);
    score.worst = std::max(score.worst, one.slowdown);
  }
  score.error = sum.cells > 0 ? std::sqrt(sum.squares / static_cast<double>(sum.cells)) : 0.0;
  score.spread = deviation_of(sum.scaled, sum.cells);
  score.deviation = deviation_of(sum.chosen_squares, sum.chosen_cells);
  return score;
}

/// In steps, below which it says nothing.
double PortfolioRule::wanted(const Opinion& opinion, double caution) const {
  constexpr double kSteps = 1e4;
  return std::round((opinion.slowdown + caution * surrogate_.settings().spread * opinion.doubt) * kSteps) / kSteps;
}

std::vector<std::size_t> PortfolioRule::everyone() const {
  std::vector<std::size_t> members(surrogate_.members());
  std::iota(members.begin(), members.end(), std::size_t{0});
  return members;
}

std::vector<Opinion> PortfolioRule::rank(const Shape& shape, const MemberLaunches& launches, const MayBeChosen& may_be_chosen) const {
  return rank(surrogate_.place(shape), surrogate_.points(), launches, Unmeasured::kIsSlow, may_be_chosen, &shape);
}

std::vector<Opinion> PortfolioRule::rank_by_likeness(const Shape& shape, const MemberLaunches& launches) const {
  return rank(surrogate_.place(shape), surrogate_.points(), launches, Unmeasured::kIsLikeOthers, {});
}

std::vector<Opinion> PortfolioRule::rank_without(std::size_t point, const MemberLaunches& launches,
                                                 const MayBeChosen& may_be_chosen) const {
  return rank(surrogate_.place(point), point, launches, Unmeasured::kIsSlow, may_be_chosen);
}

/// To tell which members may be chosen at all, trees are as good as the process, which takes most of a lookup. Of what they say nothing of,
/// as of members of other products, the measurements nearby say it.
std::vector<Opinion> PortfolioRule::first_opinions(const std::vector<Near>& near, const Second& second) const {
  std::vector<double> sums(surrogate_.members()), weights(surrogate_.members());
  for (const Near& one : near) {
    const double weight = 1.0 / (1.0 + one.square);
    for (const PortfolioSurrogate::Cell& cell : surrogate_.cells(one.point)) {
      sums[cell.member] += weight * (cell.time - surrogate_.best(one.point));
      weights[cell.member] += weight;
    }
  }
  std::vector<Opinion> all;
  for (std::size_t member = 0; member < surrogate_.members(); ++member) {
    const double nearby = weights[member] > 0.0 ? sums[member] / weights[member] : PortfolioSurrogate::kUnknown;
    all.push_back({member, second[member].value_or(nearby), std::sqrt(1.0 + surrogate_.settings().noise)});
  }
  return all;
}

void PortfolioRule::sort_by_wanted(std::vector<Opinion>& opinions, double caution) const {
  std::vector<std::pair<double, std::size_t>> order;  // and the member
  std::vector<Opinion> of_member(surrogate_.members());
  for (const Opinion& one : opinions) {
    order.emplace_back(wanted(one, caution), one.member);
    of_member[one.member] = one;
  }
  std::sort(order.begin(), order.end());
  opinions.clear();
  for (const auto& [wanted, member] : order) {
    opinions.push_back(of_member[member]);
  }
}

double PortfolioRule::caution(const Second& second) const { return knows_much_ && !second.empty() ? kCautionOfMany : kCaution; }

void PortfolioRule::advise(Opinion& opinion, const Second& second) const {
  if (opinion.member < second.size() && second[opinion.member]) {
    opinion.slowdown += share_ * (*second[opinion.member] - opinion.slowdown);
  }
}

std::vector<Opinion> PortfolioRule::rank(std::span<const double> at, std::size_t without, const MemberLaunches& launches,
                                         Unmeasured unmeasured, const MayBeChosen& may_be_chosen, const Shape* advised) const {
  const Launches kept_launches = surrogate_.kept(launches);
  const std::vector<Near> far = surrogate_.nearest(at, without, kFarPoints);
  const std::vector<Near> near(far.begin(), far.begin() + static_cast<std::ptrdiff_t>(std::min(kNearPoints, far.size())));
  const std::size_t measured = surrogate_.members() > kFewMembers ? kMoreMeasured : kFirstMeasured;
  std::vector<bool> is_known = known_at(near, unmeasured);
  Second second = advised != nullptr && trees_ ? trees_->expect(*advised, launches) : Second();
  for (std::size_t member = 0; member < second.size(); ++member) {
    if (knows_much_) {
      is_known[member] = is_known[member] || second[member];
    } else if (!is_known[member]) {
      second[member].reset();
    }
  }
  std::vector<Opinion> all;
  if (knows_much_ && !second.empty()) {
    all = first_opinions(near, second);
  } else {
    all = opinions(near, everyone(), kept_launches, measured, unmeasured);
    std::ranges::for_each(all, [&](Opinion& one) { advise(one, second); });
  }
  sort_by_wanted(all, caution(second));
  const bool is_any_known = std::ranges::any_of(launches, [](const std::optional<LaunchSize>& one) { return one.has_value(); });
  const auto is_candidate = [&](std::size_t member) {
    const bool is_launched = !is_any_known || (member < launches.size() && launches[member]);
    return is_known[member] && is_launched && (!may_be_chosen || may_be_chosen(member));
  };
  look_again(all, far, kept_launches, is_candidate, second);
  for (Opinion& one : all) {
    one.slowdown = std::max(0.0, one.slowdown);
    one.doubt *= surrogate_.settings().deviation;
  }
  return all;
}

/// The first few that may be chosen come first, in the order that follows from the measurements nearest to them.
void PortfolioRule::look_again(std::vector<Opinion>& all, const std::vector<Near>& far, const Launches& launches,
                               const MayBeChosen& may_be_chosen, const Second& second) const {
  std::vector<Opinion> again, others;
  for (const Opinion& one : all) {
    (again.size() < kCandidates && may_be_chosen(one.member) ? again : others).push_back(one);
  }
  std::vector<std::size_t> members;
  for (const Opinion& one : again) {
    members.push_back(one.member);
  }
  const PortfolioSurrogate::Prior prior = surrogate_.prior_at(far);
  const std::vector<PortfolioSurrogate::Prediction> predicted =
      surrogate_.predict_from_nearest(far, prior, members, launches, knows_much_ ? kAgainOfMany : kAgainMeasured);
  for (std::size_t i = 0; i < again.size(); ++i) {
    again[i].slowdown = predicted[i].mean - prior.best;
    again[i].doubt = predicted[i].deviation;
    advise(again[i], second);
  }
  sort_by_wanted(again, caution(second));
  again.insert(again.end(), others.begin(), others.end());
  all = std::move(again);
}

}  // namespace hone
