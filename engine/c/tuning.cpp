// Sessions for an engine's kernels, as `hone tune` runs them.
#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <stop_token>

#include "engine/c/engine.hpp"
#include "engine/device/device_key.hpp"
#include "engine/runtime/access.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/tune/operation_session.hpp"
#include "engine/tune/participants.hpp"
#include "engine/worker/worker.hpp"

struct hone_stop {
  std::stop_source source;
};

struct hone_tuning {
  hone_tuning_info info;  ///< without its texts
  std::string kernel, configuration, first_failure;
  hone_texts notes;
};

namespace hone::c {
namespace {

constexpr std::size_t kProposals = 4;  // of portfolios that came with Hone: a search begins with them

/// Tells the caller of trials; the answer may end the session.
std::function<void(const Progress&)> teller(const hone_tuning_options& options, std::stop_source stop) {
  if (options.on_progress == nullptr) {
    return {};
  }
  return [callback = options.on_progress, data = options.on_progress_data, stop](const Progress& reached) mutable {
    if (reached.stage == SessionStage::kFinals) {
      return;  // no trial
    }
    const std::string outcome(name(reached.last_outcome));
    const bool timed = !reached.objective.needs_energy();  // these are microseconds
    const hone_progress progress{.size = sizeof progress,
                                 .trials = reached.trials,
                                 .seconds = reached.elapsed_seconds,
                                 .default_us = timed ? reached.default_us.value_or(0.0) : 0.0,
                                 .best_us = timed ? reached.best_us.value_or(0.0) : 0.0,
                                 .kernel = reached.kernel.c_str(),
                                 .outcome = outcome.c_str()};
    if (callback(data, &progress) != 0) {
      stop.request_stop();
    }
  };
}

Result<void> find_tuning_devices(const DeviceInfo& served, const char* wanted, TuneRequest& request) {
  HONE_ASSIGN(std::vector<Registry::Found> devices,
              builtin_registry().devices(wanted == nullptr || *wanted == '\0' ? std::string_view(served.id) : wanted));
  if (const std::string different = difference(served, devices.front().info); !different.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("tuning on {} would make no record that the engine's {} can use ({})",
                                                          devices.front().info.id, served.id, different)};
  }
  request.device = devices.front();
  std::ranges::transform(devices.begin() + 1, devices.end(), std::back_inserter(request.more_devices), &Registry::Found::info);
  return {};
}

Result<TuneRequest> request_of(const hone_engine& engine, const hone_tuning_options& options, const std::stop_source& stop) {
  if (!engine.options.given.empty()) {
    return Error{ErrorCode::kInvalidArgument, "an engine that was opened with given arrays cannot tune: use hone tune --input"};
  }
  if (options.compile_workers < 0 || options.compile_workers > std::numeric_limits<std::uint16_t>::max()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} compile workers: give a small number, or 0", options.compile_workers)};
  }
  HONE_ASSIGN(const Budget budget, budget_of(options.seconds, options.trials));
  TuneRequest request;
  HONE_TRY(find_tuning_devices(engine.engine.device_info(), options.devices, request));
  request.budget = budget.seconds || budget.trials ? budget : request.budget;
  request.strategy = options.strategy == nullptr || *options.strategy == '\0' ? "auto" : options.strategy;
  HONE_TRY(builtin_registry().strategy(request.strategy));
  request.seed = options.seed;
  request.compile_workers = static_cast<int>(options.compile_workers);
  request.resume = options.fresh == 0;
  request.transfer = options.no_transfer == 0;
  request.measure.max_error = engine.options.max_error;
  HONE_ASSIGN(const Objective objective, parse_objective(engine.options.objective));
  request.measure = settings_for(objective, request.measure);
  request.on_progress = teller(options, stop);
  request.stop = stop.get_token();
  request.keep_best = true;
  return request;
}

void begin_with_portfolios(TuneRequest& request, const Operation& operation, const Problem& problem) {
  for (const KernelSpec* const spec : operation.implementations) {
    if (const Result<Problem> own = problem_for(*spec, problem); own && request.transfer) {
      request.first[spec->name] = shipped_proposals(*spec, *own, request.device.info, kProposals);
    }
  }
}

void count(hone_tuning_info& info, const TuneReport& report) {
  for (const auto& [outcome, trials] : report.outcomes) {
    info.trials += trials;
    info.wrong += has_time(outcome) ? 0 : trials;
  }
}

/// What became of a kernel's session; `winner` says whether it is the one that counts.
void fill(hone_tuning& tuning, const KernelSpec& spec, const TuneReport& report) {
  tuning.info.session = report.session;
  tuning.kernel = spec.name;
  tuning.info.record_kept = report.faster_record ? 1 : 0;
  if (report.best) {
    const Measurement& measured = report.best->measurement;
    tuning.configuration = text(spec.parameters, report.best->configuration);
    tuning.info.found = 1;
    tuning.info.best_us = measured.median_us;
    tuning.info.best_low_us = measured.ci95_low_us;
    tuning.info.best_high_us = measured.ci95_high_us;
  }
  if (report.default_measured) {
    tuning.info.default_us = report.default_measured->measurement.median_us;
  }
}

Result<std::unique_ptr<hone_tuning>> tune_kernel(TuneRequest request, const KernelSpec& spec, const Problem& problem, Store& store) {
  request.spec = spec;
  HONE_ASSIGN(request.problem, problem_for(spec, problem));
  HONE_ASSIGN(const TuneReport report, tune(request, store, builtin_registry()));
  auto tuning = std::make_unique<hone_tuning>();
  fill(*tuning, spec, report);
  count(tuning->info, report);
  tuning->info.interrupted = report.interrupted ? 1 : 0;
  tuning->info.seconds = report.seconds;
  tuning->info.speedup = report.speedup;
  tuning->first_failure = report.first_failure;
  tuning->notes.all = report.notes;
  if (!report.not_kept.empty()) {
    tuning->notes.all.push_back("no record: " + report.not_kept);
  }
  return tuning;
}

Result<std::unique_ptr<hone_tuning>> tune_operation(TuneRequest request, Operation operation, const Problem& problem, Store& store) {
  std::deque<KernelSpec> libraries;
  add_libraries(operation, libraries, request.device, problem);
  HONE_ASSIGN(const OperationReport report, tune(OperationRequest{&operation, problem, std::move(request)}, store, builtin_registry()));
  auto tuning = std::make_unique<hone_tuning>();
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.tuned) {
      count(tuning->info, *kernel.tuned);
      tuning->first_failure = tuning->first_failure.empty() ? kernel.tuned->first_failure : tuning->first_failure;
    }
  }
  if (report.winner) {
    const KernelReport& winner = report.kernels[*report.winner];
    fill(*tuning, *winner.spec, *winner.tuned);
    tuning->info.best_us = winner.best_us.value_or(tuning->info.best_us);
  }
  tuning->info.interrupted = report.interrupted ? 1 : 0;
  tuning->info.seconds = report.seconds;
  tuning->info.default_us = report.default_us;
  tuning->info.speedup = report.speedup;
  tuning->notes.all = report.notes;
  return tuning;
}

Result<std::unique_ptr<hone_tuning>> tune_problem(const hone_engine& engine, const NamedOperation& known, const Problem& problem,
                                                  const hone_tuning_options& options) {
  std::stop_source stop;
  HONE_ASSIGN(TuneRequest request, request_of(engine, options, stop));
  HONE_TRY(find_worker());
  HONE_TRY(implementations_for(known.operation, problem));
  begin_with_portfolios(request, known.operation, problem);
  HONE_ASSIGN(const std::unique_ptr<Store> store,
              open_store(engine.options.store, StoreMode::kReadWrite, engine.options.trust_store ? Trust::kAll : Trust::kOwn));
  const std::stop_callback also(options.stop == nullptr ? std::stop_token() : options.stop->source.get_token(),
                                [&stop] { stop.request_stop(); });
  return known.operation.implementations.size() == 1
             ? tune_kernel(std::move(request), *known.operation.implementations.front(), problem, *store)
             : tune_operation(std::move(request), known.operation, problem, *store);
}

}  // namespace
}  // namespace hone::c

using namespace hone;

hone_status hone_stop_create(hone_stop** stop, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(stop, "stop");
    *stop = new hone_stop();
    return {};
  });
}
void hone_stop_request(hone_stop* stop) {
  if (stop != nullptr) {
    stop->source.request_stop();
  }
}
void hone_stop_free(hone_stop* stop) { delete stop; }

hone_status hone_tune(hone_engine* engine, const char* kernel, const char* dtypes, const hone_extent* extents, size_t extent_count,
                      const hone_tuning_options* options, hone_tuning** tuning, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(tuning, "tuning");
    const hone_engine& tuned = c::need(engine, "engine");
    c::need(kernel, "kernel");
    const Shape shape = c::shape_of(extents, extent_count, "extents");
    const hone_tuning_options chosen = c::read_struct(options, "options");
    HONE_ASSIGN(const DTypes types, c::dtypes_of(tuned, kernel, dtypes));
    EngineCore& core = Access::core(tuned.engine);
    HONE_ASSIGN(const auto known, core.find(kernel));
    HONE_ASSIGN(const Problem problem, make_problem(*known->operation.definition, types, shape));
    HONE_ASSIGN(std::unique_ptr<hone_tuning> made, c::tune_problem(tuned, *known, problem, chosen));
    core.note_tuned(*known, problem);
    *tuning = made.release();
    return {};
  });
}
void hone_tuning_free(hone_tuning* tuning) { delete tuning; }

hone_status hone_tuning_describe(const hone_tuning* tuning, hone_tuning_info* info, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const hone_tuning& known = c::need(tuning, "tuning");
    hone_tuning_info told = known.info;
    told.kernel = known.kernel.c_str();
    told.configuration = known.configuration.c_str();
    told.first_failure = known.first_failure.c_str();
    c::write_struct(told, info, "info");
    return {};
  });
}

const hone_texts* hone_tuning_notes(const hone_tuning* tuning) { return tuning == nullptr ? nullptr : &tuning->notes; }
