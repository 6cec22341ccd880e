#pragma once
// A configuration in device memory, ready to launch.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/encoded_maps.hpp"
#include "plugins/cuda/tensor_map.hpp"

namespace hone::cuda {

inline constexpr std::size_t kMostParameters = 32, kMostTensorMaps = EncodedMaps::kMostMaps;

/// Besides the parameters of hone::Pass: the number of indices, of a reference's pass.
inline constexpr int kExtentParameter = -6;

class CudaKernel final : public LoadedKernel {
 public:
  struct Request {
    const Compiled* compiled = nullptr;
    const std::vector<PassLaunch>* plan = nullptr;
    const Problem* problem = nullptr;
    const DeviceInfo* info = nullptr;
  };
  /// Errors, kLaunch: a symbol that the code lacks, more shared memory than there is, too many parameters.
  static Result<std::unique_ptr<CudaKernel>> create(std::shared_ptr<PrimaryContext> context, std::shared_ptr<Library> library,
                                                    const Request& request);

  Result<void> launch(void* stream, std::span<void* const> arguments) const override;
  [[nodiscard]] Resources resources() const override { return resources_; }
  [[nodiscard]] std::size_t passes() const override { return passes_.size(); }
  [[nodiscard]] bool overlaps(std::size_t pass) const override { return passes_[pass].overlaps; }
  Result<void> launch_passes(void* stream, std::span<void* const> arguments, std::size_t first, std::size_t count) const override;

 private:
  struct Pass {
    KernelHandle kernel = nullptr;
    FunctionHandle function = nullptr;  ///< the kernel in the primary context
    LaunchConfig config{};
    std::array<LaunchAttribute, 3> attributes{};
    std::array<int, kMostParameters> parameters{};
    std::size_t parameter_count = 0;
    std::vector<TensorMapEncoding> tensor_maps;  ///< one for each kTensorMapParameter, in order
    std::unique_ptr<EncodedMaps> encoded;        ///< null: there are none
    std::int64_t extent = 0;                     ///< of a reference's pass
    std::int32_t run_index = 0;
    std::string symbol;
    bool overlaps = false;
  };

  /// What is copied to constant memory before the first pass.
  struct Constant {
    Address variable{};
    std::size_t argument = 0, bytes = 0;
    std::string symbol;
  };

  CudaKernel(std::shared_ptr<PrimaryContext> context, std::shared_ptr<Library> library)
      : context_(std::move(context)), library_(std::move(library)) {}
  Result<void> add_pass(const PassLaunch& launch, const Request& request);
  Result<void> add_constants(const PassLaunch& launch);
  Result<void> set_limits(const Pass& pass, const PassLaunch& launch, const DeviceInfo& info);
  Result<void> read_resources(const Pass& pass, const DeviceInfo& info);
  [[nodiscard]] Result<const EncodedTensorMap*> encoded(const Pass& pass, std::span<void* const> arguments, EncodedTensorMap* maps) const;
  [[nodiscard]] Result<void> launch_pass(const Pass& pass, StreamHandle stream, std::span<void* const> arguments) const;
  [[nodiscard]] Result<void> copy_constants(StreamHandle stream, std::span<void* const> arguments) const;
  [[nodiscard]] Status enqueue(const Pass& pass, FunctionHandle function, StreamHandle stream, void** parameters) const;
  [[nodiscard]] Status enqueue_elsewhere(const Pass& pass, StreamHandle stream, void** parameters) const;
  [[nodiscard]] Error launch_error(const Pass& pass, Status status) const;

  std::shared_ptr<PrimaryContext> context_;
  std::shared_ptr<Library> library_;
  std::vector<Pass> passes_;
  std::vector<Constant> constants_;
  std::vector<std::int64_t> problem_;  ///< struct Problem, field by field
  std::size_t argument_count_ = 0;     ///< that the passes refer to
  Resources resources_;
};

}  // namespace hone::cuda
