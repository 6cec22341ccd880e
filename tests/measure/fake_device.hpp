#pragma once
// A device of host memory whose kernels are functions of the test: every kind of wrong kernel, every time and every throttling on demand.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/measure/element.hpp"
#include "engine/measure/measure.hpp"
#include "engine/measure/spots.hpp"
#include "hone/random.h"

namespace fake {

using namespace hone;

class FakeBuffer final : public Buffer {
 public:
  explicit FakeBuffer(std::size_t bytes) : bytes_(bytes), memory_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}))) {}
  FakeBuffer(const FakeBuffer&) = delete;
  FakeBuffer& operator=(const FakeBuffer&) = delete;
  ~FakeBuffer() override { ::operator delete (memory_, std::align_val_t{64}); }
  [[nodiscard]] void* address() const override { return memory_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

/// The pointers a kernel gets, in the order of the spec's arguments.
class Call {
 public:
  explicit Call(std::span<void* const> arguments) : arguments_(arguments) {}
  template <class T>
  [[nodiscard]] T* pointer(std::size_t i) const {
    return *static_cast<T**>(arguments_[i]);
  }
  template <class T>
  [[nodiscard]] T scalar(std::size_t i) const {
    return *static_cast<T*>(arguments_[i]);
  }

 private:
  std::span<void* const> arguments_;
};

class FakeKernel final : public LoadedKernel {
 public:
  using Body = std::function<void(const Call&)>;
  explicit FakeKernel(Body run) : body(std::move(run)) {}

  Result<void> launch(void* /*stream*/, std::span<void* const> arguments) const override {
    if (launch_error) {
      return *launch_error;
    }
    ++launches;
    if (body) {
      body(Call(arguments));
    }
    for (const Body& later : later_passes) {
      later(Call(arguments));
    }
    return {};
  }
  [[nodiscard]] Resources resources() const override { return {}; }
  [[nodiscard]] std::size_t passes() const override { return 1 + later_passes.size(); }
  [[nodiscard]] bool overlaps(std::size_t pass) const override { return overlapping == pass; }
  Result<void> launch_passes(void* /*stream*/, std::span<void* const> arguments, std::size_t first, std::size_t count) const override {
    for (std::size_t pass = first; pass < first + count; ++pass) {
      (pass == 0 ? body : later_passes[pass - 1])(Call(arguments));
    }
    return {};
  }

  Body body;
  std::vector<Body> later_passes;
  std::optional<std::size_t> overlapping;  ///< the pass that may begin early
  std::optional<Error> launch_error;
  std::function<double(int)> time_us = [](int) { return 100.0; };  ///< of its i-th timed run
  mutable int launches = 0, timed = 0;
};

class FakeDevice final : public Device {
 public:
  FakeDevice() {
    info_.id = "fake:0";
    info_.properties["memory"] = std::int64_t{1} << 30;
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    if (bytes > largest_allocation) {
      return Error{ErrorCode::kUnavailable, "out of memory"};
    }
    return std::unique_ptr<Buffer>(std::make_unique<FakeBuffer>(bytes));
  }
  Result<void> upload(void* destination, std::span<const std::byte> source) override {
    std::memcpy(destination, source.data(), source.size());
    crossed += source.size();
    return {};
  }
  Result<void> download(std::span<std::byte> destination, const void* source) override {
    std::memcpy(destination.data(), source, destination.size());
    crossed += destination.size();
    return {};
  }
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override {
    std::memcpy(destination, source, bytes);
    return {};
  }
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override {
    std::memset(destination, pattern, bytes);
    return {};
  }
  Result<void> randomize(void* destination, DType dtype, std::size_t count, std::uint64_t seed) override {
    ++randomized;
    for (std::size_t i = 0; i < count; ++i) {
      const double scale = dtype == DType::kI32 ? 1000.0 : 1.0;
      measure::encode(dtype, scale * static_cast<double>(random_element(seed, i)),
                      static_cast<std::byte*>(destination) + i * size_of(dtype));
    }
    return {};
  }
  Result<Comparison> compare(const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance allowed) override;
  Result<std::uint64_t> checksum(const void* source, std::size_t bytes) override {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (std::size_t i = 0; i < bytes; ++i) {
      hash = (hash ^ static_cast<const std::uint8_t*>(source)[i]) * 0x100000001b3ULL;
    }
    return hash;
  }
  Result<double> root_mean_square(const double* values, std::size_t count) override {
    const std::size_t before = crossed;  // a device does that by itself
    const Result<double> root = measure::root_mean_square_by_host(*this, values, count);
    crossed = before;
    return root;
  }
  Result<void> spoil(std::span<const Watch> watches, const Spots& spots) override {
    ++spoiled;
    return measure::spoil_by_host(*this, watches, spots);
  }
  Result<std::uint64_t> unmended(std::span<const Watch> watches, const Spots& spots) override {
    return measure::unmended_by_host(*this, watches, spots);
  }
  Result<void> paint_shared(std::uint8_t pattern) override {
    shared_memory = pattern;
    return {};
  }
  Result<std::unique_ptr<LoadedKernel>> load(const Compiled&, const std::vector<PassLaunch>&, const Problem&) override {
    return Error{ErrorCode::kUnavailable, "the tests make their kernels themselves"};
  }
  Result<std::unique_ptr<LoadedKernel>> load_reference(const Compiled&, const std::vector<PassLaunch>& plan,
                                                       const Problem& problem) override {
    if (plan.front().symbol > 0) {  // these specs have no generators and no acceptances: in-place arguments, as doubles
      return std::unique_ptr<LoadedKernel>(std::make_unique<FakeKernel>([plan, dtype = problem.dtype.first()](const Call& call) {
        for (const PassLaunch& pass : plan) {
          const auto from = static_cast<std::size_t>(pass.arguments[0]), to = static_cast<std::size_t>(pass.arguments[1]);
          for (std::int64_t i = 0; i < pass.extent; ++i) {
            call.pointer<double>(to)[i] =
                measure::decode(dtype, call.pointer<std::byte>(from) + static_cast<std::size_t>(i) * size_of(dtype));
          }
        }
      }));
    }
    return std::unique_ptr<LoadedKernel>(std::make_unique<FakeKernel>([this](const Call& call) {
      ++references;
      reference(call);
    }));
  }
  Result<void> fill_on(void* /*stream*/, void* destination, std::size_t bytes, std::uint8_t pattern) override {
    return fill(destination, bytes, pattern);
  }
  Result<void> synchronize() override {
    await_writer();
    return {};
  }
  Result<void> invert(std::span<const Region> regions, bool late) override {
    await_writer();
    writing.assign(regions.begin(), regions.end());
    if (!late) {
      await_writer();
    }
    return {};
  }
  /// What a kernel that overlaps must call before it touches memory: the one before it ends.
  void await_writer() {
    for (const Region& region : writing) {
      auto* const bytes = static_cast<std::byte*>(region.address);
      std::transform(bytes, bytes + region.bytes, bytes, [](std::byte b) { return ~b; });
    }
    writing.clear();
  }
  Result<TimedRuns> time(const TimeRequest& request) override;
  Result<std::unique_ptr<CallGraph>> graph(const LoadedKernel& kernel, std::span<const GraphCall> calls) override;
  Result<EnergyReading> energy() override { return meter ? Result<EnergyReading>(meter()) : Device::energy(); }
  Readings readings() override {
    Readings now;
    now.sm_clock_mhz = 1980.0;
    now.throttle_reasons = throttle ? throttle() : 0;
    return now;
  }

  FakeKernel::Body reference;
  std::size_t largest_allocation = std::size_t{1} << 30;
  std::function<std::uint64_t()> throttle;  ///< asked at each reading
  std::function<EnergyReading()> meter;     ///< none: it has no energy counter
  int randomized = 0, references = 0, spoiled = 0;
  std::size_t crossed = 0;                 ///< bytes between the host and the device
  std::uint8_t shared_memory = 0;          ///< what blocks find there
  std::vector<const LoadedKernel*> timed;  ///< every timed run, in order
  std::vector<Region> writing;             ///< by a kernel that is launched and has not ended
  bool has_graphs = true;
  std::vector<std::size_t> graph_calls;  ///< of each graph that was made

 private:
  DeviceInfo info_;
};

inline Result<Comparison> FakeDevice::compare(const void* actual, DType dtype, const double* expected, std::size_t count,
                                              Tolerance allowed) {
  double squares = 0.0, finite = 0.0;
  for (const double value : std::span(expected, count)) {
    squares += std::isfinite(value) ? value * value : 0.0;
    finite += std::isfinite(value) ? 1.0 : 0.0;
  }
  const double floor = allowed.absolute_rms * std::sqrt(squares / std::max(1.0, finite)) + allowed.absolute;
  Comparison comparison;
  comparison.elements = count;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = measure::decode(dtype, static_cast<const std::byte*>(actual) + i * size_of(dtype));
    const double bound = allowed.relative * std::fabs(expected[i]) + floor;
    const double error = std::fabs(value - expected[i]);
    const double share = value == expected[i] ? 0.0 : std::isfinite(error) && bound > 0.0 ? error / bound : HUGE_VAL;
    if (share > 1.0 && comparison.mismatches++ == 0) {
      comparison.first_mismatch = i;
      comparison.first_actual = value;
      comparison.first_expected = expected[i];
    }
    comparison.not_finite += !std::isfinite(value) && std::isfinite(expected[i]) ? 1 : 0;
    comparison.max_error = std::max(comparison.max_error, share);
  }
  return comparison;
}

inline void prepare(std::span<const Preparation> preparations, std::uint64_t seed) {
  for (const Preparation& preparation : preparations) {
    if (preparation.kind == Preparation::Kind::kCopy) {
      std::memcpy(preparation.destination, preparation.source, preparation.bytes);
    } else {
      std::memset(preparation.destination, fill_pattern(preparation.kind, seed), preparation.bytes);
    }
  }
}

/// Its calls take as long as timed runs of the kernel, less what a launch costs: a graph tells kernels apart that events do not.
class FakeGraph final : public CallGraph {
 public:
  static constexpr double kLaunchUs = 3.0;
  FakeGraph(FakeDevice& device, const FakeKernel& kernel, std::span<const GraphCall> calls)
      : device_(device), kernel_(kernel), calls_(calls.begin(), calls.end()) {}
  Result<TimedRuns> time(int samples, std::uint64_t seed) override {
    TimedRuns runs;
    for (int i = 0; i < samples; ++i) {
      const Spots spots = spots_of_run(seed, static_cast<std::uint64_t>(i));
      for (const GraphCall& call : calls_) {
        prepare(call.preparations, spots.seed);
        HONE_TRY(device_.spoil(call.watches, spots));
      }
      for (const GraphCall& call : calls_) {
        HONE_TRY(kernel_.launch(nullptr, call.arguments));
      }
      runs.us.push_back(kernel_.time_us(kernel_.timed++) - kLaunchUs);
      for (const GraphCall& call : calls_) {
        HONE_ASSIGN(const std::uint64_t unmended, device_.unmended(call.watches, spots));
        runs.unmended += unmended;
      }
    }
    return runs;
  }

 private:
  FakeDevice& device_;
  const FakeKernel& kernel_;
  std::vector<GraphCall> calls_;
};

inline Result<std::unique_ptr<CallGraph>> FakeDevice::graph(const LoadedKernel& kernel, std::span<const GraphCall> calls) {
  if (!has_graphs) {
    return Error{ErrorCode::kUnavailable, "no graphs"};
  }
  graph_calls.push_back(calls.size());
  return std::unique_ptr<CallGraph>(std::make_unique<FakeGraph>(*this, static_cast<const FakeKernel&>(kernel), calls));
}

inline Result<TimedRuns> FakeDevice::time(const TimeRequest& request) {
  TimedRuns runs;
  const auto& kernel = static_cast<const FakeKernel&>(*request.kernel);
  for (int i = 0; i < request.samples; ++i) {
    const Spots spots = spots_of_run(request.seed, static_cast<std::uint64_t>(i));
    prepare(request.preparations, spots.seed);
    HONE_TRY(spoil(request.watches, spots));
    HONE_TRY(kernel.launch(nullptr, request.arguments));
    timed.push_back(&kernel);
    runs.us.push_back(kernel.time_us(kernel.timed++));
    HONE_ASSIGN(const std::uint64_t unmended, this->unmended(request.watches, spots));
    runs.unmended += unmended;
  }
  return runs;
}

inline Argument argument(std::string name, Direction direction, Expression extent, bool zeroed = false) {
  Argument made;
  made.name = std::move(name);
  made.direction = direction;
  made.extent = std::move(extent);
  made.zeroed = zeroed;
  return made;
}

inline Expression n() { return Expression::variable("p.n"); }

/// A kernel `name(arguments...)` over `struct Problem { long n; }` and `struct Config { int split; }`.
inline KernelSpec spec_of(std::vector<Argument> arguments) {
  KernelSpec spec;
  spec.name = "probe";
  spec.file = "probe.cu";
  spec.problem.push_back({"n", 1000, ""});
  Parameter split;
  split.name = "split";
  split.values = {Value(1), Value(4)};
  split.default_value = Value(1);
  spec.parameters.push_back(split);
  spec.dtypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32};
  spec.arguments = std::move(arguments);
  spec.reference = {{.function = "probe_reference", .extent = n()}};
  spec.cost.sum_length = Expression::constant(Value(1));
  return spec;
}

}  // namespace fake
