#pragma once
// One piece of device memory for several payloads, with guard bands between them and around them: every byte of it is either a payload or
// watched, so a stray write is seen from the first byte on and wherever it goes. Where a sanitizer watches the ends of every allocation
// itself (Device::sees_bounds), each payload is an allocation of its own, and there are no bands.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace hone::measure {

/// Bytes on either side of a payload. Longer than any stray store of a block; what goes further ends in another payload or band.
inline constexpr std::size_t kGuardBytes = std::size_t{64} << 10;
/// Bytes before the first payload and behind the last.
inline constexpr std::size_t kMarginBytes = std::size_t{256} << 10;
/// What every payload is aligned to, as the driver's own allocations are, unless the arena is skewed.
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

  /// Lays the payloads out and paints the bands; allocates only to grow. Contents are lost, unless nothing changes. With `skew` payloads
  /// begin so many bytes behind a multiple of kPayloadAlignment.
  Result<void> arrange(Device& device, std::vector<Payload> payloads, std::size_t skew = 0);

  [[nodiscard]] bool empty() const { return payloads_.empty(); }
  [[nodiscard]] std::byte* payload(std::size_t i) const { return begins_[i]; }

  /// Fills all guard bands anew.
  Result<void> paint(Device& device);

  /// The bands, and their checksums while they are intact: two for each payload, that before it and that behind it, or none at all.
  [[nodiscard]] std::span<const Region> bands() const { return bands_; }
  [[nodiscard]] std::span<const std::uint64_t> checksums() const { return checksums_; }
  /// Says where a band was written, in elements of its payload: "was written past its end: ...".
  Result<std::string> describe(Device& device, std::size_t band) const;

 private:
  Result<void> allocate_each(Device& device, std::size_t skew);
  void lay_out(std::size_t skew);

  std::unique_ptr<Buffer> memory_;
  std::vector<std::unique_ptr<Buffer>> each_;  ///< of the payloads, where a sanitizer watches
  std::vector<Payload> payloads_;
  std::vector<std::byte*> begins_;
  std::vector<Region> bands_;
  std::vector<std::uint64_t> checksums_;
};

}  // namespace hone::measure
