#include <fmt/format.h>

#include "cli/compare_report.hpp"

namespace hone::cli {
namespace {

Json fractions_json(const CompareReport& report, const std::vector<Estimate>& fractions) {
  Json list = Json::array();
  for (std::size_t b = 0; b < fractions.size(); ++b) {
    list.push_back({{"budget", report.budgets[b]}, {"mean", fractions[b].mean}, {"ci95", {fractions[b].low, fractions[b].high}}});
  }
  return list;
}

Json baseline_json(const std::vector<double>& budgets, const std::vector<double>& means) {
  Json list = Json::array();
  for (std::size_t b = 0; b < budgets.size(); ++b) {
    list.push_back({{"budget", budgets[b]}, {"mean", means[b]}});
  }
  return list;
}

Json strategy_json(const CompareReport& report, const StrategyResult& strategy) {
  const StrategyFaults& faults = strategy.faults;
  Json per_space = Json::array();
  for (std::size_t s = 0; s < report.spaces.size(); ++s) {
    const SpaceResult& one = strategy.per_space[s];
    per_space.push_back({{"space", report.spaces[s].name},
                         {"fractions", fractions_json(report, one.fractions)},
                         {"score", one.score},
                         {"evaluations_to_95", one.evaluations_to_95}});
  }
  return {{"name", strategy.label},
          {"strategy", strategy.name},
          {"settings", strategy.settings},
          {"fractions", fractions_json(report, strategy.fractions)},
          {"score", strategy.score},
          {"evaluations_to_95", strategy.evaluations_to_95},
          {"ask_us", {{"mean", strategy.ask_us_mean}, {"p99", strategy.ask_us_p99}}},
          {"own_seconds", strategy.own_seconds},
          {"runs", strategy.runs},
          {"evaluations", strategy.evaluations},
          {"repeated", faults.repeated},
          {"faults",
           {{"invalid", faults.invalid},
            {"failed", faults.failed},
            {"stalled", faults.stalled},
            {"crashed", faults.crashed},
            {"idle", faults.idle},
            {"first", faults.first}}},
          {"per_space", std::move(per_space)}};
}

Json wins_json(const CompareReport& report) {
  Json wins = Json::object();
  for (std::size_t b = 0; b < report.budgets.size(); ++b) {
    Json counts = Json::object(), spaces = Json::object();
    for (const StrategyResult& strategy : report.strategies) {
      counts[strategy.label] = 0;
    }
    for (std::size_t s = 0; s < report.spaces.size(); ++s) {
      spaces[report.spaces[s].name] = report.wins[b][s];
      for (const std::string& label : report.wins[b][s]) {
        counts[label] = counts[label].get<int>() + 1;
      }
    }
    wins[fmt::format("{}", report.budgets[b])] = {{"counts", std::move(counts)}, {"spaces", std::move(spaces)}};
  }
  return wins;
}

}  // namespace

std::string_view name(CostUnit unit) { return unit == CostUnit::kEvaluations ? "evaluations" : "seconds"; }

std::string_view name(Transfer transfer) {
  switch (transfer) {
    case Transfer::kAll:
      return "all";
    case Transfer::kOne:
      return "one";
    case Transfer::kMisleading:
      return "misleading";
    case Transfer::kShuffled:
      return "shuffled";
    default:
      return "none";
  }
}

Json comparison_json(const CompareRequest& request, const CompareReport& report) {
  Json spaces = Json::array();
  for (const ComparedSpace& space : report.spaces) {
    spaces.push_back({{"name", space.name},
                      {"kernel", space.kernel},
                      {"device", space.device},
                      {"size", space.size},
                      {"failed", space.failed},
                      {"best_us", space.best_us},
                      {"score_range", {space.score_from, space.score_to}},
                      {"calculated_random", baseline_json(report.budgets, space.baseline)}});
  }
  Json object{{"spaces", std::move(spaces)},
              {"budgets", report.budgets},
              {"repeats", request.repeats},
              {"unit", name(request.unit)},
              {"transfer", name(request.transfer)},
              {"batch", request.batch},
              {"seed", request.seed},
              {"calculated_random", baseline_json(report.budgets, report.baseline)},
              {"strategies", Json::array()},
              {"wins", wins_json(report)},
              {"notes", report.notes},
              {"seconds", report.seconds}};
  for (const std::size_t place : ranking(report)) {
    object["strategies"].push_back(strategy_json(report, report.strategies[place]));
  }
  return object;
}

Json traces_json(const CompareRequest& request, const CompareReport& report) {
  Json runs = Json::array();
  for (const RunTrace& run : report.traces) {
    Json times = Json::array();
    for (const std::optional<double>& time : run.time_us) {
      times.push_back(time ? Json(*time) : Json(nullptr));
    }
    runs.push_back({{"strategy", run.strategy},
                    {"space", run.space},
                    {"source", run.source},
                    {"repeat", run.repeat},
                    {"seed", run.seed},
                    {"positions", run.positions},
                    {"time_us", std::move(times)},
                    {"cost", run.cost}});
  }
  return {{"unit", name(request.unit)}, {"runs", std::move(runs)}};
}

}  // namespace hone::cli
