#include "search/posterior.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace hone::search {
namespace {

constexpr float kNegligibleWeight = 2e-3F;
constexpr double kSmallestVariance = 1e-7;

/// target[i] += sum_j scale_j rows_j[i], four rows at a time, in blocks that stay in the cache.
void accumulate(const std::vector<std::vector<float>>& rows, const std::vector<double>& scale, std::size_t n, std::vector<float>& target) {
  constexpr std::size_t kBlock = 2048;
  for (std::size_t begin = 0; begin < target.size(); begin += kBlock) {
    const std::size_t end = std::min(target.size(), begin + kBlock);
    float* const t = target.data();
    std::size_t j = 0;
    for (; j + 3 < n; j += 4) {
      const float *a = rows[j].data(), *b = rows[j + 1].data(), *c = rows[j + 2].data(), *d = rows[j + 3].data();
      const auto sa = static_cast<float>(scale[j]), sb = static_cast<float>(scale[j + 1]);
      const auto sc = static_cast<float>(scale[j + 2]), sd = static_cast<float>(scale[j + 3]);
      for (std::size_t i = begin; i < end; ++i) {
        t[i] += sa * a[i] + sb * b[i] + sc * c[i] + sd * d[i];
      }
    }
    for (; j < n; ++j) {
      const float* const a = rows[j].data();
      const auto sa = static_cast<float>(scale[j]);
      for (std::size_t i = begin; i < end; ++i) {
        t[i] += sa * a[i];
      }
    }
  }
}

}  // namespace

float fast_exp(float x) {
  const float z = std::max(x * 1.44269504F, -80.0F);
  const auto whole = static_cast<std::int32_t>(z - 0.5F);  // nearest to z, without std::round, which SSE2 has not
  const float f = z - static_cast<float>(whole);
  const float p =
      1.0F + f * (0.69314718F + f * (0.24022651F + f * (0.05550411F + f * (0.00961813F + f * (0.00133336F + f * 0.00015463F)))));
  return p * std::bit_cast<float>((whole + 127) << 23);
}

void Posterior::candidates(const Candidates& candidates) {
  const std::size_t parameters = metric_.parameters();
  count_ = candidates.size();
  digits_.assign(parameters, std::vector<std::uint16_t>(count_));
  coordinates_.assign(metric_.coordinates(), std::vector<float>(count_));
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint16_t* const digits = candidates.digits(i);
    for (std::size_t p = 0; p < parameters; ++p) {
      digits_[p][i] = digits[p];
    }
    for (std::size_t c = 0; c < coordinates_.size(); ++c) {
      coordinates_[c][i] = metric_.at(c, digits);
    }
  }
  observed_.clear();
  factor_.clear();
  rows_.clear();
}

void Posterior::reset(const Hyper& hyper, std::vector<std::vector<float>> trends) {
  const std::size_t terms = metric_.terms();
  weights_.resize(terms);
  for (std::size_t term = 0; term < terms; ++term) {
    weights_[term] = static_cast<float>(std::exp(hyper[term]));
  }
  signal_ = std::exp(hyper[terms]);
  noise_ = std::exp(hyper[terms + 1]) + kJitter;
  variance_.assign(count_, static_cast<float>(signal_));
  trends_ = std::move(trends);
  for (const std::vector<float>& trend : trends_) {
    for (std::size_t i = 0; i < count_; ++i) {
      variance_[i] += trend[i] * trend[i];
    }
  }
  observed_.clear();
  factor_.clear();
  rows_.clear();
}

void Posterior::correlations(const std::uint16_t* digits, std::vector<float>& row) const {
  row.assign(count_, 0.0F);
  float* const squared = row.data();
  for (std::size_t term = 0; term < weights_.size(); ++term) {
    const float weight = weights_[term];
    if (weight < kNegligibleWeight) {
      continue;
    }
    if (term < coordinates_.size()) {
      const float* const x = coordinates_[term].data();
      const float here = metric_.at(term, digits);
      for (std::size_t i = 0; i < count_; ++i) {
        squared[i] += weight * (x[i] - here) * (x[i] - here);
      }
    } else {
      const std::uint16_t* const d = digits_[term - coordinates_.size()].data();
      const std::uint16_t here = digits[term - coordinates_.size()];
      for (std::size_t i = 0; i < count_; ++i) {
        squared[i] += d[i] == here ? 0.0F : weight;
      }
    }
  }
  for (std::size_t i = 0; i < count_; ++i) {
    const float r = std::sqrt(5.0F * squared[i]);
    squared[i] = (1.0F + r + r * r / 3.0F) * fast_exp(-r);
  }
}

double Posterior::covariance(const Observed& a, const Observed& b) const {
  double squared = 0.0, slope = 0.0, trend = 0.0;
  for (std::size_t term = 0; term < weights_.size(); ++term) {
    if (weights_[term] >= kNegligibleWeight) {
      squared += static_cast<double>(weights_[term] * metric_.difference(term, a.digits.data(), b.digits.data()));
    }
  }
  for (std::size_t t = 0; t < a.trends.size(); ++t) {
    trend += a.trends[t] * b.trends[t];
  }
  return signal_ * matern(squared, slope) + trend;
}

/// The next row of the Cholesky factor of the observations' covariance.
std::vector<double> Posterior::factor(const Observed& observed) const {
  std::vector<double> l(observed_.size() + 1);
  for (std::size_t j = 0; j < observed_.size(); ++j) {
    l[j] = (covariance(observed, observed_[j]) - dot(l.data(), factor_[j].data(), j)) / factor_[j][j];
  }
  l.back() = std::sqrt(std::max(covariance(observed, observed) + noise_ - dot(l.data(), l.data(), observed_.size()), kSmallestVariance));
  return l;
}

void Posterior::add(const std::uint16_t* digits, std::vector<double> trends) {
  Observed observed{{digits, digits + metric_.parameters()}, std::move(trends)};
  std::vector<double> l = factor(observed), scale(l.size());
  std::ranges::transform(l, scale.begin(), std::negate<>());
  std::vector<float> row;
  correlations(digits, row);
  const auto signal = static_cast<float>(signal_);
  for (float& value : row) {
    value *= signal;
  }
  for (std::size_t t = 0; t < trends_.size(); ++t) {
    const auto here = static_cast<float>(observed.trends[t]);
    for (std::size_t i = 0; i < count_; ++i) {
      row[i] += here * trends_[t][i];
    }
  }
  accumulate(rows_, scale, observed_.size(), row);
  const auto inverse = static_cast<float>(1.0 / l.back());
  for (std::size_t i = 0; i < count_; ++i) {
    row[i] *= inverse;
    variance_[i] -= row[i] * row[i];
  }
  observed_.push_back(std::move(observed));
  factor_.push_back(std::move(l));
  rows_.push_back(std::move(row));
}

void Posterior::pop() {
  for (std::size_t i = 0; i < count_; ++i) {
    variance_[i] += rows_.back()[i] * rows_.back()[i];
  }
  observed_.pop_back();
  factor_.pop_back();
  rows_.pop_back();
}

/// L^-1 y.
std::vector<double> Posterior::whitened(const std::vector<double>& y) const {
  std::vector<double> w(y.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] = (y[i] - dot(factor_[i].data(), w.data(), i)) / factor_[i][i];
  }
  return w;
}

void Posterior::means(const std::vector<double>& y, std::vector<float>& mean) const {
  mean.assign(count_, 0.0F);
  accumulate(rows_, whitened(y), y.size(), mean);
}

std::vector<double> Posterior::weights(const std::vector<double>& y) const {
  std::vector<double> w = whitened(y);
  for (std::size_t i = w.size(); i-- > 0;) {
    w[i] /= factor_[i][i];
    for (std::size_t j = 0; j < i; ++j) {
      w[j] -= factor_[i][j] * w[i];
    }
  }
  for (double& weight : w) {
    weight *= signal_;
  }
  return w;
}

}  // namespace hone::search
