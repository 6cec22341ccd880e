#include "engine/store/portfolio_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "engine/store/gaussian_process.hpp"
#include "engine/store/logarithm.hpp"
#include "engine/store/member_values.hpp"

namespace hone {
namespace {

constexpr double kUnknown = 0.5;             // logarithm of the slowdown of a member far from where it was measured: no choice
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
// Where trees know much they have more of what is expected, and fewer measurements are enough to look again
// (docs/results/untuned-h200-2026-11-30-second.md).
constexpr double kShareOfMany = 0.85;
constexpr std::size_t kAgainOfMany = 256;
constexpr std::size_t kBestPoints = 16;  // that the best at a shape is predicted from
constexpr std::size_t kAround = 8;       // points, what their best takes is what to expect of the best before more is known
constexpr double kOtherProduct = 0.25;   // how far other products' measurements are, in reaches (docs/results/rule-2026-11-26.md)
constexpr std::size_t kOthersShare = 3;  // and one in so many of the measurements of a prediction may be theirs
constexpr double kComparable = 1.4;      // logarithm of a slowdown: of larger ones a text may know no more than kMostSlowdown
constexpr double kFar = std::numeric_limits<double>::infinity();

/// Of rows of squares of distances, each up to its diagonal.
template <class FillRow>
Cholesky factor_of(std::size_t rows, double noise, FillRow fill) {
  std::vector<float> lower(rows * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span<float> row = std::span(lower).subspan(i * rows, i + 1);
    fill(i, row.first(i));
    to_covariances(row.first(i));
    row[i] = static_cast<float>(1.0 + noise);
  }
  return {rows, std::move(lower)};
}

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return square;
}

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

PortfolioRule::Launch PortfolioRule::kept(const LaunchSize& launch) {
  return {blocks_logarithm(blocks_level(launch.blocks)), level_tail(tail_level(launch.tail))};
}

PortfolioRule::PortfolioRule(const Portfolio& portfolio) : settings_(portfolio.rule) {
  if (portfolio.trees) {
    std::vector<bool> is_own(portfolio.members.size());
    for (const PortfolioPoint& point : portfolio.points) {
      for (const PortfolioCell& cell : point.elsewhere ? std::vector<PortfolioCell>() : point.cells) {
        is_own[cell.member] = true;
      }
    }
    knows_much_ = portfolio.knows_much();
    trees_.emplace(*portfolio.trees, portfolio.members, is_own);
  }
  for (std::size_t i = 0; i < portfolio.range.axes.size(); ++i) {
    if (portfolio.range.axes[i].varies()) {
      axes_.push_back(i);
    }
  }
  for (const PortfolioPoint& point : portfolio.points) {
    points_.push_back(coordinates(point.shape));
    points_.back().back() = point.elsewhere ? kOtherProduct : 0.0;
    best_.push_back(logarithm(point.best_us / point.floor_us));
  }
  std::vector<std::string_view> configurations;
  for (const PortfolioMember& member : portfolio.members) {
    configurations.emplace_back(member.configuration);
  }
  const std::vector<MemberValues> values = values_of(configurations);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Row& row = unlike_.emplace_back();
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_same_kernel = portfolio.members[i].kernel == portfolio.members[k].kernel;
      row.push_back(k < i ? unlike_[k][i] : is_same_kernel ? difference(values[i], values[k]) : kFar);
    }
  }
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const PortfolioPoint& point = portfolio.points[i];
    std::vector<Cell>& cells = cells_.emplace_back();
    for (const PortfolioCell& known : point.cells) {
      Cell& cell = cells.emplace_back(Cell{i, known.member, best_[i] + level_logarithm(slowdown_level(known.slowdown)), {}});
      if (known.launch) {
        cell.launch = kept(*known.launch);
      }
    }
  }
  align_products(portfolio);
  forget_launches_known_in_part();
}

/// What a member takes at a shape on one product and on another differs by much the same factor everywhere, as it is told in times of each
/// one's floors (docs/results/rule-2026-11-26.md): the times of other products become what they would be here.
void PortfolioRule::align_products(const Portfolio& portfolio) {
  std::map<Shape, std::size_t> here;
  std::vector<double> factors;  // logarithms, of what was measured on both
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const PortfolioPoint& point = portfolio.points[i];
    if (!point.elsewhere) {
      here.emplace(point.shape, i);
      continue;
    }
    const auto own = here.find(point.shape);
    for (const Cell& cell : own == here.end() ? std::vector<Cell>() : cells_[i]) {
      const auto same = std::ranges::find(cells_[own->second], cell.member, &Cell::member);
      const bool is_known = same != cells_[own->second].end() && same->time < best_[own->second] + kComparable;
      if (is_known && cell.time < best_[i] + kComparable) {
        factors.push_back(cell.time - same->time);
      }
    }
  }
  if (factors.empty()) {
    return;
  }
  const auto middle = factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2);
  std::ranges::nth_element(factors, middle);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (portfolio.points[i].elsewhere) {
      best_[i] -= *middle;
      std::ranges::for_each(cells_[i], [&](Cell& cell) { cell.time -= *middle; });
    }
  }
}

/// A distance between some measurements of a kernel that others do not have would be none: no process has such covariances.
void PortfolioRule::forget_launches_known_in_part() {
  is_launch_known_.assign(unlike_.size(), true);
  for (const std::vector<Cell>& cells : cells_) {
    for (const Cell& cell : cells) {
      if (cell.launch || !is_launch_known_[cell.member]) {
        continue;
      }
      for (std::size_t other = 0; other < unlike_.size(); ++other) {  // of its kernel, itself too
        is_launch_known_[other] = is_launch_known_[other] && !std::isfinite(unlike_[cell.member][other]);
      }
    }
  }
  for (std::vector<Cell>& cells : cells_) {
    for (Cell& cell : cells) {
      cell.launch = is_launch_known_[cell.member] ? cell.launch : std::nullopt;
    }
  }
}

PortfolioRule::Row PortfolioRule::coordinates(const Shape& shape) const {
  Row at;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::int64_t extent = shape[axes_[i]].second;
    at.push_back(logarithm(static_cast<double>(std::max<std::int64_t>(1, extent))) / (kLn2 * settings_.reach[i]));
    at.push_back(settings_.alignment * factors_of_two(extent) / kMostFactorsOfTwo);
  }
  at.push_back(0.0);  // on the portfolio's product
  return at;
}

std::vector<PortfolioRule::Near> PortfolioRule::nearest(const Row& at, std::size_t without, std::size_t most) const {
  std::vector<Near> near;
  for (std::size_t point = 0; point < points_.size(); ++point) {
    if (point != without) {
      near.push_back({squared_distance(at, points_[point]), point});
    }
  }
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(most, near.size()));
  std::partial_sort(near.begin(), end, near.end(),
                    [](const Near& a, const Near& b) { return a.square < b.square || (a.square == b.square && a.point < b.point); });
  near.erase(end, near.end());
  return near;
}

std::vector<std::size_t> PortfolioRule::around(const Shape& shape) const {
  std::vector<std::size_t> points;
  for (const Near& one : nearest(coordinates(shape), points_.size(), kNearPoints)) {
    points.push_back(one.point);
  }
  return points;
}

/// Of the process that knows what the best takes at the points.
PortfolioRule::Usual PortfolioRule::usual_at(const std::vector<Near>& near) const {
  const std::size_t around = std::min(kAround, near.size()), count = std::min(kBestPoints, near.size());
  double usual = 0.0;
  for (std::size_t i = 0; i < around; ++i) {
    usual += best_[near[i].point] / static_cast<double>(around);
  }
  std::vector<float> known, covariances;
  for (std::size_t i = 0; i < count; ++i) {
    known.push_back(static_cast<float>(best_[near[i].point] - usual));
    covariances.push_back(static_cast<float>(near[i].square));
  }
  to_covariances(covariances);
  const Cholesky factor = factor_of(count, settings_.noise, [&](std::size_t i, std::span<float> squares) {
    for (std::size_t k = 0; k < i; ++k) {
      squares[k] = static_cast<float>(squared_distance(points_[near[i].point], points_[near[k].point]));
    }
  });
  factor.solve_lower(known);
  factor.solve_lower(covariances);
  return {usual + dots(known, covariances).first, usual + kUnknown};
}

/// A measurement, where its point is among the nearest, and how far that is from the shape.
struct PortfolioRule::Placed {
  const Cell* cell = nullptr;
  std::size_t near = 0;
  double square = 0.0;
};

/// How far members are from measurements, apart from shapes.
class PortfolioRule::Distances {
 public:
  Distances(const PortfolioRule& rule, const std::vector<Placed>& cells) : rule_(rule) {
    for (const Placed& one : cells) {
      const Launch launch = one.cell->launch.value_or(Launch());
      members_.push_back(one.cell->member);
      blocks_.push_back(static_cast<float>(rule.settings_.blocks * launch.blocks));
      tails_.push_back(static_cast<float>(rule.settings_.tail * launch.tail));
    }
  }

  /// Adds to squares, of the first measurements, those of the distances between members and between launches.
  void add(std::size_t member, const std::optional<Launch>& launch, std::span<float> squares) const {
    const Row& unlike = rule_.unlike_[member];
    for (std::size_t i = 0; i < squares.size(); ++i) {
      squares[i] += static_cast<float>(rule_.settings_.unlike * unlike[members_[i]]);
    }
    if (launch) {  // then all of its kernel have one, and others are infinitely far away
      add_squares(squares, blocks_, static_cast<float>(rule_.settings_.blocks * launch->blocks));
      add_squares(squares, tails_, static_cast<float>(rule_.settings_.tail * launch->tail));
    }
  }

 private:
  const PortfolioRule& rule_;
  std::vector<std::size_t> members_;
  std::vector<float> blocks_, tails_;  ///< in the units of distances; 0 where a launch is not known
};

/// What is known of some measurements around a shape: of a process that expects `otherwise` where it knows nothing.
class PortfolioRule::Neighbourhood {
 public:
  /// `cells`: of these points, in their order.
  Neighbourhood(const PortfolioRule& rule, const std::vector<Near>& near, std::vector<Placed> cells, double otherwise)
      : rule_(rule), cells_(std::move(cells)), distances_(rule, cells_), otherwise_(otherwise), factor_(factor(near)) {
    for (const Placed& one : cells_) {
      known_.push_back(static_cast<float>(one.cell->time - otherwise));
    }
    factor_.solve_lower(known_);
  }

  /// The first `most` measurements at these points, not too many of them of other products.
  static std::vector<Placed> first(const PortfolioRule& rule, const std::vector<Near>& near, std::size_t most) {
    std::vector<Placed> all;
    std::size_t others = 0;
    for (std::size_t i = 0; i < near.size(); ++i) {
      const bool is_other = rule.is_of_other_product(near[i].point);
      for (const Cell& cell : rule.cells_[near[i].point]) {
        if (all.size() == most) {
          return all;
        }
        if (!is_other || others < most / kOthersShare) {
          others += is_other ? 1 : 0;
          all.push_back({&cell, i, near[i].square});
        }
      }
    }
    return all;
  }
  /// Those that say most of some members: as many that are nearest to one of them, by shape and by configuration.
  static std::vector<Placed> about(const PortfolioRule& rule, const std::vector<Near>& near, const std::vector<std::size_t>& members,
                                   const Launches& launches, std::size_t most) {
    std::vector<Placed> all;
    for (std::size_t i = 0; i < near.size(); ++i) {
      for (const Cell& cell : rule.cells_[near[i].point]) {
        all.push_back({&cell, i, near[i].square});
      }
    }
    const Distances distances(rule, all);
    std::vector<float> nearest(all.size(), std::numeric_limits<float>::infinity());
    for (const std::size_t member : members) {
      std::vector<float> squares = squares_of(all);
      distances.add(member, launches[member], squares);
      std::ranges::transform(nearest, squares, nearest.begin(), [](float one, float other) { return std::min(one, other); });
    }
    std::vector<std::pair<float, std::size_t>> order;  // the square of the distance, place in `all`
    for (std::size_t place = 0; place < all.size(); ++place) {
      if (std::isfinite(nearest[place])) {  // not of another kernel
        order.emplace_back(nearest[place], place);
      }
    }
    std::sort(order.begin(), order.end());
    std::vector<bool> is_kept(all.size());
    std::size_t count = 0, others = 0;
    for (const auto& [square, place] : order) {
      const bool is_other = rule.is_of_other_product(near[all[place].near].point);
      if (count < most && (!is_other || others < most / kOthersShare)) {
        others += is_other ? 1 : 0;
        ++count;
        is_kept[place] = true;
      }
    }
    std::vector<Placed> kept;
    for (std::size_t place = 0; place < all.size(); ++place) {
      if (is_kept[place]) {
        kept.push_back(all[place]);
      }
    }
    return kept;
  }

  /// Of members, each with its launch at the shape.
  [[nodiscard]] std::vector<Expected> expect(const std::vector<std::size_t>& members, const Launches& launches) const {
    std::vector<std::vector<float>> covariances(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      covariances[i] = squares_of(cells_);
      distances_.add(members[i], launches[members[i]], covariances[i]);
      to_covariances(covariances[i]);
    }
    factor_.solve_lower(covariances);
    std::vector<Expected> all;
    for (const std::vector<float>& one : covariances) {
      const auto [mean, left] = dots(known_, one);
      all.push_back({otherwise_ + mean, std::sqrt(left + rule_.settings_.noise)});
    }
    return all;
  }

 private:
  /// Of the distances between their shapes and this one.
  static std::vector<float> squares_of(const std::vector<Placed>& cells) {
    std::vector<float> squares;
    for (const Placed& one : cells) {
      squares.push_back(static_cast<float>(one.square));
    }
    return squares;
  }

  /// The distances between points are computed once for each pair of those.
  [[nodiscard]] Cholesky factor(const std::vector<Near>& near) const {
    std::vector<std::size_t> point_of, points;  // of each cell a place in `points`
    for (const Placed& one : cells_) {
      if (points.empty() || points.back() != near[one.near].point) {
        points.push_back(near[one.near].point);
      }
      point_of.push_back(points.size() - 1);
    }
    std::vector<float> between(points.size() * points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        between[i * points.size() + k] = static_cast<float>(squared_distance(rule_.points_[points[i]], rule_.points_[points[k]]));
      }
    }
    return factor_of(cells_.size(), rule_.settings_.noise, [&](std::size_t i, std::span<float> squares) {
      const std::span<const float> from = std::span(between).subspan(point_of[i] * points.size());
      for (std::size_t k = 0; k < i; ++k) {
        squares[k] = from[point_of[k]];
      }
      distances_.add(cells_[i].cell->member, cells_[i].cell->launch, squares);
    });
  }

  const PortfolioRule& rule_;
  std::vector<Placed> cells_;  ///< the nearest first
  Distances distances_;
  double otherwise_;
  Cholesky factor_;
  std::vector<float> known_;
};

/// By member, whether something is to be expected of it.
std::vector<bool> PortfolioRule::known_at(const std::vector<Near>& near, Unmeasured unmeasured) const {
  std::vector<bool> is_known(unlike_.size(), unmeasured == Unmeasured::kIsLikeOthers);
  for (const Near& one : near) {
    for (const Cell& cell : cells_[one.point]) {
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
  const Usual usual = usual_at(near);
  const Neighbourhood around(*this, near, Neighbourhood::first(*this, near, most), usual.member);
  const std::vector<Expected> expected = around.expect(known, launches);
  std::vector<Opinion> all;
  auto next = expected.begin();
  for (const std::size_t member : members) {
    const Expected own = is_known[member] ? *next++ : Expected{usual.member, std::sqrt(1.0 + settings_.noise)};
    all.push_back({member, own.mean - usual.best, own.deviation});
  }
  return all;
}

PortfolioRule::Score PortfolioRule::leave_one_out() const { return leave_one_out(points_.size(), kMeasured); }

PortfolioRule::Score PortfolioRule::leave_one_out(std::size_t most, std::size_t measured) const {
  Score score;
  double squares = 0.0, scaled = 0.0, chosen_squares = 0.0;
  std::size_t cells = 0, chosen_cells = 0;
  const std::size_t count = unlike_.empty() ? 0 : std::min(most, points_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t point = i * points_.size() / count;
    // What was not measured there says nothing. Where nothing was, the best expected would have been the choice.
    std::vector<std::size_t> members;
    Launches launches(unlike_.size());
    for (const Cell& cell : cells_[point]) {
      members.push_back(cell.member);
      launches[cell.member] = cell.launch;
    }
    const bool is_measured = !members.empty();
    if (!is_measured) {
      members = everyone();
    }
    const std::vector<Opinion> all =
        opinions(nearest(points_[point], point, kNearPoints), members, launches, measured, Unmeasured::kIsSlow);
    const std::size_t choice =
        static_cast<std::size_t>(std::ranges::min_element(all, {}, [&](const Opinion& one) { return wanted(one); }) - all.begin());
    double slowdown = std::max(0.0, all[choice].slowdown);
    for (std::size_t k = 0; k < all.size() && is_measured; ++k) {
      const double actual = cells_[point][k].time - best_[point], error = actual - all[k].slowdown;
      squares += error * error;
      scaled += error * error / (all[k].doubt * all[k].doubt);
      ++cells;
      if (k == choice) {
        slowdown = actual;
        if (all.size() > 1) {  // of one member there is no choice
          chosen_squares += error * error / (all[k].doubt * all[k].doubt);
          ++chosen_cells;
        }
      }
    }
    score.mean += slowdown / static_cast<double>(count);
    score.worst = std::max(score.worst, slowdown);
  }
  score.error = cells > 0 ? std::sqrt(squares / static_cast<double>(cells)) : 0.0;
  score.spread = deviation_of(scaled, cells);
  score.deviation = deviation_of(chosen_squares, chosen_cells);
  return score;
}

/// In steps, below which it says nothing.
double PortfolioRule::wanted(const Opinion& opinion) const {
  constexpr double kSteps = 1e4;
  return std::round((opinion.slowdown + kCaution * settings_.spread * opinion.doubt) * kSteps) / kSteps;
}

std::vector<std::size_t> PortfolioRule::everyone() const {
  std::vector<std::size_t> members(unlike_.size());
  std::iota(members.begin(), members.end(), std::size_t{0});
  return members;
}

std::vector<Opinion> PortfolioRule::rank(const Shape& shape, const MemberLaunches& launches, const MayBeChosen& may_be_chosen) const {
  return rank(coordinates(shape), points_.size(), launches, Unmeasured::kIsSlow, may_be_chosen, &shape);
}

PortfolioRule::Second PortfolioRule::second_opinions(const Shape& shape, const MemberLaunches& launches,
                                                     const std::vector<bool>& is_known) const {
  Second all = trees_ ? trees_->expect(shape, launches) : Second();
  for (std::size_t member = 0; !knows_much_ && member < all.size(); ++member) {
    if (!is_known[member]) {
      all[member].reset();
    }
  }
  return all;
}

std::vector<Opinion> PortfolioRule::rank_by_likeness(const Shape& shape, const MemberLaunches& launches) const {
  return rank(coordinates(shape), points_.size(), launches, Unmeasured::kIsLikeOthers, {});
}

std::vector<Opinion> PortfolioRule::rank_without(std::size_t point, const MemberLaunches& launches,
                                                 const MayBeChosen& may_be_chosen) const {
  return rank(points_[point], point, launches, Unmeasured::kIsSlow, may_be_chosen);
}

/// To tell which members may be chosen at all, trees are as good as the process, which takes most of a lookup. Of what they say nothing of,
/// as of members of other products, the measurements nearby say it.
std::vector<Opinion> PortfolioRule::first_opinions(const std::vector<Near>& near, const Second& second) const {
  std::vector<double> sums(unlike_.size()), weights(unlike_.size());
  for (const Near& one : near) {
    const double weight = 1.0 / (1.0 + one.square);
    for (const Cell& cell : cells_[one.point]) {
      sums[cell.member] += weight * (cell.time - best_[one.point]);
      weights[cell.member] += weight;
    }
  }
  std::vector<Opinion> all;
  for (std::size_t member = 0; member < unlike_.size(); ++member) {
    const double nearby = weights[member] > 0.0 ? sums[member] / weights[member] : kUnknown;
    all.push_back({member, second[member].value_or(nearby), std::sqrt(1.0 + settings_.noise)});
  }
  return all;
}

void PortfolioRule::sort_by_wanted(std::vector<Opinion>& opinions) const {
  std::vector<std::pair<double, std::size_t>> order;  // and the member
  std::vector<Opinion> of_member(unlike_.size());
  for (const Opinion& one : opinions) {
    order.emplace_back(wanted(one), one.member);
    of_member[one.member] = one;
  }
  std::sort(order.begin(), order.end());
  opinions.clear();
  for (const auto& [wanted, member] : order) {
    opinions.push_back(of_member[member]);
  }
}

void PortfolioRule::advise(Opinion& opinion, const Second& second) const {
  if (opinion.member < second.size() && second[opinion.member]) {
    opinion.slowdown += (knows_much_ ? kShareOfMany : kTreesShare) * (*second[opinion.member] - opinion.slowdown);
  }
}

std::vector<Opinion> PortfolioRule::rank(const Row& at, std::size_t without, const MemberLaunches& launches, Unmeasured unmeasured,
                                         const MayBeChosen& may_be_chosen, const Shape* advised) const {
  Launches kept_launches(unlike_.size());
  for (std::size_t member = 0; member < std::min(launches.size(), unlike_.size()); ++member) {
    if (launches[member] && is_launch_known_[member]) {
      kept_launches[member] = kept(*launches[member]);  // as measurements have it
    }
  }
  const std::vector<Near> far = nearest(at, without, kFarPoints);
  const std::vector<Near> near(far.begin(), far.begin() + static_cast<std::ptrdiff_t>(std::min(kNearPoints, far.size())));
  const std::size_t measured = unlike_.size() > kFewMembers ? kMoreMeasured : kFirstMeasured;
  std::vector<bool> is_known = known_at(near, unmeasured);
  const Second second = advised != nullptr ? second_opinions(*advised, launches, is_known) : Second();
  for (std::size_t member = 0; knows_much_ && member < second.size(); ++member) {
    is_known[member] = is_known[member] || second[member];
  }
  std::vector<Opinion> all;
  if (knows_much_ && !second.empty()) {
    all = first_opinions(near, second);
  } else {
    all = opinions(near, everyone(), kept_launches, measured, unmeasured);
    std::ranges::for_each(all, [&](Opinion& one) { advise(one, second); });
  }
  sort_by_wanted(all);
  const bool is_any_known = std::ranges::any_of(launches, [](const std::optional<LaunchSize>& one) { return one.has_value(); });
  const auto is_candidate = [&](std::size_t member) {
    const bool is_launched = !is_any_known || (member < launches.size() && launches[member]);
    return is_known[member] && is_launched && (!may_be_chosen || may_be_chosen(member));
  };
  look_again(all, far, kept_launches, is_candidate, second);
  for (Opinion& one : all) {
    one.slowdown = std::max(0.0, one.slowdown);
    one.doubt *= settings_.deviation;
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
  const Usual usual = usual_at(far);
  const Neighbourhood around(*this, far, Neighbourhood::about(*this, far, members, launches, knows_much_ ? kAgainOfMany : kAgainMeasured),
                             usual.member);
  const std::vector<Expected> expected = around.expect(members, launches);
  for (std::size_t i = 0; i < again.size(); ++i) {
    again[i].slowdown = expected[i].mean - usual.best;
    again[i].doubt = expected[i].deviation;
    advise(again[i], second);
  }
  sort_by_wanted(again);
  again.insert(again.end(), others.begin(), others.end());
  all = std::move(again);
}

}  // namespace hone
