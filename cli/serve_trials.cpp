#include "engine/tune/serve_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/interrupt.hpp"
#include "cli/number.hpp"
#include "cli/options.hpp"
#include "cli/progress_display.hpp"
#include "cli/registry.hpp"
#include "cli/telemetry.hpp"
#include "cli/verbs.hpp"
#include "engine/base/cores.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cli {
namespace {

struct Kinds {
  bool measures = false, compiles = false;
};

Result<Kinds> find_kinds(const cxxopts::ParseResult& arguments) {
  const std::string kinds = arguments["kinds"].as<std::string>();
  if (kinds != "measure" && kinds != "compile" && kinds != "both") {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--kinds is measure, compile or both, not '{}'", kinds)};
  }
  if (kinds == "compile" && (arguments.count("device") > 0 || arguments.count("replay") > 0)) {
    return Error{ErrorCode::kInvalidArgument, "--kinds compile uses no device: leave out --device and --replay"};
  }
  return Kinds{.measures = kinds != "compile", .compiles = kinds != "measure"};
}

Result<double> find_seconds(const cxxopts::ParseResult& arguments, const std::string& option, double otherwise) {
  const double seconds = arguments.count(option) > 0 ? arguments[option].as<Number>().value : otherwise;
  if (!(seconds > 0.0)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("--{} is a number above 0; it cannot be {}", option, seconds)};
  }
  return seconds;
}

/// The device to measure on; of a replay, one that is of the recorded product.
Result<Registry::Found> find_measured(const cxxopts::ParseResult& arguments, const RecordedSpace* recorded) {
  if (recorded == nullptr) {
    HONE_ASSIGN(Registry::Found found, find_device(arguments));
    if (found.info.plugin == "replay") {
      return Error{ErrorCode::kInvalidArgument, "--device replay answers from a recorded space: give its file with --replay"};
    }
    return found;
  }
  HONE_ASSIGN(Registry::Found found, registry().device("replay"));
  found.info.product = recorded->device_name();
  return found;
}

std::string event_text(const ServeEvent& event) {
  std::string line = fmt::format("{}: {}", event.worker, name(event.what));
  for (const std::string& part : {event.configuration, event.outcome, event.seconds > 0.0 ? fmt::format("{:.2f} s", event.seconds) : "",
                                  event.detail.substr(0, event.detail.find('\n'))}) {
    line += part.empty() ? "" : "  " + part;
  }
  return line;
}

Output output_of(const ServeReport& report, const std::filesystem::path& store) {
  return {{{"store", store_name(store)},
           {"workers", report.workers},
           {"trials", report.trials},
           {"control_runs", report.controls},
           {"final_rounds", report.finals},
           {"compiled", report.compiled},
           {"unanswered", report.failed},
           {"given_back", report.given_back},
           {"seconds", report.seconds},
           {"busy_seconds", report.busy_seconds},
           {"reason", report.why}},
          fmt::format("{} trials, {} controls, {} final rounds, {} compiled in {:.1f} s, {:.1f} s of it at work; {}\n", report.trials,
                      report.controls, report.finals, report.compiled, report.seconds, report.busy_seconds, report.why)};
}

Result<Output> serve(const cxxopts::ParseResult& arguments, Telemetry& telemetry) {
  HONE_TRY(load_plugins(arguments));
  HONE_ASSIGN(const Volume volume, find_volume(arguments));
  HONE_ASSIGN(const Kinds kinds, find_kinds(arguments));
  const std::filesystem::path store = store_path(arguments);
  ServeRequest request{.store = store.string(), .on_event = {}};
  HONE_ASSIGN(request.idle_seconds, find_seconds(arguments, "idle", request.idle_seconds));
  HONE_ASSIGN(request.pace, find_seconds(arguments, "pace", request.pace));
  std::optional<RecordedSpace> recorded;
  if (arguments.count("replay") > 0) {
    HONE_ASSIGN(recorded, RecordedSpace::load(arguments["replay"].as<std::string>()));
    request.recorded = &*recorded;
  }
  if (kinds.measures) {
    HONE_ASSIGN(request.device, find_measured(arguments, request.recorded));
  }
  if (kinds.compiles) {
    const int spare = kinds.measures ? 1 : 0, wanted = arguments["compile-workers"].as<std::uint16_t>();
    request.compilers = wanted > 0 ? wanted : std::max(1, static_cast<int>(usable_cores()) - spare);
    request.targets = compile_targets(registry());
  }
  const Interrupt interrupt;
  request.stop = interrupt.token();
  request.on_event = [volume, &telemetry](const ServeEvent& event) {
    telemetry.take(event);
    if (!volume.quiet) {
      fmt::print(stderr, "{}\n", event_text(event));
    }
  };
  HONE_ASSIGN(const ServeReport report, hone::serve_trials(request, registry()));
  return output_of(report, store);
}

}  // namespace

int serve_trials(int argc, char** argv) {
  cxxopts::Options options("hone serve-trials",
                           "Works for the sessions of others: attaches to a store on a server, and measures and compiles what hone tune "
                           "--workers wants there.\nIt runs code that whoever may write to the store has put there. It leaves on Ctrl-C or "
                           "SIGTERM, and gives back what it was at.");
  add_store_option(options);
  options.add_options()("device", "the device to measure on (default: the best that is here)", cxxopts::value<std::string>(), "DEVICE")(
      "kinds", "what work it takes: measure, compile (needs no device), both", cxxopts::value<std::string>()->default_value("measure"),
      "KINDS")("compile-workers", "processes that compile (0: one per core, with a device one core less)",
               cxxopts::value<std::uint16_t>()->default_value("0"),
               "N")("idle", "leave after so long without work (default: never)", cxxopts::value<Number>(), "SECONDS")(
      "replay", "answer from this recorded space in place of a device", cxxopts::value<std::string>(), "FILE")(
      "pace", "of a replay: seconds that a trial takes for each that it was recorded with", cxxopts::value<Number>(), "FACTOR");
  add_plugin_option(options);
  add_progress_options(options);
  add_metrics_option(options);
  add_log_option(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) {
    return run_watched(arguments, "serve-trials", [&](Telemetry& telemetry) { return serve(arguments, telemetry); });
  });
}

}  // namespace hone::cli
