#include "plugins/cpu/loaded_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plugins/cpu/glue.hpp"

namespace hone::cpu {
namespace {

/// Every runner takes about this many times from the grid: often enough to share the work, seldom enough not to fight over the counter.
constexpr std::int64_t kChunksPerWorker = 16;
constexpr std::int64_t kLargestExtent = 2147483647;

struct LoadedPass {
  HoneCpuPass pass = nullptr;
  HoneCpuIndex grid{}, block{};
  std::size_t shared_bytes = 0;
  std::vector<std::array<int, 2>> exchanged = {};  ///< as in PassLaunch
  std::int32_t run_index = 0;
};

std::vector<long> problem_fields(const Problem& problem) {
  std::vector<long> fields;
  for (const auto& [field, value] : problem.shape) {
    fields.push_back(value);
  }
  return fields;
}

struct LoadedConstant {
  void* variable = nullptr;
  std::size_t argument = 0, bytes = 0;
};

/// What constant memory is on a GPU is a variable of the kernel's own here.
void copy_constants(const std::vector<LoadedConstant>& constants, std::span<void* const> arguments) {
  for (const LoadedConstant& constant : constants) {
    std::memcpy(constant.variable, *static_cast<void* const*>(arguments[constant.argument]), constant.bytes);
  }
}

class CpuKernel final : public LoadedKernel {
 public:
  CpuKernel(std::shared_ptr<Executor> executor, std::shared_ptr<const Module> module, Resources resources, std::vector<LoadedPass> passes,
            std::vector<LoadedConstant> constants, std::vector<long> problem)
      : executor_(std::move(executor)),
        module_(std::move(module)),
        resources_(resources),
        passes_(std::move(passes)),
        constants_(std::move(constants)),
        problem_(std::move(problem)) {}

  Result<void> launch(void* /*stream*/, std::span<void* const> arguments) const override {
    copy_constants(constants_, arguments);
    std::vector<void*> of_run;  // their order, and the run_index's place behind them, are compiled in
    for (const LoadedPass& pass : passes_) {
      of_run.assign(arguments.begin(), arguments.end());
      for (const auto& [index, instead] : pass.exchanged) {
        of_run.at(static_cast<std::size_t>(index)) = arguments[static_cast<std::size_t>(instead)];
      }
      of_run.push_back(const_cast<std::int32_t*>(&pass.run_index));  // the kernel only reads it
      HONE_TRY(launch_pass(pass, of_run));
    }
    return {};
  }

  [[nodiscard]] Resources resources() const override { return resources_; }

 private:
  Result<void> launch_pass(const LoadedPass& pass, std::span<void* const> arguments) const {
    GridJob job;
    job.bind = module_->bind();
    job.pass = pass.pass;
    job.arguments = arguments.data();
    job.problem = problem_.data();
    job.grid = pass.grid;
    job.block = pass.block;
    job.shared_bytes = pass.shared_bytes;
    job.shared_paint = executor_->shared_paint;
    job.last_thread_first = executor_->last_thread_first;
    job.chunk = std::max<std::int64_t>(1, job.blocks() / (executor_->pool.workers() * kChunksPerWorker));
    const auto wanted = static_cast<unsigned>(std::min<std::int64_t>(executor_->pool.workers(), job.blocks()));
    executor_->pool.run(wanted, [&](unsigned worker) { executor_->runners[worker]->run(job); });
    if (job.failed.load()) {
      return Error{ErrorCode::kLaunch, std::move(job.failure)};
    }
    return {};
  }

  std::shared_ptr<Executor> executor_;
  std::shared_ptr<const Module> module_;
  Resources resources_;
  std::vector<LoadedPass> passes_;
  std::vector<LoadedConstant> constants_;
  std::vector<long> problem_;
};

struct LoadedReferencePass {
  HoneCpuReference function = nullptr;
  std::int64_t extent = 0;
};

class CpuReference final : public LoadedKernel {
 public:
  CpuReference(std::shared_ptr<Executor> executor, std::shared_ptr<const Module> module, std::vector<LoadedReferencePass> passes,
               std::vector<LoadedConstant> constants, std::vector<long> problem)
      : executor_(std::move(executor)),
        module_(std::move(module)),
        passes_(std::move(passes)),
        constants_(std::move(constants)),
        problem_(std::move(problem)) {}

  Result<void> launch(void* /*stream*/, std::span<void* const> arguments) const override {
    copy_constants(constants_, arguments);
    for (const LoadedReferencePass& pass : passes_) {
      executor_->pool.parallel_for(
          pass.extent, 1, [&](std::int64_t begin, std::int64_t end) { pass.function(begin, end, arguments.data(), problem_.data()); });
    }
    return {};
  }

  [[nodiscard]] Resources resources() const override { return {}; }

 private:
  std::shared_ptr<Executor> executor_;
  std::shared_ptr<const Module> module_;
  std::vector<LoadedReferencePass> passes_;
  std::vector<LoadedConstant> constants_;
  std::vector<long> problem_;
};

Error missing_symbol(std::string_view symbol) {
  return Error{ErrorCode::kLaunch, fmt::format("the compiled kernel has no function '{}'; tune again to replace it", symbol)};
}

Result<std::vector<LoadedConstant>> load_constants(const Module& module, const std::vector<PassLaunch>& plan) {
  std::vector<LoadedConstant> constants;
  for (const PassLaunch& pass : plan) {
    for (const ConstantCopy& constant : pass.constants) {
      const std::string symbol = constant_symbol(constant.symbol);
      const auto address = reinterpret_cast<void* (*)()>(module.find(symbol));
      if (address == nullptr) {
        return missing_symbol(symbol);
      }
      constants.push_back({address(), static_cast<std::size_t>(constant.argument), static_cast<std::size_t>(constant.bytes)});
    }
  }
  return constants;
}

Result<HoneCpuIndex> index3(std::string_view what, const std::array<std::int64_t, 3>& extents) {
  for (const std::int64_t extent : extents) {
    if (extent < 1 || extent > kLargestExtent) {
      return Error{ErrorCode::kLaunch, fmt::format("a {} of {} x {} x {} cannot be launched", what, extents[0], extents[1], extents[2])};
    }
  }
  return HoneCpuIndex{static_cast<unsigned>(extents[0]), static_cast<unsigned>(extents[1]), static_cast<unsigned>(extents[2])};
}

Result<LoadedPass> load_pass(const Module& module, const Compiled& compiled, const PassLaunch& plan) {
  if (plan.cluster != std::array<std::int64_t, 3>{1, 1, 1}) {
    return Error{ErrorCode::kLaunch,
                 "the cpu device has no thread-block clusters; valid() should reject them if d.compute_capability is 0"};
  }
  if (plan.cooperative) {
    return Error{ErrorCode::kLaunch, "the cpu device has no cooperative launch; valid() should reject it if d.compute_capability is 0"};
  }
  if (!plan.tensor_maps.empty()) {
    return Error{ErrorCode::kLaunch,
                 "the cpu device has no tensor maps, which need Hopper or later; valid() should reject them if d.compute_capability is 0"};
  }
  LoadedPass pass;
  HONE_ASSIGN(pass.grid, index3("grid", plan.grid));
  HONE_ASSIGN(pass.block, index3("block", plan.block));
  if (std::uint64_t{pass.block.x} * pass.block.y > kMostThreads ||
      std::uint64_t{pass.block.x} * pass.block.y * pass.block.z > kMostThreads) {
    return Error{ErrorCode::kLaunch, fmt::format("a block of {} x {} x {} threads; at most {} threads are allowed", pass.block.x,
                                                 pass.block.y, pass.block.z, kMostThreads)};
  }
  pass.shared_bytes = static_cast<std::size_t>(plan.shared_bytes);
  pass.exchanged = plan.exchanged;
  pass.run_index = plan.run_index;
  const std::string& symbol = compiled.symbols.at(plan.symbol);
  pass.pass = reinterpret_cast<HoneCpuPass>(module.find(symbol));
  if (pass.pass == nullptr) {
    return missing_symbol(symbol);
  }
  return pass;
}

}  // namespace

Result<std::unique_ptr<LoadedKernel>> make_loaded_kernel(std::shared_ptr<Executor> executor, std::shared_ptr<const Module> module,
                                                         const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                         const Problem& problem) {
  std::vector<LoadedPass> passes;
  Resources resources = compiled.resources;
  for (const PassLaunch& launch : plan) {
    HONE_ASSIGN(LoadedPass pass, load_pass(*module, compiled, launch));
    resources.shared_bytes = std::max(resources.shared_bytes, launch.shared_bytes);
    passes.push_back(std::move(pass));
  }
  HONE_ASSIGN(std::vector<LoadedConstant> constants, load_constants(*module, plan));
  return std::unique_ptr<LoadedKernel>(std::make_unique<CpuKernel>(std::move(executor), std::move(module), resources, std::move(passes),
                                                                   std::move(constants), problem_fields(problem)));
}

Result<std::unique_ptr<LoadedKernel>> make_loaded_reference(std::shared_ptr<Executor> executor, std::shared_ptr<const Module> module,
                                                            const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                            const Problem& problem) {
  std::vector<LoadedReferencePass> passes;
  for (const PassLaunch& launch : plan) {
    const std::string& symbol = compiled.symbols.at(launch.symbol);
    const auto function = reinterpret_cast<HoneCpuReference>(module->find(symbol));
    if (function == nullptr) {
      return missing_symbol(symbol);
    }
    passes.push_back({function, launch.extent});
  }
  HONE_ASSIGN(std::vector<LoadedConstant> constants, load_constants(*module, plan));
  return std::unique_ptr<LoadedKernel>(std::make_unique<CpuReference>(std::move(executor), std::move(module), std::move(passes),
                                                                      std::move(constants), problem_fields(problem)));
}

}  // namespace hone::cpu
