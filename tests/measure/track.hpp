#pragma once
// A fake kernel on a fake device, timed.

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/measure/fake_device.hpp"

namespace fake {

inline const Configuration kConfiguration{{Value(1)}};

/// A bench over one in-place argument: whoever is not restored before each run is seen.
struct Track {
  explicit Track(std::vector<Argument> arguments = {argument("x", Direction::kInOut, n())}) : spec(spec_of(std::move(arguments))) {
    device.reference = [](const Call&) {};
    bench = std::move(Bench::create(device, spec, Problem{DType::kF32, {{"n", 100}}}, Compiled{})).value();
  }
  Measurement time(const FakeKernel& kernel, double incumbent_us) { return time(kernel, Incumbent{incumbent_us, incumbent_us}); }
  Measurement time(const FakeKernel& kernel, const std::optional<Incumbent>& incumbent = std::nullopt) {
    Timing timing = *bench->time(kernel, kConfiguration, settings, incumbent, readings);
    validation = timing.validation;
    return timing.measurement;
  }

  FakeDevice device;
  KernelSpec spec;
  std::unique_ptr<Bench> bench;
  MeasureSettings settings{.maximum_seconds = 3600.0};  ///< what this machine takes for it ends no timing
  Readings readings;
  Validation validation;  ///< of what was timed last
};

inline FakeKernel taking(std::function<double(int)> time_us) {
  FakeKernel kernel(nullptr);
  kernel.time_us = std::move(time_us);
  return kernel;
}

inline FakeKernel taking(double us) {
  return taking([us](int) { return us; });
}

}  // namespace fake
