#pragma once
// A Gaussian process's posterior at every candidate, grown by one observation at a time.

#include <cstdint>
#include <vector>

#include "search/candidates.hpp"
#include "search/evidence.hpp"
#include "search/metric.hpp"

namespace hone::search {

/// exp(x) for x <= 0 to a relative 1e-6: plain arithmetic, so that loops over candidates vectorise.
float fast_exp(float x);

/// Row i of `rows_` is row i of L^-1 K(observed, candidates), L the factor of the observations' covariance: an observation costs one row,
/// and means and variances need no more than that (Rasmussen and Williams 2006, gaussianprocess.org/gpml, algorithm 2.1).
class Posterior {
 public:
  /// `metric` must outlive it.
  explicit Posterior(const Metric& metric) : metric_(metric), coordinates_(metric.coordinates()), digits_(metric.parameters()) {}

  /// Other candidates from now on. Forgets the observations.
  void candidates(const Candidates& candidates);
  /// Begins anew with other hyperparameters. `trends`: of each candidate, times the standard deviation of the trend's factor.
  void reset(const Hyper& hyper, std::vector<std::vector<float>> trends = {});
  void add(const std::uint16_t* digits, std::vector<double> trends = {});
  /// Takes the latest observation back.
  void pop();

  [[nodiscard]] std::size_t size() const { return observed_.size(); }
  /// Means at the candidates given targets of the first y.size() observations; further ones, fantasies at their mean, change nothing.
  void means(const std::vector<double>& y, std::vector<float>& mean) const;
  [[nodiscard]] const std::vector<float>& variance() const { return variance_; }
  /// What the correlation with each observation counts in a mean: for those who need means alone, at ever other candidates.
  [[nodiscard]] std::vector<double> weights(const std::vector<double>& y) const;
  /// Correlation of each candidate with a configuration, without trends.
  void correlations(const std::uint16_t* digits, std::vector<float>& row) const;

 private:
  struct Observed {
    std::vector<std::uint16_t> digits;
    std::vector<double> trends;
  };
  [[nodiscard]] double covariance(const Observed& a, const Observed& b) const;
  [[nodiscard]] std::vector<double> factor(const Observed& observed) const;
  [[nodiscard]] std::vector<double> whitened(const std::vector<double>& y) const;

  const Metric& metric_;
  std::size_t count_ = 0;
  std::vector<std::vector<float>> coordinates_;     ///< by coordinate, of each candidate
  std::vector<std::vector<std::uint16_t>> digits_;  ///< by parameter, of each candidate
  std::vector<std::vector<float>> trends_;
  std::vector<float> weights_, variance_;
  double signal_ = 1.0, noise_ = 1e-3;
  std::vector<Observed> observed_;
  std::vector<std::vector<double>> factor_;
  std::vector<std::vector<float>> rows_;
};

}  // namespace hone::search
