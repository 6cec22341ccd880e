// The kernels of a file and how they are launched.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/kernel/instantiation.hpp"
#include "engine/reader/reader.hpp"

namespace hone::kernel {

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
  // Somebody else's function, or one that knows the configuration as macros.
  const bool macros = std::ranges::any_of(spec_.parameters, [](const Parameter& p) { return is_macro_option(p.compile_option); });
  const bool on_types =
      macros && std::ranges::all_of(parameters, [&](CXCursor p) { return unit_.kind(p) == CXCursor_TemplateTypeParameter; });
  if (parameters.empty() || on_types) {
    shape.takes_config = false;
    shape.scope.config = std::string(1, 'c');
    for (const CXCursor parameter : parameters) {
      shape.scope.types.push_back(unit_.spelling(parameter));
    }
    shape.scope = problem_scope(kernel, shape.scope);
    return shape;
  }
  const bool fits = !parameters.empty() && unit_.kind(parameters.back()) == CXCursor_NonTypeTemplateParameter &&
                    is_struct(parameters.back(), "Config") &&
                    std::all_of(parameters.begin(), parameters.end() - 1,
                                [&](CXCursor parameter) { return unit_.kind(parameter) == CXCursor_TemplateTypeParameter; });
  if (!fits) {
    unit_.fail(kernel, fmt::format("kernel '{}' must be `template <class T, Config c>`, or `template <Config c>` if it has no element type "
                                   "(of several types `template <class In, class Out, Config c>`)",
                                   unit_.spelling(kernel)));
  }
  shape.scope.config = unit_.spelling(parameters.back());
  parameters.pop_back();
  for (const CXCursor parameter : parameters) {
    shape.scope.types.push_back(unit_.spelling(parameter));
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
  const bool foreign = unit_.kind(first) == CXCursor_FunctionDecl;  // its author did not name it after this file
  if (!foreign && std::none_of(found_.kernels.begin(), found_.kernels.end(), [&](CXCursor k) { return unit_.spelling(k) == spec_.name; })) {
    error(first, fmt::format("no kernel has the file's name, '{}'; the first one is called '{}'", spec_.name, unit_.spelling(first)));
  }
  attempt([&] {
    const std::vector<std::string> types = shape_of(first).scope.types;
    spec_.templated_on_type = !types.empty();
    spec_.type_names = types.size() > 1 ? types : std::vector<std::string>();
    read_dtypes(first, marks_of(unit_, file_, first));
  });
  for (const CXCursor kernel : found_.kernels) {
    attempt([&] { read_pass(kernel); });
  }
  for (const Then& then : thens_) {
    attempt([&] { add_alternation(then); });
  }
  if (!spec_.templated_on_type && !spec_.arguments.empty() && spec_.dtypes.empty()) {
    spec_.dtypes = {DTypes(spec_.arguments.front().dtype)};
  }
}

/// "f32, f16", or of several types "In = f16 | e4m3, Out = f32".
void KernelReader::read_dtypes(CXCursor kernel, const std::vector<Mark>& marks) {
  const Mark* mark = find_mark(marks, "dtypes");
  if (mark == nullptr) {
    if (!spec_.type_names.empty()) {
      unit_.fail(kernel, fmt::format("kernel '{}' has several types: it needs DTYPES({} = f16 | f32)", unit_.spelling(kernel),
                                     fmt::join(spec_.type_names, " = f16 | bf16, ")));
    }
    if (spec_.templated_on_type) {
      spec_.dtypes = {DType::kF32, DType::kF16, DType::kBF16};
    }
    return;
  }
  if (!spec_.templated_on_type) {
    unit_.fail(kernel, fmt::format("DTYPES lists what T may be, but kernel '{}' has no T", unit_.spelling(kernel)));
  }
  if (spec_.type_names.empty()) {
    for (const DType dtype : read_dtype_list(*mark, mark->text)) {
      spec_.dtypes.emplace_back(dtype);
    }
    return;
  }
  std::vector<std::vector<DType>> lists(spec_.type_names.size());
  std::string_view rest = mark->text;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    std::string parameter(part.substr(0, std::min(equals, part.size())));
    std::erase_if(parameter, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    const auto known = std::find(spec_.type_names.begin(), spec_.type_names.end(), parameter);
    if (equals == std::string_view::npos || known == spec_.type_names.end()) {
      throw BadKernel(diagnostic(mark->where, fmt::format("'{}' is not of the form DTYPES({} = f16 | f32)", part,
                                                          fmt::join(spec_.type_names, " = f16 | bf16, "))));
    }
    lists[static_cast<std::size_t>(known - spec_.type_names.begin())] = read_dtype_list(*mark, part.substr(equals + 1));
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].empty()) {
      throw BadKernel(diagnostic(mark->where, fmt::format("DTYPES does not say what {} may be", spec_.type_names[i])));
    }
  }
  combine_dtypes(lists);
}

std::vector<DType> KernelReader::read_dtype_list(const Mark& mark, std::string_view list) const {
  std::vector<DType> dtypes;
  while (!list.empty()) {
    std::string word(list.substr(0, list.find_first_of(",|")));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    std::erase_if(word, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    const auto dtype = parse_dtype(word);
    if (!dtype) {
      throw BadKernel(diagnostic(mark.where, dtype.error().message));
    }
    constexpr std::array kNarrow{DType::kE4M3, DType::kE5M2, DType::kI4x2, DType::kU4x2};
    if (std::ranges::find(kNarrow, *dtype) != kNarrow.end() && !includes("hone/kernel_narrow.h")) {
      throw BadKernel(diagnostic(mark.where, fmt::format("{} comes with #include <hone/kernel_narrow.h>", word)));
    }
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

/// Each with each, the first type's slowest.
void KernelReader::combine_dtypes(const std::vector<std::vector<DType>>& lists) {
  std::vector<std::vector<NamedDType>> all{{}};
  for (std::size_t i = 0; i < lists.size(); ++i) {
    std::vector<std::vector<NamedDType>> longer;
    for (const auto& shorter : all) {
      for (const DType dtype : lists[i]) {
        longer.push_back(shorter);
        longer.back().push_back({spec_.type_names[i], dtype});
      }
    }
    all = std::move(longer);
  }
  for (auto& combination : all) {
    spec_.dtypes.emplace_back(std::move(combination));
  }
}

bool KernelReader::includes(std::string_view header) const {
  const std::vector<CXCursor>& all = unit_.top_level();
  return std::any_of(all.begin(), all.end(),
                     [&](CXCursor child) { return unit_.kind(child) == CXCursor_InclusionDirective && unit_.spelling(child) == header; });
}

/// Those of the first kernel: of one the name is free, of several it is how they are told apart.
void KernelReader::check_types(CXCursor function, const Shape& shape, std::string_view who) const {
  if (shape.scope.types.empty() == spec_.templated_on_type) {
    unit_.fail(function, fmt::format("{} must both be templates on T, or neither of them", who));
  }
  if (shape.scope.types.size() > 1 || !spec_.type_names.empty()) {
    if (shape.scope.types != spec_.type_names) {
      unit_.fail(function, fmt::format("{} must be templates on the same types in the same order: <class {}>", who,
                                       fmt::join(spec_.type_names.empty() ? std::vector<std::string>{"T"} : spec_.type_names, ", class ")));
    }
  }
}

/// Compilers would refuse a kernel that returns something, or, the host's, drop its result and crash.
void KernelReader::check_result(CXCursor function) {
  const CXType result = unit_.clang().getCanonicalType(unit_.clang().getCursorResultType(function));
  if (result.kind != CXType_Void) {
    error(function, fmt::format("'{}' returns '{}'; it must return void: results go through arguments", unit_.spelling(function),
                                unit_.type_name(result)));
  }
}

void KernelReader::read_pass(CXCursor kernel) {
  const Shape shape = shape_of(kernel);
  Pass pass;
  pass.function = unit_.spelling(kernel);
  pass.takes_config = shape.takes_config;
  check_result(kernel);
  check_types(kernel, shape, fmt::format("kernel '{}' and the first kernel", pass.function));
  for (const CXCursor child : unit_.children(kernel)) {
    if (unit_.kind(child) == CXCursor_ParmDecl) {
      attempt([&] { pass.arguments.push_back(read_argument(kernel, child, shape, pass)); });
    }
  }
  attempt([&] { read_launch(kernel, pass); });
  attempt([&] { read_tolerances(kernel, {.types = shape.scope.types, .problem = shape.scope.problem, .config = ""}); });
  spec_.passes.push_back(std::move(pass));
}

/// SHARED_DYNAMIC in a kernel that is launched without any is a crash that names nothing.
void KernelReader::check_shared(CXCursor kernel, const Pass& pass) {
  const bool none = pass.shared_bytes.is_constant() && pass.shared_bytes.node().value.integer() == 0;
  if (!none || file_.text.find("SHARED_DYNAMIC") == std::string::npos) {
    return;
  }
  const std::string file = unit_.physical_file(kernel);
  const std::size_t begin = unit_.offset(kernel), end = unit_.end_offset(kernel);
  for (const CXCursor child : unit_.top_level()) {
    if (unit_.kind(child) == CXCursor_MacroExpansion && unit_.spelling(child) == "SHARED_DYNAMIC" && unit_.physical_file(child) == file &&
        begin <= unit_.offset(child) && unit_.offset(child) < end) {
      unit_.fail(child, fmt::format("kernel '{}' uses dynamic shared memory, but its launch has none: give the bytes, as in .shared = "
                                    "c.block * sizeof(float)",
                                    pass.function));
    }
  }
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
  const Form form = AstReader(unit_, fmt::format("'{}'", launch->first), spec_.type_names).function(launch->second);
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
  pass.repeat = form.field("repeat")->scalar;
  check_shared(kernel, pass);
}

}  // namespace hone::kernel
