#include "engine/store/portfolio_surrogate.hpp"

#include <algorithm>
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

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return square;
}

}  // namespace

PortfolioSurrogate::Launch PortfolioSurrogate::kept(const LaunchSize& launch) {
  return {blocks_logarithm(blocks_level(launch.blocks)), level_tail(tail_level(launch.tail))};
}

PortfolioSurrogate::Launches PortfolioSurrogate::kept(std::span<const std::optional<LaunchSize>> launches) const {
  Launches all(unlike_.size());
  for (std::size_t member = 0; member < std::min(launches.size(), all.size()); ++member) {
    if (launches[member] && is_launch_known_[member]) {
      all[member] = kept(*launches[member]);
    }
  }
  return all;
}

PortfolioSurrogate::PortfolioSurrogate(const Portfolio& portfolio) : settings_(portfolio.rule) {
  for (std::size_t i = 0; i < portfolio.range.axes.size(); ++i) {
    if (portfolio.range.axes[i].varies()) {
      axes_.push_back(i);
    }
  }
  for (const PortfolioPoint& point : portfolio.points) {
    const Row at = place(point.shape);
    points_.insert(points_.end(), at.begin(), at.end());
    points_.back() = point.elsewhere ? kOtherProduct : 0.0;
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
  for (std::size_t i = 0; i < points(); ++i) {
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
void PortfolioSurrogate::align_products(const Portfolio& portfolio) {
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
void PortfolioSurrogate::forget_launches_known_in_part() {
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

PortfolioSurrogate::Row PortfolioSurrogate::place(const Shape& shape) const {
  Row at;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::int64_t extent = shape[axes_[i]].second;
    at.push_back(logarithm(static_cast<double>(std::max<std::int64_t>(1, extent))) / (kLn2 * settings_.reach[i]));
    at.push_back(settings_.alignment * factors_of_two(extent) / kMostFactorsOfTwo);
  }
  at.push_back(0.0);  // on the portfolio's product
  return at;
}

std::vector<PortfolioSurrogate::Near> PortfolioSurrogate::nearest(std::span<const double> at, std::size_t without, std::size_t most) const {
  std::vector<Near> near;
  near.reserve(points());
  for (std::size_t point = 0; point < points(); ++point) {
    if (point != without) {
      near.push_back({squared_distance(at, place(point)), point});
    }
  }
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(most, near.size()));
  std::partial_sort(near.begin(), end, near.end(),
                    [](const Near& a, const Near& b) { return a.square < b.square || (a.square == b.square && a.point < b.point); });
  near.erase(end, near.end());
  return near;
}

/// Of the process that knows what the best takes at the points.
PortfolioSurrogate::Prior PortfolioSurrogate::prior_at(const std::vector<Near>& near) const {
  const std::size_t around = std::min(kAround, near.size()), count = std::min(kBestPoints, near.size());
  double prior = 0.0;
  for (std::size_t i = 0; i < around; ++i) {
    prior += best_[near[i].point] / static_cast<double>(around);
  }
  std::vector<float> known, covariances;
  for (std::size_t i = 0; i < count; ++i) {
    known.push_back(static_cast<float>(best_[near[i].point] - prior));
    covariances.push_back(static_cast<float>(near[i].square));
  }
  to_covariances(covariances);
  const Cholesky factor = factor_of(count, settings_.noise, [&](std::size_t i, std::span<float> squares) {
    for (std::size_t k = 0; k < i; ++k) {
      squares[k] = static_cast<float>(squared_distance(place(near[i].point), place(near[k].point)));
    }
  });
  factor.solve_lower(known);
  factor.solve_lower(covariances);
  return {prior + dots(known, covariances).first, prior + kUnknown};
}

/// A measurement, where its point is among the nearest, and how far that is from the shape.
struct PortfolioSurrogate::Placed {
  const Cell* cell = nullptr;
  std::size_t near = 0;
  double square = 0.0;
};

/// How far members are from measurements, apart from shapes.
class PortfolioSurrogate::Distances {
 public:
  Distances(const PortfolioSurrogate& surrogate, const std::vector<Placed>& cells) : surrogate_(surrogate) {
    for (const Placed& one : cells) {
      const Launch launch = one.cell->launch.value_or(Launch());
      members_.push_back(one.cell->member);
      blocks_.push_back(static_cast<float>(surrogate.settings_.blocks * launch.blocks));
      tails_.push_back(static_cast<float>(surrogate.settings_.tail * launch.tail));
    }
  }

  /// Adds to squares, of the first measurements, those of the distances between members and between launches.
  void add(std::size_t member, const std::optional<Launch>& launch, std::span<float> squares) const {
    const Row& unlike = surrogate_.unlike_[member];
    for (std::size_t i = 0; i < squares.size(); ++i) {
      squares[i] += static_cast<float>(surrogate_.settings_.unlike * unlike[members_[i]]);
    }
    if (launch) {  // then all of its kernel have one, and others are infinitely far away
      add_squares(squares, blocks_, static_cast<float>(surrogate_.settings_.blocks * launch->blocks));
      add_squares(squares, tails_, static_cast<float>(surrogate_.settings_.tail * launch->tail));
    }
  }

 private:
  const PortfolioSurrogate& surrogate_;
  std::vector<std::size_t> members_;
  std::vector<float> blocks_, tails_;  ///< in the units of distances; 0 where a launch is not known
};

/// What is known of some measurements around a shape: of a process that expects `otherwise` where it knows nothing.
class PortfolioSurrogate::Neighbourhood {
 public:
  /// `cells`: of these points, in their order.
  Neighbourhood(const PortfolioSurrogate& surrogate, const std::vector<Near>& near, std::vector<Placed> cells, double otherwise)
      : surrogate_(surrogate), cells_(std::move(cells)), distances_(surrogate, cells_), otherwise_(otherwise), factor_(factor(near)) {
    for (const Placed& one : cells_) {
      known_.push_back(static_cast<float>(one.cell->time - otherwise));
    }
    factor_.solve_lower(known_);
  }

  /// The first `most` measurements at these points, not too many of them of other products.
  static std::vector<Placed> first(const PortfolioSurrogate& surrogate, const std::vector<Near>& near, std::size_t most) {
    std::vector<Placed> all;
    std::size_t others = 0;
    for (std::size_t i = 0; i < near.size(); ++i) {
      const bool is_other = surrogate.is_of_other_product(near[i].point);
      for (const Cell& cell : surrogate.cells_[near[i].point]) {
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
  static std::vector<Placed> about(const PortfolioSurrogate& surrogate, const std::vector<Near>& near,
                                   const std::vector<std::size_t>& members, const Launches& launches, std::size_t most) {
    std::vector<Placed> all;
    for (std::size_t i = 0; i < near.size(); ++i) {
      for (const Cell& cell : surrogate.cells_[near[i].point]) {
        all.push_back({&cell, i, near[i].square});
      }
    }
    const Distances distances(surrogate, all);
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
      const bool is_other = surrogate.is_of_other_product(near[all[place].near].point);
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
  [[nodiscard]] std::vector<Prediction> predict(const std::vector<std::size_t>& members, const Launches& launches) const {
    std::vector<std::vector<float>> covariances(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      covariances[i] = squares_of(cells_);
      distances_.add(members[i], launches[members[i]], covariances[i]);
      to_covariances(covariances[i]);
    }
    factor_.solve_lower(covariances);
    std::vector<Prediction> all;
    for (const std::vector<float>& one : covariances) {
      const auto [mean, left] = dots(known_, one);
      all.push_back({otherwise_ + mean, std::sqrt(left + surrogate_.settings_.noise)});
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
        between[i * points.size() + k] = static_cast<float>(squared_distance(surrogate_.place(points[i]), surrogate_.place(points[k])));
      }
    }
    return factor_of(cells_.size(), surrogate_.settings_.noise, [&](std::size_t i, std::span<float> squares) {
      const std::span<const float> from = std::span(between).subspan(point_of[i] * points.size());
      for (std::size_t k = 0; k < i; ++k) {
        squares[k] = from[point_of[k]];
      }
      distances_.add(cells_[i].cell->member, cells_[i].cell->launch, squares);
    });
  }

  const PortfolioSurrogate& surrogate_;
  std::vector<Placed> cells_;  ///< the nearest first
  Distances distances_;
  double otherwise_;
  Cholesky factor_;
  std::vector<float> known_;
};

std::vector<PortfolioSurrogate::Prediction> PortfolioSurrogate::predict(const std::vector<Near>& near, const Prior& prior,
                                                                        const std::vector<std::size_t>& members, const Launches& launches,
                                                                        std::size_t most) const {
  return Neighbourhood(*this, near, Neighbourhood::first(*this, near, most), prior.member).predict(members, launches);
}

std::vector<PortfolioSurrogate::Prediction> PortfolioSurrogate::predict_from_nearest(const std::vector<Near>& near, const Prior& prior,
                                                                                     const std::vector<std::size_t>& members,
                                                                                     const Launches& launches, std::size_t most) const {
  return Neighbourhood(*this, near, Neighbourhood::about(*this, near, members, launches, most), prior.member).predict(members, launches);
}

}  // namespace hone
