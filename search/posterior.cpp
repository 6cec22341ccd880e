#include "search/posterior.hpp"

#include <algorithm>
#include <cmath>

#include "search/wide.hpp"

namespace hone::search {
namespace {

constexpr float kNegligibleWeight = 2e-3F;
constexpr double kSmallestVariance = 1e-7;
constexpr std::size_t kLanes = 32;  // candidates of a tile: their sums stay in registers
constexpr std::size_t kAhead = 8;   // rows, fetched before they are needed: those of a long history lie beyond the caches
constexpr std::size_t kLine = 16;   // numbers of a cache line

std::size_t tiles_of(std::size_t count) { return (count + kLanes - 1) / kLanes; }

/// The part of a squared distance along a coordinate, from `here`.
struct Step {
  const float* places;  ///< of each candidate
  float here, weight;
};

/// The part of a squared distance for a parameter's differing at all.
struct Difference {
  const std::uint16_t* digits;
  std::uint16_t here;
  float weight;
};

/// sum += sum_j scale_j rows_j, j from 0 to count, four rows at a time.
inline void accumulate(const float* rows, const float* scale, std::size_t count, float* sum) {
  std::size_t j = 0;
  for (; j + 3 < count; j += 4) {
    const float *a = rows + j * kLanes, *b = a + kLanes, *c = b + kLanes, *d = c + kLanes;
    for (std::size_t line = 0; line < 4 * kLanes; line += kLine) {
      __builtin_prefetch(a + kAhead * kLanes + line);
    }
    const float sa = scale[j], sb = scale[j + 1], sc = scale[j + 2], sd = scale[j + 3];
    for (std::size_t i = 0; i < kLanes; ++i) {
      sum[i] += sa * a[i] + sb * b[i] + sc * c[i] + sd * d[i];
    }
  }
  for (; j < count; ++j) {
    const float* const a = rows + j * kLanes;
    for (std::size_t i = 0; i < kLanes; ++i) {
      sum[i] += scale[j] * a[i];
    }
  }
}

/// Adds to `target`, of which there are `lanes`.
HONE_WIDE void add_rows(const float* rows, const float* scale, std::size_t count, std::size_t lanes, float* target) {
  float sum[kLanes] = {};
  std::copy_n(target, lanes, sum);
  accumulate(rows, scale, count, sum);
  std::copy_n(sum, lanes, target);
}

/// Matern 5/2 of the squared distances of a tile's candidates.
HONE_WIDE void correlate(const std::vector<Step>& steps, const std::vector<Difference>& differences, std::size_t begin, float* row) {
  float squared[kLanes] = {};
  for (const Step& step : steps) {
    const float* const x = step.places + begin;
    for (std::size_t i = 0; i < kLanes; ++i) {
      squared[i] += step.weight * (x[i] - step.here) * (x[i] - step.here);
    }
  }
  for (const Difference& difference : differences) {
    const std::uint16_t* const d = difference.digits + begin;
    for (std::size_t i = 0; i < kLanes; ++i) {
      squared[i] += difference.weight * static_cast<float>(d[i] != difference.here);
    }
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    const float r = std::sqrt(5.0F * squared[i]);
    row[i] = (1.0F + r + r * r / 3.0F) * fast_exp(-r);
  }
}

}  // namespace

/// An observation on its way into the tiles.
struct Posterior::Newcomer {
  std::vector<Step> steps;
  std::vector<Difference> differences;
  std::vector<float> factor, trends;
};

void Posterior::candidates(const Candidates& candidates) {
  const std::size_t parameters = metric_.parameters();
  count_ = candidates.size();
  tiles_.resize(tiles_of(count_));
  digits_.assign(parameters, std::vector<std::uint16_t>(tiles_.size() * kLanes));
  coordinates_.assign(metric_.coordinates(), std::vector<float>(tiles_.size() * kLanes));
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint16_t* const digits = candidates.digits(i);
    for (std::size_t p = 0; p < parameters; ++p) {
      digits_[p][i] = digits[p];
    }
    for (std::size_t c = 0; c < coordinates_.size(); ++c) {
      coordinates_[c][i] = metric_.at(c, digits);
    }
  }
  forget();
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
  for (std::vector<float>& trend : trends_) {
    for (std::size_t i = 0; i < count_; ++i) {
      variance_[i] += trend[i] * trend[i];
    }
    trend.resize(tiles_.size() * kLanes);
  }
  forget();
}

void Posterior::forget() {
  observed_.clear();
  factor_.clear();
  for (std::vector<float>& tile : tiles_) {
    tile.clear();
  }
}

Posterior::Newcomer Posterior::newcomer(const std::uint16_t* digits) const {
  Newcomer made;
  for (std::size_t term = 0; term < weights_.size(); ++term) {
    if (weights_[term] < kNegligibleWeight) {
      continue;
    }
    if (term < coordinates_.size()) {
      made.steps.push_back({coordinates_[term].data(), metric_.at(term, digits), weights_[term]});
    } else {
      const std::size_t parameter = term - coordinates_.size();
      made.differences.push_back({digits_[parameter].data(), digits[parameter], weights_[term]});
    }
  }
  return made;
}

void Posterior::correlations(const std::uint16_t* digits, std::vector<float>& row) const {
  const Newcomer here = newcomer(digits);
  row.resize(tiles_.size() * kLanes);
  for (std::size_t begin = 0; begin < row.size(); begin += kLanes) {
    correlate(here.steps, here.differences, begin, row.data() + begin);
  }
  row.resize(count_);
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
  std::vector<Newcomer> newcomers;
  for (Observed& one : observed) {
    factor_.push_back(factor(one));
    Newcomer& made = newcomers.emplace_back(newcomer(one.digits.data()));
    made.factor.assign(factor_.back().begin(), factor_.back().end());
    made.trends.assign(one.trends.begin(), one.trends.end());
    observed_.push_back(std::move(one));
  }
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    tiles_[tile].resize(observed_.size() * kLanes);
    for (std::size_t i = 0; i < newcomers.size(); ++i) {
      extend(tile, observed_.size() - newcomers.size() + i, newcomers[i]);
    }
  }
}

/// An observation's row in a tile; the rows before it must be there.
void Posterior::extend(std::size_t tile, std::size_t observation, const Newcomer& newcomer) {
  const std::size_t begin = tile * kLanes, lanes = std::min(kLanes, count_ - begin);
  float* const row = tiles_[tile].data() + observation * kLanes;
  correlate(newcomer.steps, newcomer.differences, begin, row);
  const auto signal = static_cast<float>(signal_);
  for (std::size_t i = 0; i < kLanes; ++i) {
    row[i] *= -signal;
  }
  for (std::size_t t = 0; t < trends_.size(); ++t) {
    const float* const trend = trends_[t].data() + begin;
    for (std::size_t i = 0; i < kLanes; ++i) {
      row[i] -= newcomer.trends[t] * trend[i];
    }
  }
  add_rows(tiles_[tile].data(), newcomer.factor.data(), observation, kLanes, row);
  const auto scale = static_cast<float>(-1.0 / factor_[observation].back());
  float* const variance = variance_.data() + begin;
  for (std::size_t i = 0; i < kLanes; ++i) {
    row[i] *= scale;
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    variance[i] -= row[i] * row[i];
  }
}

void Posterior::pop() {
  observed_.pop_back();
  factor_.pop_back();
  for (std::size_t i = 0; i < count_; ++i) {
    const float gone = tiles_[i / kLanes][observed_.size() * kLanes + i % kLanes];
    variance_[i] += gone * gone;
  }
  for (std::vector<float>& tile : tiles_) {
    tile.resize(observed_.size() * kLanes);
  }
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
  const std::vector<float> scale(w.begin(), w.end());
  for (std::size_t tile = 0; tile < tiles_.size(); ++tile) {
    const std::size_t begin = tile * kLanes, lanes = std::min(kLanes, count_ - begin);
    add_rows(tiles_[tile].data() + from * kLanes, scale.data() + from, scale.size() - from, lanes, mean.data() + begin);
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
