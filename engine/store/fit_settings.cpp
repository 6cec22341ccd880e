#include "engine/store/fit_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "engine/store/portfolio_rule.hpp"

namespace hone {

RuleSettings fit_settings(const Portfolio& portfolio) {
  constexpr std::array kReaches{1.0, 2.0, 4.0, 8.0, 16.0};
  constexpr std::array kAlignmentWeights{0.0, 0.25, 0.5, 1.0};
  constexpr std::array kNoises{0.01, 0.03, 0.1};
  constexpr std::array kUnlike{0.1, 0.3, 1.0};
  constexpr std::array kBlocks{0.0, 0.07, 0.14, 0.25};
  constexpr std::array kTails{0.0, 0.35, 0.7, 1.0};
  constexpr std::size_t kPoints = 160;  // that are left out: enough to tell settings apart,
  constexpr std::size_t kFitted = 128;  // from so many measurements each
  constexpr int kSweeps = 2;
  constexpr double kErrorShare = 0.25;  // the choices of a few points say little alone
  constexpr double kRounding = 1e3;
  constexpr double kGain = 0.03;  // share of the score that a setting must bring: less is chance
  const auto varying = static_cast<std::size_t>(std::ranges::count_if(portfolio.range.axes, &RangeAxis::varies));
  const RuleSettings usual{.reach = std::vector<double>(varying, RuleSettings::kUsualReach)};
  Portfolio tried = portfolio;
  tried.rule = usual;
  const auto score = [&](std::size_t points, std::size_t measured) {
    const PortfolioRule::Score all = PortfolioRule(tried).leave_one_out(points, measured);
    return all.mean + kErrorShare * all.error;
  };
  double best = score(kPoints, kFitted);
  bool better = true;
  const auto improve = [&](double& setting, std::span<const double> values) {
    double kept = setting;
    for (const double value : values) {
      setting = value;
      if (const double now = value == kept ? best : score(kPoints, kFitted); now < best * (1.0 - kGain)) {
        best = now;
        kept = value;
        better = true;
      }
    }
    setting = kept;
  };
  for (int sweep = 0; sweep < kSweeps && better; ++sweep) {
    better = false;
    for (double& reach : tried.rule.reach) {
      improve(reach, kReaches);
    }
    improve(tried.rule.alignment, kAlignmentWeights);
    improve(tried.rule.noise, kNoises);
    improve(tried.rule.unlike, kUnlike);
    improve(tried.rule.blocks, kBlocks);
    improve(tried.rule.tail, kTails);
  }
  if (tried.rule != usual) {  // what a part of the points seems to say, all of them may not
    const RuleSettings fitted = tried.rule;
    const double as_fitted = score(portfolio.points.size(), PortfolioRule::kMeasured);
    tried.rule = usual;
    if (as_fitted < score(portfolio.points.size(), PortfolioRule::kMeasured) * (1.0 - kGain)) {
      tried.rule = fitted;
    }
  }
  const auto rounded = [](double value) { return std::round(value * kRounding) / kRounding; };
  const PortfolioRule::Score all = PortfolioRule(tried).leave_one_out();
  tried.rule.spread = rounded(all.spread);
  tried.rule.deviation = rounded(all.deviation);
  return tried.rule;
}

}  // namespace hone
