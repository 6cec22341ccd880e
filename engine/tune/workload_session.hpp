#pragma once
// Tunes all problems of a workload under one budget, which goes where it saves most of the workload's time.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/kernel/operation.hpp"
#include "engine/store/operation_lookup.hpp"
#include "engine/tune/session.hpp"
#include "engine/tune/workload_schedule.hpp"

namespace hone {

struct WorkloadItem {
  const Operation* operation = nullptr;  ///< maybe of one kernel, without libraries; null: the item cannot be tuned
  Problem problem;                       ///< in the order of the operation's definition
  double weight = 1.0;                   ///< launches
  std::string why = {};                  ///< it cannot be tuned
};

struct WorkloadProgress {
  std::size_t item = 0;  ///< that is searched now
  bool finishing = false;
  double elapsed_seconds = 0.0;  ///< an interrupted run included
  std::int64_t trials = 0;       ///< of all items
  double weighted_us = 0.0;      ///< of all items that were measured: the best so far,
  double default_us = 0.0;       ///< and what they began with
};

struct WorkloadRequest {
  std::vector<WorkloadItem> items;
  TuneRequest common;  ///< what holds for every session: all but spec, problem and budget; without a restriction
  Budget budget;       ///< of all items together, an interrupted run included
  Split split = Split::kGain;
  bool skip_tuned = false;                ///< leave out what has a record of its own
  std::filesystem::path store = {};       ///< the file of the store
  std::vector<std::string> without = {};  ///< kernels and libraries that take no part
  std::function<void(const WorkloadProgress&)> on_progress = {};
};

enum class ItemState {
  kTuned,       ///< with a final round
  kSearched,    ///< interrupted: its best so far is kept
  kSkipped,     ///< it has a record (WorkloadRequest::skip_tuned)
  kFailed,      ///< see ItemReport::why
  kNotReached,  ///< the budget was spent, or the run was interrupted
};
std::string_view name(ItemState state);

/// What a lookup gives an application.
struct Served {
  Source source = Source::kDefault;
  std::string kernel;
  std::string configuration;
  double time_us = 0.0;  ///< as a session of this run measured it; of what was skipped, as the record has it
};

struct ItemReport {
  ItemState state = ItemState::kNotReached;
  std::string why;  ///< kFailed; else what kept the time of `before` from being measured, the default's being there in its place
  std::optional<Served> before;  ///< the run; nothing where it was not measured
  std::optional<Served> after;
  double seconds = 0.0;
  std::int64_t trials = 0;
};

struct WorkloadReport {
  std::vector<ItemReport> items;  ///< in the order of the request
  double before_us = 0.0;         ///< weighted sum over the items that were measured,
  double after_us = 0.0;          ///< and the same with what serves now
  double seconds = 0.0;
  bool interrupted = false;
};

/// Runs until the budget is spent, or goes on where an interrupted run of the same problems and split stopped. Each slice of an item is a
/// part of one session (of an operation: of one session for each kernel), and the last one its final round. What goes wrong with an item
/// leaves the others. Errors: a store failure; kCancelled where nothing was measured.
Result<WorkloadReport> tune(const WorkloadRequest& request, Store& store, const Registry& registry);

}  // namespace hone
