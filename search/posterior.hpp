#pragma once
// The posterior of a Gaussian process at every candidate, extended by one observation at a time.

#include <cstdint>
#include <vector>

#include "search/candidates.hpp"
#include "search/evidence.hpp"
#include "search/fast_exp.hpp"
#include "search/metric.hpp"

namespace hone::search {

/// Stores L^-1 K(observed, candidates), L the Cholesky factor of the covariance of the observations: an observation adds one row, and means
/// and variances follow from the rows (Rasmussen and Williams 2006, gaussianprocess.org/gpml, algorithm 2.1). A tile of candidates has its
/// part of all rows contiguously, because a new row needs all earlier ones.
class Posterior {
 public:
  /// `metric` must outlive it.
  explicit Posterior(const Metric& metric) : metric_(metric), coordinates_(metric.coordinates()), digits_(metric.parameters()) {}

  /// Replaces the candidates. Discards the observations.
  void candidates(const Candidates& candidates);
  /// Restarts with other hyperparameters. `trends`: of each candidate, times the standard deviation of the trend's factor.
  void reset(const Hyper& hyper, std::vector<std::vector<float>> trends = {});
  struct Observed {
    std::vector<std::uint16_t> digits;
    std::vector<double> trends;
  };
  /// Adding many at once is faster: a tile stays in the cache for all of them.
  void add(std::vector<Observed> observed);
  /// Removes the latest observation.
  void pop();

  [[nodiscard]] std::size_t size() const { return observed_.size(); }
  /// Means at the candidates given targets of the first y.size() observations; further ones (fantasies at their mean) change nothing.
  /// `from`: the number of unchanged targets, whose contribution `mean` already holds; the cost depends only on the new ones.
  void means(const std::vector<double>& y, std::vector<float>& mean, std::size_t from = 0) const;
  [[nodiscard]] const std::vector<float>& variance() const { return variance_; }
  /// The weights of the correlations with each observation in a mean: for computing only means, at changing candidates.
  [[nodiscard]] std::vector<double> weights(const std::vector<double>& y) const;
  /// Correlation of each candidate with a configuration, without trends.
  void correlations(const std::uint16_t* digits, std::vector<float>& row) const;

 private:
  [[nodiscard]] double covariance(const Observed& a, const Observed& b) const;
  [[nodiscard]] std::vector<double> factor(const Observed& observed) const;
  [[nodiscard]] std::vector<double> whitened(const std::vector<double>& y) const;
  struct Newcomer;
  [[nodiscard]] Newcomer newcomer(const std::uint16_t* digits) const;
  void extend(std::size_t tile, std::size_t observation, const Newcomer& newcomer);
  void forget();

  const Metric& metric_;
  std::size_t count_ = 0;
  std::vector<std::vector<float>> coordinates_;     ///< by coordinate, of each candidate; filled up to whole tiles, as the next two are
  std::vector<std::vector<std::uint16_t>> digits_;  ///< by parameter, of each candidate
  std::vector<std::vector<float>> trends_;
  std::vector<float> weights_, variance_;
  double signal_ = 1.0, noise_ = 1e-3;
  std::vector<Observed> observed_;
  std::vector<std::vector<double>> factor_;
  std::vector<std::vector<float>> tiles_;  ///< of each tile, by observation, of each candidate
};

}  // namespace hone::search
