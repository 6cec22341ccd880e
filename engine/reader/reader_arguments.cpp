// The arguments of kernels: which way they go, their elements and extents, and how passes share them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/reader/reader.hpp"

namespace hone::kernel {
namespace {

struct Use {
  std::string_view mark;
  Direction direction;
  bool zeroed;
};
constexpr std::array<Use, 6> kUses{{{"in", Direction::kIn, false},
                                    {"out", Direction::kOut, false},
                                    {"inout", Direction::kInOut, false},
                                    {"out_zeroed", Direction::kOut, true},
                                    {"workspace", Direction::kWorkspace, false},
                                    {"workspace_zeroed", Direction::kWorkspace, true}}};

/// How an argument that two passes share is used by both together; nothing if the two contradict each other.
std::optional<Direction> together(Direction first, Direction later) {
  if (first == later) {
    return first;
  }
  if (first == Direction::kScalar || later == Direction::kScalar || later == Direction::kWorkspace) {
    return std::nullopt;
  }
  switch (first) {
    case Direction::kWorkspace:
      return later == Direction::kIn ? std::optional(first) : std::nullopt;
    case Direction::kOut:
      return first;  // a later pass reads, or goes on with, what this one wrote
    default:
      return Direction::kInOut;
  }
}

}  // namespace

int KernelReader::read_argument(CXCursor kernel, CXCursor parameter, const Shape& shape, Pass& pass) {
  if (is_struct(parameter, "Problem")) {
    return kProblemParameter;
  }
  const auto marks = marks_of(unit_, file_, parameter);
  if (find_mark(marks, "run_index") != nullptr) {
    if (unit_.clang().getCanonicalType(unit_.type(parameter)).kind != CXType_Int) {
      unit_.fail(parameter, fmt::format("'{}' is a RUN_INDEX, the index of a run of a repeated pass: its type must be int",
                                        unit_.spelling(parameter)));
    }
    return kRunIndexParameter;
  }
  if (is_struct(parameter, "TensorMap")) {
    return read_tensor_map(parameter, marks, shape, pass);
  }
  Argument argument;
  argument.name = unit_.spelling(parameter);
  const bool pointer = unit_.type(parameter).kind == CXType_Pointer;
  if (argument.name.empty()) {
    unit_.fail(parameter, fmt::format("a parameter of kernel '{}' has no name", unit_.spelling(kernel)));
  }
  if (!pointer) {
    read_scalar(parameter, marks, shape, argument);
    return merge_argument(parameter, std::move(argument));
  }
  const Mark* mark = nullptr;
  for (const auto& use : kUses) {
    if (const Mark* found = find_mark(marks, use.mark)) {
      if (mark != nullptr) {
        throw BadKernel(diagnostic(found->start, fmt::format("argument '{}' has two marks", argument.name)));
      }
      mark = found;
      argument.direction = use.direction;
      argument.zeroed = use.zeroed;
    }
  }
  if (mark == nullptr) {
    unit_.fail(parameter,
               fmt::format("pointer '{}' needs a mark: IN(N), OUT(N), INOUT(N), OUT_ZEROED(N), WORKSPACE(N) or WORKSPACE_ZEROED(N), "
                           "with N its number of elements",
                           argument.name));
  }
  read_element(parameter, shape, argument);
  if (Mark first = items_of(*mark).front(); take_elements(first)) {
    argument.lanes = 1;
  }
  const CXType pointee = unit_.clang().getPointeeType(unit_.type(parameter));
  // A pass that only reads a workspace marks it as the pass that writes it does.
  const bool writes = argument.direction == Direction::kOut || argument.direction == Direction::kInOut;
  if (writes && unit_.clang().isConstQualifiedType(pointee) != 0) {
    unit_.fail(parameter, fmt::format("argument '{}' is written, but points to const", argument.name));
  }
  const int index = merge_argument(parameter, std::move(argument));
  read_extent(parameter, *mark, shape, index);
  return index;
}

int KernelReader::merge_argument(CXCursor parameter, Argument argument) {
  const auto known =
      std::find_if(spec_.arguments.begin(), spec_.arguments.end(), [&](const Argument& a) { return a.name == argument.name; });
  if (known == spec_.arguments.end()) {
    spec_.arguments.push_back(std::move(argument));
    has_extent_.push_back(false);
    return static_cast<int>(spec_.arguments.size()) - 1;
  }
  const auto direction = together(known->direction, argument.direction);
  if (!direction || Element::of(*known) != Element::of(argument)) {
    unit_.fail(parameter,
               fmt::format("argument '{}' is declared differently in an earlier kernel: passes share arguments by name", argument.name));
  }
  known->direction = *direction;
  return static_cast<int>(known - spec_.arguments.begin());
}

void KernelReader::read_extent(CXCursor parameter, const Mark& mark, const Shape& shape, int index) {
  const std::string name = unit_.spelling(parameter);
  if (mark.text.find_first_not_of(" \t\n") == std::string::npos) {
    throw BadKernel(diagnostic(mark.where, fmt::format("the mark of argument '{}' needs its number of elements", name)));
  }
  std::vector<Mark> items = items_of(mark);
  take_elements(items.front());
  take_then(items, index);
  read_fill(items, shape, index);
  const std::size_t id = texts_.add_extent(items.front(), shape.scope, fmt::format("the extent of '{}'", name));
  later_.emplace_back([this, id, index, mark, name] {
    Argument& argument = spec_.arguments[static_cast<std::size_t>(index)];
    const Expression vectors = texts_.extent(id);
    const Expression extent =
        argument.lanes == 1 ? vectors : Expression::make(Operator::kMultiply, {vectors, Expression::constant(argument.lanes)});
    for (const auto& variable : extent.variables()) {
      if (variable.starts_with("c.") && argument.direction != Direction::kWorkspace) {
        throw BadKernel(diagnostic(
            mark.where,
            fmt::format(
                "the extent of '{}' uses {}: only a WORKSPACE may depend on the configuration, because the caller does not allocate it",
                name, variable)));
      }
    }
    if (has_extent_[static_cast<std::size_t>(index)] && argument.extent.text() != extent.text()) {
      throw BadKernel(diagnostic(mark.where, fmt::format("argument '{}' has {} elements here and {} in an earlier kernel", name,
                                                         extent.text(), argument.extent.text())));
    }
    argument.extent = extent;
    has_extent_[static_cast<std::size_t>(index)] = true;
  });
}

}  // namespace hone::kernel
