#pragma once
// The memory of a device, for applications that have no CUDA code of their own.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hone/error.hpp"
#include "hone/export.h"

namespace hone {

/// Device memory; freed on destruction.
class HONE_API Buffer {
 public:
  virtual ~Buffer() = default;
  [[nodiscard]] virtual void* address() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// Operations on the memory of an open device. Not thread-safe. Release buffers before the device is closed. Errors: kUnavailable (not
/// enough memory), kDevice (the device failed).
class HONE_API Memory {
 public:
  virtual ~Memory() = default;
  virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) = 0;
  virtual Result<void> upload(void* destination, std::span<const std::byte> source) = 0;
  virtual Result<void> download(std::span<std::byte> destination, const void* source) = 0;
  virtual Result<void> copy(void* destination, const void* source, std::size_t bytes) = 0;
  virtual Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) = 0;
  /// Waits for all enqueued work.
  virtual Result<void> synchronize() = 0;
};

}  // namespace hone
