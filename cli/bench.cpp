// hone bench: a suite against what is expected of it on this product of device.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "cli/embedding.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/registry.hpp"
#include "cli/suite/suite_run.hpp"
#include "cli/telemetry.hpp"
#include "cli/verbs.hpp"
#include "engine/tune/scratch_store.hpp"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

std::string now_text() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

/// Leaves the cases that are asked for.
Result<void> narrow(const cxxopts::ParseResult& arguments, suite::SuiteFile& file) {
  std::vector<suite::Entry>& cases = file.cases;
  if (arguments.count("smoke") > 0) {
    std::erase_if(cases, [](const suite::Entry& entry) { return !entry.smoke; });
    if (cases.empty()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("--smoke: no case of {} has smoke = true", file.path.string())};
    }
  }
  if (arguments.count("only") > 0) {
    const auto wanted = arguments["only"].as<std::vector<std::string>>();
    std::erase_if(cases, [&](const suite::Entry& entry) {
      return std::ranges::none_of(wanted, [&](const std::string& part) { return entry.name.find(part) != std::string::npos; });
    });
  }
  return cases.empty() ? Result<void>(Error{ErrorCode::kInvalidArgument, "no case of the suite has a name with what --only says"})
                       : Result<void>();
}

/// Runs that were added to the history before; none where there is no such file yet.
Result<std::vector<suite::PastRun>> earlier_runs(const cxxopts::ParseResult& arguments, const std::string& product) {
  std::error_code failed;
  return arguments.count("history") > 0 && fs::exists(arguments["history"].as<std::string>(), failed)
             ? suite::read_runs(arguments["history"].as<std::string>(), product)
             : std::vector<suite::PastRun>();
}

/// Writes the files that were asked for. One that cannot be written must not cost what was measured: the output says so.
void write_files(const cxxopts::ParseResult& arguments, const suite::SuiteRun& run, const suite::SuiteFile& whole,
                 std::vector<suite::PastRun> past, Output& output) {
  const auto note = [&](const std::string& file, const Result<void>& written) {
    output.json[written ? "files" : "failures"].push_back(written ? file : written.error().message);
    output.text += written ? file + "\n" : fmt::format("not written: {}\n", written.error().message);
    output.exit_code = written ? output.exit_code : 1;
  };
  const bool update = arguments.count("update") > 0;
  if (update || arguments.count("record") > 0) {
    std::error_code failed;
    fs::create_directories(run.expectations_file.parent_path(), failed);
    const std::string text = suite::expectations_text(suite::recorded(run, update, whole), whole.path);
    note(run.expectations_file.string(), write_file(run.expectations_file, std::string_view(text)));
  }
  past.push_back(suite::past_run(run));
  if (arguments.count("history") > 0) {
    const std::string file = arguments["history"].as<std::string>();
    note(file, suite::append_run(file, past.back()));
  }
  if (arguments.count("trend") > 0) {
    const std::string file = arguments["trend"].as<std::string>();
    note(file, write_file(file, std::string_view(suite::trend_picture(past).file())));
  }
}

int exit_code(const cxxopts::ParseResult& arguments, const suite::SuiteRun& run) {
  const bool update = arguments.count("update") > 0, records = update || arguments.count("record") > 0;
  const bool alarm = std::ranges::any_of(run.findings, [&](const gate::Finding& finding) {
    return (gate::is_alarm(finding.verdict) && !suite::is_recorded(finding.verdict, update)) ||
           (arguments.count("strict") > 0 && finding.verdict == gate::Verdict::kNotRecorded);
  });
  return alarm || (!run.changed.empty() && !records) ? 1 : 0;
}

/// What was found, one case a line.
void log_findings(const Output& output, const suite::SuiteRun& run, Telemetry& telemetry) {
  for (std::size_t place = 0; place < run.findings.size(); ++place) {
    const bool alarm = gate::is_alarm(run.findings[place].verdict);
    telemetry.log(alarm ? LogLevel::kWarning : LogLevel::kInfo, "case", output.json["cases"][place]);
  }
}

Result<Output> run_suite(const cxxopts::ParseResult& arguments, Telemetry& telemetry) {
  if (arguments.count("suite") == 0) {
    return Error{ErrorCode::kInvalidArgument, "which suite? hone bench SUITE.toml (docs/bench.md says what is in one)"};
  }
  HONE_TRY(load_plugins(arguments));
  HONE_ASSIGN(const suite::SuiteFile whole, suite::read_suite(arguments["suite"].as<std::string>()));
  HONE_ASSIGN(const Registry::Found device, find_device(arguments));
  suite::SuiteRun run{.file = whole, .device = device.info, .date = now_text()};
  HONE_TRY(narrow(arguments, run.file));
  run.expectations_file = suite::expectations_path(whole.path, run.device);
  HONE_ASSIGN(run.expected, suite::read_expectations(run.expectations_file));
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_existing_store(arguments));
  HONE_ASSIGN(const ScratchStore scratch, ScratchStore::create());
  const Interrupt interrupt;
  suite::Surroundings around{.arguments = &arguments, .device = device, .store = store.get(), .scratch = &scratch.store(), .measure = {}};
  HONE_ASSIGN(around.measure, find_timing(arguments));
  around.seed = arguments["seed"].as<std::uint64_t>();
  around.stop = interrupt.token();
  around.on_event = telemetry.on_event();
  const bool shows = shows_progress();
  const suite::OnProgress on_progress = [&telemetry, shows](const std::string& what) {
    telemetry.log(LogLevel::kInfo, "measuring", {{"name", what}});
    if (shows) {
      fmt::print(stderr, "\r\033[K{}", what);
    }
  };
  if (arguments.count("processes") > 0) {
    run.file.processes = arguments["processes"].as<std::uint16_t>();
    if (run.file.processes < 1 || run.file.processes > suite::kMostProcesses) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("--processes is a number from 1 to {}", suite::kMostProcesses)};
    }
  }
  HONE_ASSIGN(std::vector<suite::PastRun> past, earlier_runs(arguments, run.device.product));
  const Result<void> measured = suite::measure_all(around, on_progress, run);
  if (shows) {
    fmt::print(stderr, "\r\033[K");
  }
  HONE_TRY(measured);
  Output output{.json = suite::run_json(run), .text = suite::run_text(run), .exit_code = exit_code(arguments, run)};
  log_findings(output, run, telemetry);
  write_files(arguments, run, whole, std::move(past), output);
  return output;
}

}  // namespace

int bench(int argc, char** argv) {
  cxxopts::Options options(
      "hone bench",
      "Measures a suite of kernels and compares it with what is recorded of this product of device. Exit code 1 if a "
      "case is slower\nthan its recorded runs allow, wrong, newly failing, or no longer what was recorded. docs/bench.md explains it.");
  options.add_options()("suite", "the suite, a TOML file", cxxopts::value<std::string>())(
      "device", "cuda:0, cpu, ... (default: the best present)", cxxopts::value<std::string>(), "ID")(
      "smoke", "only the cases that the suite marks with smoke = true")("only", "only cases with this in their name (repeatable)",
                                                                        cxxopts::value<std::vector<std::string>>(), "TEXT")(
      "record", "add this run to what is expected, but for what is faster, slower, wrong or failing")(
      "update", "take this run for what is expected, also where it is faster, slower or fails; never what is wrong")(
      "strict", "exit code 1 also where nothing is recorded for a case")(
      "processes", "fresh processes for each case, instead of the suite's", cxxopts::value<std::uint16_t>(), "N")(
      "history", "a file to which a line with this run is added", cxxopts::value<std::string>(), "FILE.jsonl")(
      "trend", "draw the runs of --history", cxxopts::value<std::string>(), "FILE.svg")(
      "seed", "of the inputs", cxxopts::value<std::uint64_t>()->default_value("0"), "N");
  add_store_option(options);
  add_timing_options(options);
  add_plugin_option(options);
  add_flag_options(options);
  add_log_option(options);
  options.parse_positional({"suite"});
  options.positional_help("SUITE.toml");
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) {
    return run_watched(arguments, "bench", [&](Telemetry& telemetry) { return run_suite(arguments, telemetry); });
  });
}

}  // namespace hone::cli
