#include "search/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "search/wide.hpp"

namespace hone::search {

double matern(double squared, double& slope) {
  const double r = std::sqrt(5.0 * squared), e = std::exp(-r);
  slope = -5.0 / 6.0 * (1.0 + r) * e;
  return (1.0 + r + r * r / 3.0) * e;
}

/// Four sums at a time: the compiler may not reorder one.
HONE_WIDE double dot(const double* a, const double* b, std::size_t n) {
  double sum[4] = {};
  std::size_t i = 0;
  for (; i + 3 < n; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      sum[lane] += a[i + lane] * b[i + lane];
    }
  }
  for (; i < n; ++i) {
    sum[0] += a[i] * b[i];
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

namespace {

/// The inverse of a lower triangular matrix.
HONE_WIDE void invert_factor(const double* factor, std::size_t n, double* inverse) {
  std::fill_n(inverse, n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = inverse + i * n;
    for (std::size_t j = 0; j < i; ++j) {
      const double l = factor[i * n + j];
      const double* const other = inverse + j * n;
      for (std::size_t c = 0; c <= j; ++c) {
        row[c] -= l * other[c];
      }
    }
    const double scale = 1.0 / factor[i * n + i];
    for (std::size_t c = 0; c < i; ++c) {
      row[c] *= scale;
    }
    row[i] = scale;
  }
}

/// The lower triangle of A^T A, A lower triangular.
HONE_WIDE void square(const double* a, std::size_t n, double* result) {
  std::fill_n(result, n * n, 0.0);
  for (std::size_t t = 0; t < n; ++t) {
    const double* const row = a + t * n;
    for (std::size_t i = 0; i <= t; ++i) {
      double* const into = result + i * n;
      for (std::size_t j = 0; j <= i; ++j) {
        into[j] += row[i] * row[j];
      }
    }
  }
}

}  // namespace

Evidence::Evidence(const Metric& metric, Targets targets)
    : n_(targets.points.size()),
      terms_(metric.terms()),
      y_(std::move(targets.y)),
      fixed_(n_ * n_),
      factor_(n_ * n_),
      correlation_(n_ * n_),
      slope_(n_ * n_),
      inverse_(n_ * n_),
      whitened_(n_),
      alpha_(n_),
      centre_(metric.centre()),
      width_(metric.width()) {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t term = 0; j < i && term < terms_; ++term) {
        differences_.push_back(metric.difference(term, targets.points[i], targets.points[j]));
      }
      for (const std::vector<double>& trend : targets.trends) {
        fixed_[i * n_ + j] += trend[i] * trend[j];
      }
    }
  }
  centre_.insert(centre_.end(), {0.0, std::log(1e-3)});  // signal and noise, in variances of the targets
  width_.insert(width_.end(), {targets.trends.empty() ? 0.7 : 1.4, 1.5});
}

double Evidence::operator()(const Hyper& hyper, Hyper& gradient) {
  correlate(hyper);
  factorize(hyper);
  double value = solve();
  for (std::size_t h = 0; h < hyper.size(); ++h) {
    const double z = (hyper[h] - centre_[h]) / width_[h];
    value += 0.5 * z * z;
  }
  invert();
  differentiate(hyper, gradient);
  return value;
}

double Evidence::flat() const {
  constexpr double kStep = 0.25, kSignal = 4.0, kLeastNoise = -10.0, kMostNoise = 2.0;
  const auto count = static_cast<double>(n_);
  const double sum = std::accumulate(y_.begin(), y_.end(), 0.0), level = sum * sum / count;
  const double about = std::max(0.0, search::dot(y_.data(), y_.data(), n_) - level);
  double lowest = std::numeric_limits<double>::max();
  for (double log_signal = -kSignal; log_signal <= kSignal; log_signal += kStep) {
    const double z = (log_signal - centre_[terms_]) / width_[terms_];
    for (double log_noise = kLeastNoise; log_noise <= kMostNoise; log_noise += kStep) {
      const double noise = std::exp(log_noise) + kJitter, common = noise + count * std::exp(log_signal);
      lowest = std::min(lowest, 0.5 * (about / noise + level / common + (count - 1.0) * std::log(noise) + std::log(common) + z * z));
    }
  }
  return lowest;
}

void Evidence::correlate(const Hyper& hyper) {
  std::vector<double> weight(terms_);
  for (std::size_t term = 0; term < terms_; ++term) {
    weight[term] = std::exp(hyper[term]);
  }
  const float* d = differences_.data();
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < i; ++j, d += terms_) {
      double squared = 0.0;
      for (std::size_t term = 0; term < terms_; ++term) {
        squared += weight[term] * static_cast<double>(d[term]);
      }
      correlation_[i * n_ + j] = matern(squared, slope_[i * n_ + j]);
    }
    correlation_[i * n_ + i] = 1.0;
  }
}

/// The covariance matrix's Cholesky factor, in the lower triangle of factor_.
void Evidence::factorize(const Hyper& hyper) {
  const double signal = std::exp(hyper[terms_]), noise = std::exp(hyper[terms_ + 1]) + kJitter;
  for (std::size_t i = 0; i < n_; ++i) {
    double* row = &factor_[i * n_];
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = &factor_[j * n_];
      const double left = signal * correlation_[i * n_ + j] + fixed_[i * n_ + j] + (i == j ? noise : 0.0) - dot(row, other, j);
      row[j] = i == j ? std::sqrt(std::max(left, 1e-10)) : left / other[j];
    }
  }
}

double Evidence::solve() {
  double value = 0.0;
  for (std::size_t i = 0; i < n_; ++i) {
    whitened_[i] = (y_[i] - dot(&factor_[i * n_], whitened_.data(), i)) / factor_[i * n_ + i];
    value += 0.5 * whitened_[i] * whitened_[i] + std::log(factor_[i * n_ + i]);
  }
  alpha_ = whitened_;
  for (std::size_t i = n_; i-- > 0;) {
    alpha_[i] /= factor_[i * n_ + i];
    for (std::size_t j = 0; j < i; ++j) {
      alpha_[j] -= factor_[i * n_ + j] * alpha_[i];
    }
  }
  return value;
}

/// inverse_: the lower triangle of the inverse covariance.
void Evidence::invert() {
  std::vector<double> inverse_factor(n_ * n_);
  invert_factor(factor_.data(), n_, inverse_factor.data());
  square(inverse_factor.data(), n_, inverse_.data());
}

void Evidence::differentiate(const Hyper& hyper, Hyper& gradient) const {
  const double signal = std::exp(hyper[terms_]), noise = std::exp(hyper[terms_ + 1]);
  std::vector<float> by_term(terms_, 0.0F);
  double by_signal = 0.0, by_noise = 0.0;
  const float* d = differences_.data();
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < i; ++j, d += terms_) {
      const double g = inverse_[i * n_ + j] - alpha_[i] * alpha_[j];
      by_signal += g * correlation_[i * n_ + j];
      const auto scale = static_cast<float>(g * signal * slope_[i * n_ + j]);
      for (std::size_t term = 0; term < terms_; ++term) {
        by_term[term] += scale * d[term];
      }
    }
    const double g = 0.5 * (inverse_[i * n_ + i] - alpha_[i] * alpha_[i]);
    by_signal += g;
    by_noise += g;
  }
  gradient.resize(hyper.size());
  for (std::size_t term = 0; term < terms_; ++term) {
    gradient[term] = static_cast<double>(by_term[term]) * std::exp(hyper[term]);
  }
  gradient[terms_] = by_signal * signal;
  gradient[terms_ + 1] = by_noise * noise;
  for (std::size_t h = 0; h < hyper.size(); ++h) {
    gradient[h] += (hyper[h] - centre_[h]) / (width_[h] * width_[h]);
  }
}

namespace {

double dot(const Hyper& a, const Hyper& b) { return search::dot(a.data(), b.data(), a.size()); }

/// The last few steps and changes of gradient, and the direction they suggest.
struct Curvature {
  static constexpr std::size_t kRemembered = 8;
  std::vector<Hyper> steps, changes;
  void learn(Hyper step, Hyper change) {
    if (dot(step, change) <= 1e-9) {
      return;
    }
    if (steps.size() == kRemembered) {
      steps.erase(steps.begin());
      changes.erase(changes.begin());
    }
    steps.push_back(std::move(step));
    changes.push_back(std::move(change));
  }
  [[nodiscard]] Hyper direction(Hyper d) const {
    std::vector<double> a(steps.size());
    const auto shift = [&](const Hyper& by, double scale) {
      for (std::size_t h = 0; h < d.size(); ++h) {
        d[h] += scale * by[h];
      }
    };
    for (std::size_t i = steps.size(); i-- > 0;) {
      a[i] = dot(steps[i], d) / dot(steps[i], changes[i]);
      shift(changes[i], -a[i]);
    }
    if (!steps.empty()) {
      shift(d, dot(steps.back(), changes.back()) / dot(changes.back(), changes.back()) - 1.0);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      shift(steps[i], a[i] - dot(changes[i], d) / dot(steps[i], changes[i]));
    }
    return d;
  }
};

/// The negative log posterior and its gradient in units of the prior's widths.
double scaled(Evidence& evidence, const Hyper& hyper, Hyper& gradient) {
  const double value = evidence(hyper, gradient);
  for (std::size_t h = 0; h < hyper.size(); ++h) {
    gradient[h] *= evidence.width()[h];
  }
  return value;
}

struct Place {
  Hyper at, gradient;
  double value = 0.0;
};

/// A place lower by enough along `direction` (Armijo), nothing if there is none near.
std::optional<Place> search_line(Evidence& evidence, const Place& from, const Hyper& direction) {
  constexpr int kAttempts = 6;
  constexpr double kShrink = 0.3, kEnough = 1e-4;
  const double longest = std::abs(*std::ranges::max_element(direction, {}, [](double x) { return std::abs(x); }));
  const double slope = dot(from.gradient, direction);
  double step = longest > 1.0 ? 1.0 / longest : 1.0;
  for (int attempt = 0; attempt < kAttempts; ++attempt, step *= kShrink) {
    Place next{from.at, {}, 0.0};
    for (std::size_t h = 0; h < next.at.size(); ++h) {
      next.at[h] -= step * direction[h] * evidence.width()[h];
    }
    next.value = scaled(evidence, next.at, next.gradient);
    if (next.value < from.value - kEnough * step * slope) {
      return next;
    }
  }
  return std::nullopt;
}

}  // namespace

Hyper maximum_a_posteriori(Evidence& evidence, Hyper start, int iterations) {
  constexpr double kLeastGain = 1e-3;
  Place place{std::move(start), {}, 0.0};
  place.value = scaled(evidence, place.at, place.gradient);
  Curvature curvature;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    std::optional<Place> next = search_line(evidence, place, curvature.direction(place.gradient));
    if (!next) {
      break;
    }
    Hyper moved(place.at.size()), changed(place.at.size());
    for (std::size_t h = 0; h < moved.size(); ++h) {
      moved[h] = (next->at[h] - place.at[h]) / evidence.width()[h];
      changed[h] = next->gradient[h] - place.gradient[h];
    }
    curvature.learn(std::move(moved), std::move(changed));
    const double gain = place.value - next->value;
    place = std::move(*next);
    if (gain < kLeastGain) {
      break;
    }
  }
  return place.at;
}

}  // namespace hone::search
