#pragma once
// The driver's own launch of a function that Hone loaded: what Kernel::launch is compared with.

#include <functional>
#include <memory>
#include <optional>

#include "engine/runtime/launch_plan.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/tensor_map.hpp"

namespace hone::bench {

/// cuLaunchKernelEx with everything prepared once: attributes, parameters, tensor maps.
class DriverLaunch {
 public:
  /// `arguments` as LoadedKernel::launch takes them; they must live as long as this. Errors: a plan of several passes.
  static Result<std::unique_ptr<DriverLaunch>> prepare(const LaunchPlan& plan, const std::vector<void*>& arguments);
  Result<void> launch(void* stream);

 private:
  std::shared_ptr<cuda::PrimaryContext> context_;
  std::shared_ptr<cuda::Library> library_;
  cuda::FunctionHandle function_ = nullptr;
  cuda::LaunchConfig config_{};
  std::vector<cuda::LaunchAttribute> attributes_;
  std::vector<cuda::EncodedTensorMap> maps_;
  std::vector<void*> parameters_;
  std::vector<std::int64_t> problem_;
  std::int32_t run_index_ = 0;
};

/// A stream, and capturing what is launched on it into a graph that is thrown away.
class Stream {
 public:
  static Result<std::unique_ptr<Stream>> make();
  ~Stream();
  [[nodiscard]] void* get() const { return stream_; }
  Result<void> wait();
  Result<void> capture(const std::function<void()>& launches);

 private:
  std::shared_ptr<cuda::PrimaryContext> context_;
  cuda::StreamHandle stream_ = nullptr;
};

/// Milliseconds from the first call of the driver to a context that has done something.
Result<double> context_ms();

}  // namespace hone::bench
