#pragma once
// The replay laboratory: strategies against each other on recorded spaces, without a GPU.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/plugin/strategy.hpp"
#include "engine/replay/recorded_space.hpp"

namespace hone {

/// What an evaluation costs, and thereby what budgets are counted in.
enum class CostUnit {
  kEvaluations,  ///< 1, whatever came of it
  kSeconds,      ///< what the record says that it took to compile, verify and benchmark, also where it failed
};

/// What strategies are told of the kernel on other devices (StrategyContext::priors).
enum class Transfer {
  kNone,
  kAll,         ///< the records of every other device of the kernel
  kOne,         ///< those of one other device; each is tried in turn
  kMisleading,  ///< as kOne, with the times in reversed rank: the best configuration has the time of the worst
  kShuffled,    ///< as kOne, with the outcomes dealt out anew by chance, in each repeat otherwise: such a record says nothing
};

/// Recorded spaces, each once, and what was passed over.
struct RecordedSpaces {
  std::vector<std::shared_ptr<const RecordedSpace>> spaces;
  std::vector<std::string> notes;
};

/// Loads files and all *.json and *.json.gz of folders and of the folders in them, in order of name; what has the name of
/// another gets its folder before it. In a folder, a file that is no recorded space is passed over with a note; so is a space that is there
/// already (a T4 twin: same name without ".T4", same parameters, same device where both name one). Errors: a path that does not exist, a
/// file given by name that cannot be read, no recorded space at all.
Result<RecordedSpaces> load_recorded_spaces(const std::vector<std::filesystem::path>& paths);

struct CompareRequest {
  struct Entry {
    const StrategyPlugin* strategy = nullptr;
    std::map<std::string, double> settings;
    std::string label;  ///< how the report calls it
  };
  std::vector<std::shared_ptr<const RecordedSpace>> spaces;
  std::vector<Entry> entries;
  std::vector<double> budgets;
  CostUnit unit = CostUnit::kEvaluations;
  Transfer transfer = Transfer::kNone;
  int repeats = 100;
  int batch = 1;  ///< how many configurations a strategy is asked for at a time
  int jobs = 0;   ///< searches at a time; 0: as many as the host has cores. Results are the same for any number
  std::uint64_t seed = 0;
  bool keep_traces = false;
  std::function<void(std::size_t done, std::size_t all)> on_progress;  ///< called from any thread, one at a time
};

/// A mean with its 95 % bootstrap interval (repeats are resampled within each space).
struct Estimate {
  double mean = 0.0, low = 0.0, high = 0.0;
};

/// A strategy on one space. Fractions are best possible time / best time found, 0 while nothing was found.
struct SpaceResult {
  std::vector<Estimate> fractions;  ///< one a budget
  std::vector<double> curve;        ///< mean fractions at CompareReport::curve_at
  double score = 0.0;
  double evaluations_to_95 =
      0.0;  ///< mean over runs of the evaluations until 95 % of the optimum was found; of a run that did not, all it had
};

struct StrategyResult {
  std::string label, name;
  std::map<std::string, double> settings;
  std::vector<Estimate> fractions;  ///< mean over spaces
  std::vector<double> curve;
  double score = 0.0;
  double evaluations_to_95 = 0.0;
  double ask_us_mean = 0.0, ask_us_p99 = 0.0;  ///< the strategy's own time, ask and tell, an evaluation
  double own_seconds = 0.0;
  std::int64_t runs = 0, evaluations = 0;
  StrategyFaults faults;               ///< summed over runs
  std::vector<SpaceResult> per_space;  ///< as CompareReport::spaces
};

/// A space as the report sees it. `baseline`: the calculated random search (without replacement, failures included), exact for evaluations,
/// for seconds at the mean cost of an evaluation.
struct ComparedSpace {
  std::string name, kernel, device;
  std::size_t size = 0, failed = 0;
  double best_us = 0.0;
  double score_from = 0.0, score_to = 0.0;  ///< the range over which the score is averaged, in the unit of the budgets
  std::vector<double> baseline, baseline_curve;
};

/// The evaluations of one run, in order.
struct RunTrace {
  std::string strategy, space, source;  ///< source: the device of the prior, with Transfer::kOne and kMisleading
  int repeat = 0;
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> positions;
  std::vector<std::optional<double>> time_us;  ///< nothing: it failed
  std::vector<double> cost;                    ///< of each, in the unit of the budgets
};

struct CompareReport {
  std::vector<ComparedSpace> spaces;
  std::vector<double> budgets, curve_at;
  std::vector<double> baseline, baseline_curve;  ///< mean over spaces
  std::vector<StrategyResult> strategies;        ///< in the order of the request
  /// For each budget and space the labels with the highest mean fraction: one, and those whose interval reaches its interval.
  std::vector<std::vector<std::vector<std::string>>> wins;
  std::vector<std::string> notes;
  std::vector<RunTrace> traces;
  double seconds = 0.0;
};

/// Runs every strategy on every space `repeats` times, with the same seeds for each strategy, and reads the runs at the budgets. A run is
/// told of the recorded outcome at once; what failed counts as an evaluation, what is proposed again is free.
///
/// The score is that of Willemsen et al., "A methodology for comparing optimization algorithms for auto-tuning" (FGCS 159, 2024), as their
/// package computes it, over cost in the unit of the budgets and no further than the largest: 0 is the calculated random search, 1 the
/// optimum at once.
///
/// Errors: kInvalidArgument (nothing to compare, a budget that is not positive, repeats or batch < 1, a setting the strategy does not
/// have), kPlugin (a strategy that does not start).
Result<CompareReport> compare_strategies(const CompareRequest& request);

}  // namespace hone
