#pragma once
// The element types a kernel can be tuned for.

#include <cstddef>
#include <span>
#include <string_view>

#include "hone/error.hpp"

namespace hone {

enum class DType { kF32, kF16, kBF16, kF64, kI32 };

/// All of them, in the order help texts list them.
std::span<const DType> all_dtypes();

/// The user's spelling: "f32", "f16", "bf16", "f64", "i32". The same names are types in kernel files.
std::string_view name(DType dtype);

/// Parses a spelling; the error lists the known ones, of `meant` if that names some.
Result<DType> parse_dtype(std::string_view text, std::span<const DType> meant = {});

/// Bytes of one element.
std::size_t size_of(DType dtype);

/// Distance from 1 to the next larger number (2^-23, 2^-10, 2^-7, 2^-52); 0 for integers.
double epsilon(DType dtype);

}  // namespace hone
