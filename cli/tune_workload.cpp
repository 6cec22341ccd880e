#include "cli/tune_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>

#include "cli/embedding.hpp"
#include "cli/interrupt.hpp"
#include "cli/operations.hpp"
#include "cli/present.hpp"
#include "cli/progress_display.hpp"
#include "cli/registry.hpp"
#include "cli/session_devices.hpp"
#include "cli/tune_range.hpp"
#include "cli/tune_request.hpp"
#include "engine/kernel/builtin_kernels.hpp"
#include "engine/store/store_server.hpp"
#include "engine/store/workload.hpp"
#include "engine/tune/workload_session.hpp"
#include "engine/worker/worker.hpp"

namespace hone::cli {
namespace {

constexpr double kPercent = 100.0;

/// The kernels that a workload names; each file is read once.
class WorkloadKernels {
 public:
  WorkloadKernels(const cxxopts::ParseResult& arguments, std::filesystem::path folder)
      : flags_(find_flags(arguments)), folder_(std::move(folder)) {}

  /// --with: takes part wherever its operation is asked for.
  Result<void> add(const std::string& file) {
    HONE_ASSIGN(const KernelSpec* const spec, read(file));
    if (spec->operation.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} implements no operation, OPERATION(NAME): name it in the workload as a kernel", file)};
    }
    with_.push_back(spec);
    return {};
  }

  /// What the name means to an application, or the kernel of a file, whose path is relative to the workload's folder.
  const Result<Operation>& find(const std::string& kernel) {
    auto known = known_.find(kernel);
    if (known == known_.end()) {
      known = known_.emplace(kernel, meaning_of(kernel)).first;
    }
    return known->second;
  }

 private:
  Result<const KernelSpec*> read(const std::filesystem::path& file) {
    HONE_ASSIGN(KernelSpec read, read_kernel_file_in_worker(file.string(), flags_));
    print_warnings(read);
    HONE_ASSIGN(KernelSpec spec, as_implementation(std::move(read), with_));
    return &own_.emplace_back(std::move(spec));
  }

  Result<Operation> meaning_of(const std::string& kernel) {
    if (is_file(kernel)) {
      HONE_ASSIGN(const KernelSpec* const spec, read(folder_ / kernel));
      return alone(*spec);
    }
    if (Result<Operation> operation = find_operation(kernel, with_)) {
      return operation;
    }
    HONE_ASSIGN(const KernelSpec* const builtin, find_builtin_kernel(kernel));
    return alone(*builtin);
  }

  ReadOptions flags_;
  std::filesystem::path folder_;
  std::deque<KernelSpec> own_;  ///< they stay where they are
  std::vector<const KernelSpec*> with_;
  std::map<std::string, Result<Operation>> known_;
};

Result<DTypes> dtypes_of(const WorkloadProblem& asked, const KernelSpec& spec) {
  const bool has_f32 = std::ranges::find(spec.dtypes, DTypes(DType::kF32)) != spec.dtypes.end();
  return asked.dtypes.empty() && has_f32 ? DTypes(DType::kF32) : choose_dtypes(spec, asked.dtypes);
}

/// What is wrong with it is for its report.
Result<WorkloadItem> find_item(const WorkloadProblem& asked, WorkloadKernels& kernels) {
  const Result<Operation>& operation = kernels.find(asked.kernel);
  if (!operation) {
    return operation.error();
  }
  HONE_ASSIGN(const DTypes dtypes, dtypes_of(asked, *operation->definition));
  HONE_ASSIGN(Problem problem, make_problem(*operation->definition, dtypes, asked.shape));
  return WorkloadItem{.operation = &*operation, .problem = std::move(problem), .weight = static_cast<double>(asked.count)};
}

std::string problem_text(const WorkloadProblem& asked) { return fmt::format("{} {} {}", asked.kernel, asked.dtypes, text(asked.shape)); }

Result<void> check_alone(const cxxopts::ParseResult& arguments) {
  for (const std::string other : {"kernel", "shape", "dtype", "shapes", "fix", "input", "expect"}) {
    const bool given = arguments.count(other) > 0 && (other != "shape" || !arguments["shape"].as<std::string>().empty());
    if (given) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("{} is for one kernel, and --workload names its kernels and problems itself: "
                                                            "give one of the two",
                                                            other == "kernel" ? arguments["kernel"].as<std::string>() : "--" + other)};
    }
  }
  return {};
}

double gain_of(const ItemReport& item) { return item.after->time_us > 0.0 ? item.before->time_us / item.after->time_us : 0.0; }
double gain_of(const WorkloadReport& report) { return report.after_us > 0.0 ? report.before_us / report.after_us : 0.0; }
bool is_measured(const ItemReport& item) { return item.before && item.after; }
double share_of(const ItemReport& item, double weight, const WorkloadReport& report) {
  return report.before_us > 0.0 ? weight * item.before->time_us / report.before_us : 0.0;
}

Json served_json(const std::optional<Served>& served) {
  return served ? Json{{"source", name(served->source)},
                       {"kernel", served->kernel},
                       {"configuration", served->configuration},
                       {"time_us", served->time_us}}
                : Json();
}

Json workload_json(const Workload& workload, const WorkloadRequest& request, const WorkloadReport& report, const std::string& file) {
  Json object{{"workload", file},
              {"device", device_ids(request.common)},
              {"product", request.common.device.info.product},
              {"strategy", request.common.strategy},
              {"seed", request.common.seed},
              {"budget", text(request.budget)},
              {"split", name(request.split)},
              {"store", store_name(request.store)},
              {"interrupted", report.interrupted},
              {"seconds", report.seconds},
              {"weighted_before_us", report.before_us},
              {"weighted_after_us", report.after_us},
              {"gain", gain_of(report)},
              {"items", Json::array()}};
  for (std::size_t i = 0; i < workload.size(); ++i) {
    const ItemReport& item = report.items[i];
    const WorkloadItem& asked = request.items[i];
    object["items"].push_back({{"kernel", workload[i].kernel},
                               {"dtype", asked.operation != nullptr ? name(asked.problem.dtype) : workload[i].dtypes},
                               {"shape", json(asked.operation != nullptr ? asked.problem.shape : workload[i].shape)},
                               {"count", workload[i].count},
                               {"state", name(item.state)},
                               {"reason", item.why},
                               {"before", served_json(item.before)},
                               {"after", served_json(item.after)},
                               {"gain", is_measured(item) ? Json(gain_of(item)) : Json()},
                               {"share", is_measured(item) ? Json(share_of(item, asked.weight, report)) : Json()},
                               {"seconds", item.seconds},
                               {"trials", item.trials}});
  }
  return object;
}

std::string workload_text(const Workload& workload, const WorkloadRequest& request, const WorkloadReport& report, const std::string& file) {
  const DeviceInfo& device = request.common.device.info;
  std::string lines =
      fmt::format("{} on {} ({}), budget {} split by {}\n", file, device.id, device.product, text(request.budget), name(request.split));
  lines += report.interrupted ? "interrupted: the best so far; the same command goes on\n" : "";
  std::vector<std::vector<std::string>> rows{{"count", "before", "", "after", "gain", "share", "seconds", "problem"}};
  std::string reasons;
  std::size_t measured = 0;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    const ItemReport& item = report.items[i];
    std::vector<std::string> row{std::to_string(workload[i].count), "", std::string(name(item.state)), "", "", "", "",
                                 problem_text(workload[i])};
    if (is_measured(item)) {
      ++measured;
      row[1] = duration(item.before->time_us);
      row[2] = name(item.before->source);
      row[3] = duration(item.after->time_us);
      row[4] = fmt::format("{:.2f}x", gain_of(item));
      row[5] = fmt::format("{:.1f} %", kPercent * share_of(item, request.items[i].weight, report));
    }
    row[6] = fmt::format("{:.1f}", item.seconds);
    rows.push_back(std::move(row));
    reasons += item.why.empty()
                   ? ""
                   : fmt::format("{:<8} {}: {}\n", name(item.state), problem_text(workload[i]), item.why.substr(0, item.why.find('\n')));
  }
  lines += table(rows) + reasons;
  const auto skipped = std::ranges::count(report.items, ItemState::kSkipped, &ItemReport::state);
  return lines + fmt::format("weighted {} before, {} after: {:.2f}x, over {} of {} problems in {:.1f} s{}\n", duration(report.before_us),
                             duration(report.after_us), gain_of(report), measured, workload.size(), report.seconds,
                             skipped > 0 ? fmt::format("; {} were tuned before, and left out", skipped) : "");
}

std::string item_text(const Workload& workload, const WorkloadProgress& progress) {
  return fmt::format("{:6.1f} s  weighted {} of {}  {} {}", progress.elapsed_seconds, duration(progress.weighted_us),
                     duration(progress.default_us), progress.finishing ? "last of" : "now", problem_text(workload[progress.item]));
}

constexpr int kNothing = 2;  // could be tuned

int exit_code(const WorkloadReport& report) {
  constexpr int kInterrupted = 130;
  return report.interrupted ? kInterrupted : std::ranges::any_of(report.items, is_measured) ? 0 : kNothing;
}

}  // namespace

Result<void> check_workload_options(const cxxopts::ParseResult& arguments) {
  for (const std::string option : {"split", "skip-tuned"}) {
    if (arguments.count("workload") == 0 && arguments.count(option) > 0) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("--{} is for a workload: give --workload, or leave it out", option)};
    }
  }
  return {};
}

void add_workload_options(cxxopts::Options& options) {
  options.add_options()("workload",
                        "instead of a kernel: a file with the problems that an application launches (EngineOptions::record_workload), "
                        "which share the budget",
                        cxxopts::value<std::string>(), "FILE")(
      "split", "of a workload: gain (the budget goes where it saves most of the workload's time) or even (the same for each problem)",
      cxxopts::value<std::string>()->default_value("gain"),
      "HOW")("skip-tuned", "of a workload: leave out problems that have a record of their own");
}

Result<Output> tune_workload(const cxxopts::ParseResult& arguments, Telemetry& telemetry) {
  HONE_TRY(check_alone(arguments));
  HONE_ASSIGN(const Volume volume, find_volume_of_many(arguments));
  const std::string file = arguments["workload"].as<std::string>();
  HONE_ASSIGN(const Workload workload, read_workload(file));
  if (workload.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("the workload {} names no problem", file)};
  }
  WorkloadRequest request;
  HONE_ASSIGN(request.split, parse_split(arguments["split"].as<std::string>()));
  HONE_ASSIGN(request.common, find_search(arguments));
  HONE_ASSIGN(const SessionDevices devices, find_session_devices(arguments));
  set_devices(request.common, devices);
  request.budget = request.common.budget;
  request.skip_tuned = arguments.count("skip-tuned") > 0;
  request.store = store_path(arguments);
  if (arguments.count("without") > 0) {
    request.without = arguments["without"].as<std::vector<std::string>>();
  }
  WorkloadKernels kernels(arguments, std::filesystem::path(file).parent_path());
  for (const std::string& with : with_files(arguments)) {
    HONE_TRY(kernels.add(with));
  }
  for (const WorkloadProblem& asked : workload) {
    Result<WorkloadItem> item = find_item(asked, kernels);
    request.items.push_back(item ? *std::move(item) : WorkloadItem{.operation = nullptr, .problem = {}, .why = item.error().message});
  }
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(request.store, StoreMode::kReadWrite));
  const Interrupt interrupt;
  request.common.stop = interrupt.token();
  request.common.on_event = telemetry.on_event();
  telemetry.set_budget(request.budget);
  std::optional<StatusLine> line;
  if (current_embedding() == nullptr) {
    line.emplace(volume);
  }
  request.on_progress = [&](const WorkloadProgress& progress) {
    telemetry.set_spent(progress.elapsed_seconds, progress.trials);
    if (line) {
      line->show(item_text(workload, progress));
    }
  };
  const Result<WorkloadReport> report = hone::tune(request, *store, registry());
  line.reset();
  HONE_TRY(report);
  Output output{workload_json(workload, request, *report, file), workload_text(workload, request, *report, file), exit_code(*report)};
  const bool is_error = std::ranges::any_of(report->items, [](const ItemReport& item) { return item.state == ItemState::kFailed; });
  if (output.exit_code == kNothing && is_error) {
    const auto failed = std::ranges::find(report->items, ItemState::kFailed, &ItemReport::state);
    const std::string message =
        fmt::format("none of the {} problems of {} could be tuned; the first: {}", workload.size(), file, failed->why);
    output.json["error"] = {{"message", message}};
    fmt::print(stderr, "hone tune: {}\n", message);
  }
  return output;
}

}  // namespace hone::cli
