#include "engine/store/portfolio_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hone {
namespace {

constexpr double kMostSlowdown = 1.5;     // as a logarithm: what is slower than that is just slow
constexpr double kUnknown = 1.0;          // logarithm of the slowdown of a member far from where it was measured: no choice
constexpr double kCaution = 0.3;          // of the doubt, added to what is expected: between equals what is known better is chosen
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

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
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
  for (std::size_t member = 0; member < portfolio.members.size(); ++member) {
    learn(portfolio, member);
  }
  measure_spread();
  try_each_point();
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

/// A member's process knows of the points where it was measured, and expects kUnknown elsewhere.
void PortfolioRule::learn(const Portfolio& portfolio, std::size_t member) {
  Process process;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (const std::optional<double>& slowdown = portfolio.points[i].slowdowns[member]) {
      process.points.push_back(i);
      process.values.push_back(log_slowdown(*slowdown) - kUnknown);
    }
  }
  const std::size_t n = process.points.size();
  std::vector<Row> matrix(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      matrix[i].push_back(covariance(points_[process.points[i]], points_[process.points[k]]) + (i == k ? settings_.noise : 0.0));
    }
  }
  process.inverse = inverted(std::move(matrix));
  for (std::size_t i = 0; i < n; ++i) {
    process.weights.push_back(product(process.inverse[i], process.values));
  }
  processes_.push_back(std::move(process));
}

/// The doubt is that of a process of deviation 1.
Opinion PortfolioRule::opinion(std::size_t member, const Row& at) const {
  const Process& process = processes_[member];
  Row covariances;
  for (const std::size_t point : process.points) {
    covariances.push_back(covariance(at, points_[point]));
  }
  double explained = 0.0;
  for (std::size_t i = 0; i < covariances.size(); ++i) {
    explained += covariances[i] * product(process.inverse[i], covariances);
  }
  return {member, std::max(0.0, kUnknown + product(process.weights, covariances)),
          std::sqrt(std::max(0.0, 1.0 - explained) + settings_.noise)};
}

/// What the process of a member expects at one of its points without it, by the inverse's diagonal (Rasmussen and Williams, Gaussian
/// Processes for Machine Learning, 5.12).
double PortfolioRule::error_without(const Process& process, std::size_t i) { return process.weights[i] / process.inverse[i][i]; }

/// As opinion(), at one of the points without it.
Opinion PortfolioRule::opinion_without(std::size_t member, std::size_t point) const {
  const Process& process = processes_[member];
  const auto at = std::ranges::find(process.points, point);
  if (at == process.points.end()) {
    return opinion(member, points_[point]);
  }
  const auto i = static_cast<std::size_t>(at - process.points.begin());
  return {member, std::max(0.0, process.values[i] + kUnknown - error_without(process, i)), std::sqrt(1.0 / process.inverse[i][i])};
}

double PortfolioRule::deviation(double squares, std::size_t count) {
  squares += kPriorWeight * kPriorDeviation * kPriorDeviation;
  return std::max(kLeastDeviation, std::sqrt(squares / (static_cast<double>(count) + kPriorWeight)));
}

void PortfolioRule::measure_spread() {
  double squares = 0.0, scaled = 0.0;
  std::size_t cells = 0;
  for (const Process& process : processes_) {
    for (std::size_t i = 0; i < process.points.size(); ++i) {
      const double error = error_without(process, i);
      squares += error * error;
      scaled += error * error * process.inverse[i][i];
      ++cells;
    }
  }
  spread_ = deviation(scaled, cells);
  score_.error = cells > 0 ? std::sqrt(squares / static_cast<double>(cells)) : 0.0;
}

/// Each point in turn is unknown. What was not measured there counts as it is expected, and says nothing of the doubt. Times of what is
/// fast somewhere near vary less from shape to shape than those of what is slow: the choices have a deviation of their own.
void PortfolioRule::try_each_point() {
  double squares = 0.0;
  std::size_t measured = 0;
  for (std::size_t point = 0; point < points_.size() && !processes_.empty(); ++point) {
    Opinion choice = opinion_without(0, point);
    for (std::size_t member = 1; member < processes_.size(); ++member) {
      const Opinion other = opinion_without(member, point);
      choice = wanted(other) < wanted(choice) ? other : choice;
    }
    const Process& process = processes_[choice.member];
    const auto at = std::ranges::find(process.points, point);
    double slowdown = choice.slowdown;
    if (at != process.points.end()) {
      slowdown = process.values[static_cast<std::size_t>(at - process.points.begin())] + kUnknown;
      squares += (slowdown - choice.slowdown) * (slowdown - choice.slowdown) / (choice.doubt * choice.doubt);
      ++measured;
    }
    score_.mean += slowdown / static_cast<double>(points_.size());
    score_.worst = std::max(score_.worst, slowdown);
  }
  deviation_ = deviation(squares, measured);
}

double PortfolioRule::wanted(const Opinion& opinion) const { return opinion.slowdown + kCaution * spread_ * opinion.doubt; }

double PortfolioRule::doubt(const Shape& shape) const { return rank(shape).front().doubt; }

std::vector<Opinion> PortfolioRule::rank(const Shape& shape) const {
  const Row at = coordinates(shape);
  std::vector<Opinion> all;
  for (std::size_t member = 0; member < processes_.size(); ++member) {
    all.push_back(opinion(member, at));
  }
  std::ranges::stable_sort(all, {}, [&](const Opinion& one) { return wanted(one); });
  for (Opinion& one : all) {
    one.doubt *= deviation_;
  }
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
