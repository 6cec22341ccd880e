#include "engine/plugin/abi_device.hpp"

#include <algorithm>
#include <cmath>

#include "engine/measure/spots.hpp"
#include "engine/plugin/abi_graph.hpp"
#include "engine/plugin/abi_kernel.hpp"
#include "engine/plugin/device_info.hpp"
#include "engine/plugin/host_fallback.hpp"
#include "engine/plugin/table.hpp"

namespace hone::plugin_host {
namespace {

class AbiDevice final : public Device {
 public:
  AbiDevice(std::shared_ptr<const OpenDevice> device, DeviceInfo info)
      : device_(std::move(device)), table_(device_->table()), info_(std::move(info)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override { return AbiBuffer::create(device_, bytes); }

  Result<void> upload(void* destination, std::span<const std::byte> source) override {
    return source.empty() ? Result<void>() : on_device("upload", table_.upload, destination, source.data(), source.size());
  }
  Result<void> download(std::span<std::byte> destination, const void* source) override {
    return destination.empty() ? Result<void>() : on_device("download", table_.download, destination.data(), source, destination.size());
  }
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override {
    if (bytes == 0) {
      return {};
    }
    return table_.copy != nullptr ? on_device("copy", table_.copy, destination, source, bytes)
                                  : copy_by_host(*this, destination, source, bytes);
  }
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override {
    return fill_on(nullptr, destination, bytes, pattern);
  }
  Result<void> fill_on(void* stream, void* destination, std::size_t bytes, std::uint8_t pattern) override {
    if (bytes == 0) {
      return {};
    }
    return table_.fill != nullptr ? on_device("fill", table_.fill, stream, destination, bytes, pattern)
                                  : fill_by_host(*this, destination, bytes, pattern);
  }
  Result<void> randomize(void* destination, DType dtype, std::size_t count, std::uint64_t seed) override {
    return table_.randomize != nullptr
               ? on_device("randomize", table_.randomize, destination, static_cast<std::int32_t>(dtype), count, seed)
               : randomize_by_host(*this, destination, dtype, count, seed);
  }

  Result<Comparison> compare(const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance) override {
    if (table_.compare == nullptr) {
      return compare_by_host(*this, actual, dtype, expected, count, tolerance);
    }
    InRoom<hone_tolerance> allowed({tolerance.relative, tolerance.absolute_rms, tolerance.absolute});
    InRoom<hone_comparison> seen;
    HONE_TRY(on_device("compare", table_.compare, actual, static_cast<std::int32_t>(dtype), expected, count, allowed.get(), seen.get()));
    return Comparison{.elements = count,
                      .mismatches = seen->mismatches,
                      .not_finite = seen->not_finite,
                      .first_mismatch = seen->first_mismatch,
                      .first_actual = seen->first_actual,
                      .first_expected = seen->first_expected,
                      .max_error = seen->max_error};
  }
  Result<std::uint64_t> checksum(const void* source, std::size_t bytes) override {
    if (table_.checksum == nullptr) {
      return checksum_by_host(*this, source, bytes);
    }
    std::uint64_t digest = 0;
    HONE_TRY(on_device("checksum", table_.checksum, source, bytes, &digest));
    return digest;
  }

  Result<double> root_mean_square(const double* values, std::size_t count) override {
    return measure::root_mean_square_by_host(*this, values, count);
  }
  Result<void> spoil(std::span<const Watch> watches, const Spots& spots) override { return measure::spoil_by_host(*this, watches, spots); }
  Result<std::uint64_t> unmended(std::span<const Watch> watches, const Spots& spots) override {
    return measure::unmended_by_host(*this, watches, spots);
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                             const Problem& problem) override {
    return AbiKernel::load(device_, compiled, plan, problem);
  }
  Result<std::unique_ptr<LoadedKernel>> load_reference(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                       const Problem& problem) override {
    return AbiKernel::load(device_, compiled, plan, problem);
  }

  Result<void> synchronize() override {
    return table_.synchronize != nullptr ? on_device("synchronize", table_.synchronize) : Result<void>();
  }
  Result<TimedRuns> time(const TimeRequest& request) override {
    HONE_ASSIGN(TimedRuns runs, table_.time != nullptr ? time_by_table(request) : time_by_host(*this, cache_, request));
    const auto wrong = std::ranges::find_if(runs.us, [](double us) { return !(us > 0.0 && std::isfinite(us)); });
    if (wrong != runs.us.end()) {
      return device_error(table_, "time", ErrorCode::kPlugin, fmt::format("a sample took {} us", *wrong));
    }
    return runs;
  }
  Result<std::unique_ptr<CallGraph>> graph(const LoadedKernel& kernel, std::span<const GraphCall> calls) override {
    return AbiGraph::create(device_, *this, static_cast<const AbiKernel&>(kernel), calls);
  }
  Result<void> invert(std::span<const Region> regions, bool late) override;
  Result<void> paint_shared(std::uint8_t pattern) override {
    return table_.paint_shared != nullptr ? on_device("paint_shared", table_.paint_shared, pattern) : Result<void>();
  }
  Readings readings() override;
  Result<EnergyReading> energy() override;

 private:
  Result<TimedRuns> time_by_table(const TimeRequest& request);
  Result<std::vector<double>> time_runs(const TimeRequest& request, std::span<const hone_preparation> preparations, std::size_t count);

  /// Work on memory fails only where the device does.
  template <class... Parameters, class... Given>
  Result<void> on_device(std::string_view name, std::int32_t (*function)(void*, Parameters...), Given... given) const {
    return call(table_, name, ErrorCode::kDevice, [&](hone_message* message) { return function(device_->handle(), given..., message); });
  }

  std::shared_ptr<const OpenDevice> device_;
  const hone_device& table_;
  DeviceInfo info_;
  FlushByFill cache_;
};

/// Runs with nothing between them that the plugin does not know of are one call.
Result<TimedRuns> AbiDevice::time_by_table(const TimeRequest& request) {
  const bool host_between = !request.watches.empty() || std::ranges::any_of(request.preparations, [](const Preparation& step) {
    return step.kind == Preparation::Kind::kScramble;
  });
  TimedRuns runs;
  for (int done = 0; done < request.samples;) {
    const int count = host_between ? 1 : request.samples;
    const Spots spots = spots_of_run(request.seed, static_cast<std::uint64_t>(done));
    std::vector<hone_preparation> preparations;
    for (const Preparation& step : request.preparations) {
      if (step.kind == Preparation::Kind::kScramble) {
        HONE_TRY(fill(step.destination, step.bytes, fill_pattern(step.kind, spots.seed)));
      } else {
        preparations.push_back({step.destination, step.kind == Preparation::Kind::kCopy ? step.source : nullptr, step.bytes});
      }
    }
    HONE_TRY(spoil(request.watches, spots));
    HONE_ASSIGN(const std::vector<double> us, time_runs(request, preparations, static_cast<std::size_t>(count)));
    runs.us.insert(runs.us.end(), us.begin(), us.end());
    HONE_ASSIGN(const std::uint64_t left, unmended(request.watches, spots));
    runs.unmended += left;
    done += count;
  }
  return runs;
}

Result<std::vector<double>> AbiDevice::time_runs(const TimeRequest& request, std::span<const hone_preparation> preparations,
                                                 std::size_t count) {
  const hone_time_request asked{.struct_size = sizeof(hone_time_request),
                                .kernel = static_cast<const AbiKernel*>(request.kernel)->handle(),
                                .arguments = request.arguments.data(),
                                .preparations = preparations.data(),
                                .preparation_count = preparations.size(),
                                .samples = count,
                                .flush_cache = request.flush_cache ? 1 : 0,
                                .preparation_stride = sizeof(hone_preparation)};
  std::vector<double> us(count);
  HONE_TRY(call(table_, "time", ErrorCode::kLaunch,
                [&](hone_message* message) { return table_.time(device_->handle(), &asked, us.data(), message); }));
  return us;
}

Result<void> AbiDevice::invert(std::span<const Region> regions, bool late) {
  if (table_.invert == nullptr) {
    return Device::invert(regions, late);
  }
  std::vector<hone_region> asked;
  for (const Region& region : regions) {
    asked.push_back({region.address, region.bytes});
  }
  return on_device("invert", table_.invert, static_cast<const hone_region*>(asked.data()), asked.size(), sizeof(hone_region),
                   std::int32_t{late});
}

/// A device that cannot read itself is measured all the same.
Readings AbiDevice::readings() {
  InRoom<hone_readings> seen;
  if (table_.readings == nullptr || !on_device("readings", table_.readings, seen.get())) {
    return {};
  }
  return {seen->sm_clock_mhz, seen->memory_clock_mhz, seen->temperature_c, seen->power_w, seen->throttle_reasons, 0};
}

Result<EnergyReading> AbiDevice::energy() {
  if (table_.energy == nullptr) {
    return Device::energy();
  }
  InRoom<hone_energy> read;
  HONE_TRY(on_device("energy", table_.energy, read.get()));
  const auto is_number = [](double value) { return std::isfinite(value) && value >= 0.0; };
  if (!is_number(read->joules) || !is_number(read->seconds) || !is_number(read->resolution_joules)) {
    return device_error(table_, "energy", ErrorCode::kPlugin,
                        fmt::format("it read {} J at {} s in steps of {} J", read->joules, read->seconds, read->resolution_joules));
  }
  return EnergyReading{read->joules, read->seconds, read->resolution_joules};
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(const hone_device& table, const DeviceInfo& info) {
  const InfoView view(info);
  HONE_ASSIGN(void* const handle, make(table, "open", ErrorCode::kUnavailable,
                                       [&](void** made, hone_message* message) { return table.open(view.get(), made, message); }));
  return std::unique_ptr<Device>(std::make_unique<AbiDevice>(std::make_shared<const OpenDevice>(table, handle), info));
}

}  // namespace hone::plugin_host
