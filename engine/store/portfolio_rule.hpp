#pragma once
// The rule that chooses among the members of a portfolio for any shape, and how sure it is.

#include <cstddef>
#include <vector>

#include "engine/store/portfolio.hpp"

namespace hone {

/// What the rule thinks of a member at a shape, as logarithms.
struct Opinion {
  std::size_t member = 0;
  double slowdown = 0.0;  ///< expected
  double doubt = 0.0;     ///< its standard deviation
};

/// A Gaussian process over the shapes' extents and alignments for each member, of the points nearest to the shape where it was measured. It
/// is one of times (their logarithms, above those of the points' floors): what one configuration takes changes smoothly from shape to
/// shape, and so does what the best takes, which has a process of its own; how far one is behind the other does not. Far from where it was
/// measured a member is expected to be slow. All processes share their settings. The rule computes with basic arithmetic alone, in a fixed
/// order, so the same portfolio gives the same choice on every host.
class PortfolioRule {
 public:
  /// Of a portfolio with at least one point.
  explicit PortfolioRule(const Portfolio& portfolio);

  /// All members, the best first; ties by their order.
  [[nodiscard]] std::vector<Opinion> rank(const Shape& shape) const;
  /// The standard deviation that it states for its choice there.
  [[nodiscard]] double doubt(const Shape& shape) const;

  struct Score {
    double mean = 0.0, worst = 0.0;        ///< logarithm of the slowdown of the choices
    double error = 0.0;                    ///< root of the mean square of the predictions' errors
    double spread = 0.0, deviation = 0.0;  ///< that the rule should have: see RuleSettings
  };
  /// Each point in turn is predicted from the others. The choice is among the members that were measured there.
  [[nodiscard]] Score leave_one_out() const;

 private:
  using Row = std::vector<double>;
  /// A point and how far it is, the nearest first.
  struct Near {
    double square = 0.0;
    std::size_t point = 0;
  };
  [[nodiscard]] Row coordinates(const Shape& shape) const;
  [[nodiscard]] std::vector<Near> nearest(const Row& at, std::size_t without) const;
  struct Expected {
    double mean = 0.0, deviation = 1.0;  ///< of a process of deviation 1
  };
  [[nodiscard]] Expected expect(const Row& values, double otherwise, const std::vector<Near>& near) const;
  [[nodiscard]] std::vector<Opinion> opinions(const Row& at, std::size_t without) const;
  [[nodiscard]] double wanted(const Opinion& opinion) const;

  std::vector<std::size_t> axes_;  ///< of the shape, those that vary
  RuleSettings settings_;
  std::vector<Row> points_;  ///< coordinates
  Row best_;                 ///< at each point, the logarithm of its best time over its floor
  std::vector<Row> values_;  ///< of each member, at each point: its time as best_ has it, or kNotMeasured
};

/// The settings under which the rule, each point left out in turn, chooses best, with the spread and the deviation that it then has.
RuleSettings fit_settings(const Portfolio& portfolio);

}  // namespace hone
