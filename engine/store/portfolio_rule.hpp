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

/// A Gaussian process over the shapes' extents and alignments, one for each member with the same kernel. It computes with basic arithmetic
/// alone, in a fixed order, so the same portfolio gives the same choice on every host.
class PortfolioRule {
 public:
  /// Of a portfolio with at least one point.
  explicit PortfolioRule(const Portfolio& portfolio);

  /// All members, the best first; ties by their order.
  [[nodiscard]] std::vector<Opinion> rank(const Shape& shape) const;
  /// The standard deviation that it would state there.
  [[nodiscard]] double doubt(const Shape& shape) const;

  struct Score {
    double mean = 0.0, worst = 0.0;  ///< logarithm of the slowdown of the choices
    double error = 0.0;              ///< root of the mean square of the predictions' errors
  };
  /// Each point in turn is predicted from the others.
  [[nodiscard]] Score leave_one_out() const { return score_; }

 private:
  using Row = std::vector<double>;
  [[nodiscard]] Row coordinates(const Shape& shape) const;
  [[nodiscard]] Row covariances(const Row& at) const;
  [[nodiscard]] double variance(const Row& covariance) const;
  void fill(const Portfolio& portfolio);
  void solve();
  void calibrate(const Portfolio& portfolio);

  std::vector<std::size_t> axes_;  ///< of the shape, those that vary
  RuleSettings settings_;
  std::vector<Row> points_;   ///< coordinates
  std::vector<Row> inverse_;  ///< of the covariance matrix of the points
  std::vector<Row> values_;   ///< [member][point]: logarithm of the slowdown, less the member's mean
  std::vector<Row> weights_;  ///< [member][point]
  Row means_;                 ///< of each member
  double deviation_ = 0.15;   ///< of the process
  Score score_;
};

/// The settings under which the rule, each point left out in turn, chooses best.
RuleSettings fit_settings(const Portfolio& portfolio);

}  // namespace hone
