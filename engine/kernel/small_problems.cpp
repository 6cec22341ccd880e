#include "engine/kernel/small_problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <span>

#include "engine/base/names.hpp"
#include "engine/kernel/static_fields.hpp"

namespace hone {
namespace {

/// Whether a field chooses a variant of the kernel, as its layout, instead of measuring something: a parameter has to equal it
/// (`if (c.layout != p.layout) return false;`), so that with another value no configuration stays what it is.
bool chooses_variant(const KernelSpec& spec, const std::string& field) {
  return std::any_of(spec.constraints.begin(), spec.constraints.end(), [&](const Constraint& constraint) {
    const Expression::Node& node = constraint.condition.node();
    return node.op == Operator::kEqual && node.operands[0].node().name.starts_with("c.") && node.operands[1].node().name == "p." + field;
  });
}

/// Halves the largest extents until no argument has more than `limit_elements`.
void shrink(const KernelSpec& spec, Problem& problem, std::int64_t limit_elements) {
  while (largest_argument(spec, problem) > static_cast<double>(limit_elements)) {
    const auto largest = std::ranges::max_element(
        problem.shape, {}, [&](const auto& extent) { return is_compiled_in(spec, extent.first) ? 0 : extent.second; });
    if (is_compiled_in(spec, largest->first) || largest->second <= 1) {
      return;
    }
    largest->second = largest->second / 2 + largest->second % 2;
  }
}

/// The axes that are extents: not those that choose a variant of the kernel.
std::vector<std::size_t> free_axes(const KernelSpec& spec, const Problem& problem) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < problem.shape.size(); ++axis) {
    const auto field = std::ranges::find(spec.problem, problem.shape[axis].first, &ProblemField::name);
    const bool is_extent = field == spec.problem.end() || field->kind == FieldKind::kExtent;
    if (is_extent && !chooses_variant(spec, problem.shape[axis].first) && !is_compiled_in(spec, problem.shape[axis].first)) {
      axes.push_back(axis);
    }
  }
  return axes;
}

/// False where an extent is out of its range, an array in constant memory too small, or a constraint that depends on the extents alone
/// (`p.k <= p.cols`) leaves no configuration.
bool makes_sense(const KernelSpec& spec, const Problem& problem) {
  for (std::size_t i = 0; i < std::min(spec.problem.size(), problem.shape.size()); ++i) {
    if (!why_not(spec.problem[i], problem.shape[i].second).empty()) {
      return false;
    }
  }
  if (!check_constants(spec, problem)) {
    return false;
  }
  return refusal(spec, problem).empty();
}

/// The nearest that the field may be; of those that may be 0 the smallest extents are that.
std::int64_t within(const KernelSpec& spec, std::size_t axis, std::int64_t extent) {
  if (axis >= spec.problem.size()) {
    return extent;
  }
  const ProblemField& field = spec.problem[axis];
  const std::int64_t wanted = extent == 1 ? field.least : extent;
  return std::clamp(wanted, field.least, std::max(field.least, field.most.value_or(wanted)));
}

/// For each extent that may be 0 and is not in any of them, the first of them with a 0 there.
void add_empty(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements, std::vector<Problem>& ragged) {
  for (const std::size_t axis : free_axes(spec, problem)) {
    const bool may_be_empty = axis < spec.problem.size() && spec.problem[axis].least == 0;
    const bool is_there = std::ranges::any_of(ragged, [=](const Problem& small) { return small.shape[axis].second == 0; });
    if (!may_be_empty || is_there) {
      continue;
    }
    Problem small = ragged.empty() ? problem : ragged.front();
    small.shape[axis].second = 0;
    shrink(spec, small, limit_elements);
    if (makes_sense(spec, small)) {
      ragged.push_back(std::move(small));
    }
  }
}

/// About a part of an extent, at least 256.
std::int64_t reduced(std::int64_t extent, std::int64_t divisor) {
  constexpr std::int64_t kUnit = 64, kShort = 256;
  return extent <= kShort ? extent : std::max(kShort, extent / divisor / kUnit * kUnit) + extent % kUnit;
}

}  // namespace

std::vector<Problem> given_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements) {
  std::vector<Problem> given;
  for (const Shape& shape : spec.shapes) {
    Problem made{problem.dtype, shape};
    for (std::size_t i = 0; i < std::min(shape.size(), problem.shape.size()); ++i) {
      if (is_compiled_in(spec, shape[i].first)) {
        made.shape[i].second = problem.shape[i].second;  // as the code at hand has it
      }
    }
    const bool fits = largest_argument(spec, made) <= static_cast<double>(limit_elements);
    if (fits && makes_sense(spec, made) && !(made == problem) && std::ranges::find(given, made) == given.end()) {
      given.push_back(std::move(made));
    }
  }
  return given;
}

std::vector<Problem> ragged_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements) {
  // Each extent of a problem comes from another place of the list, so that every kind of raggedness meets every axis.
  constexpr std::array<std::int64_t, 6> kExtents{1, 67, 129, 255, 34, 521};
  constexpr std::size_t kProblems = 3;
  std::vector<Problem> ragged;
  for (std::size_t variant = 0; variant < kProblems; ++variant) {
    for (std::size_t turn = 0; turn < kExtents.size(); ++turn) {
      Problem small = problem;
      for (const std::size_t axis : free_axes(spec, problem)) {
        small.shape[axis].second = within(spec, axis, kExtents[(2 * variant + 3 * axis + 1 + turn * (axis + 1)) % kExtents.size()]);
      }
      shrink(spec, small, limit_elements);
      if (makes_sense(spec, small) && std::ranges::find(ragged, small) == ragged.end()) {
        ragged.push_back(std::move(small));
        break;
      }
    }
  }
  add_empty(spec, problem, limit_elements, ragged);
  if (ragged.empty()) {  // extents that must fit each other: the problem itself, smaller
    Problem small = problem;
    shrink(spec, small, std::min<std::int64_t>(limit_elements, kExtents.back()));
    if (makes_sense(spec, small) && !(small == problem)) {
      ragged.push_back(std::move(small));
    }
  }
  return ragged;
}

std::vector<Problem> regular_problems(const KernelSpec& spec, const Problem& problem, std::int64_t limit_elements) {
  const std::vector<std::size_t> axes = free_axes(spec, problem);
  const auto filled = [&](std::int64_t extent) {
    Problem made = problem;
    for (const std::size_t axis : axes) {
      made.shape[axis].second = within(spec, axis, extent);
    }
    return made;
  };
  std::int64_t tile = limit_elements;
  while (tile > 1 && largest_argument(spec, filled(tile)) > static_cast<double>(limit_elements)) {
    tile /= 2;
  }
  constexpr std::int64_t kSkew = 16, kThin = 16;
  const std::int64_t even = std::max<std::int64_t>(2, tile - 2), few = std::min<std::int64_t>(20, tile);
  std::vector<Problem> regular{filled(tile), filled(even), filled(few), filled(1), filled(2), filled(3)};
  for (std::size_t i = 0; i < axes.size() && axes.size() > 1; ++i) {
    Problem skewed = filled(std::min(tile, kThin));
    skewed.shape[axes[i]].second = tile * kSkew;
    shrink(spec, skewed, limit_elements);
    regular.push_back(std::move(skewed));
  }
  std::vector<Problem> distinct;
  for (Problem& small : regular) {
    if (makes_sense(spec, small) && std::ranges::find(distinct, small) == distinct.end() && !(small == problem)) {
      distinct.push_back(std::move(small));
    }
  }
  return distinct;
}

std::vector<Problem> reduced_problems(const KernelSpec& spec, const Problem& problem) {
  const std::vector<std::size_t> axes = free_axes(spec, problem);
  std::vector<Problem> distinct;
  for (const std::int64_t divisor : {8, 4, 2, 1}) {
    Problem less = problem;
    for (const std::size_t axis : axes) {
      less.shape[axis].second = reduced(problem.shape[axis].second, divisor);
    }
    std::vector<Problem> all{less};
    for (const std::size_t axis : axes) {
      all.emplace_back(less).shape[axis].second = reduced(problem.shape[axis].second, std::numeric_limits<std::int64_t>::max());
    }
    for (Problem& one : all) {
      if (makes_sense(spec, one) && std::ranges::find(distinct, one) == distinct.end() && !(one == problem)) {
        distinct.push_back(std::move(one));
      }
    }
  }
  std::ranges::stable_sort(distinct, {}, [&](const Problem& one) {
    double work = 1.0;
    for (const std::size_t axis : axes) {
      work *= static_cast<double>(one.shape[axis].second);
    }
    return work;
  });
  return distinct;
}

}  // namespace hone
