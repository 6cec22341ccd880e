#pragma once
// Device memory with a guard band on either side: whoever writes past an end is seen, from the first byte on.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hone/device.hpp"

namespace hone::measure {

/// Bytes of a guard band. A multiple of kPayloadAlignment, and long enough for the widest stray vector store of a block.
inline constexpr std::size_t kGuardBytes = 4096;
/// What every payload is aligned to, as the driver's own allocations are.
inline constexpr std::size_t kPayloadAlignment = 256;

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  /// Without memory until resize(). `pattern` fills the guard bands.
  explicit GuardedBuffer(std::uint8_t pattern) : pattern_(pattern) {}
  static Result<GuardedBuffer> create(Device& device, std::size_t bytes, std::uint8_t pattern);

  /// Bytes of device memory that a payload of `bytes` takes.
  static std::size_t footprint(std::size_t bytes);

  [[nodiscard]] std::byte* payload() const { return payload_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Changes the payload's length; its contents are lost. Allocates only to grow, so the address stays while the length shrinks.
  Result<void> resize(Device& device, std::size_t bytes);

  /// Fills both guard bands anew.
  Result<void> paint(Device& device);

  /// Says where the guard bands were written, in elements of `element_bytes`; nothing if they are intact.
  Result<std::optional<std::string>> damage(Device& device, std::size_t element_bytes) const;

 private:
  struct Band {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    std::uint64_t checksum = 0;  ///< while intact
  };
  Result<std::optional<std::string>> describe(Device& device, const Band& band, bool after, std::size_t element_bytes) const;

  std::unique_ptr<Buffer> memory_;
  std::byte* payload_ = nullptr;
  std::size_t bytes_ = 0, capacity_ = 0;
  std::uint8_t pattern_ = 0;
  Band before_, after_;
};

}  // namespace hone::measure
