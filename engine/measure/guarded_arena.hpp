#pragma once
// One allocation for several payloads, with guard bands between and around them: every byte is either a payload or watched, so any
// stray write within it is detected from its first byte. If a sanitizer watches the ends of every allocation
// (Device::sees_bounds), each payload has its own allocation, and there are no bands.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace hone::measure {

/// Bytes on either side of a payload. Longer than any stray store of a block; writes beyond it hit another payload or band.
inline constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
/// Bytes before the first payload and after the last.
inline constexpr std::size_t kMarginBytes = std::size_t{256} << 10;
/// The alignment of every payload, equal to that of the driver's allocations, unless the arena is skewed.
inline constexpr std::size_t kPayloadAlignment = 256;

class GuardedArena {
 public:
  struct Payload {
    std::size_t bytes = 0;
    std::uint8_t pattern = 0;       ///< of its guard bands
    std::size_t element_bytes = 1;  ///< for messages
    friend bool operator==(const Payload&, const Payload&) = default;
  };

  /// Bytes of device memory that an arena takes.
  static std::size_t footprint(std::span<const Payload> payloads);

  /// Places the payloads and fills the bands; allocates only to grow. Contents are lost, unless nothing changes. With `skew`, payloads
  /// begin this many bytes after a multiple of kPayloadAlignment.
  Result<void> arrange(Device& device, std::vector<Payload> payloads, std::size_t skew = 0);

  [[nodiscard]] bool empty() const { return payloads_.empty(); }
  [[nodiscard]] std::byte* payload(std::size_t i) const { return begins_[i]; }

  /// Refills all guard bands.
  Result<void> paint(Device& device);

  /// The bands with the checksums of their intact state: two for each payload (before and after it), or none at all.
  [[nodiscard]] std::span<const Region> bands() const { return bands_; }
  [[nodiscard]] std::span<const std::uint64_t> checksums() const { return checksums_; }
  /// Describes where a band was written, in elements of its payload: "was written past its end: ...".
  Result<std::string> describe(Device& device, std::size_t band) const;

 private:
  Result<void> allocate_each(Device& device, std::size_t skew);
  void lay_out(std::size_t skew);

  std::unique_ptr<Buffer> memory_;
  std::vector<std::unique_ptr<Buffer>> each_;  ///< one for each payload, if a sanitizer watches
  std::vector<Payload> payloads_;
  std::vector<std::byte*> begins_;
  std::vector<Region> bands_;
  std::vector<std::uint64_t> checksums_;
};

}  // namespace hone::measure
