// The reference: the definition of the right answer.

#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/instantiation.hpp"
#include "engine/reader/reader.hpp"

namespace hone::kernel {

namespace {

constexpr std::string_view kTheReference = "the reference";

bool is_output(const Argument& argument) { return argument.direction == Direction::kOut || argument.direction == Direction::kInOut; }

}  // namespace

/// A file whose outputs are all accepted by functions of its own needs none, nor does one that implements an operation, which has one.
void KernelReader::read_references() {
  bool all_accepted = true;
  for (std::size_t i = 0; i < spec_.arguments.size(); ++i) {
    all_accepted = all_accepted && (!is_output(spec_.arguments[i]) || spec_.is_accepted(static_cast<int>(i)));
  }
  if (found_.references.empty() && spec_.operation.empty() && (!all_accepted || spec_.acceptances.empty())) {
    const std::string head = template_head(spec_);
    errors_.push_back(diagnostic(
        {spec_.file, 1, 1},
        fmt::format(
            "no reference: expected `{}REFERENCE(N) void {}_reference(long i, ...)`, the correct answer in double for each i in [0, N)",
            head, spec_.name)));
    return;
  }
  for (const CXCursor reference : found_.references) {
    attempt([&] { read_reference(reference); });
  }
}

void KernelReader::check_reference_name(CXCursor function) {
  const std::string name = unit_.spelling(function), expected = spec_.name + "_reference";
  const bool alone = found_.references.size() == 1;
  if (alone ? name != expected : name != expected && !name.starts_with(expected + "_")) {
    error(function,
          fmt::format("the reference is called '{}'; expected '{}'{}", name, expected, alone ? "" : fmt::format(" or '{}_...'", expected)));
  }
  const auto same = [&](const ReferencePass& pass) { return pass.function == name; };
  if (std::any_of(spec_.reference.begin(), spec_.reference.end(), same)) {
    error(function, fmt::format("a second reference called '{}': several references need different names", name));
  }
}

KernelReader::Shape KernelReader::shape_of_answer(CXCursor function, std::string_view whose, std::vector<CXCursor>& parameters) const {
  Shape shape;
  for (const CXCursor child : unit_.children(function)) {
    if (unit_.kind(child) == CXCursor_TemplateTypeParameter) {
      shape.scope.types.push_back(unit_.spelling(child));
    } else if (unit_.kind(child) == CXCursor_NonTypeTemplateParameter) {
      unit_.fail(child, whose == kTheReference ? "the reference cannot be a template on the configuration; take it by value, as `Config c`"
                                               : fmt::format("{} does not depend on the configuration", whose));
    } else if (unit_.kind(child) == CXCursor_ParmDecl) {
      if (whose != kTheReference && is_struct(child, "Config")) {
        unit_.fail(
            child,
            fmt::format("{} takes no Config: {}", whose,
                        whose == "a generator"
                            ? "all configurations get the same inputs"
                            : "let the reference take it, and let this function take the reference's answer, `const double* expected_y`"));
      }
      parameters.push_back(child);
    }
  }
  check_types(function, shape, fmt::format("{} and the kernel", whose));
  if (parameters.empty() || unit_.type(parameters[0]).kind != CXType_Long) {
    unit_.fail(function, fmt::format("the first parameter of {} must be `long`, the index in [0, N)", whose));
  }
  shape.scope = problem_scope(function, shape.scope);
  return shape;
}

void KernelReader::read_reference(CXCursor function) {
  std::vector<CXCursor> parameters;
  Shape shape = shape_of_answer(function, kTheReference, parameters);
  check_reference_name(function);
  check_result(function);
  const std::size_t index = spec_.reference.size();
  spec_.reference.push_back({.function = unit_.spelling(function), .extent = {}});
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    attempt([&] {
      const bool is_config = is_struct(parameters[i], "Config");
      spec_.reference[index].arguments.push_back(is_config ? kConfigParameter : reference_argument(parameters[i], shape));
      if (is_config) {
        spec_.reference[index].fields = fields_read(function, parameters[i]);
      }
    });
  }
  attempt([&] { read_tolerances(function, shape.scope); });
  const Mark mark = *find_mark(marks_of(unit_, file_, function), "reference");
  if (mark.text.find_first_not_of(" \t\n") == std::string::npos) {
    throw BadKernel(diagnostic(mark.where, "REFERENCE needs its number of indices, as in REFERENCE(p.rows)"));
  }
  const std::size_t id = texts_.add_extent(mark, shape.scope, "the extent of the reference");
  later_.emplace_back([this, id, index] { spec_.reference[index].extent = texts_.extent(id); });
}

/// Which fields of the configuration the reference reads: configurations that have these in common have one answer. All, where it hands the
/// struct on.
std::vector<int> KernelReader::fields_read(CXCursor function, CXCursor config) const {
  std::vector<bool> read(spec_.parameters.size(), false);
  std::size_t members = 0, mentions = 0;
  const std::function<void(CXCursor)> visit = [&](CXCursor node) {
    const CXCursor target = unit_.referenced(node);
    const bool is_field = unit_.kind(node) == CXCursor_MemberRefExpr && is_struct(unit_.clang().getCursorSemanticParent(target), "Config");
    if (is_field) {
      const auto parameter = std::ranges::find(spec_.parameters, unit_.spelling(target), &Parameter::name);
      if (parameter != spec_.parameters.end()) {
        ++members;
        read[static_cast<std::size_t>(parameter - spec_.parameters.begin())] = true;
      }
    } else if (unit_.kind(node) == CXCursor_DeclRefExpr && unit_.clang().equalCursors(target, config) != 0) {
      ++mentions;
    }
    for (const CXCursor child : unit_.children(node)) {
      visit(child);
    }
  };
  visit(function);
  std::vector<int> fields;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] || mentions != members) {
      fields.push_back(static_cast<int>(i));
    }
  }
  return fields;
}

/// Doubles; of 64-bit integers, which doubles hold only up to 2^53, these themselves as well.
void KernelReader::read_output(CXCursor parameter, const Shape& shape, Argument& known) {
  const CXType pointee = unit_.clang().getPointeeType(unit_.type(parameter));
  const auto element = element_of_type(pointee, shape);
  const bool wide = !known.element_is_t && (known.dtype == DType::kI64 || known.dtype == DType::kU64);
  const bool plain = element && element->type_parameter < 0 && element->lanes == 1 && unit_.clang().isConstQualifiedType(pointee) == 0;
  const bool exact = plain && wide && element->dtype == known.dtype;
  const bool doubles = plain && element->dtype == DType::kF64;
  const bool again = std::ranges::find(answered_, known.name) != answered_.end();
  if ((!exact && !doubles) || (again && exact != known.exact)) {
    unit_.fail(parameter, fmt::format("output '{}' of the reference must be `double* {}`{}{}", known.name, known.name,
                                      wide ? fmt::format(", or `{}* {}`", hone::name(known.dtype), known.name) : "",
                                      again && (exact || doubles) ? ", the same in all of its passes" : ""));
  }
  known.exact = exact;
  answered_.push_back(known.name);
}

int KernelReader::reference_argument(CXCursor parameter, const Shape& shape) {
  if (is_struct(parameter, "Problem")) {
    return kProblemParameter;
  }
  const int index = named_argument(parameter, "the reference");
  Argument& known = spec_.arguments[static_cast<std::size_t>(index)];
  if (is_output(known)) {
    read_output(parameter, shape, known);
    return index;
  }
  const CXType pointee = unit_.clang().getPointeeType(unit_.type(parameter));
  const bool written =
      unit_.type_name(unit_.clang().getCanonicalType(pointee)) == "double" && unit_.clang().isConstQualifiedType(pointee) == 0;
  if (written && known.dtype != DType::kF64) {
    unit_.fail(parameter, fmt::format("the reference writes '{0}', which is an input (IN) of the kernel: should its mark be OUT or INOUT?",
                                      known.name));
  }
  check_element(parameter, shape, known);
  return index;
}

/// The same for code that Hone writes around a function: it has the elements of vectors, and not their type.
void KernelReader::check_flat_element(CXCursor parameter, const Shape& shape, const Argument& argument) const {
  check_element(parameter, shape, argument);
  const auto seen = argument.lanes == 1 ? std::nullopt : element_of_type(unit_.clang().getPointeeType(unit_.type(parameter)), shape);
  if (seen && seen->lanes != 1) {
    Argument flat = argument;
    flat.lanes = 1;
    unit_.fail(parameter,
               fmt::format("'{}' must point to the elements of its vectors here: {}*", argument.name, element_name(spec_, flat)));
  }
}

int KernelReader::named_argument(CXCursor parameter, std::string_view whose) const {
  const std::string name = unit_.spelling(parameter);
  const auto known = std::find_if(spec_.arguments.begin(), spec_.arguments.end(), [&](const Argument& a) { return a.name == name; });
  if (known == spec_.arguments.end()) {
    unit_.fail(parameter, fmt::format("'{}' is not an argument of the kernel: {} takes the kernel's arguments by name", name, whose));
  }
  if (known->direction == Direction::kWorkspace) {
    unit_.fail(parameter, fmt::format("'{}' is a workspace of the kernel: {} has none", name, whose));
  }
  return static_cast<int>(known - spec_.arguments.begin());
}

void KernelReader::check_element(CXCursor parameter, const Shape& shape, const Argument& argument) const {
  if (argument.direction == Direction::kScalar) {
    Argument seen;
    seen.name = argument.name;
    read_scalar_type(parameter, shape, seen);
    if (Element::of(seen) != Element::of(argument) || seen.enumeration != argument.enumeration) {
      unit_.fail(parameter, fmt::format("'{}' must have the type it has in the kernel", argument.name));
    }
    return;
  }
  Argument seen = argument;
  read_element(parameter, shape, seen);
  if (seen.lanes == 1) {  // vectors may be seen as the elements that they hold
    seen.lanes = argument.lanes;
  }
  if (Element::of(seen) != Element::of(argument)) {
    unit_.fail(parameter, fmt::format("{} '{}' must point to the type it points to in the kernel", is_output(argument) ? "output" : "input",
                                      argument.name));
  }
}

}  // namespace hone::kernel
