#include "engine/device/pass_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/kernel/instantiation.hpp"

namespace hone {
namespace {

constexpr std::array<std::string_view, 10> kProperties{
    "compute_capability",
    "l2_bytes",
    "memory",
    "multiprocessors",
    "registers_per_multiprocessor",
    "shared_memory_per_block",
    "shared_memory_per_multiprocessor",
    "threads_per_block",
    "threads_per_multiprocessor",
    "warp_size",
};

constexpr std::int64_t kLargestGridX = 2147483647, kLargestGridYZ = 65535;

Error launch_error(const KernelSpec& spec, const Pass& pass, std::string_view what, const Error& cause) {
  return Error{ErrorCode::kLaunch, fmt::format("{}: launch geometry of {}: {}: {}", spec.file, pass.function, what, cause.message)};
}

Result<std::array<std::int64_t, 3>> evaluate3(const KernelSpec& spec, const Pass& pass, std::string_view what,
                                              const std::array<Expression, 3>& expressions, const Bindings& bound, std::int64_t least = 1) {
  std::array<std::int64_t, 3> values{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Result<Value> value = expressions[axis].evaluate(bound);
    if (!value) {
      return launch_error(spec, pass, what, value.error());
    }
    values[axis] = value->integer();
    if (values[axis] < least) {
      return launch_error(spec, pass, what,
                          {ErrorCode::kLaunch, fmt::format("{} is {}, below {}", expressions[axis].text(), values[axis], least)});
    }
  }
  return values;
}

Result<std::vector<TensorMap>> plan_tensor_maps(const KernelSpec& spec, const Pass& pass, const DTypes& dtype, const Bindings& bound) {
  std::vector<TensorMap> maps;
  for (const TensorMapping& mapping : pass.tensor_maps) {
    const Argument& argument = spec.arguments.at(static_cast<std::size_t>(mapping.argument));
    Result<TensorMap> map = plan_tensor_map(mapping, argument.element(dtype), bound);
    if (!map) {
      return Error{ErrorCode::kLaunch,
                   fmt::format("{}: tensor map of '{}' in {}: {}", spec.file, argument.name, pass.function, map.error().message)};
    }
    maps.push_back(*std::move(map));
  }
  return maps;
}

/// Of extents of at least 1; the largest number there is where it overflows.
std::int64_t product(const std::array<std::int64_t, 3>& extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(result, extent, &result)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return result;
}

std::string reject_pass(const PassLaunch& pass, const DeviceInfo& info) {
  const auto limit = [&](std::string_view property) { return info.properties.find(property)->second; };
  if (const std::int64_t threads = product(pass.block); threads > limit("threads_per_block")) {
    return fmt::format("a block of {} threads; the device allows {}", threads, limit("threads_per_block"));
  }
  if (pass.block[2] > 64) {
    return fmt::format("block.z is {}; at most 64 is allowed", pass.block[2]);
  }
  if (pass.shared_bytes > limit("shared_memory_per_block")) {
    return fmt::format("{} bytes of dynamic shared memory; the device allows {}", pass.shared_bytes, limit("shared_memory_per_block"));
  }
  if (pass.grid[0] > kLargestGridX || pass.grid[1] > kLargestGridYZ || pass.grid[2] > kLargestGridYZ) {
    return fmt::format("a grid of {} x {} x {}; at most {} x {} x {} is allowed", pass.grid[0], pass.grid[1], pass.grid[2], kLargestGridX,
                       kLargestGridYZ, kLargestGridYZ);
  }
  const std::int64_t cluster = product(pass.cluster);
  if (cluster > 1 && info.properties.find("compute_capability")->second < 90) {
    return "clusters need compute capability 9.0";
  }
  if (!pass.tensor_maps.empty() && info.properties.find("compute_capability")->second < 90) {
    return "tensor maps need compute capability 9.0; valid() should reject such configurations by d.compute_capability";
  }
  if (cluster > 16) {
    return fmt::format("a cluster of {} blocks; at most 16 is possible", cluster);
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (pass.grid[axis] % pass.cluster[axis] != 0) {
      return fmt::format("the grid ({}) is not a multiple of the cluster ({})", pass.grid[axis], pass.cluster[axis]);
    }
  }
  return "";
}

/// Programmatic dependent launches came with compute capability 9.0.
bool has_dependent_launches(const DeviceInfo& info) {
  const auto capability = info.properties.find("compute_capability");
  return capability != info.properties.end() && capability->second >= 90;
}

/// The Problem as launches take it.
void set_problem(const KernelSpec& spec, const Problem& problem, PassLaunch& launch) {
  launch.problem = packed(spec, problem);
  for (std::size_t i = 0; i < problem.shape.size(); ++i) {
    if (i >= spec.problem.size() || !spec.problem[i].is_static()) {
      launch.fields.push_back(problem.shape[i].second);
    }
  }
}

/// One run of a pass.
Result<PassLaunch> plan_pass(const KernelSpec& spec, const Problem& problem, std::size_t index, const DeviceInfo& info,
                             const Bindings& bound) {
  const Pass& pass = spec.passes[index];
  PassLaunch launch;
  launch.symbol = index;
  launch.arguments = pass.arguments;
  set_problem(spec, problem, launch);
  HONE_ASSIGN(launch.grid, evaluate3(spec, pass, "grid", pass.grid, bound));
  HONE_ASSIGN(launch.block, evaluate3(spec, pass, "block", pass.block, bound));
  HONE_ASSIGN(launch.cluster, evaluate3(spec, pass, "cluster", pass.cluster, bound));
  const Result<Value> shared = pass.shared_bytes.evaluate(bound);
  const Result<Value> cooperative = pass.cooperative.evaluate(bound);
  const Result<Value> overlap = pass.overlap.evaluate(bound);
  if (!shared || !cooperative) {
    return launch_error(spec, pass, shared ? "cooperative" : "shared", shared ? cooperative.error() : shared.error());
  }
  if (!overlap) {
    return launch_error(spec, pass, "overlap", overlap.error());
  }
  launch.shared_bytes = std::max<std::int64_t>(0, shared->integer());
  launch.cooperative = cooperative->boolean();
  launch.overlap = overlap->boolean() && has_dependent_launches(info);
  HONE_ASSIGN(launch.tensor_maps, plan_tensor_maps(spec, pass, problem.dtype, bound));
  return launch;
}

Result<std::int32_t> count_runs(const KernelSpec& spec, const Pass& pass, const Bindings& bound) {
  const Result<Value> repeat = pass.repeat.evaluate(bound);
  if (!repeat) {
    return launch_error(spec, pass, "repeat", repeat.error());
  }
  if (repeat->integer() < 1 || repeat->integer() > kMostRepeats) {
    return launch_error(
        spec, pass, "repeat",
        {ErrorCode::kLaunch, fmt::format("{} is {}; a pass can run 1 to {} times", pass.repeat.text(), repeat->integer(), kMostRepeats)});
  }
  return static_cast<std::int32_t>(repeat->integer());
}

/// Which argument stands for `argument` in that run.
int argument_of_run(const Pass& pass, int argument, std::int32_t run, std::int32_t runs) {
  const auto written = [&](const Alternation& a, std::int32_t which) { return (runs - 1 - which) % 2 == 0 ? a.result : a.spare; };
  for (const Alternation& alternation : pass.alternations) {
    if (argument == alternation.result) {
      return written(alternation, run);
    }
    if (argument == alternation.first && run > 0) {
      return written(alternation, run - 1);
    }
  }
  return argument;
}

PassLaunch run_of(PassLaunch launch, const Pass& pass, std::int32_t run, std::int32_t runs) {
  launch.run_index = run;
  for (int& argument : launch.arguments) {
    const int meant = argument_of_run(pass, argument, run, runs);
    if (meant != argument) {
      launch.exchanged.push_back({argument, meant});
    }
    argument = meant;
  }
  for (TensorMap& map : launch.tensor_maps) {
    map.argument = argument_of_run(pass, map.argument, run, runs);
  }
  return launch;
}

}  // namespace

std::span<const std::string_view> device_property_names() { return kProperties; }

Bindings bindings(const DeviceInfo& info) {
  Bindings bound;
  for (const auto& [property, value] : info.properties) {
    bound.emplace("d." + property, value);
  }
  return bound;
}

namespace {

/// Copies to constant memory come before the first pass, which then overlaps with nothing: it waits for them.
Result<void> plan_constants(const KernelSpec& spec, const Problem& problem, std::vector<PassLaunch>& plan) {
  for (std::size_t i = 0; i < spec.arguments.size() && !plan.empty(); ++i) {
    const Argument& argument = spec.arguments[i];
    if (argument.capacity) {
      HONE_ASSIGN(const std::int64_t elements, constant_elements(spec, argument, problem));
      const auto bytes = elements * static_cast<std::int64_t>(size_of(argument.element(problem.dtype)));
      plan.front().constants.push_back({static_cast<int>(i), argument.name, std::max<std::int64_t>(0, bytes)});
      plan.front().overlap = false;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<PassLaunch>> plan_launch(const KernelSpec& spec, const Problem& problem, const Configuration& configuration,
                                            const DeviceInfo& info) {
  Bindings bound = bindings(problem);
  bound.merge(bindings(spec.parameters, configuration));
  bound.merge(bindings(info));
  std::vector<PassLaunch> plan;
  for (std::size_t i = 0; i < spec.passes.size(); ++i) {
    const Pass& pass = spec.passes[i];
    const Result<Value> enabled = pass.enabled.evaluate(bound);
    if (!enabled) {
      return launch_error(spec, pass, "enabled", enabled.error());
    }
    if (!enabled->boolean()) {
      continue;
    }
    HONE_ASSIGN(const auto grid, evaluate3(spec, pass, "grid", pass.grid, bound, 0));
    if (std::ranges::find(grid, 0) != grid.end()) {
      continue;  // extents of 0: there is no block, and nothing to do
    }
    HONE_ASSIGN(PassLaunch launch, plan_pass(spec, problem, i, info, bound));
    HONE_ASSIGN(const std::int32_t runs, count_runs(spec, pass, bound));
    for (std::int32_t run = 0; run < runs; ++run) {
      plan.push_back(run_of(launch, pass, run, runs));
    }
  }
  HONE_TRY(plan_constants(spec, problem, plan));
  return plan;
}

namespace {

std::vector<PassLaunch>& part_of(AnswerPlan& plan, AnswerPart part) {
  switch (part) {
    case AnswerPart::kReference:
      return plan.reference;
    case AnswerPart::kGenerator:
      return plan.generators;
    case AnswerPart::kAcceptance:
      return plan.acceptances;
    case AnswerPart::kOriginal:
      return plan.originals;
    case AnswerPart::kFill:
      break;
  }
  return plan.fills;
}

}  // namespace

Result<AnswerPlan> plan_answer(const KernelSpec& spec, const Problem& problem) {
  const Bindings bound = bindings(problem);
  AnswerPlan plan;
  std::size_t symbol = 0;
  const AnswerCode code = answer_code(spec, problem.shape);
  for (const ReferencePass& pass : code.passes) {
    const auto bad = [&](std::string_view why) {
      return Error{ErrorCode::kBadKernel, fmt::format("{}: the extent of {}: {}", spec.file, pass.function, why)};
    };
    const Result<Value> extent = pass.extent.evaluate(bound);
    if (!extent) {
      return bad(extent.error().message);
    }
    if (extent->integer() < 0) {
      return bad(fmt::format("{} is {}, below 0", pass.extent.text(), extent->integer()));
    }
    PassLaunch launch;
    launch.symbol = symbol++;
    if (extent->integer() == 0) {
      continue;
    }
    launch.arguments = pass.arguments;
    set_problem(spec, problem, launch);
    launch.extent = extent->integer();
    part_of(plan, code.parts[launch.symbol]).push_back(std::move(launch));
  }
  // A function that the kernel calls too may read the array itself.
  HONE_TRY(plan_constants(spec, problem, plan.reference));
  HONE_TRY(plan_constants(spec, problem, plan.acceptances));
  return plan;
}

Result<std::vector<PassLaunch>> plan_reference(const KernelSpec& spec, const Problem& problem) {
  HONE_ASSIGN(AnswerPlan plan, plan_answer(spec, problem));
  return std::move(plan.reference);
}

std::string static_reject(const std::vector<PassLaunch>& plan, const Resources& resources, const DeviceInfo& info) {
  for (const PassLaunch& pass : plan) {
    if (std::string reason = reject_pass(pass, info); !reason.empty()) {
      return reason;
    }
    const std::int64_t threads = product(pass.block);
    // The register file is handed out in units of 8 registers a thread for each warp of 32.
    const std::int64_t registers = (resources.registers + 7) / 8 * 8 * ((threads + 31) / 32 * 32);
    const std::int64_t available = info.properties.find("registers_per_multiprocessor")->second;
    if (plan.size() == 1 && registers > available) {
      return fmt::format("{} threads of {} registers need {} registers; a multiprocessor has {}", threads, resources.registers, registers,
                         available);
    }
  }
  if (resources.shared_bytes > info.properties.find("shared_memory_per_block")->second) {
    return fmt::format("{} bytes of shared memory; the device allows {}", resources.shared_bytes,
                       info.properties.find("shared_memory_per_block")->second);
  }
  return "";
}

}  // namespace hone
