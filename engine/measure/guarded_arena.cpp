#include "engine/measure/guarded_arena.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone::measure {
namespace {

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::size_t GuardedArena::footprint(std::span<const Payload> payloads) {
  // Two alignment units more for each: one for a skew, one because a device may hand out memory that is aligned to less.
  std::size_t bytes = 2 * kMarginBytes;
  for (const Payload& payload : payloads) {
    bytes += round_up(payload.bytes, kPayloadAlignment) + 2 * kGuardBytes + 2 * kPayloadAlignment;
  }
  return bytes;
}

Result<void> GuardedArena::arrange(Device& device, std::vector<Payload> payloads, std::size_t skew) {
  if ((memory_ != nullptr || !each_.empty()) && payloads == payloads_) {
    return {};
  }
  if (device.sees_bounds()) {
    payloads_ = std::move(payloads);
    return allocate_each(device, skew);
  }
  const std::size_t bytes = footprint(payloads);
  if (memory_ == nullptr || bytes > memory_->bytes()) {
    payloads_.clear();
    memory_.reset();  // first, so that old and new need not fit together
    HONE_ASSIGN(memory_, device.allocate(bytes));
  }
  payloads_ = std::move(payloads);
  lay_out(skew);
  return paint(device);
}

/// A skewed payload has some bytes before it that nobody watches; its end is that of its allocation all the same.
Result<void> GuardedArena::allocate_each(Device& device, std::size_t skew) {
  begins_.clear();
  each_.clear();
  for (std::size_t i = 0; i < payloads_.size(); ++i) {
    const std::size_t offset = skew * (2 * i + 1) % kPayloadAlignment;
    Result<std::unique_ptr<Buffer>> buffer = device.allocate(payloads_[i].bytes + offset);
    if (!buffer) {
      payloads_.clear();
      each_.clear();
      return buffer.error();
    }
    begins_.push_back(static_cast<std::byte*>((*buffer)->address()) + offset);
    each_.push_back(std::move(buffer).value());
  }
  return {};
}

void GuardedArena::lay_out(std::size_t skew) {
  begins_.clear();
  bands_.clear();
  auto* const first = static_cast<std::byte*>(memory_->address());
  std::byte* free = first;  // where nothing is laid out yet
  for (std::size_t i = 0; i < payloads_.size(); ++i) {
    const std::size_t before = i == 0 ? kMarginBytes : kGuardBytes;
    const auto least = reinterpret_cast<std::uintptr_t>(free) + before;
    std::byte* const begin =
        free + (round_up(least, kPayloadAlignment) + skew * (2 * i + 1) % kPayloadAlignment - reinterpret_cast<std::uintptr_t>(free));
    begins_.push_back(begin);
    bands_.push_back({free, static_cast<std::size_t>(begin - free)});
    std::byte* const end = begin + payloads_[i].bytes;
    const bool last = i + 1 == payloads_.size();
    std::byte* const band_end = last ? first + footprint(payloads_) : end + kGuardBytes;
    bands_.push_back({end, static_cast<std::size_t>(band_end - end)});
    free = band_end;
  }
}

Result<void> GuardedArena::paint(Device& device) {
  if (bands_.empty()) {
    return {};
  }
  for (std::size_t band = 0; band < bands_.size(); ++band) {
    HONE_TRY(device.fill(bands_[band].address, bands_[band].bytes, payloads_[band / 2].pattern));
  }
  HONE_ASSIGN(checksums_, device.checksums(bands_));
  return {};
}

Result<std::string> GuardedArena::describe(Device& device, std::size_t band) const {
  const Payload& payload = payloads_[band / 2];
  std::vector<std::byte> content(bands_[band].bytes);
  HONE_TRY(device.download(content, bands_[band].address));
  const auto written = [&payload](std::byte b) { return b != std::byte{payload.pattern}; };
  const auto count = std::count_if(content.begin(), content.end(), written);
  const std::size_t elements = payload.bytes / payload.element_bytes;
  if (band % 2 == 1) {
    const auto first = static_cast<std::size_t>(std::find_if(content.begin(), content.end(), written) - content.begin());
    return fmt::format("was written past its end: at index {} of {} elements, {} bytes in all", elements + first / payload.element_bytes,
                       elements, count);
  }
  const auto last = static_cast<std::size_t>(std::find_if(content.rbegin(), content.rend(), written) - content.rbegin());
  return fmt::format("was written before its beginning: at index -{} of {} elements, {} bytes in all", last / payload.element_bytes + 1,
                     elements, count);
}

}  // namespace hone::measure
