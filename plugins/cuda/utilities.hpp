#pragma once
// The device-side helpers of utility.cu: random inputs, comparison, checksums, emptying the L2.

#include <memory>
#include <string>
#include <string_view>

#include "hone/device.hpp"
#include "plugins/cuda/driver.hpp"

namespace hone::cuda {

class Utilities {
 public:
  /// Compiles utility.cu (once a process and architecture) and loads it. Errors: no NVRTC.
  static Result<std::unique_ptr<Utilities>> create(const std::shared_ptr<PrimaryContext>& context, const DeviceInfo& info);
  ~Utilities();
  Utilities(const Utilities&) = delete;
  Utilities& operator=(const Utilities&) = delete;

  // All enqueue on `stream`, with the context current; compare and checksum wait for it.
  Result<void> randomize(StreamHandle stream, void* destination, DType dtype, std::size_t count, std::uint64_t seed);
  Result<Comparison> compare(StreamHandle stream, const void* actual, DType dtype, const double* expected, std::size_t count,
                             const Tolerance& tolerance);
  Result<std::uint64_t> checksum(StreamHandle stream, const void* source, std::size_t bytes);
  /// Reads `bytes` of zeros: if they are several times the L2, it then holds nothing else.
  Result<void> displace(StreamHandle stream, const void* zeros, std::size_t bytes);
  /// As Device::invert.
  Result<void> invert(StreamHandle stream, std::span<const Region> regions, bool late);

 private:
  struct Summary;
  explicit Utilities(std::shared_ptr<PrimaryContext> context) : context_(std::move(context)) {}
  Result<void> load(const DeviceInfo& info);
  Result<void> launch(KernelHandle kernel, StreamHandle stream, std::size_t count, void** parameters);
  Result<void> reset(StreamHandle stream);
  Result<Summary> read(StreamHandle stream);

  std::shared_ptr<PrimaryContext> context_;
  std::shared_ptr<Library> library_;
  KernelHandle randomize_ = nullptr, squares_ = nullptr, compare_ = nullptr, first_ = nullptr, checksum_ = nullptr, displace_ = nullptr;
  KernelHandle invert_ = nullptr;
  Address summary_ = 0;
  std::size_t most_blocks_ = 1;
};

/// The cubin of utility.cu.
Result<std::shared_ptr<const Artifact>> utility_code(std::string_view architecture);

}  // namespace hone::cuda
