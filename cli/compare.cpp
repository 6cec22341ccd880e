#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/compare_report.hpp"
#include "cli/embedding.hpp"
#include "cli/number.hpp"
#include "cli/output.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/verbs.hpp"

namespace hone::cli {
namespace {

Error refuse(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// "NAME", or "NAME:key=value,key=value" of which the commas are option separators too: what has no name of its own belongs to the one
/// before.
std::vector<std::vector<std::string>> with_settings(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> strategies;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos && word.find('=') != std::string::npos && !strategies.empty()) {
      strategies.back().push_back(word);
      continue;
    }
    strategies.push_back({word.substr(0, colon)});
    if (colon != std::string::npos) {
      strategies.back().push_back(word.substr(colon + 1));
    }
  }
  return strategies;
}

bool is_plugin(const std::string& word) { return word.ends_with(".so") || word.find('/') != std::string::npos; }

Result<std::vector<CompareRequest::Entry>> entries_of(const std::vector<std::string>& words) {
  std::vector<CompareRequest::Entry> entries;
  for (const std::vector<std::string>& given : with_settings(words)) {
    const std::vector<std::string> settings(given.begin() + 1, given.end());
    std::vector<std::string> names{given.front()};
    if (is_plugin(given.front())) {
      HONE_ASSIGN(names, load_plugin_file(given.front()));
    }
    for (const std::string& wanted : names) {
      CompareRequest::Entry entry;
      HONE_ASSIGN(entry.strategy, registry().strategy(wanted));
      HONE_ASSIGN(entry.settings, strategy_settings(*entry.strategy, settings));
      entry.label = settings.empty() ? wanted : fmt::format("{}:{}", wanted, fmt::join(settings, ","));
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

Result<CostUnit> parse_unit(const std::string& text) {
  for (const CostUnit unit : {CostUnit::kEvaluations, CostUnit::kSeconds}) {
    if (text == name(unit)) {
      return unit;
    }
  }
  return refuse(fmt::format("--unit {}: evaluations or seconds", text));
}

Result<Transfer> parse_transfer(const std::string& text) {
  for (const Transfer transfer : {Transfer::kNone, Transfer::kAll, Transfer::kOne, Transfer::kMisleading, Transfer::kShuffled}) {
    if (text == name(transfer)) {
      return transfer;
    }
  }
  return refuse(fmt::format("--transfer {}: none, all, one, misleading or shuffled", text));
}

/// One line on a terminal's stderr.
void show_replays(std::size_t done, std::size_t all) {
  if (done % 16 == 0 || done == all) {
    fmt::print(stderr, "\r\033[K{}", done == all ? "" : fmt::format("{} of {} runs", done, all));
    std::fflush(stderr);
  }
}

/// An hour of searches must not end in a report that cannot be written.
Result<void> check_files(const cxxopts::ParseResult& arguments) {
  for (const char* option : {"report", "traces"}) {
    if (arguments.count(option) > 0) {
      if (const Result<void> fine = check_writable(arguments[option].as<std::string>()); !fine) {
        return refuse(fmt::format("--{}: {}", option, fine.error().message));
      }
    }
  }
  return {};
}

Result<CompareRequest> make_request(const cxxopts::ParseResult& arguments) {
  CompareRequest request;
  if (arguments.count("strategy") == 0) {
    return refuse("which strategies? --strategy NAME, repeatable (hone strategies lists them)");
  }
  HONE_ASSIGN(request.entries, entries_of(arguments["strategy"].as<std::vector<std::string>>()));
  HONE_ASSIGN(request.unit, parse_unit(arguments["unit"].as<std::string>()));
  HONE_ASSIGN(request.transfer, parse_transfer(arguments["transfer"].as<std::string>()));
  const std::vector<double> usual =
      request.unit == CostUnit::kEvaluations ? std::vector{25.0, 50.0, 100.0, 200.0, 400.0} : std::vector{60.0, 300.0, 900.0};
  request.budgets = usual;
  if (arguments.count("budgets") > 0) {
    const std::vector<Number> given = arguments["budgets"].as<std::vector<Number>>();
    request.budgets.resize(given.size());
    std::ranges::transform(given, request.budgets.begin(), &Number::value);
  }
  constexpr int kMostRepeats = 100'000;  // each is kept until the end
  request.repeats = arguments["repeats"].as<int>();
  if (request.repeats > kMostRepeats) {
    return refuse(fmt::format("--repeats is a number from 1 to {}; it cannot be {}", kMostRepeats, request.repeats));
  }
  request.batch = arguments["batch"].as<int>();
  request.jobs = arguments["jobs"].as<int>();
  request.seed = arguments["seed"].as<std::uint64_t>();
  request.keep_traces = arguments.count("traces") > 0;
  if (shows_progress()) {
    request.on_progress = show_replays;
  }
  return request;
}

Result<Output> run_comparison(const cxxopts::ParseResult& arguments) {
  HONE_TRY(load_plugins(arguments));
  HONE_ASSIGN(CompareRequest request, make_request(arguments));
  if (arguments.count("spaces") == 0) {
    return refuse("which recorded spaces? --spaces DIR, or files");
  }
  const auto paths = arguments["spaces"].as<std::vector<std::string>>();
  HONE_ASSIGN(RecordedSpaces recorded, load_recorded_spaces({paths.begin(), paths.end()}));
  request.spaces = std::move(recorded.spaces);
  HONE_TRY(check_files(arguments));
  HONE_ASSIGN(CompareReport report, compare_strategies(request));
  report.notes.insert(report.notes.begin(), recorded.notes.begin(), recorded.notes.end());
  if (arguments.count("report") > 0) {
    HONE_TRY(write_file(arguments["report"].as<std::string>(), comparison_html(request, report)));
  }
  if (arguments.count("traces") > 0) {
    HONE_TRY(write_file(arguments["traces"].as<std::string>(), dump(traces_json(request, report))));
  }
  return Output{comparison_json(request, report), comparison_text(request, report)};
}

}  // namespace

int compare(int argc, char** argv) {
  cxxopts::Options options("hone compare",
                           "Replays search strategies on recorded tuning spaces, without a GPU, and reports how good their best is after "
                           "each budget.\nYour own strategy is a shared object (hone/plugin.hpp): --strategy ./libmine.so");
  using Words = std::vector<std::string>;
  options.add_options()("spaces", "folder with recorded spaces (*.json.gz, *.json), searched recursively, or files",
                        cxxopts::value<Words>(), "DIR")(
      "strategy", "a strategy, with settings after a colon (NAME:key=value,key=value), or a shared object with strategies (repeatable)",
      cxxopts::value<Words>(),
      "NAME")("budgets", "budgets at which results are compared (default: 25,50,100,200,400; with --unit seconds 60,300,900)",
              cxxopts::value<std::vector<Number>>(),
              "LIST")("repeats", "searches of each strategy on each space", cxxopts::value<int>()->default_value("100"), "N")(
      "seed", "seed of the searches; the same for every strategy", cxxopts::value<std::uint64_t>()->default_value("0"), "N")(
      "jobs", "parallel searches (0: one per core); results do not depend on it", cxxopts::value<int>()->default_value("0"), "N")(
      "batch", "proposals requested from a strategy at a time", cxxopts::value<int>()->default_value("1"), "N")(
      "unit", "unit of the budgets: evaluations, or the recorded seconds", cxxopts::value<std::string>()->default_value("evaluations"),
      "UNIT")("transfer",
              "data from other devices of the kernel: none, all, one (each in turn), misleading (one with reversed ranks) or shuffled (one "
              "with permuted outcomes)",
              cxxopts::value<std::string>()->default_value("none"),
              "WHICH")("report", "write a page with curves and tables", cxxopts::value<std::string>(), "FILE")(
      "traces", "write every evaluation of every run, as JSON", cxxopts::value<std::string>(), "FILE");
  add_plugin_option(options);
  return run_verb(options, argc, argv, run_comparison);
}

}  // namespace hone::cli
