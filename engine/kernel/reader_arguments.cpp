// The arguments of kernels: which way they go, their elements and extents, and how passes share them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/kernel/reader.hpp"

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

struct ElementName {
  std::string_view cpp;
  DType dtype;
};
constexpr std::array<ElementName, 7> kElements{{{"float", DType::kF32},
                                                {"double", DType::kF64},
                                                {"int", DType::kI32},
                                                {"f16", DType::kF16},
                                                {"__half", DType::kF16},
                                                {"bf16", DType::kBF16},
                                                {"__nv_bfloat16", DType::kBF16}}};

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

std::optional<DType> dtype_of(std::string_view cpp) {
  const auto found = std::find_if(kElements.begin(), kElements.end(), [&](const ElementName& e) { return e.cpp == cpp; });
  return found == kElements.end() ? std::nullopt : std::optional<DType>(found->dtype);
}

void KernelReader::read_element(CXCursor parameter, const Shape& shape, Argument& argument) const {
  const CXType pointee = unit_.clang().getCanonicalType(unit_.clang().getPointeeType(unit_.type(parameter)));
  const std::string element = unit_.type_name(pointee);
  argument.element_is_t = !shape.scope.type.empty() && element == "type-parameter-0-0";
  if (argument.element_is_t) {
    return;
  }
  // Counters of a workspace are often unsigned; to the host they are 32 bits.
  const auto dtype = element == "unsigned int" && argument.direction == Direction::kWorkspace ? DType::kI32 : dtype_of(element);
  if (!dtype) {
    unit_.fail(parameter, fmt::format("argument '{}' points to '{}'; an element is {}f32, f16, bf16, f64 or i32", argument.name, element,
                                      shape.scope.type.empty() ? "" : shape.scope.type + ", "));
  }
  argument.dtype = *dtype;
}

int KernelReader::read_argument(CXCursor kernel, CXCursor parameter, const Shape& shape, Pass& pass) {
  if (is_struct(parameter, "Problem")) {
    return kProblemParameter;
  }
  const auto marks = marks_of(unit_, file_, parameter);
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
    read_scalar(parameter, marks, argument);
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

void KernelReader::read_scalar(CXCursor parameter, const std::vector<Mark>& marks, Argument& argument) {
  argument.direction = Direction::kScalar;
  argument.element_is_t = false;
  const std::string type = unit_.type_name(unit_.type(parameter));
  const auto dtype = dtype_of(type);
  if (!dtype || (*dtype != DType::kF32 && *dtype != DType::kF64 && *dtype != DType::kI32)) {
    unit_.fail(parameter,
               fmt::format("parameter '{}' is of type '{}'; a kernel takes pointers, SCALAR(default) numbers (float, double, int) "
                           "and the Problem",
                           argument.name, type));
  }
  argument.dtype = *dtype;
  const Mark* scalar = find_mark(marks, "scalar");
  if (scalar == nullptr) {
    const std::string other = marks.empty() ? "" : ", and its mark is for pointers";
    unit_.fail(parameter, fmt::format("parameter '{}' is a number: it needs SCALAR(default){}", argument.name, other));
  }
  const std::size_t id = texts_.add_constant(*scalar, fmt::format("the default of '{}'", argument.name));
  later_.emplace_back([this, id, name = argument.name] {
    const auto found = std::find_if(spec_.arguments.begin(), spec_.arguments.end(), [&](const Argument& a) { return a.name == name; });
    const Value value = texts_.constant(id);
    found->scalar_default = found->dtype == DType::kI32 ? Value(value.integer()) : Value(value.real());
  });
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
  if (!direction || known->element_is_t != argument.element_is_t || known->dtype != argument.dtype) {
    unit_.fail(parameter,
               fmt::format("argument '{}' is declared otherwise in an earlier kernel: passes share arguments by name", argument.name));
  }
  known->direction = *direction;
  return static_cast<int>(known - spec_.arguments.begin());
}

void KernelReader::read_extent(CXCursor parameter, const Mark& mark, const Shape& shape, int index) {
  const std::string name = unit_.spelling(parameter);
  if (mark.text.find_first_not_of(" \t\n") == std::string::npos) {
    throw BadKernel(diagnostic(mark.where, fmt::format("the mark of argument '{}' needs its number of elements", name)));
  }
  const std::vector<Mark> items = items_of(mark);
  read_fill(items, shape, index);
  const std::size_t id = texts_.add_extent(items.front(), shape.scope, fmt::format("the extent of '{}'", name));
  later_.emplace_back([this, id, index, mark, name] {
    Argument& argument = spec_.arguments[static_cast<std::size_t>(index)];
    const Expression extent = texts_.extent(id);
    for (const auto& variable : extent.variables()) {
      if (variable.starts_with("c.") && argument.direction != Direction::kWorkspace) {
        throw BadKernel(diagnostic(mark.where, fmt::format("the extent of '{}' uses {}: only a WORKSPACE may depend on the configuration, "
                                                           "for its memory is not the caller's",
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
