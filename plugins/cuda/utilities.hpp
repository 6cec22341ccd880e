#pragma once
// The device-side helpers of utility.cu: random inputs, comparison, checksums, emptying the L2.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.hpp"
#include "plugins/cuda/driver.hpp"

namespace hone::cuda {

class Utilities {
 public:
  /// Compiles utility.cu (once a process and architecture) and loads it. Errors: no NVRTC.
  static Result<std::unique_ptr<Utilities>> create(const std::shared_ptr<PrimaryContext>& context, const DeviceInfo& info);
  ~Utilities();
  Utilities(const Utilities&) = delete;
  Utilities& operator=(const Utilities&) = delete;

  // All enqueue on `stream`, with the context current; those that return a result wait for it.
  Result<void> randomize(StreamHandle stream, void* destination, DType dtype, std::size_t count, std::uint64_t seed);
  Result<Comparison> compare(StreamHandle stream, const void* actual, DType dtype, const double* expected, std::size_t count,
                             const Tolerance& tolerance);
  Result<std::vector<std::uint64_t>> checksums(StreamHandle stream, std::span<const Region> regions);
  Result<double> root_mean_square(StreamHandle stream, const double* values, std::size_t count);
  /// For spoil() and count_unmended(): until others are set.
  Result<void> set_watches(StreamHandle stream, std::span<const Watch> watches);
  Result<void> spoil(StreamHandle stream, const Spots& spots);
  /// Adds to a count that take_unmended() returns and starts from zero.
  Result<void> count_unmended(StreamHandle stream, const Spots& spots);
  Result<std::uint64_t> take_unmended(StreamHandle stream);
  Result<void> paint_shared(StreamHandle stream, std::uint8_t pattern);
  /// Reads `bytes` of zeros: if they are several times the L2, it then holds nothing else.
  Result<void> displace(StreamHandle stream, const void* zeros, std::size_t bytes);
  /// As Device::invert.
  Result<void> invert(StreamHandle stream, std::span<const Region> regions, bool late);

 private:
  struct Summary;
  struct WatchLayout;
  explicit Utilities(std::shared_ptr<PrimaryContext> context) : context_(std::move(context)) {}
  Result<void> load(const DeviceInfo& info);
  Result<void> launch(KernelHandle kernel, StreamHandle stream, std::size_t count, void** parameters, std::size_t rows = 1);
  Result<void> at_spots(KernelHandle kernel, StreamHandle stream, const Spots& spots, void** parameters);
  Result<Address> room(Address& memory, std::size_t& capacity, std::size_t bytes);
  Result<void> reset(StreamHandle stream);
  Result<Summary> read(StreamHandle stream);

  std::shared_ptr<PrimaryContext> context_;
  std::shared_ptr<Library> library_;
  KernelHandle randomize_ = nullptr, squares_ = nullptr, compare_ = nullptr, first_ = nullptr, checksums_ = nullptr, displace_ = nullptr;
  KernelHandle invert_ = nullptr, spoil_ = nullptr, unmended_ = nullptr, paint_shared_ = nullptr;
  Address summary_ = 0, unmended_count_ = 0, sums_ = 0, watches_ = 0;
  std::size_t sums_bytes_ = 0, watches_bytes_ = 0, watch_count_ = 0, most_watched_ = 0;
  std::size_t multiprocessors_ = 1, shared_bytes_ = 0;
  std::size_t most_blocks_ = 1;
};

/// The cubin of utility.cu.
Result<std::shared_ptr<const Artifact>> utility_code(std::string_view architecture);

}  // namespace hone::cuda
