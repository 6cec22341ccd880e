#include "cli/suite/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/options.hpp"
#include "cli/registry.hpp"
#include "cli/selection.hpp"
#include "engine/store/lookup.hpp"
#include "engine/tune/scratch_store.hpp"

namespace hone::cli::suite {
namespace {

/// Whether it says something about the whole run, and not about one case.
bool ends_the_run(ErrorCode code) {
  return code == ErrorCode::kCancelled || code == ErrorCode::kUnavailable || code == ErrorCode::kStore || code == ErrorCode::kIo;
}
/// Whether the suite asks for what is not there: to be mended, and not to be expected.
bool is_mistake(ErrorCode code) { return code == ErrorCode::kNotFound || code == ErrorCode::kInvalidArgument; }

/// A kernel that cannot even be tried fails like one that was.
Trial trial_of(const Error& error) {
  Trial failed;
  failed.outcome = error.code == ErrorCode::kCompile || error.code == ErrorCode::kBadKernel ? Outcome::kCompileError
                   : error.code == ErrorCode::kTimeout                                      ? Outcome::kTimeout
                                                                                            : Outcome::kLaunchFailure;
  failed.detail = error.message;
  return failed;
}

Result<Configuration> recorded_configuration(const TuneRequest& request, const Purpose& purpose, Store* store) {
  HONE_ASSIGN(const Choice choice,
              choose_recorded(request.spec, request.problem, request.device.info, store, {.purpose = purpose, .launch = false}));
  if (choice.source == Source::kDefault) {
    return Error{ErrorCode::kNotFound,
                 choice.why.empty() ? "nothing is recorded for this problem: hone tune first, or --store" : choice.why};
  }
  return choice.configuration;
}

/// What became of the default configuration in the sessions of a store, if it failed.
Result<std::optional<Trial>> failed_default(const TuneRequest& request, Store& store) {
  HONE_ASSIGN(const Configuration standard, default_for(request.spec, request.problem, request.device.info));
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, store.sessions());
  for (const SessionInfo& session : sessions) {
    HONE_ASSIGN(const std::vector<Trial> trials, store.trials(session.id, request.spec.parameters));
    const auto found = std::ranges::find(trials, standard, &Trial::configuration);
    if (found != trials.end() && found->outcome != Outcome::kOk) {
      return std::optional(*found);
    }
  }
  return std::optional<Trial>();
}

/// The configuration that a session finds. Its store is its own, so that no case depends on those before it.
Result<void> search(Prepared& prepared) {
  TuneRequest& request = prepared.request;
  request.resume = false;
  HONE_ASSIGN(const ScratchStore scratch, ScratchStore::create());
  const Result<TuneReport> report = tune(request, scratch.store(), registry());
  if (report && report->best) {
    prepared.configuration = report->best->configuration;
    return {};
  }
  if (!report && ends_the_run(report.error().code)) {
    return report.error();
  }
  // The error tells people that results were wrong; the trial tells it to the gate.
  HONE_ASSIGN(prepared.failed, failed_default(request, scratch.store()));
  if (prepared.failed) {
    return {};
  }
  return report ? Error{ErrorCode::kDevice, fmt::format("no configuration was right: {}", report->first_failure)} : report.error();
}

/// What else times depend on, where it is not as usual.
std::string unusual_settings(const TuneRequest& request) {
  std::string text = request.measure.max_error > 0.0 ? fmt::format(" within {}", request.measure.max_error) : "";
  if (request.measure.graph_below_us != MeasureSettings{}.graph_below_us) {
    text += fmt::format(" graph below {}", request.measure.graph_below_us);
  }
  return request.seed != 0 ? fmt::format("{} seed {}", text, request.seed) : text;
}

Result<void> fill(const Entry& entry, const Surroundings& around, Prepared& prepared) {
  HONE_ASSIGN(Subject subject, find_subject(entry.kernel, *around.arguments));
  if (subject.recorded) {
    return Error{ErrorCode::kInvalidArgument, "a recorded space cannot be measured; give a kernel"};
  }
  TuneRequest& request = prepared.request;
  HONE_ASSIGN(request.problem, problem_of(subject.spec, entry.dtype, entry.shape));
  request.spec = std::move(subject.spec);
  const std::string how = entry.budget ? "tuned for " + entry.budget_text : entry.config;
  prepared.what = fmt::format("{} {} {} {}{}", request.spec.name, name(request.problem.dtype), text(request.problem.shape), how,
                              unusual_settings(request));
  if (entry.budget) {
    request.budget = *entry.budget;
    HONE_TRY(search(prepared));
  } else if (entry.config == "best") {
    HONE_ASSIGN(prepared.configuration, recorded_configuration(request, purpose_within(entry.max_error), around.store));
  } else if (entry.config == "default") {
    HONE_ASSIGN(prepared.configuration, default_for(request.spec, request.problem, request.device.info));
  } else {
    const Target target{.device = request.device, .problem = request.problem};
    HONE_ASSIGN(prepared.configuration, configuration_of(request.spec, target, without_blanks(entry.config)));
  }
  return {};
}

}  // namespace

Result<Prepared> prepare(const Entry& entry, const Surroundings& around) {
  Prepared prepared;
  prepared.request.device = around.device;
  prepared.request.measure = around.measure;
  prepared.request.measure.max_error = entry.max_error;
  prepared.request.seed = around.seed;
  prepared.request.stop = around.stop;
  prepared.request.on_event = around.on_event;
  const Result<void> filled = fill(entry, around, prepared);
  if (filled) {
    return prepared;
  }
  const Error broken{filled.error().code, fmt::format("{}: {}", entry.where, filled.error().message)};
  if (ends_the_run(broken.code) || is_mistake(broken.code)) {
    return broken;
  }
  prepared.failed = trial_of(broken);
  return prepared;
}

Result<Trial> measure(const Prepared& prepared, const Surroundings& around) {
  if (prepared.failed) {
    return *prepared.failed;
  }
  Result<Tried> tried = run_configuration(prepared.request, prepared.configuration, around.scratch);
  if (tried) {
    return std::move(tried->trial);
  }
  return ends_the_run(tried.error().code) ? Result<Trial>(tried.error()) : trial_of(tried.error());
}

}  // namespace hone::cli::suite
