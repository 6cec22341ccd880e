#pragma once
// The measurements of a portfolio as a Gaussian process over shapes and members.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/store/portfolio.hpp"

namespace hone {

/// Its coordinates are the extents of a shape and their alignments, how many blocks a member's launch has there and how evenly they fill
/// the device, and the values of the member's parameters, so that what one member took says something of members like it. It is one of
/// times (their logarithms, above those of the points' floors): what one configuration takes changes smoothly from shape to shape, and so
/// does what the best takes, which has a process of its own; how far one is behind the other does not. It computes with basic arithmetic
/// alone, in a fixed order, so that it says the same on every host.
class PortfolioSurrogate {
 public:
  /// Of a portfolio with at least one point.
  explicit PortfolioSurrogate(const Portfolio& portfolio);

  using Row = std::vector<double>;
  /// A LaunchSize as texts keep it.
  struct Launch {
    double blocks = 0.0, tail = 0.0;  ///< the logarithm of the blocks, to the base 2
  };
  using Launches = std::vector<std::optional<Launch>>;  ///< of each member
  /// A measurement: a member at a point.
  struct Cell {
    std::size_t point = 0, member = 0;
    double time = 0.0;  ///< as best() has it
    std::optional<Launch> launch;
  };
  /// A point and how far it is, the nearest first.
  struct Near {
    double square = 0.0;
    std::size_t point = 0;
  };
  /// What to expect at a shape, before more is known: of the best, and of any member.
  struct Prior {
    double best = 0.0, member = 0.0;
  };
  struct Prediction {
    double mean = 0.0, deviation = 1.0;  ///< of a process of deviation 1
  };
  static constexpr double kUnknown = 0.5;  ///< logarithm of the slowdown of a member far from where it was measured: no choice

  [[nodiscard]] const RuleSettings& settings() const { return settings_; }
  [[nodiscard]] std::size_t members() const { return unlike_.size(); }
  [[nodiscard]] std::size_t points() const { return best_.size(); }
  /// What was measured at a point, in the order of the members.
  [[nodiscard]] const std::vector<Cell>& cells(std::size_t point) const { return cells_[point]; }
  /// The logarithm of a point's best time over its floor.
  [[nodiscard]] double best(std::size_t point) const { return best_[point]; }
  /// The coordinates of a point, and of any shape.
  [[nodiscard]] std::span<const double> place(std::size_t point) const {
    const std::size_t count = coordinates();
    return std::span(points_).subspan(point * count, count);
  }
  [[nodiscard]] Row place(const Shape& shape) const;
  /// As measurements have them: none of a member of whose kernel they do not know it.
  [[nodiscard]] Launches kept(std::span<const std::optional<LaunchSize>> launches) const;

  /// At most so many points; `without` is none of them.
  [[nodiscard]] std::vector<Near> nearest(std::span<const double> at, std::size_t without, std::size_t most) const;
  [[nodiscard]] Prior prior_at(const std::vector<Near>& near) const;
  /// Of members at a shape, each with its launch there: by the first `most` measurements at these points.
  [[nodiscard]] std::vector<Prediction> predict(const std::vector<Near>& near, const Prior& prior, const std::vector<std::size_t>& members,
                                                const Launches& launches, std::size_t most) const;
  /// The same by those of the measurements that are nearest to one of the members, by shape and by configuration.
  [[nodiscard]] std::vector<Prediction> predict_from_nearest(const std::vector<Near>& near, const Prior& prior,
                                                             const std::vector<std::size_t>& members, const Launches& launches,
                                                             std::size_t most) const;

 private:
  static Launch kept(const LaunchSize& launch);
  [[nodiscard]] std::size_t coordinates() const { return 2 * axes_.size() + 1; }  ///< the last: whether it is of another product
  [[nodiscard]] bool is_of_other_product(std::size_t point) const { return place(point).back() != 0.0; }
  void align_products(const Portfolio& portfolio);
  void forget_launches_known_in_part();
  struct Placed;
  class Distances;
  class Neighbourhood;

  std::vector<std::size_t> axes_;  ///< of the shape, those that vary
  RuleSettings settings_;
  std::vector<bool> is_launch_known_;  ///< of each member: where it was measured, and with it all of its kernel
  std::vector<Row> unlike_;            ///< of each pair of members: how much they differ, see RuleSettings; infinite between kernels
  Row points_;                         ///< coordinates, of one point after another
  Row best_;                           ///< at each point, the logarithm of its best time over its floor
  std::vector<std::vector<Cell>> cells_;
};

}  // namespace hone
