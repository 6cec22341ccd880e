// Arguments in constant memory: CONSTANT(N) float filter[289]; at file scope.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/reader/reader.hpp"

namespace hone::kernel {
namespace {

constexpr std::int64_t kConstantMemory = 65536;  // bytes

bool is_array(CXType type) { return type.kind == CXType_ConstantArray || type.kind == CXType_IncompleteArray; }

Problem default_problem(const KernelSpec& spec) {
  Problem problem;
  for (const ProblemField& field : spec.problem) {
    problem.shape.emplace_back(field.name, field.default_value);
  }
  return problem;
}

}  // namespace

/// The mark is a declaration of its own, before the array's.
void KernelReader::find_constants() {
  const auto is_mark = [&](CXCursor cursor) {
    return unit_.kind(cursor) == CXCursor_VarDecl && find_mark(marks_of(unit_, file_, cursor), "constant") != nullptr;
  };
  std::vector<CXCursor> all = unit_.top_level();
  std::erase_if(all, [&](CXCursor child) {
    return unit_.kind(child) < CXCursor_FirstDecl || unit_.kind(child) > CXCursor_LastDecl || !unit_.is_users(child);
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto kind = unit_.kind(all[i]);
    if (is_mark(all[i])) {
      found_.constants.emplace_back(all[i], i + 1 < all.size() ? all[i + 1] : all[i]);
    } else if (kind == CXCursor_Namespace || kind == CXCursor_LinkageSpec || kind == CXCursor_UnexposedDecl) {
      for (const CXCursor inner : unit_.children(all[i])) {
        if (is_mark(inner)) {
          error(inner,
                "CONSTANT must be at file scope, not in a namespace or an extern \"C\" block; after a definition in an extern \"C\" block, "
                "declare the array again: CONSTANT(N) extern float filter[];");
        }
      }
    }
  }
}

void KernelReader::read_constants() {
  find_constants();
  for (const auto& [mark, variable] : found_.constants) {
    attempt([&] { read_constant(*find_mark(marks_of(unit_, file_, mark), "constant"), variable); });
  }
}

/// An input that no pass has as a parameter: the kernels read the array that it is copied to.
void KernelReader::read_constant(const Mark& mark, CXCursor variable) {
  if (unit_.kind(variable) != CXCursor_VarDecl || unit_.spelling(variable).starts_with("hone_constant_")) {
    throw BadKernel(
        diagnostic(mark.start, "CONSTANT must be followed by an array at file scope, as in CONSTANT(p.taps) float filter[289];"));
  }
  Argument argument;
  argument.name = unit_.spelling(variable);
  if (std::ranges::find(spec_.arguments, argument.name, &Argument::name) != spec_.arguments.end()) {
    unit_.fail(variable, fmt::format("CONSTANT '{}' has the name of a kernel's parameter, which hides it there", argument.name));
  }
  CXType element = unit_.type(variable);
  while (is_array(element)) {
    element = unit_.clang().getCanonicalType(unit_.clang().getArrayElementType(element));
  }
  const Shape none{};
  const auto known = element_of_type(element, none);
  if (!known) {
    unit_.fail(variable, fmt::format("CONSTANT '{}' has elements of type '{}'; an element is {}", argument.name, unit_.type_name(element),
                                     known_elements(none)));
  }
  known->apply(argument);
  argument.capacity = read_capacity(variable, argument, known->lanes);
  const int index = merge_argument(variable, std::move(argument));
  read_extent(variable, mark, none, index);
  later_.emplace_back([this, mark, index] { check_capacity(mark, spec_.arguments[static_cast<std::size_t>(index)]); });
}

/// Elements of the array, over STATIC fields: as its bounds are written, or, of a declaration without them, what the definition has.
Expression KernelReader::read_capacity(CXCursor variable, const Argument& argument, int lanes) {
  std::vector<CXCursor> written = unit_.expressions(variable);
  Expression capacity = Expression::constant(lanes);
  std::size_t axis = 0;
  for (CXType type = unit_.type(variable); is_array(type);
       type = unit_.clang().getCanonicalType(unit_.clang().getArrayElementType(type)), ++axis) {
    if (type.kind == CXType_IncompleteArray) {
      unit_.fail(variable,
                 fmt::format("the size of the array of CONSTANT '{0}' is unknown here: define it, as in CONSTANT(N) float {0}[256];, or "
                             "include its definition before this declaration",
                             argument.name));
    }
    std::optional<Expression> bound;
    if (axis < written.size()) {
      try {
        bound = AstReader(unit_, fmt::format("the bound of '{}'", argument.name)).number(written[axis]);
      } catch (const BadKernel&) {
        bound.reset();  // the number will do, if it is one for all values of STATIC fields
      }
    }
    const Expression size = bound ? *bound : Expression::constant(static_cast<std::int64_t>(unit_.clang().getArraySize(type)));
    capacity = Expression::make(Operator::kMultiply, {capacity, size});
  }
  return capacity;
}

void KernelReader::check_capacity(const Mark& mark, const Argument& argument) const {
  const Problem standard = default_problem(spec_);
  if (const auto fits = constant_elements(spec_, argument, standard); !fits) {
    throw BadKernel(diagnostic(mark.where, fmt::format("with the Problem's defaults {}", fits.error().message)));
  }
  const Result<Value> capacity = argument.capacity->evaluate(bindings(standard));
  const std::int64_t bytes = capacity ? capacity->integer() * static_cast<std::int64_t>(size_of(argument.dtype)) : 0;
  if (bytes > kConstantMemory) {
    throw BadKernel(diagnostic(
        mark.where, fmt::format("the array of CONSTANT '{}' has {} bytes; constant memory has {}", argument.name, bytes, kConstantMemory)));
  }
}

}  // namespace hone::kernel
