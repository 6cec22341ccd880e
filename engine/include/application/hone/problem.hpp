#pragma once
// A problem is what the caller fixes: its dtypes and a shape.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/dtypes.hpp"
#include "hone/export.h"

namespace hone {

/// Named extents in the order of the kernel's `struct Problem`, each at least 1.
using Shape = std::vector<std::pair<std::string, std::int64_t>>;

struct Problem {
  DTypes dtype;
  Shape shape;
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// "rows=512,cols=2048" -> pairs in the order written. Errors name the part that cannot be read.
HONE_API Result<Shape> parse_shape(std::string_view text);
HONE_API std::string text(const Shape& shape);

}  // namespace hone
