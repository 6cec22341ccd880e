#include "bench/lookup/cold.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "hone/engine.hpp"

namespace hone::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Milliseconds since it was made or asked last.
class Lap {
 public:
  double operator()() {
    const Clock::time_point now = Clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(before_, now)).count();
  }

 private:
  Clock::time_point before_ = Clock::now();
};

std::string label(const Asked& asked) { return asked.name + " " + std::string(name(asked.dtype)) + " " + text(asked.shape); }

/// Where the time of a lookup goes: what the engine does, called from here step by step.
Result<nlohmann::json> stages(const std::string& store_path, const FoundDevice& device, const Asked& asked) {
  nlohmann::json ms;
  HONE_ASSIGN(const std::unique_ptr<LaunchDevice> launcher, device.plugin->open_to_launch(device.info));
  HONE_ASSIGN(const KernelSpec* const builtin, find_builtin_kernel(asked.name));
  const std::string embedded = fmt::format("{}", fmt::join(embed(*builtin), ""));
  Lap lap;
  const KernelSpec spec = parse_embedded(embedded);
  ms["parse_spec"] = lap();
  HONE_ASSIGN(const std::unique_ptr<Store> store, open_store(store_path, StoreMode::kAsItIs));
  ms["open_store"] = lap();
  HONE_ASSIGN(const Problem problem, make_problem(spec, asked.dtype, asked.shape));
  ms["make_problem"] = lap();
  HONE_ASSIGN(Choice choice, choose(spec, problem, device.info, store.get()));
  ms["choose"] = lap();
  if (!choice.record) {
    return Error{ErrorCode::kNotFound, "no record of " + label(asked)};
  }
  HONE_ASSIGN(const Compiled code, store->load_code(*choice.record));
  ms["load_code"] = lap();
  ms["code_bytes"] = code.artifact->bytes.size();
  HONE_ASSIGN(const std::vector<PassLaunch> passes, plan_launch(spec, problem, choice.configuration, device.info));
  HONE_ASSIGN(const std::vector<LaunchArgument> arguments, launch_arguments(spec, problem, choice.configuration));
  ms["plan"] = lap();
  HONE_ASSIGN(const std::unique_ptr<LoadedKernel> loaded, launcher->load(code, passes, problem));
  ms["load_on_device"] = lap();
  HONE_ASSIGN(const Choice standard, choose(spec, problem, device.info, nullptr));
  ms["default_configuration"] = lap();
  return ms;
}

}  // namespace

std::vector<Asked> asked_on(const std::string& device) {
  std::vector<Asked> all;
  for (std::int64_t i = 0; i < 6; ++i) {
    all.push_back({"softmax", DType::kF32, {{"rows", 64 + 64 * i}, {"cols", 1024}}});
  }
  all.push_back({"full_sum", DType::kF32, {{"n", 65536}}});
  all.push_back({"copy", DType::kF32, {{"n", 1024}}});
  if (device.starts_with("cuda")) {
    all.push_back({"gemm_wgmma", DType::kBF16, {{"m", 256}, {"n", 256}, {"k", 256}}});
    all.push_back({"gemm_wgmma", DType::kBF16, {{"m", 512}, {"n", 256}, {"k", 256}}});
  } else {
    all.push_back({"gemm", DType::kF32, {{"m", 64}, {"n", 64}, {"k", 64}}});
    all.push_back({"gemm", DType::kF32, {{"m", 128}, {"n", 64}, {"k", 64}}});
  }
  return all;
}

Result<nlohmann::json> cold_lookups(const std::string& store, const std::string& device) {
  nlohmann::json out;
  Lap lap;
  HONE_ASSIGN(Engine engine, Engine::open({.store = store, .device = device}));
  out["open_ms"] = lap();
  std::vector<Asked> all = asked_on(device);
  const Asked product = all.back();
  all.push_back({"matmul", product.dtype, product.shape});  // of the operation: of all its kernels
  for (const Asked& asked : all) {
    lap();
    HONE_ASSIGN(const Kernel kernel, engine.kernel(asked.name, asked.dtype, asked.shape));
    out["lookups"].push_back({{"problem", label(asked)}, {"ms", lap()}, {"source", name(kernel.source())}});
  }
  for (const char* const kernel : {"gemm", "gemm_mma", "gemm_wgmma", "gemv"}) {  // of which a device has some
    HONE_ASSIGN(const KernelSpec* const builtin, find_builtin_kernel(kernel));
    const std::string embedded = fmt::format("{}", fmt::join(embed(*builtin), ""));
    lap();
    static_cast<void>(parse_embedded(embedded));
    out["parse_ms"][kernel] = lap();
  }
  HONE_ASSIGN(const auto found, builtin_registry().device(device));
  for (const Asked& asked : {all.front(), product}) {
    HONE_ASSIGN(out["stages"][label(asked)], stages(store, found, asked));
  }
  return out;
}

}  // namespace hone::bench
