#pragma once
// Elements of each dtype in host memory, for loops that know the type: visit_elements(dtype, [](auto elements) { ... }).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hone/dtype.hpp"
#include "hone/random.h"
#include "plugins/cpu/kernel_abi.hpp"

namespace hone::cpu {

/// A type that C++ has too. To an integer a double is cut off toward zero, and goes no further than its bounds.
template <class T>
struct Plain {
  static constexpr bool kReal = std::is_floating_point_v<T>, kSigned = std::is_signed_v<T>;
  static double get(const void* from, std::size_t i) { return static_cast<double>(static_cast<const T*>(from)[i]); }
  static void set(void* to, std::size_t i, double value) { static_cast<T*>(to)[i] = converted(value); }

 private:
  static T converted(double value) {
    if constexpr (!kReal) {
      constexpr auto kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::min();
      return std::isnan(value)                      ? T{0}
             : value >= static_cast<double>(kMost)  ? kMost
             : value <= static_cast<double>(kLeast) ? kLeast
                                                    : static_cast<T>(value);
    } else {
      return static_cast<T>(value);
    }
  }
};

/// One that is converted by way of float.
template <class Bits, Bits (*encode)(float), float (*decode)(Bits)>
struct Coded {
  static constexpr bool kReal = true, kSigned = true;
  static double get(const void* from, std::size_t i) { return decode(static_cast<const Bits*>(from)[i]); }
  static void set(void* to, std::size_t i, double value) { static_cast<Bits*>(to)[i] = encode(static_cast<float>(value)); }
};

/// A byte, of which a right one is 0 or 1.
struct Boolean {
  static constexpr bool kReal = false, kSigned = false;
  static double get(const void* from, std::size_t i) { return static_cast<const std::uint8_t*>(from)[i]; }
  static void set(void* to, std::size_t i, double value) { static_cast<std::uint8_t*>(to)[i] = value >= 1.0 ? 1 : 0; }
};

inline unsigned char to_e4m3(float value) { return hone_float_to_fp8<3, -6>(value, 448.0F); }
inline unsigned char to_e5m2(float value) { return hone_float_to_fp8<2, -14>(value, 57344.0F); }

template <class Visit>
auto visit_elements(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(Plain<float>());
    case DType::kF16:
      return visit(Coded<unsigned short, hone_float_to_half, hone_half_to_float>());
    case DType::kBF16:
      return visit(Coded<unsigned short, hone_float_to_bfloat, hone_bfloat_to_float>());
    case DType::kF64:
      return visit(Plain<double>());
    case DType::kI32:
      return visit(Plain<std::int32_t>());
    case DType::kI8:
      return visit(Plain<std::int8_t>());
    case DType::kI16:
      return visit(Plain<std::int16_t>());
    case DType::kU16:
      return visit(Plain<std::uint16_t>());
    case DType::kU32:
      return visit(Plain<std::uint32_t>());
    case DType::kI64:
      return visit(Plain<std::int64_t>());
    case DType::kU64:
      return visit(Plain<std::uint64_t>());
    case DType::kBool:
      return visit(Boolean());
    case DType::kE4M3:
      return visit(Coded<unsigned char, to_e4m3, hone_fp8_to_float<3, -6>>());
    case DType::kE5M2:
      return visit(Coded<unsigned char, to_e5m2, hone_fp8_to_float<2, -14>>());
    case DType::kU8:
    case DType::kI4x2:
    case DType::kU4x2:
      break;
  }
  return visit(Plain<std::uint8_t>());
}

/// Element i of a usual input.
template <class Elements>
double usual_element(Elements /*of*/, std::uint64_t seed, std::size_t i) {
  if constexpr (Elements::kReal) {
    return random_element(seed, i);
  } else if constexpr (std::is_same_v<Elements, Boolean>) {
    return random_boolean(seed, i) ? 1.0 : 0.0;
  } else {
    return Elements::kSigned ? random_integer(seed, i) : random_unsigned(seed, i);
  }
}

}  // namespace hone::cpu
