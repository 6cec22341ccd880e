#include "engine/store/shape_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/names.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/store/logarithm.hpp"

namespace hone {
namespace {

constexpr double kApart = std::numeric_limits<double>::infinity();
constexpr std::string_view kTo = "..";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

/// `part` is what people typed, of which the value is one end.
Result<std::int64_t> parse_extent(const KernelSpec& spec, const ProblemField& field, std::string_view part, std::string_view value) {
  const Result<Shape> shape = parse_shape(spec, fmt::format("{}={}", field.name, value));
  if (!shape) {
    return Error{shape.error().code,
                 fmt::format("shapes: '{}={}': '{}' is no number that an extent can have; a range is name=1..4096, name=512 or "
                             "name=512|1024..4096",
                             field.name, part, value)};
  }
  const std::int64_t number = shape->empty() ? field.default_value : shape->front().second;
  if (const std::string why = why_not(field, number); !why.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("shapes: {}={}: {}", field.name, value, why)};
  }
  return number;
}

Result<RangeAxis::Part> parse_part(const KernelSpec& spec, const ProblemField& field, std::string_view part) {
  const std::size_t to = part.find(kTo);
  HONE_ASSIGN(const std::int64_t least, parse_extent(spec, field, part, part.substr(0, to)));
  std::int64_t most = least;
  if (to != std::string_view::npos) {
    HONE_ASSIGN(most, parse_extent(spec, field, part, part.substr(to + kTo.size())));
  }
  if (most < least) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("shapes: {}={} is empty: a span is LEAST..MOST, and a single value stands alone", field.name, part)};
  }
  if (least == 0 && most > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("shapes: {0}={1} begins at 0, which is far from all others: write {0}=0|1..{2}, or {0}=1..{2}", field.name,
                             part, most)};
  }
  if (least != most && field.kind != FieldKind::kExtent) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("shapes: '{}' is no extent: name its values, as in {}=1|2", field.name, field.name)};
  }
  return RangeAxis::Part{least, most};
}

RangeAxis default_axis(const ProblemField& field) {
  return {field.name, {{field.default_value, field.default_value}}, field.kind != FieldKind::kExtent || field.is_static()};
}

Result<void> read_axis(const KernelSpec& spec, std::string_view text, std::vector<bool>& given, ShapeRange& range) {
  const std::size_t equals = text.find('=');
  const std::string_view axis_name = text.substr(0, equals);
  const auto field = std::ranges::find(spec.problem, axis_name, &ProblemField::name);
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("shapes: '{}' is not of the form name=1..4096, name=512 or name=512|1024..4096", text)};
  }
  if (field == spec.problem.end()) {
    std::vector<std::string> known;
    std::ranges::transform(spec.problem, std::back_inserter(known), &ProblemField::name);
    return Error{ErrorCode::kInvalidArgument, fmt::format("shapes: {}", unknown_name("extent", axis_name, known))};
  }
  const auto at = static_cast<std::size_t>(field - spec.problem.begin());
  if (given[at]) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("shapes: '{}' is given twice", axis_name)};
  }
  given[at] = true;
  RangeAxis& axis = range.axes[at];
  axis.parts.clear();
  for (const std::string_view part : split(text.substr(equals + 1), '|')) {
    HONE_ASSIGN(const RangeAxis::Part read, parse_part(spec, *field, part));
    axis.parts.push_back(read);
  }
  if (field->is_static() && axis.varies()) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("shapes: '{}' is STATIC, and each of its values is code of its own: give one, and tune each alone", axis_name)};
  }
  return {};
}

/// The part of x behind the point.
double fraction(double x) { return x - std::floor(x); }

/// Coordinate `axis` of point `index` of the R sequence in so many dimensions: multiples of the powers of the generalized golden ratio.
double sequence(std::uint64_t index, std::size_t axis, std::size_t dimensions) {
  double ratio = 2.0;
  for (int i = 0; i < 64; ++i) {
    ratio = std::pow(1.0 + ratio, 1.0 / (static_cast<double>(dimensions) + 1.0));
  }
  const double step = std::pow(ratio, -static_cast<double>(axis + 1));
  return fraction(0.5 + step * static_cast<double>(index + 1));
}

/// Half are no multiples of 8, the others multiples of 8, 16, ... 128 where the span has room for them.
std::int64_t aligned(std::int64_t extent, double how, const RangeAxis::Part& part) {
  constexpr double kRagged = 0.5, kPowers = 5.0;
  constexpr std::int64_t kLeast = 8;
  if (how < kRagged) {
    const std::int64_t other = extent > part.least ? extent - 1 : extent + 1;
    return extent % kLeast != 0 || other > part.most ? extent : other;
  }
  auto unit = kLeast << static_cast<int>((how - kRagged) / (1.0 - kRagged) * kPowers);
  while (unit >= kLeast) {
    const std::int64_t down = extent / unit * unit, up = down + unit;
    if (down >= part.least && down > 0) {
      return down;
    }
    if (up <= part.most && up <= 2 * extent) {
      return up;
    }
    unit /= 2;
  }
  return extent;
}

std::int64_t draw_extent(const RangeAxis& axis, double where, double how) {
  const double place = where * static_cast<double>(axis.parts.size());
  const auto at = std::min(axis.parts.size() - 1, static_cast<std::size_t>(place));
  const RangeAxis::Part& part = axis.parts[at];
  if (part.least == part.most) {
    return part.least;
  }
  const double low = std::log(static_cast<double>(std::max<std::int64_t>(1, part.least))),
               high = std::log(static_cast<double>(part.most) + 1.0);
  const auto extent = static_cast<std::int64_t>(std::exp(low + fraction(place) * (high - low)));
  return aligned(std::clamp(extent, part.least, part.most), how, part);
}

/// Whether an extent is 0 and none of the axis is, or the other way.
bool is_apart(const RangeAxis& axis, std::int64_t extent) { return extent == 0 ? axis.least() > 0 : axis.most() == 0; }

/// How much two values of an exact axis differ.
double difference_of_values(std::int64_t a, std::int64_t b) {
  constexpr double kOther = 0.5, kMostPowers = 3.0;  // as of a member's values, but a flag is more than a word there
  if (a == b) {
    return 0.0;
  }
  const double factor = a > 0 && b > 0 ? std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b))) : kMostPowers;
  return kOther + (1.0 - kOther) * std::min(1.0, factor / kMostPowers);
}

/// In the order of the axes; none at all where the shape has not the same ones.
using Extents = std::vector<std::pair<const RangeAxis*, std::int64_t>>;

Extents extents_by_axis(const ShapeRange& range, const Shape& shape) {
  Extents extents;
  for (std::size_t i = 0; i < range.axes.size() && range.axes.size() == shape.size(); ++i) {
    const RangeAxis& axis = range.axes[i];
    // Most are in that order already.
    const auto field = shape[i].first == axis.name ? shape.begin() + static_cast<std::ptrdiff_t>(i)
                                                   : std::ranges::find(shape, axis.name, &Shape::value_type::first);
    if (field == shape.end()) {
      return {};
    }
    extents.emplace_back(&axis, field->second);
  }
  return extents;
}

double outside(const ShapeRange& range, const Extents& extents) {
  double farthest = extents.size() == range.axes.size() ? 0.0 : kApart;
  for (const auto& [axis, extent] : extents) {
    farthest = axis->exact ? farthest : std::max(farthest, axis->outside(extent));
  }
  return farthest;
}

double difference(const ShapeRange& range, const Extents& extents) {
  double sum = extents.size() == range.axes.size() ? 0.0 : kApart;
  for (const auto& [axis, extent] : extents) {
    sum += axis->difference(extent);
  }
  return sum;
}

}  // namespace

std::int64_t RangeAxis::least() const { return std::ranges::min_element(parts, {}, &Part::least)->least; }
std::int64_t RangeAxis::most() const { return std::ranges::max_element(parts, {}, &Part::most)->most; }
bool RangeAxis::holds(std::int64_t extent) const {
  return std::ranges::any_of(parts, [extent](const Part& part) { return part.least <= extent && extent <= part.most; });
}

double RangeAxis::outside(std::int64_t extent) const {
  if (is_apart(*this, extent)) {
    return 0.0;
  }
  constexpr double kSteps = 64.0, kDigits = 1e-6;  // a whole number of steps is one on every host
  const auto powers = [](std::int64_t larger, std::int64_t smaller) {
    if (smaller <= 0) {
      return kApart;
    }
    const double factor = static_cast<double>(larger) / static_cast<double>(smaller);
    return std::max(1.0, std::ceil(kSteps * logarithm(factor) / kLn2 - kDigits)) / kSteps;
  };
  double nearest = kApart;
  for (const Part& part : parts) {
    nearest = std::min(nearest, extent < part.least ? powers(part.least, extent) : extent > part.most ? powers(extent, part.most) : 0.0);
  }
  return nearest;
}

double RangeAxis::difference(std::int64_t extent) const {
  if (!exact) {
    return is_apart(*this, extent) ? 1.0 : 0.0;
  }
  double nearest = kApart;
  for (const Part& part : parts) {
    nearest = std::min(nearest, difference_of_values(extent, std::clamp(extent, part.least, part.most)));
  }
  return nearest;
}

Result<ShapeRange> parse_range(const KernelSpec& spec, std::string_view text) {
  ShapeRange defaults;
  std::ranges::transform(spec.problem, std::back_inserter(defaults.axes), default_axis);
  return parse_range_within(spec, text, std::move(defaults));
}

Result<ShapeRange> parse_range_within(const KernelSpec& spec, std::string_view text, ShapeRange whole) {
  std::vector<bool> given(spec.problem.size());
  for (const std::string_view axis : split(text, ',')) {
    HONE_TRY(read_axis(spec, axis, given, whole));
  }
  return whole;
}

std::string text(const ShapeRange& range) {
  std::string all;
  for (const RangeAxis& axis : range.axes) {
    all += fmt::format("{}{}=", all.empty() ? "" : ",", axis.name);
    for (std::size_t i = 0; i < axis.parts.size(); ++i) {
      const RangeAxis::Part& part = axis.parts[i];
      all += fmt::format("{}{}{}", i == 0 ? "" : "|", part.least, part.least == part.most ? "" : fmt::format("{}{}", kTo, part.most));
    }
  }
  return all;
}

Shape ordered_as(const ShapeRange& range, const Shape& shape) {
  Shape ordered;
  for (const auto& [axis, extent] : extents_by_axis(range, shape)) {
    ordered.emplace_back(axis->name, extent);
  }
  return ordered;
}

Shape with_any(const ShapeRange& range, Shape shape, const Shape& given) {
  for (auto& [name, extent] : shape) {
    const auto axis = std::ranges::find(range.axes, name, &RangeAxis::name);
    const bool is_given = std::ranges::find(given, name, &Shape::value_type::first) != given.end();
    if (!is_given && axis != range.axes.end() && !axis->exact) {
      extent = axis->least();
    }
  }
  return shape;
}

double extents_outside(const ShapeRange& range, const Shape& shape) { return outside(range, extents_by_axis(range, shape)); }
double difference(const ShapeRange& range, const Shape& shape) { return difference(range, extents_by_axis(range, shape)); }

double distance(const ShapeRange& range, const Shape& shape) {
  const Extents extents = extents_by_axis(range, shape);
  return difference(range, extents) > 0.0 ? kApart : outside(range, extents);
}

double shapes_in(const ShapeRange& range) {
  double shapes = 1.0;
  for (const RangeAxis& axis : range.axes) {
    double extents = 0.0;
    for (const RangeAxis::Part& part : axis.parts) {
      extents += static_cast<double>(part.most - part.least) + 1.0;
    }
    shapes *= extents;
  }
  return shapes;
}

Shape draw(const ShapeRange& range, std::uint64_t index) {
  Shape shape;
  const auto varying = static_cast<std::size_t>(std::ranges::count_if(range.axes, &RangeAxis::varies));
  std::size_t next = 0;
  for (const RangeAxis& axis : range.axes) {
    if (!axis.varies()) {
      shape.emplace_back(axis.name, axis.least());
      continue;
    }
    const double where = sequence(index, next, 2 * varying), how = sequence(index, varying + next, 2 * varying);
    shape.emplace_back(axis.name, draw_extent(axis, where, how));
    ++next;
  }
  return shape;
}

int factors_of_two(std::int64_t extent) {
  int factors = 0;
  while (factors < kMostFactorsOfTwo && extent % (std::int64_t{2} << factors) == 0) {
    ++factors;
  }
  return factors;
}

}  // namespace hone
