#include "engine/measure/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hone/random.h"

namespace hone::measure {
namespace {

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void write(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));
}

double decode_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

std::uint16_t encode_half(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) {
    return 0x7fff;
  }
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) {  // halfway from the largest number to the next: rounds to infinity
    return static_cast<std::uint16_t>(sign | 0x7c00);
  }
  // In steps of the value's binade, with the leading one counted: a carry out of the mantissa lands in the exponent by itself.
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + steps));
}

std::uint16_t encode_bfloat(float value) {
  if (std::isnan(value)) {
    return 0x7fff;
  }
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Of an 8-bit float: its mantissa's bits and the exponent of its smallest normal number. All ones but for the sign is a NaN; of e5m2 what
/// has the exponent's bits and no mantissa is infinite.
struct Float8 {
  int mantissa_bits, least_exponent;
};
Float8 float8(DType dtype) { return dtype == DType::kE4M3 ? Float8{3, -6} : Float8{2, -14}; }

double decode_float8(DType dtype, std::uint8_t bits) {
  const auto [mantissa_bits, least] = float8(dtype);
  const int magnitude = bits & 0x7f, exponent = magnitude >> mantissa_bits, mantissa = magnitude & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x80) != 0 ? -1.0 : 1.0;
  if (magnitude == 0x7f || (dtype == DType::kE5M2 && magnitude > 0x7c)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (dtype == DType::kE5M2 && magnitude == 0x7c) {
    return sign * std::numeric_limits<double>::infinity();
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(whole, least - mantissa_bits + std::max(0, exponent - 1));
}

/// As the conversions of CUDA's headers by default: what is beyond the range, infinities too, becomes the largest number.
std::uint8_t encode_float8(DType dtype, double value) {
  const auto [mantissa_bits, least] = float8(dtype);
  if (std::isnan(value)) {
    return 0x7f;
  }
  const int sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::min(std::fabs(value), range_of(dtype).most);
  const int exponent = magnitude < std::ldexp(1.0, least) ? least : std::ilogb(magnitude);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
  return static_cast<std::uint8_t>(sign | (((exponent - least) << mantissa_bits) + steps));
}

/// Toward zero, and the nearest bound where it is beyond the range; a NaN is 0.
template <class Integer>
Integer to_integer(double value) {
  constexpr auto kMost = std::numeric_limits<Integer>::max(), kLeast = std::numeric_limits<Integer>::min();
  if (std::isnan(value)) {
    return 0;
  }
  return value >= static_cast<double>(kMost) ? kMost : value <= static_cast<double>(kLeast) ? kLeast : static_cast<Integer>(value);
}

}  // namespace

double decode(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::kF32:
      return read<float>(from);
    case DType::kF16:
      return decode_half(read<std::uint16_t>(from));
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(from)) << 16);
    case DType::kF64:
      return read<double>(from);
    case DType::kI32:
      return read<std::int32_t>(from);
    case DType::kI8:
      return read<std::int8_t>(from);
    case DType::kI16:
      return read<std::int16_t>(from);
    case DType::kU16:
      return read<std::uint16_t>(from);
    case DType::kU32:
      return read<std::uint32_t>(from);
    case DType::kI64:
      return static_cast<double>(read<std::int64_t>(from));
    case DType::kU64:
      return static_cast<double>(read<std::uint64_t>(from));
    case DType::kE4M3:
    case DType::kE5M2:
      return decode_float8(dtype, read<std::uint8_t>(from));
    case DType::kU8:
    case DType::kBool:  // a byte that is neither 0 nor 1 is no right answer
    case DType::kI4x2:
    case DType::kU4x2:
      return read<std::uint8_t>(from);
  }
  return 0.0;
}

void encode(DType dtype, double value, std::byte* to) {
  switch (dtype) {
    case DType::kF32:
      write(static_cast<float>(value), to);
      break;
    case DType::kF16:
      write(encode_half(value), to);
      break;
    case DType::kBF16:
      write(encode_bfloat(static_cast<float>(value)), to);
      break;
    case DType::kF64:
      write(value, to);
      break;
    case DType::kI32:
      return write(to_integer<std::int32_t>(value), to);
    case DType::kI8:
      return write(to_integer<std::int8_t>(value), to);
    case DType::kI16:
      return write(to_integer<std::int16_t>(value), to);
    case DType::kU16:
      return write(to_integer<std::uint16_t>(value), to);
    case DType::kU32:
      return write(to_integer<std::uint32_t>(value), to);
    case DType::kI64:
      return write(to_integer<std::int64_t>(value), to);
    case DType::kU64:
      return write(to_integer<std::uint64_t>(value), to);
    case DType::kE4M3:
    case DType::kE5M2:
      return write(encode_float8(dtype, value), to);
    case DType::kBool:
      return write(static_cast<std::uint8_t>(value >= 1.0 ? 1 : 0), to);
    case DType::kU8:
    case DType::kI4x2:
    case DType::kU4x2:
      return write(to_integer<std::uint8_t>(value), to);
  }
}

double usual_element(DType dtype, std::uint64_t seed, std::size_t i) {
  if (!is_integer(dtype)) {
    return random_element(seed, i);
  }
  if (dtype == DType::kBool) {
    return random_boolean(seed, i) ? 1.0 : 0.0;
  }
  return range_of(dtype).least < 0.0 ? random_integer(seed, i) : random_unsigned(seed, i);
}

void encode(DType dtype, std::int64_t value, std::byte* to) {
  if (!is_integer(dtype) || size_of(dtype) < sizeof(value)) {
    return encode(dtype, static_cast<double>(value), to);
  }
  write(value, to);
}

}  // namespace hone::measure
