#include "engine/measure/perturbation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/measure/element.hpp"
#include "hone/random.h"

namespace hone::measure {
namespace {

// A draw is small by chance for one element in some thousands: kMargin. Tensor cores truncate while they accumulate, which pulls partial
// sums towards zero: n / 24 rounding errors in one direction, as tolerance.cpp has it, for the types that they take; and as there of no
// more than 2^16 terms, which nothing adds up on them in one accumulator.
constexpr double kMargin = 4.0, kWalk = 4.0, kTruncation = 1.0 / 12.0, kMostTruncated = 65536.0;

/// Moves each element by one step of its type, up or down at random in magnitude, so that zeros and signs stay.
template <class Bits>
void move_one_step(std::span<std::byte> elements, Bits exponent_mask, std::uint64_t seed) {
  for (std::size_t i = 0; i * sizeof(Bits) < elements.size(); ++i) {
    Bits bits = 0;
    std::memcpy(&bits, elements.data() + i * sizeof(Bits), sizeof(Bits));
    const Bits magnitude = bits & static_cast<Bits>(~(Bits{1} << (8 * sizeof(Bits) - 1)));
    if ((magnitude & exponent_mask) == 0 || (magnitude & exponent_mask) == exponent_mask) {
      continue;  // zero, subnormal, infinite
    }
    bits = static_cast<Bits>(random_bits(seed, i) % 2 == 0 ? bits + 1 : bits - 1);
    std::memcpy(elements.data() + i * sizeof(Bits), &bits, sizeof(Bits));
  }
}

}  // namespace

void perturb(DType dtype, std::span<std::byte> elements, double step, std::uint64_t seed) {
  switch (dtype) {
    case DType::kF16:
      return move_one_step<std::uint16_t>(elements, 0x7c00, seed);
    case DType::kBF16:
      return move_one_step<std::uint16_t>(elements, 0x7f80, seed);
    case DType::kE4M3:
      return move_one_step<std::uint8_t>(elements, 0x78, seed);
    case DType::kE5M2:
      return move_one_step<std::uint8_t>(elements, 0x7c, seed);
    default:
      break;
  }
  if (is_integer(dtype)) {
    return;
  }
  const std::size_t width = size_of(dtype);
  for (std::size_t i = 0; i * width < elements.size(); ++i) {
    const double value = decode(dtype, elements.data() + i * width);
    // Were all moved as far, the difference of two would not change in one draw of two.
    const std::uint64_t bits = random_bits(seed, i);
    const double share = step * (1.0 + 3.0 * static_cast<double>(bits >> 11) * 0x1p-53) / std::sqrt(7.0);
    encode(dtype, value * (bits % 2 == 0 ? 1.0 + share : 1.0 - share), elements.data() + i * width);
  }
}

double rounding_per_change(DType output, double step, double sum_length) {
  const double n = std::max(1.0, sum_length);
  const bool narrow = size_of(output) < sizeof(float) || step > kFinestStep;
  const double accumulator = output == DType::kF64 ? 2.0 * epsilon(DType::kF64) : epsilon(DType::kF32);
  return kMargin * (kWalk * std::sqrt(n) + (narrow ? kTruncation * std::min(n, kMostTruncated) : 0.0)) * accumulator / step;
}

}  // namespace hone::measure
