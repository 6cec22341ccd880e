#pragma once
// The element types a kernel can be tuned for.

#include <cstddef>
#include <span>
#include <string_view>

#include "hone/error.hpp"
#include "hone/export.h"

namespace hone {

/// The order is that of plugin.h: new ones come last.
enum class DType {
  kF32,
  kF16,
  kBF16,
  kF64,
  kI32,
  kI8,
  kU8,
  kI16,
  kU16,
  kU32,
  kI64,
  kU64,
  kBool,
  kE4M3,
  kE5M2,  ///< 8-bit floats; values beyond their range saturate to the largest number
  kI4x2,
  kU4x2,  ///< two 4-bit integers in a byte, the lower bits first; compared and counted as bytes
};

/// All of them, in the order help texts list them.
HONE_API std::span<const DType> all_dtypes();

/// The user's spelling: "f32", "f16", "bf16", "f64", "i32", "bool", "e4m3", ... The same names are types in kernel files.
HONE_API std::string_view name(DType dtype);

/// Parses a spelling; the error lists the known ones (those in `meant`, if it is not empty).
HONE_API Result<DType> parse_dtype(std::string_view text, std::span<const DType> meant = {});

/// Bytes of one element.
HONE_API std::size_t size_of(DType dtype);

/// Distance from 1 to the next larger number (2^-23, 2^-10, 2^-7, 2^-52; 2^-3 and 2^-2 of 8-bit floats); 0 for integers.
HONE_API double epsilon(DType dtype);

/// Whether values are compared exactly: integers, bool, bytes of 4-bit integers.
HONE_API bool is_integer(DType dtype);

/// The range of a type. Integers: the bounds as doubles (rounded for 64 bits). Floats: the largest finite number and its
/// negative.
struct Range {
  double least, most;
};
HONE_API Range range_of(DType dtype);

/// Whether results of usual magnitude can be below its smallest normal number: f16 and the 8-bit floats.
HONE_API bool has_narrow_range(DType dtype);

/// The distance between subnormal numbers, the smallest step of the type; 0 for integers.
HONE_API double subnormal_step(DType dtype);

}  // namespace hone
