#include "engine/store/portfolio_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hone {
namespace {

constexpr double kUnknown = 0.5;          // logarithm of the slowdown of a member far from where it was measured: no choice
constexpr double kCaution = 0.3;          // of the doubt, added to what is expected: between equals what is known better is chosen
constexpr int kAlignments = 5;            // factors of two that matter
constexpr double kLeastDeviation = 0.01;  // no rule is surer than measurements are
constexpr double kPriorDeviation = 0.15;  // of a process that nothing is known of,
constexpr double kPriorWeight = 4.0;      // as if so many predictions had been that far off
constexpr std::size_t kNeighbours = 16;   // points of a process: those beyond them add next to nothing
constexpr std::size_t kAround = 8;        // points, what their best takes is what to expect of the best before more is known
constexpr double kNotMeasured = 1e9;
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

double covariance(double square) { return 1.0 / (1.0 + square); }

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return square;
}

/// A symmetric positive definite matrix of few rows, decomposed by Cholesky: matrix = L L^T.
class Decomposed {
 public:
  explicit Decomposed(std::vector<std::vector<double>> matrix) : lower_(std::move(matrix)) {
    for (std::size_t i = 0; i < lower_.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = lower_[i][j];
        for (std::size_t k = 0; k < j; ++k) {
          sum -= lower_[i][k] * lower_[j][k];
        }
        lower_[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / lower_[j][j];
      }
    }
  }

  /// L^-1 x.
  [[nodiscard]] std::vector<double> halfway(std::vector<double> x) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        x[i] -= lower_[i][k] * x[k];
      }
      x[i] /= lower_[i][i];
    }
    return x;
  }

 private:
  std::vector<std::vector<double>> lower_;  ///< what is above the diagonal means nothing
};

double deviation_of(double squares, std::size_t count) {
  squares += kPriorWeight * kPriorDeviation * kPriorDeviation;
  return std::max(kLeastDeviation, std::sqrt(squares / (static_cast<double>(count) + kPriorWeight)));
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
    best_.push_back(logarithm(point.best_us / point.floor_us));
  }
  for (std::size_t member = 0; member < portfolio.members.size(); ++member) {
    Row& values = values_.emplace_back();
    for (std::size_t point = 0; point < points_.size(); ++point) {
      const std::optional<double>& slowdown = portfolio.points[point].slowdowns[member];
      values.push_back(slowdown ? best_[point] + level_logarithm(slowdown_level(*slowdown)) : kNotMeasured);
    }
  }
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

std::vector<PortfolioRule::Near> PortfolioRule::nearest(const Row& at, std::size_t without) const {
  std::vector<Near> near;
  for (std::size_t point = 0; point < points_.size(); ++point) {
    if (point != without) {
      near.push_back({squared_distance(at, points_[point]), point});
    }
  }
  std::ranges::sort(near, {}, [](const Near& one) { return std::pair(one.square, one.point); });
  return near;
}

/// Of a process that knows `values` and expects `otherwise` where it knows nothing.
PortfolioRule::Expected PortfolioRule::expect(const Row& values, double otherwise, const std::vector<Near>& near) const {
  Row covariances, known;
  std::vector<std::size_t> points;
  for (const Near& one : near) {
    if (points.size() == kNeighbours) {
      break;
    }
    if (const double value = values[one.point]; value != kNotMeasured) {
      covariances.push_back(covariance(one.square));
      known.push_back(value - otherwise);
      points.push_back(one.point);
    }
  }
  std::vector<Row> matrix(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      matrix[i].push_back(covariance(squared_distance(points_[points[i]], points_[points[k]])));
    }
    matrix[i].push_back(1.0 + settings_.noise);
  }
  const Decomposed decomposed(std::move(matrix));
  known = decomposed.halfway(std::move(known));
  covariances = decomposed.halfway(std::move(covariances));
  double mean = otherwise, left = 1.0;
  for (std::size_t i = 0; i < known.size(); ++i) {
    mean += known[i] * covariances[i];
    left -= covariances[i] * covariances[i];
  }
  return {mean, std::sqrt(std::max(0.0, left) + settings_.noise)};
}

/// The doubt is that of a process of deviation 1.
std::vector<Opinion> PortfolioRule::opinions(const Row& at, std::size_t without) const {
  const std::vector<Near> near = nearest(at, without);
  const std::size_t around = std::min(kAround, near.size());
  double usual = 0.0;
  for (std::size_t i = 0; i < around; ++i) {
    usual += best_[near[i].point] / static_cast<double>(around);
  }
  const double best = expect(best_, usual, near).mean;
  std::vector<Opinion> all;
  for (std::size_t member = 0; member < values_.size(); ++member) {
    const Expected own = expect(values_[member], usual + kUnknown, near);
    all.push_back({member, own.mean - best, own.deviation});
  }
  return all;
}

PortfolioRule::Score PortfolioRule::leave_one_out() const {
  Score score;
  double squares = 0.0, scaled = 0.0, chosen_squares = 0.0;
  std::size_t cells = 0, chosen_cells = 0;
  for (std::size_t point = 0; point < points_.size() && !values_.empty(); ++point) {
    const std::vector<Opinion> all = opinions(points_[point], point);
    for (const Opinion& one : all) {
      if (const double value = values_[one.member][point]; value != kNotMeasured) {
        const double error = value - best_[point] - one.slowdown;
        squares += error * error;
        scaled += error * error / (one.doubt * one.doubt);
        ++cells;
      }
    }
    // What was not measured there says nothing: the best expected of the others would have been the choice.
    const auto is_before = [&](const Opinion& one, const Opinion& other) {
      const bool measured = values_[one.member][point] != kNotMeasured, other_measured = values_[other.member][point] != kNotMeasured;
      return measured != other_measured ? measured : wanted(one) < wanted(other);
    };
    const Opinion& choice = *std::ranges::min_element(all, is_before);
    double slowdown = std::max(0.0, choice.slowdown);
    if (const double value = values_[choice.member][point]; value != kNotMeasured) {
      slowdown = value - best_[point];
      chosen_squares += (slowdown - choice.slowdown) * (slowdown - choice.slowdown) / (choice.doubt * choice.doubt);
      ++chosen_cells;
    }
    score.mean += slowdown / static_cast<double>(points_.size());
    score.worst = std::max(score.worst, slowdown);
  }
  score.error = cells > 0 ? std::sqrt(squares / static_cast<double>(cells)) : 0.0;
  score.spread = deviation_of(scaled, cells);
  score.deviation = deviation_of(chosen_squares, chosen_cells);
  return score;
}

double PortfolioRule::wanted(const Opinion& opinion) const { return opinion.slowdown + kCaution * settings_.spread * opinion.doubt; }

double PortfolioRule::doubt(const Shape& shape) const { return rank(shape).front().doubt; }

std::vector<Opinion> PortfolioRule::rank(const Shape& shape) const {
  std::vector<Opinion> all = opinions(coordinates(shape), points_.size());
  std::ranges::stable_sort(all, {}, [&](const Opinion& one) { return wanted(one); });
  for (Opinion& one : all) {
    one.slowdown = std::max(0.0, one.slowdown);
    one.doubt *= settings_.deviation;
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
  tried.rule = {.reach = std::vector<double>(varying, 4.0), .alignment = 0.25, .noise = 0.05};
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
  const PortfolioRule::Score fitted = PortfolioRule(tried).leave_one_out();
  tried.rule.spread = fitted.spread;
  tried.rule.deviation = PortfolioRule(tried).leave_one_out().deviation;
  return tried.rule;
}

}  // namespace hone
