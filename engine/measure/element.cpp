#include "engine/measure/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

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
      write(static_cast<std::int32_t>(std::clamp(value, -0x1p31, 0x1p31 - 1.0)), to);
      break;
  }
}

}  // namespace hone::measure
