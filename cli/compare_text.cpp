#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/compare_report.hpp"
#include "cli/present.hpp"

namespace hone::cli {
namespace {

/// Half the width of the interval, on the side where it is wider; none where nothing was random.
std::string cell(const Estimate& estimate) {
  if (estimate.low == estimate.high) {
    return fmt::format("{:.4f}", estimate.mean);
  }
  return fmt::format("{:.4f} ±{:.4f}", estimate.mean, std::max(estimate.high - estimate.mean, estimate.mean - estimate.low));
}

std::vector<std::string> row_of(const CompareReport& report, const StrategyResult& strategy) {
  std::vector<std::string> row{strategy.label};
  for (const Estimate& estimate : strategy.fractions) {
    row.push_back(cell(estimate));
  }
  row.push_back(fmt::format("{:.3f}", strategy.score));
  row.push_back(fmt::format("{:.1f}", strategy.evaluations_to_95));
  row.push_back(fmt::format("{:.1f}", strategy.ask_us_mean));
  row.push_back(fmt::format("{:.1f}", strategy.ask_us_p99));
  row.push_back(std::to_string(strategy.faults.repeated));
  const std::size_t middle = report.budgets.size() / 2;
  const auto wins = std::ranges::count_if(report.wins[middle],
                                          [&](const auto& labels) { return std::ranges::find(labels, strategy.label) != labels.end(); });
  row.push_back(fmt::format("{} of {}", wins, report.spaces.size()));
  return row;
}

std::string faults_text(const CompareReport& report) {
  std::string lines;
  for (const StrategyResult& strategy : report.strategies) {
    const StrategyFaults& faults = strategy.faults;
    if (faults.invalid + faults.failed + faults.stalled + faults.crashed + faults.idle > 0) {
      lines += fmt::format("{}: {} invalid proposals, {} failed calls, {} stalled, {} crashed, {} turns without a proposal{}{}\n",
                           strategy.label, faults.invalid, faults.failed, faults.stalled, faults.crashed, faults.idle,
                           faults.first.empty() ? "" : "; first: ", faults.first);
    }
  }
  return lines;
}

}  // namespace

std::vector<std::size_t> ranking(const CompareReport& report) {
  std::vector<std::size_t> places(report.strategies.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const std::size_t middle = report.budgets.size() / 2;
  std::ranges::stable_sort(places, std::greater(), [&](std::size_t place) { return report.strategies[place].fractions[middle].mean; });
  return places;
}

std::string comparison_text(const CompareRequest& request, const CompareReport& report) {
  std::vector<std::vector<std::string>> rows{{"strategy"}};
  for (const double budget : report.budgets) {
    rows.front().push_back(fmt::format("at {}", budget));
  }
  for (const char* column : {"score", "to 95 %", "us/ask", "p99", "repeated", "best at"}) {
    rows.front().emplace_back(column);
  }
  rows.front().back() += fmt::format(" {}", report.budgets[report.budgets.size() / 2]);
  for (const std::size_t place : ranking(report)) {
    rows.push_back(row_of(report, report.strategies[place]));
  }
  std::vector<std::string> random{"(calculated random)"};
  for (const double fraction : report.baseline) {
    random.push_back(fmt::format("{:.4f}", fraction));
  }
  random.insert(random.end(), {"0", "", "", "", "", ""});
  rows.push_back(std::move(random));
  std::string lines =
      fmt::format("{} space{}, {} repeats, budgets in {}, transfer {}: mean fraction of the optimum with its 95 % interval\n\n",
                  report.spaces.size(), report.spaces.size() == 1 ? "" : "s", request.repeats, name(request.unit), name(request.transfer));
  lines += table(rows) + "\n" + faults_text(report);
  for (const std::string& note : report.notes) {
    lines += note + "\n";
  }
  return lines + fmt::format("{:.1f} s\n", report.seconds);
}

}  // namespace hone::cli
