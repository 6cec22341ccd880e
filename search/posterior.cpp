#include "search/posterior.hpp"

#include <algorithm>
#include <cmath>

namespace hone::search {
namespace {

constexpr float kNegligibleWeight = 2e-3F;
constexpr double kSmallestVariance = 1e-7;
constexpr std::size_t kBlock = 1024;  // candidates: of 500 observations 2 MiB

/// target[i] += sum_j scale_j rows_j[i] over i from `begin` to `end` and j from `first` to `last`, four rows at a time.
void accumulate(const std::vector<std::vector<float>>& rows, const std::vector<double>& scale, std::size_t first, std::size_t last,
                std::size_t begin, std::size_t end, float* target) {
  std::size_t j = first;
  for (; j + 3 < last; j += 4) {
    const float *a = rows[j].data(), *b = rows[j + 1].data(), *c = rows[j + 2].data(), *d = rows[j + 3].data();
    const auto sa = static_cast<float>(scale[j]), sb = static_cast<float>(scale[j + 1]);
    const auto sc = static_cast<float>(scale[j + 2]), sd = static_cast<float>(scale[j + 3]);
    for (std::size_t i = begin; i < end; ++i) {
      target[i] += sa * a[i] + sb * b[i] + sc * c[i] + sd * d[i];
    }
  }
  for (; j < last; ++j) {
    const float* const a = rows[j].data();
    const auto sa = static_cast<float>(scale[j]);
    for (std::size_t i = begin; i < end; ++i) {
      target[i] += sa * a[i];
    }
  }
}

}  // namespace

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
  row.resize(count_);
  correlate(digits, 0, count_, row.data());
}

void Posterior::correlate(const std::uint16_t* digits, std::size_t begin, std::size_t end, float* row) const {
  std::fill(row + begin, row + end, 0.0F);
  for (std::size_t term = 0; term < weights_.size(); ++term) {
    const float weight = weights_[term];
    if (weight < kNegligibleWeight) {
      continue;
    }
    if (term < coordinates_.size()) {
      const float* const x = coordinates_[term].data();
      const float here = metric_.at(term, digits);
      for (std::size_t i = begin; i < end; ++i) {
        row[i] += weight * (x[i] - here) * (x[i] - here);
      }
    } else {
      const std::uint16_t* const d = digits_[term - coordinates_.size()].data();
      const std::uint16_t here = digits[term - coordinates_.size()];
      for (std::size_t i = begin; i < end; ++i) {
        row[i] += d[i] == here ? 0.0F : weight;
      }
    }
  }
  for (std::size_t i = begin; i < end; ++i) {
    const float r = std::sqrt(5.0F * row[i]);
    row[i] = (1.0F + r + r * r / 3.0F) * fast_exp(-r);
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

void Posterior::add(std::vector<Observed> observed) {
  const std::size_t first = observed_.size();
  for (Observed& one : observed) {
    factor_.push_back(factor(one));
    observed_.push_back(std::move(one));
    rows_.emplace_back(count_);
  }
  for (std::size_t begin = 0; begin < count_; begin += kBlock) {
    for (std::size_t i = first; i < observed_.size(); ++i) {
      extend(i, begin, std::min(count_, begin + kBlock));
    }
  }
}

/// A part of an observation's row; the rows before it must have theirs.
void Posterior::extend(std::size_t observation, std::size_t begin, std::size_t end) {
  const Observed& observed = observed_[observation];
  float* const row = rows_[observation].data();
  correlate(observed.digits.data(), begin, end, row);
  const auto signal = static_cast<float>(signal_);
  for (std::size_t i = begin; i < end; ++i) {
    row[i] *= -signal;
  }
  for (std::size_t t = 0; t < trends_.size(); ++t) {
    const auto here = static_cast<float>(observed.trends[t]);
    const float* const trend = trends_[t].data();
    for (std::size_t i = begin; i < end; ++i) {
      row[i] -= here * trend[i];
    }
  }
  accumulate(rows_, factor_[observation], 0, observation, begin, end, row);
  const auto scale = static_cast<float>(-1.0 / factor_[observation].back());
  float* const variance = variance_.data();
  for (std::size_t i = begin; i < end; ++i) {
    row[i] *= scale;
    variance[i] -= row[i] * row[i];
  }
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

void Posterior::means(const std::vector<double>& y, std::vector<float>& mean, std::size_t from) const {
  if (from == 0) {
    mean.assign(count_, 0.0F);
  }
  const std::vector<double> w = whitened(y);
  for (std::size_t begin = 0; begin < count_; begin += kBlock) {
    accumulate(rows_, w, from, y.size(), begin, std::min(count_, begin + kBlock), mean.data());
  }
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
