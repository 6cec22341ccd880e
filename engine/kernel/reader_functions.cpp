// The kernels of a file, their launches and arguments, and the reference.

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

std::optional<DType> dtype_of(std::string_view cpp) {
  const auto found = std::find_if(kElements.begin(), kElements.end(), [&](const ElementName& e) { return e.cpp == cpp; });
  return found == kElements.end() ? std::nullopt : std::optional<DType>(found->dtype);
}

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

bool KernelReader::is_struct(CXCursor declaration, std::string_view name) const {
  const CXType type = unit_.type(declaration);
  return type.kind == CXType_Record && unit_.spelling(unit_.record(type)) == name;
}

KernelReader::Shape KernelReader::shape_of(CXCursor kernel) const {
  Shape shape;
  std::vector<CXCursor> parameters;
  for (const CXCursor child : unit_.children(kernel)) {
    const auto kind = unit_.kind(child);
    if (kind == CXCursor_TemplateTypeParameter || kind == CXCursor_NonTypeTemplateParameter || kind == CXCursor_TemplateTemplateParameter) {
      parameters.push_back(child);
    }
  }
  const bool typed = parameters.size() == 2 && unit_.kind(parameters[0]) == CXCursor_TemplateTypeParameter;
  const bool fits = (typed || parameters.size() == 1) && unit_.kind(parameters.back()) == CXCursor_NonTypeTemplateParameter &&
                    is_struct(parameters.back(), "Config");
  if (!fits) {
    unit_.fail(kernel, fmt::format("kernel '{}' must be `template <class T, Config c>`, or `template <Config c>` if it has no element type",
                                   unit_.spelling(kernel)));
  }
  shape.scope.config = unit_.spelling(parameters.back());
  if (typed) {
    shape.scope.type = unit_.spelling(parameters[0]);
    shape.type_parameter = parameters[0];
  }
  shape.scope = problem_scope(kernel, shape.scope);
  return shape;
}

Scope KernelReader::problem_scope(CXCursor function, Scope scope) const {
  for (const CXCursor child : unit_.children(function)) {
    if (unit_.kind(child) == CXCursor_ParmDecl && is_struct(child, "Problem") && !unit_.spelling(child).empty()) {
      scope.problem = unit_.spelling(child);
    }
  }
  return scope;
}

void KernelReader::read_kernels() {
  spec_.name = std::filesystem::path(file_.path).stem().string();
  if (found_.kernels.empty()) {
    errors_.push_back(
        diagnostic({spec_.file, 1, 1}, fmt::format("no kernel: expected `template <class T, Config c> KERNEL void {}(...)`", spec_.name)));
    return;
  }
  const CXCursor first = found_.kernels.front();
  if (std::none_of(found_.kernels.begin(), found_.kernels.end(), [&](CXCursor k) { return unit_.spelling(k) == spec_.name; })) {
    error(first, fmt::format("no kernel has the file's name, '{}'; the first one is called '{}'", spec_.name, unit_.spelling(first)));
  }
  attempt([&] {
    spec_.templated_on_type = !shape_of(first).scope.type.empty();
    read_dtypes(first, marks_of(unit_, file_, first));
  });
  for (const CXCursor kernel : found_.kernels) {
    attempt([&] { read_pass(kernel); });
  }
  if (!spec_.templated_on_type && !spec_.arguments.empty() && spec_.dtypes.empty()) {
    spec_.dtypes = {spec_.arguments.front().dtype};
  }
}

void KernelReader::read_dtypes(CXCursor kernel, const std::vector<Mark>& marks) {
  const Mark* mark = find_mark(marks, "dtypes");
  if (mark == nullptr) {
    if (spec_.templated_on_type) {
      spec_.dtypes = {DType::kF32, DType::kF16, DType::kBF16};
    }
    return;
  }
  if (!spec_.templated_on_type) {
    unit_.fail(kernel, fmt::format("DTYPES lists what T may be, but kernel '{}' has no T", unit_.spelling(kernel)));
  }
  std::string_view rest = mark->text;
  while (!rest.empty()) {
    std::string word(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    std::erase(word, ' ');
    const auto dtype = parse_dtype(word);
    if (!dtype) {
      throw BadKernel(diagnostic(mark->where, dtype.error().message));
    }
    spec_.dtypes.push_back(*dtype);
  }
}

void KernelReader::read_pass(CXCursor kernel) {
  const Shape shape = shape_of(kernel);
  Pass pass;
  pass.function = unit_.spelling(kernel);
  if (shape.scope.type.empty() == spec_.templated_on_type) {
    unit_.fail(kernel, fmt::format("kernel '{}' and the first kernel must both be templates on T, or neither", pass.function));
  }
  for (const CXCursor child : unit_.children(kernel)) {
    if (unit_.kind(child) == CXCursor_ParmDecl) {
      attempt([&] { pass.arguments.push_back(read_argument(kernel, child, shape, pass)); });
    }
  }
  attempt([&] { read_launch(kernel, pass); });
  spec_.passes.push_back(std::move(pass));
}

void KernelReader::read_launch(CXCursor kernel, Pass& pass) {
  auto launch = found_.functions.find("launch_" + pass.function);
  if (launch == found_.functions.end()) {
    launch = found_.functions.find("launch");
  }
  if (launch == found_.functions.end()) {
    unit_.fail(kernel, fmt::format("kernel '{}' has no launch: expected `constexpr Launch launch_{}(Problem p, Config c)` or `launch`",
                                   pass.function, pass.function));
  }
  const Form form = AstReader(unit_, fmt::format("'{}'", launch->first)).function(launch->second);
  if (form.field("grid") == nullptr) {
    unit_.fail(launch->second, fmt::format("'{}' must return a Launch", launch->first));
  }
  const auto extent = [&](std::string_view name) {
    const Form& three = *form.field(name);
    return std::array<Expression, 3>{three.field("x")->scalar, three.field("y")->scalar, three.field("z")->scalar};
  };
  pass.grid = extent("grid");
  pass.block = extent("block");
  pass.cluster = extent("cluster");
  pass.shared_bytes = form.field("shared")->scalar;
  pass.cooperative = form.field("cooperative")->scalar;
  pass.enabled = form.field("enabled")->scalar;
  pass.overlap = form.field("overlap")->scalar;
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
  const std::size_t id = texts_.add_extent(mark, shape.scope, fmt::format("the extent of '{}'", name));
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

void KernelReader::read_references() {
  if (found_.references.empty()) {
    const std::string head = spec_.templated_on_type ? "template <class T> " : "";
    errors_.push_back(diagnostic({spec_.file, 1, 1},
                                 fmt::format("no reference: expected `{}REFERENCE(N) void {}_reference(long i, ...)`, the right answer "
                                             "in double for each i in [0, N)",
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
    error(function, fmt::format("a second reference called '{}': several run one after the other, each under a name of its own", name));
  }
}

void KernelReader::read_reference(CXCursor function) {
  Shape shape;
  std::vector<CXCursor> parameters;
  for (const CXCursor child : unit_.children(function)) {
    if (unit_.kind(child) == CXCursor_TemplateTypeParameter) {
      shape.scope.type = unit_.spelling(child);
    } else if (unit_.kind(child) == CXCursor_NonTypeTemplateParameter) {
      unit_.fail(child, "the reference does not depend on the configuration");
    } else if (unit_.kind(child) == CXCursor_ParmDecl) {
      parameters.push_back(child);
    }
  }
  check_reference_name(function);
  const std::size_t index = spec_.reference.size();
  spec_.reference.push_back({.function = unit_.spelling(function), .extent = {}});
  if (shape.scope.type.empty() == spec_.templated_on_type) {
    unit_.fail(function, "the reference and the kernel must both be templates on T, or neither");
  }
  if (parameters.empty() || unit_.type(parameters[0]).kind != CXType_Long) {
    unit_.fail(function, "the first parameter of the reference must be `long`, the index in [0, N)");
  }
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    attempt([&] { spec_.reference[index].arguments.push_back(reference_argument(parameters[i], shape)); });
  }
  shape.scope = problem_scope(function, shape.scope);
  const Mark mark = *find_mark(marks_of(unit_, file_, function), "reference");
  if (mark.text.find_first_not_of(" \t\n") == std::string::npos) {
    throw BadKernel(diagnostic(mark.where, "REFERENCE needs the number of indices it is called for, as in REFERENCE(p.rows)"));
  }
  const std::size_t id = texts_.add_extent(mark, shape.scope, "the extent of the reference");
  later_.emplace_back([this, id, index] { spec_.reference[index].extent = texts_.extent(id); });
}

int KernelReader::reference_argument(CXCursor parameter, const Shape& shape) const {
  if (is_struct(parameter, "Problem")) {
    return kProblemParameter;
  }
  const std::string name = unit_.spelling(parameter);
  const auto known = std::find_if(spec_.arguments.begin(), spec_.arguments.end(), [&](const Argument& a) { return a.name == name; });
  if (known == spec_.arguments.end()) {
    unit_.fail(parameter, fmt::format("'{}' is no argument of the kernel: the reference takes the kernel's arguments by name", name));
  }
  const int index = static_cast<int>(known - spec_.arguments.begin());
  if (known->direction == Direction::kWorkspace) {
    unit_.fail(parameter, fmt::format("'{}' is a workspace of the kernel: the reference has none", name));
  }
  if (known->direction == Direction::kScalar) {
    if (dtype_of(unit_.type_name(unit_.type(parameter))) != known->dtype) {
      unit_.fail(parameter, fmt::format("'{}' must have the type it has in the kernel", name));
    }
    return index;
  }
  Argument seen = *known;
  const CXType pointee = unit_.clang().getPointeeType(unit_.type(parameter));
  if (known->direction != Direction::kIn) {
    if (unit_.type_name(unit_.clang().getCanonicalType(pointee)) != "double" || unit_.clang().isConstQualifiedType(pointee) != 0) {
      unit_.fail(parameter, fmt::format("output '{}' of the reference must be `double* {}`", name, name));
    }
    return index;
  }
  read_element(parameter, shape, seen);
  if (seen.element_is_t != known->element_is_t || seen.dtype != known->dtype) {
    unit_.fail(parameter, fmt::format("input '{}' must point to the type it points to in the kernel", name));
  }
  return index;
}

}  // namespace hone::kernel
