#pragma once
// Element types as frameworks name them.

#include <cstddef>
#include <optional>
#include <string_view>

#include "hone/dtype.hpp"
#include "python/src/dlpack.hpp"

namespace hone::python {

/// Nothing: a type that Hone does not have.
std::optional<DType> dtype_of(const dlpack::DataType& type);
/// Of the letter that `struct` (buffers) uses, and the size of an element.
std::optional<DType> dtype_of(char kind, std::size_t bytes);
/// Of "<f4", as array interfaces have it.
std::optional<DType> dtype_of_typestr(std::string_view text);

}  // namespace hone::python
