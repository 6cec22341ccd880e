#pragma once
// How well hyperparameters of a Gaussian process explain the observations, and the search for the best ones.

#include <cstdint>
#include <vector>

#include "search/metric.hpp"

namespace hone::search {

/// Hyperparameters, as logarithms: one weight per term of the metric, then signal and noise variance.
using Hyper = std::vector<double>;

/// The data for a fit. In addition to the process there may be trends (see surrogate.hpp): known functions with uncertain factors.
struct Targets {
  std::vector<const std::uint16_t*> points;  ///< digits
  std::vector<double> y;
  std::vector<std::vector<double>> trends;  ///< for each point, multiplied by the standard deviation of its factor
};

/// Negative log posterior of hyperparameters (Rasmussen and Williams 2006, gaussianprocess.org/gpml, section 5.4.1) under a Matern 5/2
/// kernel.
class Evidence {
 public:
  Evidence(const Metric& metric, Targets targets);
  double operator()(const Hyper& hyper, Hyper& gradient);
  /// The minimum of the same if the configuration made no difference: only a mean and noise.
  [[nodiscard]] double flat() const;
  [[nodiscard]] const Hyper& centre() const { return centre_; }
  [[nodiscard]] const Hyper& width() const { return width_; }

 private:
  void correlate(const Hyper& hyper);
  void factorize(const Hyper& hyper);
  double solve();
  void invert();
  void differentiate(const Hyper& hyper, Hyper& gradient) const;

  std::size_t n_ = 0, terms_ = 0;
  std::vector<float> differences_;  ///< of each pair, one per term
  std::vector<double> y_, fixed_, factor_, correlation_, slope_, inverse_, whitened_, alpha_;
  Hyper centre_, width_;
};

/// The lowest point of the evidence from `start` on: L-BFGS (Liu and Nocedal 1989, doi:10.1007/BF01589116) in units of the prior's widths.
Hyper maximum_a_posteriori(Evidence& evidence, Hyper start, int iterations);

/// Matern 5/2 of a squared distance; `slope` is its derivative by the squared distance.
double matern(double squared, double& slope);
double dot(const double* a, const double* b, std::size_t n);
/// Added to every variance to keep the factorization stable.
inline constexpr double kJitter = 1e-6;

}  // namespace hone::search
