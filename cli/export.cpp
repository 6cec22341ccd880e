#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/anywhere.hpp"
#include "cli/listings.hpp"
#include "cli/operations.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/plan_header.hpp"
#include "cli/present.hpp"
#include "cli/registry.hpp"
#include "cli/selection.hpp"
#include "cli/verbs.hpp"
#include "engine/runtime/launch_plan.hpp"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kPlanVersion = 1;

std::string_view role(Direction direction) {
  switch (direction) {
    case Direction::kIn:
      return "in";
    case Direction::kOut:
      return "out";
    case Direction::kInOut:
      return "inout";
    case Direction::kWorkspace:
      return "workspace";
    case Direction::kScalar:
      break;
  }
  return "scalar";
}

Json arguments_json(const LaunchPlan& plan) {
  Json list = Json::array();
  for (const LaunchArgument& argument : plan.arguments) {
    Json one{{"name", argument.name}, {"role", role(argument.direction)}, {"dtype", name(argument.dtype)}};
    if (argument.direction == Direction::kScalar) {
      if (is_integer(argument.dtype)) {
        one["default"] = argument.scalar_default.integer();
      } else {
        one["default"] = argument.scalar_default.real();
      }
    } else {
      one["elements"] = argument.elements;
      one["zeroed"] = argument.zeroed;
    }
    one["bytes"] = argument.bytes;
    list.push_back(std::move(one));
  }
  return list;
}

/// The Problem as a kernel takes it by value.
Json problem_json(const KernelSpec& spec, const Problem& problem) {
  std::string bytes;
  for (const std::int64_t word : packed(spec, problem)) {
    for (std::size_t i = 0; i < sizeof(std::int64_t); ++i) {
      bytes += fmt::format("{:02x}", static_cast<std::uint64_t>(word) >> (8 * i) & 0xFFU);
    }
  }
  return {{"fields", json(problem.shape)}, {"bytes", bytes}};
}

/// What cuTensorMapEncodeTiled needs besides the address; without axes the configuration does not use the map, and zeros may be passed.
Json tensor_map_json(const LaunchPlan& plan, const TensorMap& map) {
  const auto axes = static_cast<std::ptrdiff_t>(map.axes);
  const auto used = [&](const auto& extents) { return Json(std::vector<std::int64_t>(extents.begin(), extents.begin() + axes)); };
  return {{"kind", "tensor_map"},
          {"argument", plan.arguments.at(static_cast<std::size_t>(map.argument)).name},
          {"dtype", name(map.element)},
          {"size", used(map.size)},
          {"box", used(map.box)},
          {"stride_bytes", used(map.stride_bytes)},
          {"offset_bytes", map.offset_bytes},
          {"swizzle", map.swizzle},
          {"l2", map.l2}};
}

Json pass_json(const LaunchPlan& plan, const PassLaunch& pass) {
  Json parameters = Json::array();
  std::size_t next_map = 0;
  for (const int index : pass.arguments) {
    if (index == kProblemParameter) {
      parameters.push_back({{"kind", "problem"}});
    } else if (index == kRunIndexParameter) {
      parameters.push_back({{"kind", "run_index"}, {"value", pass.run_index}});
    } else if (index == kTensorMapParameter) {
      parameters.push_back(tensor_map_json(plan, pass.tensor_maps.at(next_map++)));
    } else {
      const LaunchArgument& argument = plan.arguments.at(static_cast<std::size_t>(index));
      parameters.push_back({{"kind", argument.direction == Direction::kScalar ? "scalar" : "buffer"}, {"argument", argument.name}});
    }
  }
  return {{"symbol", plan.code.symbols.at(pass.symbol)},
          {"grid", pass.grid},
          {"block", pass.block},
          {"cluster", pass.cluster},
          {"shared_bytes", pass.shared_bytes},
          {"cooperative", pass.cooperative},
          {"overlap", pass.overlap},
          {"parameters", std::move(parameters)}};
}

Json passes_json(const LaunchPlan& plan) {
  Json list = Json::array();
  for (const PassLaunch& pass : plan.passes) {
    list.push_back(pass_json(plan, pass));
  }
  return list;
}

Json constants_json(const LaunchPlan& plan) {
  Json list = Json::array();
  for (const PassLaunch& pass : plan.passes) {
    for (const ConstantCopy& copy : pass.constants) {
      list.push_back(
          {{"symbol", copy.symbol}, {"argument", plan.arguments.at(static_cast<std::size_t>(copy.argument)).name}, {"bytes", copy.bytes}});
    }
  }
  return list;
}

Result<Json> cost_json(const KernelSpec& spec, const Problem& problem) {
  HONE_ASSIGN(const Value flops, spec.cost.flops.evaluate(bindings(problem)));
  HONE_ASSIGN(const Value bytes, spec.cost.bytes.evaluate(bindings(problem)));
  return Json{{"flops", flops.real()}, {"bytes", bytes.real()}};
}

Json tuned_json(const Record& record) {
  return {{"shape", json(record.problem.shape)},
          {"time_us", record.measurement.median_us},
          {"default_us", record.default_us},
          {"session", record.session},
          {"trials", record.trials},
          {"created_at", record.created_at}};
}

Result<Json> plan_json(const Subject& subject, const Target& target, const LaunchPlan& plan, const std::string& origin,
                       const fs::path& code) {
  const DeviceInfo& device = target.device.info;
  HONE_ASSIGN(const Json cost, cost_json(subject.spec, target.problem));
  return Json{
      {"format", "hone launch plan"},
      {"version", kPlanVersion},
      {"kernel", subject.spec.name},
      {"source_hash", subject.spec.source_hash},
      {"dtype", name(target.problem.dtype)},
      {"shape", json(target.problem.shape)},
      {"source", origin},
      {"config", json(subject.spec.parameters, plan.choice.configuration)},
      {"tuned", plan.choice.record ? tuned_json(*plan.choice.record) : Json(nullptr)},
      {"device", {{"family", device.plugin}, {"product", device.product}, {"architecture", device.architecture}}},
      {"code", {{"file", code.filename().string()}, {"bytes", plan.code.artifact->bytes.size()}, {"digest", plan.code.artifact->digest}}},
      {"cost", cost},
      {"problem", problem_json(subject.spec, target.problem)},
      {"arguments", arguments_json(plan)},
      {"constants", constants_json(plan)},
      {"passes", passes_json(plan)}};
}

/// "softmax.bf16.8192x8192.sm_90a", "product.e4m3-bf16.1024x1024.sm_90a"
std::string stem(const KernelSpec& spec, const Target& target) {
  std::vector<std::int64_t> extents;
  for (const auto& [field, extent] : target.problem.shape) {
    extents.push_back(extent);
  }
  std::vector<std::string_view> types;
  for (const NamedDType& one : target.problem.dtype.all()) {
    types.push_back(name(one.dtype));
  }
  return fmt::format("{}.{}.{}.{}", spec.name, fmt::join(types, "-"), fmt::join(extents, "x"), target.device.info.architecture);
}

std::string export_text(const Subject& subject, const LaunchPlan& plan, const std::string& origin, const fs::path& code,
                        const fs::path& json, const fs::path& header) {
  std::string lines = fmt::format("{} ({})\n", text(subject.spec.parameters, plan.choice.configuration), origin);
  if (plan.choice.source == Source::kNearest) {
    lines += fmt::format("this shape is not tuned; using the record of the nearest shape, {}\n", text(plan.choice.record->problem.shape));
  }
  if (plan.choice.prediction) {
    lines += prediction_text(*plan.choice.prediction);
  }
  lines += fmt::format("{} ({} bytes)\n{}\n", code.string(), plan.code.artifact->bytes.size(), json.string());
  return header.empty() ? lines : lines + header.string() + "\n";
}

Result<Output> write_plan(const cxxopts::ParseResult& arguments, const Subject& subject, const Target& target, Selection selected,
                          Store* store) {
  if (arguments.count("header") > 0 && target.device.info.plugin != "cuda") {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("--header is for what the CUDA driver launches; code of {} is launched by Hone alone", target.device.info.plugin)};
  }
  HONE_TRY(check_listings(arguments, target.device.info));
  HONE_ASSIGN(const LaunchPlan plan, make_launch_plan(subject.spec, target.problem, std::move(selected.choice), target.device, store));
  if (const std::string reason = static_reject(plan.passes, plan.code.resources, target.device.info); !reason.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} cannot be launched: {}", text(subject.spec.parameters, plan.choice.configuration), reason)};
  }
  const fs::path folder = arguments["out"].as<std::string>();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorCode::kIo, fmt::format("folder {} cannot be created: {}", folder.string(), failed.message())};
  }
  const std::string name = stem(subject.spec, target);
  const fs::path code = folder / (name + (target.device.info.plugin == "cuda" ? ".cubin" : ".bin")), file = folder / (name + ".json");
  HONE_ASSIGN(Json json, plan_json(subject, target, plan, selected.origin, code));
  const std::string text = dump(json, 2) + "\n";
  HONE_TRY(write_file(code, std::span<const std::byte>(plan.code.artifact->bytes)));
  HONE_TRY(write_file(file, text));
  json["file"] = file.string();
  HONE_ASSIGN(const std::string listings, write_listings(arguments, {&subject, &target, &plan, store}, code, json));
  fs::path header;
  if (arguments.count("header") > 0) {
    header = folder / (name + ".h");
    const PlanSubject exported{.spec = &subject.spec, .problem = &target.problem, .device = &target.device.info};
    HONE_TRY(write_file(header, plan_header(exported, plan, c_identifier(name))));
    json["header"] = header.string();
  }
  return Output{std::move(json), export_text(subject, plan, selected.origin, code, file, header) + listings};
}

}  // namespace

int export_plan(int argc, char** argv) {
  cxxopts::Options options("hone export",
                           "Writes the compiled code of the winner (or of another configuration) and a JSON launch plan. Any program can "
                           "launch it\nwith them: docs/launch_plans.md.");
  add_problem_options(options);
  add_with_option(options);
  add_accuracy_option(options);
  add_objective_option(options);
  add_given_options(options);
  add_store_option(options);
  add_plugin_option(options);
  add_config_option(options, "the winner");
  add_arch_option(options);
  options.add_options()("trust", "also export code that someone else put into the store")(
      "out", "the folder to write into", cxxopts::value<std::string>()->default_value("."), "DIR")(
      "header", "also write a C header with code and plan, which hone/plan.h launches with the CUDA driver alone");
  add_listing_options(options);
  return run_verb(options, argc, argv, [](const cxxopts::ParseResult& arguments) -> Result<Output> {
    HONE_TRY(load_plugins(arguments));
    HONE_ASSIGN(const Subject subject, find_serving_subject(arguments, true, true));
    if (!subject.spec.library.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} is a library's, which has no code to export; {} exports the best that Hone compiles", subject.spec.name,
                               subject.spec.operation)};
    }
    if (subject.recorded) {
      return Error{ErrorCode::kInvalidArgument, "a recorded space has no code to export; give a kernel"};
    }
    HONE_ASSIGN(const std::unique_ptr<Store> store,
                open_existing_store(arguments, arguments.count("trust") > 0 ? Trust::kAll : Trust::kOwn));
    HONE_ASSIGN(const Target target, find_target_anywhere(arguments, subject, store.get()));
    HONE_ASSIGN(Selection selected, select(arguments, subject, target, store.get(), true));
    const bool nothing = selected.choice.source == Source::kDefault;
    if (arguments.count("config") == 0 && nothing && !selected.choice.why.empty()) {
      return Error{ErrorCode::kStore, selected.choice.why + ". Or give --trust for this command only"};
    }
    if (arguments.count("config") == 0 && nothing) {
      Error missing = no_record(arguments, subject, target, selected.choice.elsewhere, store.get());
      missing.message += ", or export the default with --config default";
      return missing;
    }
    return write_plan(arguments, subject, target, std::move(selected), store.get());
  });
}

}  // namespace hone::cli
