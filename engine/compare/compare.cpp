#include "engine/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/parallel.hpp"
#include "engine/compare/summary.hpp"
#include "engine/compare/transfer.hpp"

namespace hone {

using namespace compare;

namespace {

/// A space with all that its runs share.
struct Arena {
  const SpaceTable* table = nullptr;
  std::vector<PriorSet> sets;
  std::unique_ptr<Scorer> scorer;
};

Error refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// The seed of a repeat: another on every space, the same for every strategy.
std::uint64_t seed_of(std::uint64_t seed, const std::string& space, std::size_t repeat) {
  const std::string name = digest(fmt::format("{}/{}/{}", seed, space, repeat));
  std::uint64_t made = 0;
  std::from_chars(name.data(), name.data() + 16, made, 16);
  return made;
}

Result<void> check(const CompareRequest& request) {
  if (request.spaces.empty() || request.entries.empty() || request.budgets.empty()) {
    return refuse("nothing to compare: give at least one recorded space, one strategy and one budget");
  }
  for (const double budget : request.budgets) {
    if (!(budget > 0.0) || !std::isfinite(budget) || (request.unit == CostUnit::kEvaluations && budget != std::floor(budget))) {
      return refuse(fmt::format(
          "budget {}: must be {}", budget,
          request.unit == CostUnit::kEvaluations ? "a whole number of evaluations, at least 1" : "a positive number of seconds"));
    }
  }
  if (request.repeats < 1 || request.batch < 1) {
    return refuse(
        fmt::format("{} {}: must be at least 1", request.repeats < 1 ? "repeats" : "batch", std::min(request.repeats, request.batch)));
  }
  std::set<std::string> labels;
  for (const auto& entry : request.entries) {
    if (!labels.insert(entry.label).second) {
      return refuse(fmt::format("strategy {} is given twice", entry.label));
    }
    // Settings are checked where a strategy is made.
    StrategyContext context;
    context.space = request.spaces.front()->shared_space();
    context.parameters = entry.settings;
    HONE_TRY(entry.strategy->create(std::move(context)));
  }
  return {};
}

Result<std::vector<SpaceTable>> tables_of(const CompareRequest& request, std::vector<std::string>& notes) {
  std::vector<SpaceTable> tables;
  for (const auto& space : request.spaces) {
    SpaceTable table = table_of(space, request.unit);
    if (table.sorted.empty()) {
      notes.push_back(fmt::format("left out: {}: every configuration failed", space->name()));
    } else if (request.unit == CostUnit::kSeconds && std::accumulate(table.cost.begin(), table.cost.end(), 0.0) <= 0.0) {
      notes.push_back(fmt::format("left out: {}: the recording has no seconds", space->name()));
    } else {
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

Result<std::vector<Arena>> arenas_of(const CompareRequest& request, const std::vector<SpaceTable>& tables, double budget,
                                     std::vector<std::string>& notes) {
  std::vector<Arena> arenas;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    std::vector<PriorSet> sets = prior_sets(tables, i, request.transfer);
    if (sets.empty()) {
      notes.push_back(fmt::format("left out: {}: no other device of {} to learn from", tables[i].recorded->name(), tables[i].kernel));
      continue;
    }
    arenas.push_back({.table = &tables[i], .sets = std::move(sets), .scorer = std::make_unique<Scorer>(tables[i], budget)});
  }
  if (arenas.empty()) {
    return refuse(fmt::format("no space to compare on ({})", fmt::join(notes, "; ")));
  }
  return arenas;
}

class Comparison {
 public:
  Comparison(const CompareRequest& request, std::vector<double> budgets, const std::vector<Arena>& arenas)
      : request_(request), budgets_(std::move(budgets)), arenas_(arenas), repeats_(static_cast<std::size_t>(request.repeats)) {}

  /// Every run: results[entry][space].
  Result<std::vector<std::vector<SpaceRuns>>> run_all() {
    std::vector<std::vector<SpaceRuns>> results(request_.entries.size());
    for (std::size_t e = 0; e < results.size(); ++e) {
      for (std::size_t s = 0; s < arenas_.size(); ++s) {
        const std::size_t runs = arenas_[s].sets.size() * repeats_;
        results[e].push_back({.table = arenas_[s].table, .scorer = arenas_[s].scorer.get(), .runs = std::vector<Run>(runs)});
        for (std::size_t i = 0; i < runs; ++i) {
          tasks_.push_back({e, s, i});
        }
      }
    }
    std::vector<std::optional<Error>> errors(tasks_.size());
    parallel_for(request_.jobs, tasks_.size(), [&](std::size_t t) {
      Result<Run> run = search(plan(tasks_[t]));
      if (run) {
        results[tasks_[t].entry][tasks_[t].space].runs[tasks_[t].run] = std::move(*run);
      } else {
        errors[t] = run.error();
      }
      report_progress();
    });
    const auto first = std::ranges::find_if(errors, [](const auto& error) { return error.has_value(); });
    if (first != errors.end()) {
      return **first;
    }
    return results;
  }

  [[nodiscard]] RunTrace trace(const Run& run, std::size_t entry, std::size_t space, std::size_t index) const {
    const SpaceTable& table = *arenas_[space].table;
    RunTrace made{.strategy = request_.entries[entry].label,
                  .space = table.recorded->name(),
                  .source = arenas_[space].sets[index / repeats_].source,
                  .repeat = static_cast<int>(index % repeats_),
                  .seed = seed(space, index),
                  .positions = {run.positions.begin(), run.positions.end()},
                  .time_us = {},
                  .cost = {}};
    for (const std::uint32_t position : run.positions) {
      made.time_us.push_back(std::isinf(table.time_us[position]) ? std::nullopt : std::optional(table.time_us[position]));
      made.cost.push_back(table.cost[position]);
    }
    return made;
  }

 private:
  struct Task {
    std::size_t entry = 0, space = 0, run = 0;
  };

  [[nodiscard]] std::uint64_t seed(std::size_t space, std::size_t run) const {
    return seed_of(request_.seed, arenas_[space].table->recorded->name(), run % repeats_);
  }

  [[nodiscard]] RunPlan plan(const Task& task) const {
    return {.table = arenas_[task.space].table,
            .entry = &request_.entries[task.entry],
            .priors = &arenas_[task.space].sets[task.run / repeats_].priors,
            .shuffle = request_.transfer == Transfer::kShuffled,
            .seed = seed(task.space, task.run),
            .budget = budgets_.back(),
            .batch = static_cast<std::size_t>(request_.batch)};
  }

  void report_progress() {
    if (request_.on_progress) {
      const std::lock_guard lock(progress_);
      request_.on_progress(++done_, tasks_.size());
    }
  }

  const CompareRequest& request_;
  std::vector<double> budgets_;
  const std::vector<Arena>& arenas_;
  std::size_t repeats_ = 0;
  std::vector<Task> tasks_;
  std::mutex progress_;
  std::size_t done_ = 0;
};

ComparedSpace describe(const Arena& arena, const ReadingPoints& at) {
  const SpaceTable& table = *arena.table;
  ComparedSpace space{.name = table.recorded->name(),
                      .kernel = table.kernel,
                      .device = table.recorded->device_name(),
                      .size = table.size(),
                      .failed = table.failed(),
                      .best_us = table.best(),
                      .score_from = arena.scorer->from(),
                      .score_to = arena.scorer->to(),
                      .baseline = {},
                      .baseline_curve = {}};
  for (const double budget : at.budgets) {
    space.baseline.push_back(expected_fraction(table, draws_for(table, budget)));
  }
  for (const double budget : at.curve_at) {
    space.baseline_curve.push_back(expected_fraction(table, draws_for(table, budget)));
  }
  return space;
}

std::vector<double> mean_over(const std::vector<ComparedSpace>& spaces, std::vector<double> ComparedSpace::*figures) {
  std::vector<double> mean((spaces.front().*figures).size());
  for (const ComparedSpace& space : spaces) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += (space.*figures)[i] / static_cast<double>(spaces.size());
    }
  }
  return mean;
}

void note_short_budget(const std::vector<Arena>& arenas, std::vector<std::string>& notes) {
  double furthest = 0.0;
  std::size_t count = 0;
  for (const Arena& arena : arenas) {
    if (arena.scorer->to() < arena.scorer->full_to()) {
      furthest = std::max(furthest, arena.scorer->full_to());
      ++count;
    }
  }
  if (count > 0) {
    notes.push_back(
        fmt::format("on {} of {} spaces the score ends at the largest budget; the community's range ends later there, at {:.0f} at most",
                    count, arenas.size(), furthest));
  }
}

}  // namespace

Result<CompareReport> compare_strategies(const CompareRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  HONE_TRY(check(request));
  CompareReport report;
  report.budgets = request.budgets;
  std::ranges::sort(report.budgets);
  report.budgets.erase(std::unique(report.budgets.begin(), report.budgets.end()), report.budgets.end());
  report.curve_at = curve_points(report.budgets, request.unit);
  const ReadingPoints at{report.budgets, report.curve_at};
  HONE_ASSIGN(const std::vector<SpaceTable> tables, tables_of(request, report.notes));
  HONE_ASSIGN(const std::vector<Arena> arenas, arenas_of(request, tables, report.budgets.back(), report.notes));
  Comparison comparison(request, report.budgets, arenas);
  HONE_ASSIGN(const auto results, comparison.run_all());

  report.spaces.resize(arenas.size());
  parallel_for(request.jobs, arenas.size(), [&](std::size_t s) { report.spaces[s] = describe(arenas[s], at); });
  report.baseline = mean_over(report.spaces, &ComparedSpace::baseline);
  report.baseline_curve = mean_over(report.spaces, &ComparedSpace::baseline_curve);
  report.strategies.resize(results.size());
  parallel_for(request.jobs, results.size(), [&](std::size_t e) {
    report.strategies[e] = summarize(request.entries[e], results[e], at, static_cast<std::size_t>(request.repeats), request.seed);
  });
  for (std::size_t e = 0; e < results.size() && request.keep_traces; ++e) {
    for (std::size_t s = 0; s < arenas.size(); ++s) {
      for (std::size_t i = 0; i < results[e][s].runs.size(); ++i) {
        report.traces.push_back(comparison.trace(results[e][s].runs[i], e, s, i));
      }
    }
  }
  report.wins = winners(report.strategies, report.budgets.size(), report.spaces.size());
  note_short_budget(arenas, report.notes);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace hone
