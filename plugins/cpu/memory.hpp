#pragma once
// What a device does to the contents of buffers, on the host's cores.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/device/device.hpp"
#include "plugins/cpu/thread_pool.hpp"

namespace hone::cpu {

Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes);
void randomize(ThreadPool& pool, void* destination, DType dtype, std::size_t count, std::uint64_t seed);
double root_mean_square(const double* values, std::size_t count);
void spoil(std::span<const Watch> watches, const Spots& spots);
std::uint64_t unmended(ThreadPool& pool, std::span<const Watch> watches, const Spots& spots);
Comparison compare(ThreadPool& pool, const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance);

/// Displaces what the caches hold of other buffers.
class CacheFlusher {
 public:
  void flush(ThreadPool& pool, std::size_t last_level_bytes);

 private:
  std::unique_ptr<std::uint64_t[]> words_;
};

}  // namespace hone::cpu
