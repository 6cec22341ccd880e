#include "plugins/cpu/device.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>

#include "engine/base/cores.hpp"
#include "plugins/cpu/executor.hpp"
#include "plugins/cpu/info.hpp"
#include "plugins/cpu/loaded_kernel.hpp"
#include "plugins/cpu/memory.hpp"
#include "plugins/cpu/module.hpp"
#include "plugins/cpu/sanitizer.hpp"

namespace hone::cpu {
namespace {

Result<void> copy_bytes(void* destination, const void* source, std::size_t bytes) {
  if (bytes > 0) {  // neither pointer may be null otherwise
    std::memcpy(destination, source, bytes);
  }
  return {};
}

Result<void> fill_bytes(void* destination, std::size_t bytes, std::uint8_t pattern) {
  if (bytes > 0) {
    std::memset(destination, pattern, bytes);
  }
  return {};
}

/// The device runs everything at once, in the thread that asks.
class CpuSideStream final : public SideStream {
 public:
  [[nodiscard]] void* handle() const override { return nullptr; }
  Result<void> follow(void* /*stream*/) override { return {}; }
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override { return copy_bytes(destination, source, bytes); }
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override { return fill_bytes(destination, bytes, pattern); }
  Result<void> upload(void* destination, std::span<const std::byte> source) override {
    return copy(destination, source.data(), source.size());
  }
  Result<void> download(std::span<std::byte> destination, const void* source) override {
    return copy(destination.data(), source, destination.size());
  }
};

/// One of several devices has its share of the cores, wherever it runs.
unsigned workers_of(const DeviceInfo& info) {
  const std::size_t own = cores_of(info).size();
  return own == 0 ? usable_cores() : std::min(usable_cores(), static_cast<unsigned>(own));
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceInfo info) : info_(std::move(info)), executor_(std::make_shared<Executor>(workers_of(info_))) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override { return cpu::allocate(bytes); }

  Result<void> upload(void* destination, std::span<const std::byte> source) override {
    return copy(destination, source.data(), source.size());
  }
  Result<void> download(std::span<std::byte> destination, const void* source) override {
    return copy(destination.data(), source, destination.size());
  }
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override { return copy_bytes(destination, source, bytes); }
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override { return fill_bytes(destination, bytes, pattern); }

  Result<void> randomize(void* destination, DType dtype, std::size_t count, std::uint64_t seed) override {
    cpu::randomize(executor_->pool, destination, dtype, count, seed);
    return {};
  }
  Result<Comparison> compare(const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance) override {
    return cpu::compare(executor_->pool, actual, dtype, expected, count, tolerance);
  }
  Result<std::uint64_t> checksum(const void* source, std::size_t bytes) override {
    return static_cast<std::uint64_t>(XXH3_64bits(bytes == 0 ? nullptr : source, bytes));
  }

  Result<double> root_mean_square(const double* values, std::size_t count) override { return cpu::root_mean_square(values, count); }
  Result<void> spoil(std::span<const Watch> watches, const Spots& spots) override {
    cpu::spoil(watches, spots);
    return {};
  }
  Result<std::uint64_t> unmended(std::span<const Watch> watches, const Spots& spots) override {
    return cpu::unmended(executor_->pool, watches, spots);
  }
  Result<void> paint_shared(std::uint8_t pattern) override {
    executor_->shared_paint = pattern;
    executor_->last_thread_first = !executor_->last_thread_first;  // of two runs that are validated each has another order
    return {};
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                             const Problem& problem) override {
    HONE_ASSIGN(auto module, module_of(compiled));
    return make_loaded_kernel(executor_, std::move(module), compiled, plan, problem);
  }
  Result<std::unique_ptr<LoadedKernel>> load_reference(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                       const Problem& problem) override {
    HONE_ASSIGN(auto module, module_of(compiled));
    return make_loaded_reference(executor_, std::move(module), compiled, plan, problem);
  }

  Result<void> fill_on(void* /*stream*/, void* destination, std::size_t bytes, std::uint8_t pattern) override {
    return fill(destination, bytes, pattern);
  }
  Result<void> copy_on(void* /*stream*/, void* destination, const void* source, std::size_t bytes) override {
    return copy(destination, source, bytes);
  }
  Result<std::unique_ptr<SideStream>> side_stream() override { return std::unique_ptr<SideStream>(std::make_unique<CpuSideStream>()); }
  Result<void> synchronize() override { return {}; }
  [[nodiscard]] bool loads_in_parallel() const override { return true; }

  Result<TimedRuns> time(const TimeRequest& request) override {
    TimedRuns runs;
    for (int sample = 0; sample < request.samples; ++sample) {
      const Spots spots = spots_of_run(request.seed, static_cast<std::uint64_t>(sample));
      HONE_TRY(prepare(request, spots));
      const auto begin = std::chrono::steady_clock::now();
      HONE_TRY(request.kernel->launch(nullptr, request.arguments));
      runs.us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
      runs.unmended += cpu::unmended(executor_->pool, request.watches, spots);
    }
    return runs;
  }

  Readings readings() override { return {}; }
  [[nodiscard]] bool sees_bounds() const override { return is_sanitized(info_) && address_sanitizer_present(); }

 private:
  Result<void> prepare(const TimeRequest& request, const Spots& spots) {
    for (const Preparation& preparation : request.preparations) {
      HONE_TRY(preparation.kind == Preparation::Kind::kCopy
                   ? copy(preparation.destination, preparation.source, preparation.bytes)
                   : fill(preparation.destination, preparation.bytes, fill_pattern(preparation.kind, spots.seed)));
    }
    cpu::spoil(request.watches, spots);
    executor_->shared_paint.reset();  // it would be a part of the kernel's time
    executor_->last_thread_first = false;
    if (request.flush_cache) {
      flusher_.flush(executor_->pool, static_cast<std::size_t>(info_.properties.at("l2_bytes")));
    }
    return {};
  }

  /// Configurations of one batch share an artifact, and so one loaded object.
  Result<std::shared_ptr<const Module>> module_of(const Compiled& compiled) {
    const std::lock_guard lock(modules_mutex_);
    std::erase_if(modules_, [](const auto& entry) { return entry.second.expired(); });
    if (std::shared_ptr<const Module> known = modules_[compiled.artifact->digest].lock()) {
      return known;
    }
    HONE_ASSIGN(std::shared_ptr<const Module> module, Module::load(*compiled.artifact));
    modules_[compiled.artifact->digest] = module;
    return module;
  }

  DeviceInfo info_;
  std::shared_ptr<Executor> executor_;
  std::mutex modules_mutex_;
  std::map<std::string, std::weak_ptr<const Module>> modules_;
  CacheFlusher flusher_;
};

}  // namespace

std::unique_ptr<Device> make_device(const DeviceInfo& info) { return std::make_unique<CpuDevice>(info); }

}  // namespace hone::cpu
