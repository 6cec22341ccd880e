#include "engine/measure/guarded_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace hone::measure {
namespace {

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::size_t GuardedBuffer::footprint(std::size_t bytes) {
  // One alignment unit more: a device may hand out memory that is aligned to less.
  return round_up(bytes, kPayloadAlignment) + 2 * kGuardBytes + kPayloadAlignment;
}

Result<GuardedBuffer> GuardedBuffer::create(Device& device, std::size_t bytes, std::uint8_t pattern) {
  GuardedBuffer buffer(pattern);
  HONE_TRY(buffer.resize(device, bytes));
  return buffer;
}

Result<void> GuardedBuffer::resize(Device& device, std::size_t bytes) {
  if (memory_ != nullptr && bytes == bytes_) {
    return {};
  }
  if (memory_ == nullptr || bytes > capacity_) {
    memory_.reset();  // first, so that old and new need not fit together
    payload_ = nullptr;
    HONE_ASSIGN(memory_, device.allocate(footprint(bytes)));
    capacity_ = bytes;
    const auto address = reinterpret_cast<std::uintptr_t>(memory_->address());
    payload_ = static_cast<std::byte*>(memory_->address()) + (round_up(address + kGuardBytes, kPayloadAlignment) - address);
  }
  bytes_ = bytes;
  return paint(device);
}

Result<void> GuardedBuffer::paint(Device& device) {
  before_ = {payload_ - kGuardBytes, kGuardBytes, 0};
  // From the very end of the payload, its padding up to the alignment included.
  after_ = {payload_ + bytes_, round_up(bytes_, kPayloadAlignment) - bytes_ + kGuardBytes, 0};
  for (Band* band : {&before_, &after_}) {
    HONE_TRY(device.fill(band->begin, band->bytes, pattern_));
    HONE_ASSIGN(band->checksum, device.checksum(band->begin, band->bytes));
  }
  return {};
}

Result<std::optional<std::string>> GuardedBuffer::damage(Device& device, std::size_t element_bytes) const {
  for (const Band* band : {&before_, &after_}) {
    HONE_ASSIGN(const std::uint64_t now, device.checksum(band->begin, band->bytes));
    if (now != band->checksum) {
      return describe(device, *band, band == &after_, element_bytes);
    }
  }
  return std::optional<std::string>();
}

Result<std::optional<std::string>> GuardedBuffer::describe(Device& device, const Band& band, bool after, std::size_t element_bytes) const {
  std::vector<std::byte> content(band.bytes);
  HONE_TRY(device.download(content, band.begin));
  const auto written = [this](std::byte b) { return b != std::byte{pattern_}; };
  const auto count = std::count_if(content.begin(), content.end(), written);
  const std::size_t elements = bytes_ / element_bytes;
  if (after) {
    const auto first = static_cast<std::size_t>(std::find_if(content.begin(), content.end(), written) - content.begin());
    return std::optional(fmt::format("was written past its end: at index {} of {} elements, {} bytes in all",
                                     elements + first / element_bytes, elements, count));
  }
  const auto last = static_cast<std::size_t>(std::find_if(content.rbegin(), content.rend(), written) - content.rbegin());
  return std::optional(fmt::format("was written before its beginning: at index -{} of {} elements, {} bytes in all",
                                   last / element_bytes + 1, elements, count));
}

}  // namespace hone::measure
