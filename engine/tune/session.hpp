#pragma once
// A session: one tuning run. strategy <-> evaluator <-> store.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/measure.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/space/likely_space.hpp"
#include "engine/space/restriction.hpp"
#include "engine/store/store.hpp"
#include "engine/tune/device_shares.hpp"
#include "hone/budget.hpp"

namespace hone {

class IdleWorkers;
class RecordedSpace;
struct SessionEvent;

/// What a session is doing.
enum class SessionStage {
  kLikely,  ///< it searches the likely configurations
  kLegal,   ///< it searches all legal configurations
  kFinals,  ///< it measures the best and the default again, side by side
};

/// What a session has reached; handed to TuneRequest::on_progress after every trial, and when the final round begins.
struct Progress {
  std::int64_t trials = 0;
  Outcome last_outcome = Outcome::kOk;
  double elapsed_seconds = 0.0;
  std::optional<double> default_us, best_us;  ///< of the objective, in the units of Objective::of
  std::string kernel = {};                    ///< of an operation: whose trial it was
  std::string configuration = {};             ///< of the trial, as text
  std::optional<double> time_us = {};         ///< of the trial, if it has one; of another objective, what the trial reached
  SessionStage stage = SessionStage::kLegal;
  std::map<Outcome, std::int64_t> outcomes = {};  ///< a count per outcome; their sum is `trials`
  double improved_seconds = 0.0;                  ///< elapsed_seconds when the best was last improved by more than noise
  Readings readings = {};                         ///< of the device, at the last trial that has them
  Objective objective = {};                       ///< what the session minimizes
};

/// What a session makes of its kernel's expectations. Nothing but the order of the search depends on them.
enum class Likely {
  kFirst,   ///< the likely configurations first, then all legal ones
  kOnly,    ///< the likely configurations and, as always, the default and the problem's record
  kIgnore,  ///< all legal ones alike
};
std::string_view name(Likely likely);
/// Errors: a name that is none (the known ones are listed).
Result<Likely> parse_likely(std::string_view text);

struct TuneRequest {
  KernelSpec spec;
  Problem problem;
  Registry::Found device;
  /// Of the same product and plugin (Registry::devices): configurations are tried on all of them at once (docs/fleet.md).
  std::vector<DeviceInfo> more_devices = {};
  bool beside_others =
      false;  ///< other devices of this host measure something else: processes keep to the cores near theirs, as of several
  /// The store's URL: workers that are attached to it (hone serve-trials), whose devices are of the same product, take part.
  std::optional<std::string> workers = {};
  bool own_devices = true;         ///< false: `device` says what the workers have, and takes no part itself
  Restriction restriction;         ///< search this part of the space only; it makes a session of its own
  Likely likely = Likely::kFirst;  ///< anything else makes a session of its own
  std::string strategy = "auto";
  std::map<std::string, double> strategy_parameters;
  std::uint64_t seed = 0;
  Budget budget{.seconds = 60.0, .trials = std::nullopt};
  /// By kernel: tried after the default and what serves the problem now, before what the strategy proposes. What is not in the space is
  /// left out.
  std::map<std::string, std::vector<Configuration>> first = {};
  std::string operation = {};  ///< that the session is a part of, beside those of its other kernels; it makes a session of its own
  std::string workload = {};   ///< that the session is a part of (WorkloadRequest), without blanks; it makes a session of its own
  std::string range = {};      ///< that the session is a part of: range_mark(); it makes a session of its own
  /// False: what wins is known to who asked, and is no record.
  bool keeps_record = true;
  /// False: a part of a session. It ends with the budget, without a final round; its best so far is kept as with keep_best, and a later
  /// request with a larger budget goes on.
  bool finish = true;
  /// Of a part: what the session is expected to get in all, where that is more. A search that has had most of its budget looks beyond the
  /// likely configurations, and a part is not yet most of it.
  Budget expected_budget{.seconds = std::nullopt, .trials = std::nullopt};
  bool resume = true;       ///< go on with an unfinished session of the same key
  bool transfer = true;     ///< give the strategy what the store knows of the kernel elsewhere
  int compile_workers = 0;  ///< 0: as many as the host has cores, less one for each of several devices
  MeasureSettings measure;
  std::optional<Sanitizer> sanitizer = {};  ///< the measuring worker runs under it
  IdleWorkers* idle_workers = nullptr;      ///< what a run of several sessions hands on from one to the next
  const RecordedSpace* recorded = nullptr;  ///< replay: trials are answered from here
  std::function<void(const Progress&)> on_progress;
  std::function<void(const SessionEvent&)> on_event =
      {};  ///< called in the session's thread with what happens, of each session of an operation; of a range, one at a time
  std::stop_token stop = {};  ///< asked to stop, a session ends at once with kCancelled, and can be resumed
  bool keep_best = false;     ///< asked to stop, it makes its best so far a record first, and reports that (TuneReport::interrupted)
};

/// A configuration as a session measured it.
struct Measured {
  Configuration configuration;
  Measurement measurement;
};

struct TuneReport {
  std::int64_t session = 0;
  bool interrupted = false;          ///< it was stopped, with TuneRequest::keep_best: `best` and the default are as their trials had them
  std::string device_id, product;    ///< of several devices, their ids joined by commas
  std::vector<DeviceShare> devices;  ///< in the order of the request
  Count cartesian = 0, valid = 0;
  Count likely = 0;                     ///< of the valid ones; all of them where there are no expectations or they contradict one another
  std::string contradiction;            ///< which conditions no configuration meets together, where that is why all count as likely
  std::vector<std::string> not_shared;  ///< constraints that are only checked while searching; `valid` is an upper bound then
  std::map<Outcome, std::int64_t> outcomes;  ///< a count per outcome; their sum is the number of trials
  std::int64_t resumed_trials = 0;           ///< of these, recorded by earlier runs of the session
  std::optional<Measured> default_measured;  ///< of the final round
  std::optional<Measured> best;              ///< the winner, or nothing if no configuration was right
  std::vector<Constraint> broken;            ///< the expectations that the winner breaks: they are wrong here. The default counts as likely
  std::vector<Measured> tied;                ///< of the final round: those whose confidence intervals reach the fastest's, but the winner
  Readings readings;                         ///< the state of the device when the final round ended
  std::optional<Record> faster_record;       ///< a record that was not measured beside the winner and is not clearly slower stays: this one
  std::string not_kept;            ///< why the winner, or the best so far, became no record; empty where it did, or faster_record stays
  double speedup = 0.0;            ///< default / best, both of the final round, of the objective
  double seconds = 0.0;            ///< wall time over all runs of the session
  StageSeconds stages;             ///< summed over trials of this run
  double device_idle = 0.0;        ///< share of the devices' time since the first trial began in which they had none
  std::string first_failure;       ///< the detail of the first failed trial, else of the first failed finalist, for people
  std::vector<std::string> notes;  ///< what people should know of the kernel: inputs that its own default is wrong for
  StrategyFaults faults;           ///< how the strategy broke its contract
  double strategy_seconds = 0.0;   ///< spent inside the strategy
  std::string model_not_kept;      ///< why what the strategy has learnt could not be stored; empty if nothing stood in the way
  std::int64_t prior_trials = 0;   ///< trials of other problems, devices and sessions that the strategy was given
};

/// The space that a request searches: of its kernel for its problem on its device, or the recorded one, narrowed to its restriction.
/// Errors: an unknown parameter or value in the restriction; no valid configuration.
Result<std::shared_ptr<const SearchSpace>> space_of(const TuneRequest& request);
/// The same with the part of it that is likely to win.
Result<LikelySpace> likely_space_of(const TuneRequest& request);

/// SessionKey::strategy_parameters of a request: the strategy's own and, as different searches are different sessions, what it makes of
/// expectations, unless that is kFirst, and the restriction.
Result<std::string> settings_text(const TuneRequest& request);
/// The ids of a request's devices, joined by commas.
std::string device_ids(const TuneRequest& request);
/// What a session made of expectations.
Likely likely_of(const SessionInfo& session);
/// The operation that the session was a part of; empty if it was of one kernel alone.
std::string operation_of(const SessionInfo& session);
/// TuneRequest::range of what it was a part of.
std::string range_of(const SessionInfo& session);
/// What a session was restricted to, as parse_restriction reads it; empty if it searched the whole space.
std::string restriction_text(const SessionInfo& session);

/// Whether the request's objective can be had there. Errors: kUnavailable, its device has no energy counter; kInvalidArgument, an objective
/// other than time with several devices, whose measurements are brought together by their times; a recorded space without what it takes.
Result<void> check_objective(const TuneRequest& request);
/// Of what is tuned for time alone: operations, ranges of shapes, workloads. Errors: kInvalidArgument, another objective.
Result<void> check_is_time(const Objective& objective, std::string_view what);

/// Runs or resumes a session. Every trial is in the store before the next is told to the strategy. The winner becomes the record of the
/// problem where there is none, where the final round measured the old record beside it, or where its confidence interval is below the
/// record's. Errors: a space without a valid configuration, a default configuration that does not compile or gives a wrong result, a store
/// or worker failure, kCancelled.
Result<TuneReport> tune(const TuneRequest& request, Store& store, const Registry& registry);

/// One configuration's trial.
struct Tried {
  Trial trial;
  std::vector<std::string> notes = {};  ///< for people: inputs that it was not held to
};

/// Validates and times one configuration in a worker, without a session: what `hone run` does.
Result<Tried> run_configuration(const TuneRequest& request, const Configuration& configuration, Store* store);

}  // namespace hone
