#include "engine/measure/spots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/measure/element.hpp"
#include "hone/random.h"

namespace hone::measure {
namespace {

/// Each spot is a transfer or two: a sample is smaller than on devices that do this themselves.
constexpr std::size_t kMostByHost = 64;

Result<double> answer(Device& device, const Watch& watch, std::uint64_t i) {
  double value = 0.0;
  HONE_TRY(device.download(std::as_writable_bytes(std::span(&value, 1)), watch.expected + i));
  return value;
}

/// Calls `body(index)` for each spot until one fails.
template <class Body>
Result<void> at_spots(const Watch& watch, const Spots& spots, const Body& body) {
  const std::size_t most = std::min(spots.most, kMostByHost);
  for (std::size_t k = 0; k < std::min(watch.count, most); ++k) {
    HONE_TRY(body(spot(spots.seed, k, watch.count, most)));
  }
  return {};
}

double allowed(const Watch& watch, double expected) { return watch.relative * std::fabs(expected) + watch.absolute; }

std::byte* at(const Watch& watch, std::uint64_t i) { return static_cast<std::byte*>(watch.address) + i * size_of(watch.element); }

}  // namespace

double error_share(double actual, double expected, double allowed) {
  constexpr double kWorst = std::numeric_limits<double>::max();  // finite, so that it survives JSON
  if (actual == expected) {
    return 0.0;
  }
  const double error = std::fabs(actual - expected);
  return std::isfinite(error) && allowed > 0.0 ? std::min(kWorst, error / allowed) : kWorst;
}

Result<void> spoil_by_host(Device& device, std::span<const Watch> watches, const Spots& spots) {
  for (const Watch& watch : watches) {
    if (!watch.spoiled) {
      continue;
    }
    const Result<void> spoiled = at_spots(watch, spots, [&](std::uint64_t i) -> Result<void> {
      HONE_ASSIGN(const double expected, answer(device, watch, i));
      HONE_ASSIGN(const double other, answer(device, watch, random_bits(~spots.seed, i) % watch.count));
      std::array<std::byte, sizeof(double)> held{};
      encode(watch.element, decoy(expected, other, allowed(watch, expected), range_of(watch.element).most), held.data());
      return device.upload(at(watch, i), std::span(held).first(size_of(watch.element)));
    });
    HONE_TRY(spoiled);
  }
  return {};
}

Result<std::uint64_t> unmended_by_host(Device& device, std::span<const Watch> watches, const Spots& spots) {
  std::uint64_t wrong = 0;
  for (const Watch& watch : watches) {
    const Result<void> looked = at_spots(watch, spots, [&](std::uint64_t i) -> Result<void> {
      HONE_ASSIGN(const double expected, answer(device, watch, i));
      std::array<std::byte, sizeof(double)> held{};
      HONE_TRY(device.download(std::span(held).first(size_of(watch.element)), at(watch, i)));
      wrong += error_share(decode(watch.element, held.data()), expected, allowed(watch, expected)) > 1.0 ? 1 : 0;
      return {};
    });
    HONE_TRY(looked);
  }
  return wrong;
}

Result<double> root_mean_square_by_host(Device& device, const double* values, std::size_t count) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<double> held(std::min(kPiece, count));
  double sum = 0.0;
  std::size_t finite = 0;
  for (std::size_t begin = 0; begin < count; begin += kPiece) {
    const std::span<double> piece = std::span(held).first(std::min(kPiece, count - begin));
    HONE_TRY(device.download(std::as_writable_bytes(piece), values + begin));
    for (const double value : piece) {
      sum += std::isfinite(value) ? value * value : 0.0;
      finite += std::isfinite(value) ? 1 : 0;
    }
  }
  return finite == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(finite));
}

}  // namespace hone::measure
