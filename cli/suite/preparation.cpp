#include "cli/suite/preparation.hpp"

#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/registry.hpp"
#include "cli/selection.hpp"
#include "engine/store/lookup.hpp"

namespace hone::cli::suite {
namespace {

/// Whether it says something about the whole run, and not about one case.
bool ends_the_run(ErrorCode code) {
  return code == ErrorCode::kCancelled || code == ErrorCode::kUnavailable || code == ErrorCode::kStore || code == ErrorCode::kIo;
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

Result<Configuration> tuned_configuration(const TuneRequest& request, Store& scratch) {
  HONE_ASSIGN(const TuneReport report, tune(request, scratch, registry()));
  if (!report.best) {
    return Error{ErrorCode::kNotFound, fmt::format("no configuration was right: {}", report.first_failure)};
  }
  return report.best->configuration;
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
  prepared.what = fmt::format("{} {} {} {}", request.spec.name, name(request.problem.dtype), text(request.problem.shape), how);
  if (entry.budget) {
    request.budget = *entry.budget;
    request.resume = false;
    HONE_ASSIGN(prepared.configuration, tuned_configuration(request, *around.scratch));
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
  const Result<void> filled = fill(entry, around, prepared);
  if (filled) {
    return prepared;
  }
  const Error broken{filled.error().code, fmt::format("{}: {}", entry.where, filled.error().message)};
  if (ends_the_run(broken.code)) {
    return broken;
  }
  prepared.broken = broken;
  return prepared;
}

Result<Trial> measure(const Prepared& prepared, const Surroundings& around) {
  Result<Trial> trial =
      prepared.broken ? Result<Trial>(*prepared.broken) : run_configuration(prepared.request, prepared.configuration, around.scratch);
  if (trial || ends_the_run(trial.error().code)) {
    return trial;
  }
  Trial failed;
  failed.configuration = prepared.configuration;
  failed.outcome = trial.error().code == ErrorCode::kCompile || trial.error().code == ErrorCode::kBadKernel ? Outcome::kCompileError
                   : trial.error().code == ErrorCode::kTimeout                                              ? Outcome::kTimeout
                                                                                                            : Outcome::kLaunchFailure;
  failed.detail = trial.error().message;
  return failed;
}

}  // namespace hone::cli::suite
