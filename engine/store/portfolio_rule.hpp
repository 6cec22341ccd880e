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

/// A Gaussian process over the shapes' extents and alignments for each member, over the points where it was measured; far from them it is
/// expected to be slow. They share their settings. The rule computes with basic arithmetic alone, in a fixed order, so the same portfolio
/// gives the same choice on every host.
class PortfolioRule {
 public:
  /// Of a portfolio with at least one point.
  explicit PortfolioRule(const Portfolio& portfolio);

  /// All members, the best first; ties by their order.
  [[nodiscard]] std::vector<Opinion> rank(const Shape& shape) const;
  /// The standard deviation that it states for its choice there.
  [[nodiscard]] double doubt(const Shape& shape) const;

  struct Score {
    double mean = 0.0, worst = 0.0;  ///< logarithm of the slowdown of the choices
    double error = 0.0;              ///< root of the mean square of the predictions' errors
  };
  /// Each point in turn is predicted from the others; a choice that was not measured there counts as it is expected.
  [[nodiscard]] Score leave_one_out() const { return score_; }

 private:
  using Row = std::vector<double>;
  /// Of a member.
  struct Process {
    std::vector<std::size_t> points;  ///< where it was measured
    Row values, weights;              ///< of these: logarithms of the slowdowns, less what is expected of what is unknown
    std::vector<Row> inverse;         ///< of their covariance matrix
  };
  [[nodiscard]] Row coordinates(const Shape& shape) const;
  void learn(const Portfolio& portfolio, std::size_t member);
  [[nodiscard]] Opinion opinion(std::size_t member, const Row& at) const;
  [[nodiscard]] static double error_without(const Process& process, std::size_t i);
  [[nodiscard]] Opinion opinion_without(std::size_t member, std::size_t point) const;
  [[nodiscard]] double wanted(const Opinion& opinion) const;
  [[nodiscard]] static double deviation(double squares, std::size_t count);
  void measure_spread();
  void try_each_point();

  std::vector<std::size_t> axes_;  ///< of the shape, those that vary
  RuleSettings settings_;
  std::vector<Row> points_;  ///< coordinates
  std::vector<Process> processes_;
  double spread_ = 0.15;     ///< deviation of all processes
  double deviation_ = 0.15;  ///< of those that are chosen
  Score score_;
};

/// The settings under which the rule, each point left out in turn, chooses best.
RuleSettings fit_settings(const Portfolio& portfolio);

}  // namespace hone
