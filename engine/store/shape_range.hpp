#pragma once
// A range of shapes: what `hone tune --shapes` takes, and where a portfolio holds.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "hone/problem.hpp"

namespace hone {

/// One field of the Problem.
struct RangeAxis {
  struct Part {
    std::int64_t least = 1, most = 1;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::string name;
  std::vector<Part> parts;  ///< alternatives; at least one
  bool exact = false;       ///< a flag, an enumerator or a STATIC field: its values say nothing about those between them

  [[nodiscard]] bool varies() const { return parts.size() > 1 || parts.front().least != parts.front().most; }
  [[nodiscard]] std::int64_t least() const;
  [[nodiscard]] std::int64_t most() const;
  [[nodiscard]] bool holds(std::int64_t extent) const;
  /// How much an extent differs in what is no matter of size. Of an exact axis another value counts 1/2 and, between numbers above 0 (also
  /// of enumerators), 1/6 for each power of two to the nearest value, at most three of them; else 1. Of others an extent of 0 counts 1
  /// where the axis has none, and all others where it is 0 alone: 0 has a meaning of its own, as a window of 0.
  [[nodiscard]] double difference(std::int64_t extent) const;
  /// The logarithm to the base 2, in steps of 1/64 rounded up, of the factor by which an extent is beyond the nearest part; 0 where 0 has a
  /// meaning of its own (difference()).
  [[nodiscard]] double outside(std::int64_t extent) const;
  friend bool operator==(const RangeAxis&, const RangeAxis&) = default;
};

/// How many factors of two an extent has, up to so many as matter for accesses and lines.
inline constexpr int kMostFactorsOfTwo = 5;
int factors_of_two(std::int64_t extent);

/// Every field of the Problem, in the kernel's order.
struct ShapeRange {
  std::vector<RangeAxis> axes;
  friend bool operator==(const ShapeRange&, const ShapeRange&) = default;
};

/// "m=1..16384,n=4096|14336": a value, a span, or several of them for each field; fields left out have their default. Errors: an unknown
/// field, one given twice, a span that is empty, a value that the field cannot have, several values of a STATIC field.
Result<ShapeRange> parse_range(const KernelSpec& spec, std::string_view text);
/// The same of a part of a range: a field left out has what it has in the whole.
Result<ShapeRange> parse_range_within(const KernelSpec& spec, std::string_view text, ShapeRange whole);
std::string text(const ShapeRange& range);

/// The shape in the order of the range's axes; empty if it has other fields than these.
Shape ordered_as(const ShapeRange& range, const Shape& shape);

/// The shape with extents in the range where `given` has none: of those that it has, flags and the like apart, anything may be asked.
Shape with_any(const ShapeRange& range, Shape shape, const Shape& given);

/// A factor of 2 outside of its range, a portfolio still says more than one record would.
inline constexpr double kNearRange = 1.0;

/// How far a shape is outside: the largest factor by which an extent is beyond the nearest part of its axis, as a logarithm to the base 2.
/// 0: inside; infinite: difference() is not 0.
double distance(const ShapeRange& range, const Shape& shape);
/// The same of the extents alone: whatever makes a difference counts as inside, and who asks this asks for that, too.
double extents_outside(const ShapeRange& range, const Shape& shape);
/// The sum of the axes' differences. 0: there is none; infinite: the fields are others.
double difference(const ShapeRange& range, const Shape& shape);

/// How many shapes it has; those that lie in several parts of an axis count for each.
double shapes_in(const ShapeRange& range);

/// The point `index` of a sequence that fills the range evenly in log space. About half of the extents are no multiples of 8, the others
/// are multiples of 8 to 128.
Shape draw(const ShapeRange& range, std::uint64_t index);

}  // namespace hone
