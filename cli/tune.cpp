#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cli/device_report.hpp"
#include "cli/embedding.hpp"
#include "cli/interrupt.hpp"
#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/present.hpp"
#include "cli/progress_display.hpp"
#include "cli/registry.hpp"
#include "cli/session_devices.hpp"
#include "cli/telemetry.hpp"
#include "cli/tune_range.hpp"
#include "cli/tune_request.hpp"
#include "cli/tune_workload.hpp"
#include "cli/verbs.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "engine/store/operation_lookup.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/store_server.hpp"
#include "engine/tune/operation_session.hpp"

namespace hone::cli {
namespace {

std::int64_t trial_count(const TuneReport& report) {
  std::int64_t sum = 0;
  for (const auto& [outcome, count] : report.outcomes) {
    sum += count;
  }
  return sum;
}

Json faults_json(const StrategyFaults& faults) {
  return {{"invalid", faults.invalid}, {"repeated", faults.repeated}, {"failed", faults.failed}, {"stalled", faults.stalled},
          {"crashed", faults.crashed}, {"idle", faults.idle},         {"first", faults.first}};
}

/// How often the strategy lost its turn, for people; empty if it never did.
std::string faults_text(const StrategyFaults& faults) {
  if (faults.invalid + faults.failed + faults.stalled + faults.crashed + faults.idle == 0) {
    return "";
  }
  return fmt::format(
      "strategy lost turns: {} proposals outside the space, {} calls failed, {} stalled, {} crashed, {} turns without a proposal{}\n",
      faults.invalid, faults.failed, faults.stalled, faults.crashed, faults.idle, faults.first.empty() ? "" : "; " + faults.first);
}

Json broken_json(const std::vector<Constraint>& broken) {
  Json texts = Json::array();
  for (const Constraint& expectation : broken) {
    texts.push_back(expectation.text);
  }
  return texts;
}

/// What the expectations made of the space, and what became of them.
std::string likely_text(const TuneRequest& request, const TuneReport& report) {
  if (request.spec.expectations.empty()) {
    return "";
  }
  if (!report.contradiction.empty()) {
    return fmt::format("likely   all of them, because no configuration meets all expectations: {}\n", report.contradiction);
  }
  constexpr std::array<std::string_view, 3> kUse{"searched first", "searched alone", "not heeded"};
  return fmt::format("likely   {}{} of these, {}\n", report.not_shared.empty() ? "" : "at most ", text(report.likely),
                     kUse.at(static_cast<std::size_t>(request.likely)));
}

std::string broken_text(const std::vector<Constraint>& broken) {
  std::string lines;
  for (const Constraint& expectation : broken) {
    lines += fmt::format("breaks   line {}: {}{}{}\n", expectation.line, expectation.text, expectation.comment.empty() ? "" : "  // ",
                         expectation.comment);
  }
  return lines;
}

/// The winner, with what was measured of it in one of the final rounds.
Json best_json(const TuneRequest& request, const TuneReport& report, const Measured& best, const Measurement& measured) {
  const Rates reached = rates(request.spec, request.problem, measured.median_us);
  Json object{{"config", json(request.spec.parameters, best.configuration)},
              {"time_us", measured.median_us},
              {"ci95_us", {measured.ci95_low_us, measured.ci95_high_us}},
              {"by_graph", measured.by_graph},
              {"breaks", broken_json(report.broken)},
              {"gflops", reached.gflops},
              {"gbytes_per_second", reached.gbytes_per_second}};
  add_reached(object, request.measure.objective, measured);
  return object;
}

Json report_json(const TuneRequest& request, const TuneReport& report, const std::string& fixed, const std::filesystem::path& store) {
  const auto& parameters = request.spec.parameters;
  Json object{{"session", report.session},
              {"interrupted", report.interrupted},
              {"kernel", request.spec.name},
              {"device", report.device_id},
              {"devices", json(report.devices)},
              {"product", report.product},
              {"dtype", name(request.problem.dtype)},
              {"shape", json(request.problem.shape)},
              {"strategy", request.strategy},
              {"seed", request.seed},
              {"budget", text(request.budget)},
              {"fix", fixed},
              {"given", given_json(request.measure.given)},
              {"accuracy_bound", request.measure.max_error > 0.0 ? Json(request.measure.max_error) : Json()},
              {"objective", name(request.measure.objective)},
              {"likely", name(request.likely)},
              {"store", store_name(store)},
              {"space",
               {{"cartesian", json(report.cartesian)},
                {"size", json(report.valid)},
                {"likely_size", json(report.likely)},
                {"contradicted", report.contradiction},
                {"valid", report.not_shared.empty() ? json(report.valid) : Json()},
                {"exact", report.not_shared.empty()},
                {"not_shared", report.not_shared}}},
              {"trials", trial_count(report)},
              {"outcomes", json(report.outcomes)},
              {"resumed_trials", report.resumed_trials},
              {"prior_trials", report.prior_trials},
              {"strategy_seconds", report.strategy_seconds},
              {"strategy_faults", faults_json(report.faults)},
              {"model_not_kept", report.model_not_kept},
              {"default", nullptr},
              {"best", nullptr},
              {"faster_record", nullptr},
              {"not_kept", report.not_kept},
              {"speedup", report.speedup},
              {"seconds", report.seconds},
              {"stages",
               {{"compile", report.stages.compile},
                {"validate", report.stages.validate},
                {"time", report.stages.time},
                {"overhead", report.stages.overhead}}},
              {"device_idle", report.device_idle}};
  if (report.default_measured) {
    object["default"] = {{"config", json(parameters, report.default_measured->configuration)},
                         {"time_us", report.default_measured->measurement.median_us}};
    add_reached(object["default"], request.measure.objective, report.default_measured->measurement);
  }
  if (report.best) {
    object["best"] = best_json(request, report, *report.best, report.best->measurement);
  }
  object["tied"] = Json::array();
  for (const Measured& tied : report.tied) {
    object["tied"].push_back({{"config", json(parameters, tied.configuration)},
                              {"time_us", tied.measurement.median_us},
                              {"ci95_us", {tied.measurement.ci95_low_us, tied.measurement.ci95_high_us}}});
    add_reached(object["tied"].back(), request.measure.objective, tied.measurement);
  }
  object["device_state"] = {
      {"sm_clock_mhz", report.readings.sm_clock_mhz},         {"memory_clock_mhz", report.readings.memory_clock_mhz},
      {"temperature_c", report.readings.temperature_c},       {"power_w", report.readings.power_w},
      {"throttle_reasons", report.readings.throttle_reasons}, {"discarded_samples", report.readings.discarded_samples}};
  object["notes"] = report.notes;
  if (report.faster_record) {
    const Record& record = *report.faster_record;
    object["faster_record"] = {
        {"config", json(parameters, record.configuration)}, {"time_us", record.measurement.median_us}, {"session", record.session}};
    add_reached(object["faster_record"], request.measure.objective, record.measurement);
  }
  return object;
}

/// In which state of the device the times were taken, where it can be read.
std::string state_text(const Readings& state) {
  if (state.sm_clock_mhz <= 0.0) {
    return "";
  }
  constexpr std::uint64_t kPowerCap = 0x4;
  return fmt::format("state    {:.0f} MHz, {:.0f} C, {:.0f} W{}\n", state.sm_clock_mhz, state.temperature_c, state.power_w,
                     (state.throttle_reasons & kPowerCap) != 0 ? ", at its power limit" : "");
}

/// In which session the winner is, and what became of it as the record of its problem; `kept` says that it is the record.
std::string standing_text(const TuneRequest& request, const TuneReport& report, const std::filesystem::path& store, std::string_view kept) {
  const std::string session = fmt::format("in {} as session {}\n", store_name(store), report.session);
  if (!report.not_kept.empty()) {
    return session + fmt::format("record   not the winner: {}\n", report.not_kept);
  }
  if (!report.faster_record) {
    return fmt::format("{} in {} (session {})\n", kept, store_name(store), report.session);
  }
  const Record& record = *report.faster_record;
  return session + fmt::format("record   remains that of session {}, which is not clearly slower: {}, {}\n", record.session,
                               reached_text(request.measure.objective, record.measurement),
                               text(request.spec.parameters, record.configuration));
}

/// What became of the winner.
std::string kept_text(const TuneRequest& request, const TuneReport& report, const std::filesystem::path& store) {
  if (!report.best) {
    return report.first_failure.empty() ? "no configuration was correct, all were too slow\n"
                                        : fmt::format("no configuration was correct; the first failure: {}\n", report.first_failure);
  }
  const std::string reached = rate_text(rates(request.spec, request.problem, report.best->measurement.median_us));
  const std::string lines = reached.empty() ? "" : fmt::format("rate     {}\n", reached);
  // Of what is not known how far it is ahead of the default there is no number.
  const std::string gain = report.speedup > 0.0
                               ? fmt::format("{}  {:.2f}x, ", request.measure.objective.is_time() ? "speedup" : "gain   ", report.speedup)
                               : std::string("result   ");
  return lines + gain + standing_text(request, report, store, "stored");
}

std::string report_text(const TuneRequest& request, const TuneReport& report, const std::string& fixed,
                        const std::filesystem::path& store) {
  std::string lines = fmt::format("{} {} {} on {} ({})\n", request.spec.name, name(request.problem.dtype), text(request.problem.shape),
                                  report.device_id, report.product);
  lines += report.interrupted ? "interrupted: the best so far, not yet measured beside the default; the same command resumes\n" : "";
  lines += fmt::format("space    {}{} valid of {}{}\n", report.not_shared.empty() ? "" : "at most ", text(report.valid),
                       text(report.cartesian), fixed.empty() ? "" : fmt::format(", with {}", fixed));
  lines += given_text(request.measure.given);
  lines += request.measure.max_error > 0.0 ? fmt::format("accuracy results deviate by at most {:g}\n", request.measure.max_error) : "";
  lines += request.measure.objective.is_time() ? "" : fmt::format("objective {}\n", described(request.measure.objective));
  lines += likely_text(request, report);
  for (const std::string& constraint : report.not_shared) {
    lines += fmt::format("         checked during the search, because no diagram of bounded size represents it: {}\n", constraint);
  }
  lines += fmt::format("trials   {} in {:.1f} s{}{}\n", outcomes_text(report.outcomes), report.seconds,
                       report.resumed_trials > 0 ? fmt::format(", {} from an earlier run", report.resumed_trials) : "",
                       report.prior_trials > 0 ? fmt::format(", and {} from other sessions", report.prior_trials) : "");
  lines += devices_text(report.devices);
  lines += faults_text(report.faults);
  lines += report.model_not_kept.empty() ? "" : fmt::format("the strategy's model could not be stored: {}\n", report.model_not_kept);
  std::vector<std::vector<std::string>> rows;
  if (report.default_measured) {
    rows.push_back({"default", reached_text(request.measure.objective, report.default_measured->measurement),
                    text(request.spec.parameters, report.default_measured->configuration)});
  }
  if (report.best) {
    rows.push_back({"best   ", reached_text(request.measure.objective, report.best->measurement),
                    text(request.spec.parameters, report.best->configuration)});
  }
  lines += table(rows) + broken_text(report.broken);
  if (!report.tied.empty()) {
    lines += fmt::format("tied     {} other{} cannot be distinguished from the fastest\n", report.tied.size(),
                         report.tied.size() == 1 ? "" : "s");
  }
  for (const std::string& note : report.notes) {
    lines += fmt::format("note     {}\n", note);
  }
  lines += state_text(report.readings);
  return lines + kept_text(request, report, store);
}

/// The default's code is what programs fall back on where there is no compiler. A session of a part of the space need not have tried it.
/// What stands in the way of it costs the session nothing.
void keep_default_code(const TuneRequest& request, Store& store) {
  if (request.recorded == nullptr && !request.restriction.empty()) {
    Result<Choice> standard = choose(request.spec, request.problem, request.device.info, nullptr, {.portfolios = false});
    const bool kept = standard && make_launch_plan(request.spec, request.problem, *std::move(standard), request.device, &store).ok();
    static_cast<void>(kept);
  }
}

/// What portfolios that came with Hone, for this card or another, would choose: a search begins with it.
void begin_with_shipped(TuneRequest& request, const KernelSpec& spec) {
  constexpr std::size_t kProposals = 4;
  const Result<Problem> problem = problem_for(spec, request.problem);
  if (problem && request.transfer && request.restriction.empty()) {
    request.first[spec.name] = shipped_proposals(spec, *problem, request.device.info, kProposals);
  }
}

Result<TuneRequest> make_request(const cxxopts::ParseResult& arguments, Subject& subject) {
  HONE_ASSIGN(TuneRequest request, find_search(arguments));
  HONE_ASSIGN(request.restriction, find_restriction(arguments));
  HONE_ASSIGN(Target target, find_session_target(arguments, subject));
  request.device = std::move(target.device);
  request.more_devices = std::move(target.more_devices);
  request.workers = std::move(target.workers);
  request.own_devices = target.own_devices;
  if (!request.own_devices && arguments.count("shapes") > 0) {
    return Error{ErrorCode::kInvalidArgument, "--shapes surveys on a device of this host, beside what workers measure: give --device, too"};
  }
  request.problem = std::move(target.problem);
  HONE_ASSIGN(request.measure.given, find_given(arguments, subject.spec));
  if (request.workers && !request.measure.given.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "given arrays are files of this host, which workers elsewhere cannot read: leave out --workers"};
  }
  request.recorded = subject.recorded.get();
  request.spec = std::move(subject.spec);
  return request;
}

/// Runs a session with its progress on standard error, or told to the program that runs the verb, and to whoever watches. `common`
/// belongs to `request`.
template <class Request>
auto tune_shown(const Volume& volume, Telemetry& telemetry, TuneRequest& common, const Request& request, Store& store) {
  std::optional<ProgressDisplay> display;
  std::function<void(const Progress&)> show;
  if (const Embedding* const host = current_embedding()) {
    show = host->on_progress;
  } else {
    display.emplace(volume, common.budget);
    show = [&display](const Progress& reached) { display->update(reached); };
  }
  common.on_progress = [&telemetry, show](const Progress& reached) {
    telemetry.set_spent(reached.elapsed_seconds, reached.trials);
    if (show) {
      show(reached);
    }
  };
  common.on_event = telemetry.on_event();
  telemetry.set_budget(common.budget);
  return hone::tune(request, store, registry());
}

/// Of the kernels, the one whose default would run untuned.
const KernelReport& first_legal(const OperationReport& report) {
  return *std::ranges::find_if(report.kernels, [](const KernelReport& kernel) { return kernel.part != Part::kIllegal; });
}

/// What a kernel of an operation was tuned with.
TuneRequest request_of(const OperationRequest& request, const KernelReport& kernel) {
  TuneRequest own = request.common;
  own.spec = *kernel.spec;
  return own;
}

Error interrupted_early(const std::filesystem::path& store) {
  return {ErrorCode::kCancelled,
          fmt::format("interrupted before any configuration was found correct. The trials are in {}; the same command resumes",
                      store_name(store))};
}

int exit_code(bool interrupted, bool found) {
  constexpr int kInterrupted = 130, kNothingRight = 2;
  return interrupted ? kInterrupted : found ? 0 : kNothingRight;
}

Json operation_json(const OperationRequest& request, const OperationReport& report, const std::filesystem::path& store) {
  Json object{{"operation", request.operation->name},
              {"interrupted", report.interrupted},
              {"device", device_ids(request.common)},
              {"product", request.common.device.info.product},
              {"dtype", name(request.problem.dtype)},
              {"shape", json(request.problem.shape)},
              {"strategy", request.common.strategy},
              {"seed", request.common.seed},
              {"budget", text(request.common.budget)},
              {"store", store_name(store)},
              {"trials", report.trials},
              {"seconds", report.seconds},
              {"kernel", nullptr},
              {"best", nullptr},
              {"default_us", report.default_us > 0.0 ? Json(report.default_us) : Json()},
              {"speedup", report.speedup},
              {"implementations", Json::array()},
              {"notes", report.notes}};
  for (const KernelReport& kernel : report.kernels) {
    Json& entry = object["implementations"].emplace_back(Json{{"kernel", kernel.spec->name},
                                                              {"ended", name(kernel.part)},
                                                              {"reason", kernel.why},
                                                              {"best_us", kernel.best_us ? Json(*kernel.best_us) : Json()},
                                                              {"tuned", nullptr}});
    if (kernel.tuned) {
      entry["tuned"] = report_json(request_of(request, kernel), *kernel.tuned, "", store);
    }
  }
  if (report.winner) {
    const KernelReport& winner = report.kernels[*report.winner];
    object["kernel"] = winner.spec->name;
    if (winner.tuned && winner.tuned->best) {
      const Measured& best = *winner.tuned->best;
      object["best"] = best_json(request_of(request, winner), *winner.tuned, best, winner.beside_others.value_or(best.measurement));
    }
  }
  return object;
}

std::string operation_text(const OperationRequest& request, const OperationReport& report, const std::filesystem::path& store) {
  const DeviceInfo& device = request.common.device.info;
  std::string lines = fmt::format("{} {} {} on {} ({})\n", request.operation->name, name(request.problem.dtype),
                                  text(request.problem.shape), device_ids(request.common), device.product);
  lines += report.interrupted ? "interrupted: the best so far, not yet measured side by side; the same command goes on\n" : "";
  lines += given_text(request.common.measure.given);
  std::vector<std::vector<std::string>> rows;
  for (const KernelReport& kernel : report.kernels) {
    const bool has_best = kernel.tuned && kernel.tuned->best;
    rows.push_back(
        {std::string(name(kernel.part)), kernel.spec->name, kernel.best_us ? duration(*kernel.best_us) : "",
         kernel.tuned ? fmt::format("{} trials", trial_count(*kernel.tuned)) : "",
         has_best ? text(kernel.spec->parameters, kernel.tuned->best->configuration) : kernel.why.substr(0, kernel.why.find('\n'))});
  }
  lines += table(rows) + fmt::format("trials   {} in {:.1f} s\n", report.trials, report.seconds);
  for (const std::string& note : report.notes) {
    lines += fmt::format("note     {}\n", note);
  }
  if (!report.winner) {
    return lines + "no configuration of any kernel was right\n";
  }
  const KernelReport& winner = report.kernels[*report.winner];
  const std::string reached = rate_text(rates(*winner.spec, request.problem, *winner.best_us));
  lines += reached.empty() ? "" : fmt::format("rate     {}\n", reached);
  const std::string gain = report.speedup > 0.0
                               ? fmt::format("speedup  {:.2f}x the default of {}; ", report.speedup, first_legal(report).spec->name)
                               : std::string("result   ");
  const TuneRequest own = request_of(request, winner);
  return lines + fmt::format("{}{} {}", gain, winner.spec->name, standing_text(own, *winner.tuned, store, "is kept"));
}

Result<Output> tune_operation(const cxxopts::ParseResult& arguments, OperationSubject& subject, Telemetry& telemetry) {
  if (arguments.count("fix") > 0) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--fix names parameters of one kernel: give one of {} in place of {}",
                                                          implementations_text(subject.operation), subject.operation.name)};
  }
  if (arguments.count("shapes") > 0) {
    HONE_TRY(leave_out(arguments, subject.operation));
    Subject definition{.spec = *subject.operation.definition, .recorded = nullptr};
    HONE_ASSIGN(TuneRequest common, make_request(arguments, definition));
    return tune_range(arguments, subject.operation, std::move(common), telemetry);
  }
  HONE_ASSIGN(const Volume volume, find_volume(arguments));
  OperationRequest request{.operation = &subject.operation, .problem = {}, .common = {}};
  Subject definition{.spec = *subject.operation.definition, .recorded = nullptr};
  HONE_ASSIGN(request.common, make_request(arguments, definition));
  request.problem = request.common.problem;
  HONE_TRY(implementations_for(subject.operation, request.problem));
  for (const KernelSpec* const spec : subject.operation.implementations) {
    begin_with_shipped(request.common, *spec);
  }
  HONE_TRY(choose_participants(arguments, request.common.device, request.problem, subject));
  const std::filesystem::path path = store_path(arguments);
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(path, StoreMode::kReadWrite));
  const Interrupt interrupt;
  request.common.stop = interrupt.token();
  request.common.keep_best = true;
  const Result<OperationReport> report = tune_shown(volume, telemetry, request.common, request, *store);
  if (!report) {
    return report.error().code == ErrorCode::kCancelled ? interrupted_early(path) : report.error();
  }
  return Output{operation_json(request, *report, path), operation_text(request, *report, path),
                exit_code(report->interrupted, report->winner.has_value())};
}

Result<Output> tune_kernel(const cxxopts::ParseResult& arguments, Telemetry& telemetry) {
  HONE_ASSIGN(Subject subject, find_subject(arguments));
  if (subject.recorded != nullptr && arguments.count("shapes") > 0) {
    return Error{ErrorCode::kInvalidArgument, "--shapes needs a kernel: a recorded space has the times of one problem"};
  }
  HONE_ASSIGN(const Volume volume, find_volume(arguments));
  HONE_ASSIGN(TuneRequest request, make_request(arguments, subject));
  if (arguments.count("shapes") > 0) {
    HONE_TRY(check_is_time(request.measure.objective, "ranges of shapes are tuned"));
    const KernelSpec spec = request.spec;
    return tune_range(arguments, alone(spec), std::move(request), telemetry);
  }
  HONE_ASSIGN(const std::string fixed, text(request.spec.parameters, request.restriction));
  begin_with_shipped(request, request.spec);
  HONE_TRY(check_objective(request));
  HONE_TRY(space_of(request));  // all that can be wrong with the input is found before the store is opened, let alone made
  const std::filesystem::path path = store_path(arguments);
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(path, StoreMode::kReadWrite));
  const Interrupt interrupt;
  request.stop = interrupt.token();
  request.keep_best = true;
  const Result<TuneReport> report = tune_shown(volume, telemetry, request, request, *store);
  if (!report) {
    return report.error().code == ErrorCode::kCancelled ? interrupted_early(path) : report.error();
  }
  if (!report->interrupted) {
    keep_default_code(request, *store);
  }
  return Output{report_json(request, *report, fixed, path), report_text(request, *report, fixed, path),
                exit_code(report->interrupted, report->best.has_value())};
}

Result<Output> tune_any(const cxxopts::ParseResult& arguments, Telemetry& telemetry) {
  HONE_TRY(check_range_options(arguments));
  HONE_TRY(check_workload_options(arguments));
  HONE_TRY(load_plugins(arguments));
  HONE_ASSIGN(const Objective objective, find_objective(arguments));
  if (arguments.count("workload") > 0) {
    HONE_TRY(check_is_time(objective, "workloads are tuned"));
    return tune_workload(arguments, telemetry);
  }
  HONE_ASSIGN(const std::unique_ptr<OperationSubject> operation, find_operation_subject(arguments));
  if (operation) {
    HONE_TRY(check_is_time(objective, "operations are tuned"));
    return tune_operation(arguments, *operation, telemetry);
  }
  if (arguments.count("without") > 0) {
    return Error{ErrorCode::kInvalidArgument, "--without leaves out kernels of an operation, such as matmul: give that"};
  }
  return tune_kernel(arguments, telemetry);
}

}  // namespace

int tune(int argc, char** argv) {
  cxxopts::Options options(
      "hone tune",
      "Searches the configurations of a kernel for a problem on a device and stores the winner; of an operation "
      "(matmul), those of all\nkernels that implement it. Ctrl-C stops it, then prints and stores the best so far; the "
      "same command resumes the session.");
  add_problem_options(options);
  add_with_option(options);
  add_without_option(options);
  add_store_option(options);
  add_workers_option(options);
  add_plugin_option(options);
  add_timing_options(options);
  add_accuracy_option(options);
  add_objective_option(options);
  add_given_options(options);
  add_range_options(options);
  add_fix_option(options,
                 "search only configurations with this value, or with one of several: \"block=128|256,vec=4\" (quote the |). The winner "
                 "becomes the record only if there is none or if it is faster; give another --store to keep it separately");
  add_search_options(options);
  add_workload_options(options);
  add_progress_options(options);
  add_metrics_option(options);
  add_log_option(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) {
    return run_watched(arguments, "tune", [&](Telemetry& telemetry) { return tune_any(arguments, telemetry); });
  });
}

}  // namespace hone::cli
