#include "engine/store/portfolio_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hone {
namespace {

constexpr double kMostSlowdown = 1.5;     // as a logarithm: what is slower than that is just slow
constexpr double kUnknown = 0.3;          // logarithm of the slowdown of a member where it was never measured,
constexpr double kUnknownWeight = 1.0;    // as if it was measured at so many points
constexpr int kAlignments = 5;            // factors of two that matter
constexpr double kLeastDeviation = 0.01;  // no rule is surer than measurements are
constexpr double kPriorDeviation = 0.15;  // of a process that nothing is known of,
constexpr double kPriorWeight = 4.0;      // as if so many predictions had been that far off
constexpr double kLn2 = 0.69314718055994530942;

/// The natural logarithm from basic operations: those of a C library differ between hosts in the last bit.
double logarithm(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2.0;
    --exponent;
  }
  const double t = (mantissa - 1.0) / (mantissa + 1.0), square = t * t;
  double sum = 0.0;
  for (int i = 25; i >= 1; i -= 2) {
    sum = sum * square + 1.0 / i;
  }
  return 2.0 * t * sum + exponent * kLn2;
}

double log_slowdown(double slowdown) { return std::clamp(logarithm(slowdown), 0.0, kMostSlowdown); }

double covariance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return 1.0 / (1.0 + square);
}

/// Of a symmetric positive definite matrix, by Cholesky's decomposition.
std::vector<std::vector<double>> inverted(std::vector<std::vector<double>> matrix) {
  const std::size_t n = matrix.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) {
        sum -= matrix[i][k] * matrix[j][k];
      }
      matrix[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / matrix[j][j];
    }
  }
  std::vector<std::vector<double>> inverse(n, std::vector<double>(n, 0.0));
  for (std::size_t column = 0; column < n; ++column) {
    std::vector<double> x(n, 0.0);
    for (std::size_t i = column; i < n; ++i) {
      double sum = i == column ? 1.0 : 0.0;
      for (std::size_t k = column; k < i; ++k) {
        sum -= matrix[i][k] * x[k];
      }
      x[i] = sum / matrix[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      double sum = x[i];
      for (std::size_t k = i + 1; k < n; ++k) {
        sum -= matrix[k][i] * x[k];
      }
      x[i] = sum / matrix[i][i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      inverse[i][column] = x[i];
    }
  }
  return inverse;
}

}  // namespace

PortfolioRule::PortfolioRule(const Portfolio& portfolio) : settings_(portfolio.rule) {
  for (std::size_t i = 0; i < portfolio.range.axes.size(); ++i) {
    if (portfolio.range.axes[i].varies()) {
      axes_.push_back(i);
    }
  }
  for (const PortfolioPoint& point : portfolio.points) {
    points_.push_back(coordinates(point.shape));
  }
  solve();
  fill(portfolio);
  calibrate(portfolio);
}

PortfolioRule::Row PortfolioRule::coordinates(const Shape& shape) const {
  Row at;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const std::int64_t extent = shape[axes_[i]].second;
    at.push_back(logarithm(static_cast<double>(extent)) / (kLn2 * settings_.reach[i]));
    int factors = 0;
    while (factors < kAlignments && extent % (std::int64_t{2} << factors) == 0) {
      ++factors;
    }
    at.push_back(settings_.alignment * factors / kAlignments);
  }
  return at;
}

PortfolioRule::Row PortfolioRule::covariances(const Row& at) const {
  Row all;
  for (const Row& point : points_) {
    all.push_back(covariance(at, point));
  }
  return all;
}

void PortfolioRule::solve() {
  std::vector<Row> matrix;
  for (const Row& point : points_) {
    matrix.push_back(covariances(point));
    matrix.back()[matrix.size() - 1] += settings_.noise;
  }
  inverse_ = inverted(std::move(matrix));
}

/// What was not measured is what was measured near it, and the less of that there is the more the mean.
void PortfolioRule::fill(const Portfolio& portfolio) {
  for (std::size_t member = 0; member < portfolio.members.size(); ++member) {
    double sum = kUnknown * kUnknownWeight, count = kUnknownWeight;
    for (const PortfolioPoint& point : portfolio.points) {
      if (point.slowdowns[member]) {
        sum += log_slowdown(*point.slowdowns[member]);
        count += 1.0;
      }
    }
    const double mean = sum / count;
    Row values(points_.size(), 0.0), weights(points_.size(), 0.0);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      double near = 0.0, weight = 0.25;
      for (std::size_t k = 0; k < points_.size() && !portfolio.points[i].slowdowns[member]; ++k) {
        if (portfolio.points[k].slowdowns[member]) {
          const double likeness = covariance(points_[i], points_[k]);
          near += likeness * likeness * (log_slowdown(*portfolio.points[k].slowdowns[member]) - mean);
          weight += likeness * likeness;
        }
      }
      values[i] = portfolio.points[i].slowdowns[member] ? log_slowdown(*portfolio.points[i].slowdowns[member]) - mean : near / weight;
    }
    for (std::size_t i = 0; i < points_.size(); ++i) {
      for (std::size_t k = 0; k < points_.size(); ++k) {
        weights[i] += inverse_[i][k] * values[k];
      }
    }
    means_.push_back(mean);
    values_.push_back(std::move(values));
    weights_.push_back(std::move(weights));
  }
}

void PortfolioRule::calibrate(const Portfolio& portfolio) {
  double squares = 0.0, scaled = 0.0, regrets = 0.0;
  std::size_t cells = 0, choices = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto& slowdowns = portfolio.points[i].slowdowns;
    double least = 0.0;
    std::size_t chosen = slowdowns.size();
    for (std::size_t member = 0; member < slowdowns.size(); ++member) {
      if (!slowdowns[member]) {
        continue;
      }
      const double error = weights_[member][i] / inverse_[i][i];
      const double predicted = means_[member] + values_[member][i] - error;
      squares += error * error;
      scaled += error * error * inverse_[i][i];
      ++cells;
      if (chosen == slowdowns.size() || predicted < least) {
        chosen = member;
        least = predicted;
      }
    }
    if (chosen < slowdowns.size()) {
      const double regret = log_slowdown(*slowdowns[chosen]);
      regrets += regret;
      score_.worst = std::max(score_.worst, regret);
      ++choices;
    }
  }
  if (cells > 0) {
    score_.mean = regrets / static_cast<double>(choices);
    score_.error = std::sqrt(squares / static_cast<double>(cells));
    scaled += kPriorWeight * kPriorDeviation * kPriorDeviation;
    deviation_ = std::max(kLeastDeviation, std::sqrt(scaled / (static_cast<double>(cells) + kPriorWeight)));
  }
}

double PortfolioRule::variance(const Row& covariance) const {
  double explained = 0.0;
  for (std::size_t i = 0; i < covariance.size(); ++i) {
    double sum = 0.0;
    for (std::size_t k = 0; k < covariance.size(); ++k) {
      sum += inverse_[i][k] * covariance[k];
    }
    explained += covariance[i] * sum;
  }
  return std::max(0.0, 1.0 - explained) + settings_.noise;
}

double PortfolioRule::doubt(const Shape& shape) const { return deviation_ * std::sqrt(variance(covariances(coordinates(shape)))); }

std::vector<Opinion> PortfolioRule::rank(const Shape& shape) const {
  const Row covariance = covariances(coordinates(shape));
  const double doubt = deviation_ * std::sqrt(variance(covariance));
  std::vector<Opinion> all;
  for (std::size_t member = 0; member < weights_.size(); ++member) {
    double sum = means_[member];
    for (std::size_t i = 0; i < covariance.size(); ++i) {
      sum += covariance[i] * weights_[member][i];
    }
    all.push_back({member, std::max(0.0, sum), doubt});
  }
  std::ranges::stable_sort(all, {}, &Opinion::slowdown);
  return all;
}

RuleSettings fit_settings(const Portfolio& portfolio) {
  constexpr std::array kReaches{0.5, 1.0, 2.0, 4.0, 8.0, 16.0};
  constexpr std::array kAlignmentWeights{0.0, 0.25, 0.5, 1.0, 2.0};
  constexpr std::array kNoises{0.01, 0.05, 0.2};
  constexpr int kSweeps = 2;
  constexpr double kErrorShare = 0.25;  // the choices of a few points say little alone
  Portfolio tried = portfolio;
  const auto varying = static_cast<std::size_t>(std::ranges::count_if(portfolio.range.axes, &RangeAxis::varies));
  tried.rule = {std::vector<double>(varying, 4.0), 0.5, 0.05};
  const auto score = [&] {
    const PortfolioRule::Score all = PortfolioRule(tried).leave_one_out();
    return all.mean + kErrorShare * all.error;
  };
  double best = score();
  const auto improve = [&](double& setting, std::span<const double> values) {
    double kept = setting;
    for (const double value : values) {
      setting = value;
      if (const double now = score(); now < best - 1e-9) {
        best = now;
        kept = value;
      }
    }
    setting = kept;
  };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (double& reach : tried.rule.reach) {
      improve(reach, kReaches);
    }
    improve(tried.rule.alignment, kAlignmentWeights);
    improve(tried.rule.noise, kNoises);
  }
  return tried.rule;
}

}  // namespace hone
