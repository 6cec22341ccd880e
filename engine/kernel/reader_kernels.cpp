// The kernels of a file and how they are launched.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/kernel/reader.hpp"

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
  attempt([&] { read_tolerances(kernel, {.type = shape.scope.type, .problem = shape.scope.problem, .config = ""}); });
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

}  // namespace hone::kernel
