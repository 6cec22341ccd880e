#include "engine/plugin/host_fallback.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/measure/element.hpp"
#include "engine/measure/spots.hpp"
#include "hone/random.h"

namespace hone::plugin_host {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // elements or bytes on the host at a time

/// Calls `body(begin, count)` for pieces of [0, size) until one fails.
template <class Body>
Result<void> in_pieces(std::size_t size, const Body& body) {
  for (std::size_t begin = 0; begin < size; begin += kPiece) {
    HONE_TRY(body(begin, std::min(kPiece, size - begin)));
  }
  return {};
}

std::byte* at(void* address, std::size_t offset) { return static_cast<std::byte*>(address) + offset; }
const std::byte* at(const void* address, std::size_t offset) { return static_cast<const std::byte*>(address) + offset; }

void compare_element(Comparison& so_far, std::size_t index, double actual, double expected, double allowed) {
  const double error = measure::error_share(actual, expected, allowed);
  so_far.max_error = std::max(so_far.max_error, error);
  so_far.not_finite += !std::isfinite(actual) && std::isfinite(expected) ? 1 : 0;
  if (error > 1.0 && so_far.mismatches++ == 0) {
    so_far.first_mismatch = index;
    so_far.first_actual = actual;
    so_far.first_expected = expected;
  }
}

}  // namespace

Result<void> copy_by_host(Device& device, void* destination, const void* source, std::size_t bytes) {
  std::vector<std::byte> held(std::min(kPiece, bytes));
  return in_pieces(bytes, [&](std::size_t begin, std::size_t size) -> Result<void> {
    HONE_TRY(device.download(std::span(held).first(size), at(source, begin)));
    return device.upload(at(destination, begin), std::span(held).first(size));
  });
}

Result<void> fill_by_host(Device& device, void* destination, std::size_t bytes, std::uint8_t pattern) {
  const std::vector<std::byte> held(std::min(kPiece, bytes), std::byte{pattern});
  return in_pieces(bytes,
                   [&](std::size_t begin, std::size_t size) { return device.upload(at(destination, begin), std::span(held).first(size)); });
}

Result<void> randomize_by_host(Device& device, void* destination, DType dtype, std::size_t count, std::uint64_t seed) {
  const std::size_t width = size_of(dtype);
  std::vector<std::byte> held(std::min(kPiece, count) * width);
  return in_pieces(count, [&](std::size_t begin, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      measure::encode(dtype, measure::usual_element(dtype, seed, begin + i), held.data() + i * width);
    }
    return device.upload(at(destination, begin * width), std::span(held).first(size * width));
  });
}

Result<Comparison> compare_by_host(Device& device, const void* actual, DType dtype, const double* expected, std::size_t count,
                                   Tolerance tolerance) {
  const std::size_t width = size_of(dtype);
  double absolute = tolerance.absolute;
  if (tolerance.absolute_rms != 0.0) {
    HONE_ASSIGN(const double rms, measure::root_mean_square_by_host(device, expected, count));
    absolute += tolerance.absolute_rms * rms;
  }
  Comparison comparison;
  comparison.elements = count;
  std::vector<std::byte> held(std::min(kPiece, count) * width);
  std::vector<double> answer(std::min(kPiece, count));
  const Result<void> read = in_pieces(count, [&](std::size_t begin, std::size_t size) -> Result<void> {
    HONE_TRY(device.download(std::span(held).first(size * width), at(actual, begin * width)));
    HONE_TRY(device.download(std::as_writable_bytes(std::span(answer).first(size)), expected + begin));
    for (std::size_t i = 0; i < size; ++i) {
      compare_element(comparison, begin + i, measure::decode(dtype, held.data() + i * width), answer[i],
                      tolerance.relative * std::fabs(answer[i]) + absolute);
    }
    return {};
  });
  HONE_TRY(read);
  return comparison;
}

Result<std::uint64_t> checksum_by_host(Device& device, const void* source, std::size_t bytes) {
  std::vector<std::byte> held(std::min(kPiece, bytes));
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  const Result<void> read = in_pieces(bytes, [&](std::size_t begin, std::size_t size) -> Result<void> {
    HONE_TRY(device.download(std::span(held).first(size), at(source, begin)));
    XXH3_64bits_update(&state, held.data(), size);
    return {};
  });
  HONE_TRY(read);
  return static_cast<std::uint64_t>(XXH3_64bits_digest(&state));
}

Result<void> FlushByFill::flush(Device& device) {
  const auto cache = static_cast<std::size_t>(std::max<std::int64_t>(0, device.info().properties.at("l2_bytes")));
  if (cache == 0) {
    return {};
  }
  if (memory_ == nullptr) {
    HONE_ASSIGN(memory_, device.allocate(2 * cache));
  }
  return device.fill(memory_->address(), memory_->bytes(), 0);
}

Result<void> prepare_run(Device& device, std::span<const Preparation> preparations, std::span<const Watch> watches, const Spots& spots) {
  for (const Preparation& step : preparations) {
    HONE_TRY(step.kind == Preparation::Kind::kCopy ? device.copy(step.destination, step.source, step.bytes)
                                                   : device.fill(step.destination, step.bytes, fill_pattern(step.kind, spots.seed)));
  }
  return device.spoil(watches, spots);
}

Result<TimedRuns> time_by_host(Device& device, FlushByFill& cache, const TimeRequest& request) {
  TimedRuns runs;
  for (int sample = 0; sample < request.samples; ++sample) {
    const Spots spots = spots_of_run(request.seed, static_cast<std::uint64_t>(sample));
    HONE_TRY(prepare_run(device, request.preparations, request.watches, spots));
    if (request.flush_cache) {
      HONE_TRY(cache.flush(device));
    }
    HONE_TRY(device.synchronize());
    const auto begin = std::chrono::steady_clock::now();
    HONE_TRY(request.kernel->launch(nullptr, request.arguments));
    HONE_TRY(device.synchronize());
    runs.us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    HONE_ASSIGN(const std::uint64_t unmended, device.unmended(request.watches, spots));
    runs.unmended += unmended;
  }
  return runs;
}

}  // namespace hone::plugin_host
