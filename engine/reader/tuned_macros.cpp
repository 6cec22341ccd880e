#include "engine/reader/tuned_macros.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/instantiation.hpp"
#include "engine/reader/ast_expression.hpp"
#include "engine/reader/marks.hpp"

namespace hone::kernel {
namespace {

std::string macro_of(std::string_view option) {
  const std::string_view name = option.substr(2);
  return std::string(name.substr(0, name.find('=')));
}

struct Field {
  CXCursor cursor;
  std::string name, macro, option;  ///< no macro: the last two are empty
};

/// The fields of the file's Problem and Config. Whatever else is wrong with the file (it lacks its macros), these are there.
std::vector<Field> fields_of(const Unit& unit, const SourceFile& file) {
  std::vector<Field> fields;
  for (const CXCursor child : unit.top_level()) {
    const bool record = unit.kind(child) == CXCursor_StructDecl && unit.is_users(child) && unit.clang().isCursorDefinition(child) != 0;
    if (!record || (unit.spelling(child) != "Problem" && unit.spelling(child) != "Config")) {
      continue;
    }
    for (const CXCursor field : unit.fields(child)) {
      Field& one = fields.emplace_back(Field{field, unit.spelling(field), {}, {}});
      const std::vector<Mark> marks = marks_of(unit, file, field);
      if (const Mark* option = find_mark(marks, "option"); option != nullptr && option->text.starts_with("-D")) {
        one.option = option->text;
        one.macro = macro_of(option->text);
      }
    }
  }
  return fields;
}

std::string definition(const Unit& unit, const Field& field) {
  Parameter parameter;
  parameter.name = field.name;
  parameter.compile_option = field.option;
  parameter.kind = unit.type(field.cursor).kind == CXType_Bool ? ParameterKind::kBoolean : ParameterKind::kInteger;
  const auto initializer = unit.expressions(field.cursor);
  if (initializer.empty()) {
    return "";  // an error of the file, which is told when it is read
  }
  return compile_option(parameter, AstReader(unit, fmt::format("the initializer of '{}'", field.name)).constant(initializer.back()));
}

std::string difference(const Expression& one, const Expression& other, std::string_view what) {
  return one.text() == other.text() ? "" : std::string(what);
}

template <std::size_t n>
std::string difference(const std::array<Expression, n>& one, const std::array<Expression, n>& other, const std::string& what) {
  std::string found;
  for (std::size_t i = 0; i < n && found.empty(); ++i) {
    found = difference(one[i], other[i], what);
  }
  return found;
}

std::string difference(const Pass& one, const Pass& other) {
  const auto of = [&](std::string_view what) { return fmt::format("the {} of kernel '{}'", what, one.function); };
  for (const std::string& found :
       {difference(one.grid, other.grid, of("grid")), difference(one.block, other.block, of("block")),
        difference(one.cluster, other.cluster, of("cluster")), difference(one.shared_bytes, other.shared_bytes, of("shared memory")),
        difference(one.enabled, other.enabled, of("condition")), difference(one.cooperative, other.cooperative, of("launch"))}) {
    if (!found.empty()) {
      return found;
    }
  }
  return one.function != other.function || one.arguments != other.arguments ? fmt::format("what kernel '{}' takes", one.function) : "";
}

std::string difference(const std::vector<Constraint>& one, const std::vector<Constraint>& other, const std::string& what) {
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    if (one[i].condition.text() != other[i].condition.text()) {
      return what;
    }
  }
  return one.size() == other.size() ? "" : what;
}

}  // namespace

Result<std::vector<std::string>> tuned_macros(const SourceFile& file, const std::vector<std::string>& arguments) {
  std::vector<std::string> macros;
  if (file.text.find("OPTION") == std::string::npos || file.text.find("\"-D") == std::string::npos) {
    return macros;
  }
  HONE_ASSIGN(const auto unit, Unit::parse(file, {}, arguments, file.path, file.path));
  const std::vector<Field> fields = fields_of(*unit, file);
  try {
    for (const Field& field : fields) {
      const auto replaced = std::ranges::find(fields, field.macro, &Field::name);
      if (!field.macro.empty() && replaced != fields.end()) {
        unit->fail(replaced->cursor, fmt::format("OPTION(\"{}\") would also replace the name of field '{}' in this file: rename the field",
                                                 field.option, replaced->name));
      }
      if (std::string macro = field.macro.empty() ? "" : definition(*unit, field); !macro.empty()) {
        macros.push_back(std::move(macro));
      }
    }
  } catch (const BadKernel& bad) {
    return Error{ErrorCode::kBadKernel, bad.what()};
  }
  return macros;
}

std::vector<std::vector<std::string>> other_macros(const KernelSpec& spec) {
  std::vector<std::vector<std::string>> all(2);
  std::vector<std::string> defaults;
  for (const Parameter& parameter : spec.parameters) {
    if (is_macro_option(parameter.compile_option)) {
      defaults.push_back(compile_option(parameter, parameter.default_value));
      all[0].push_back(compile_option(parameter, parameter.values.front()));
      all[1].push_back(compile_option(parameter, parameter.values.back()));
    }
  }
  std::erase(all, defaults);
  return all;
}

std::string difference(const KernelSpec& one, const KernelSpec& other) {
  if (one.passes.size() != other.passes.size() || one.arguments.size() != other.arguments.size() ||
      one.reference.size() != other.reference.size()) {
    return "the kernels";
  }
  std::vector<std::string> found{
      difference(one.constraints, other.constraints, "'valid'"), difference(one.expectations, other.expectations, "'likely'"),
      difference(one.cost.flops, other.cost.flops, "'cost'"), difference(one.cost.bytes, other.cost.bytes, "'cost'"),
      difference(one.cost.sum_length, other.cost.sum_length, "'cost'")};
  for (std::size_t i = 0; i < one.passes.size(); ++i) {
    found.push_back(difference(one.passes[i], other.passes[i]));
  }
  for (std::size_t i = 0; i < one.arguments.size(); ++i) {
    found.push_back(
        difference(one.arguments[i].extent, other.arguments[i].extent, fmt::format("the extent of '{}'", one.arguments[i].name)));
    if (one.arguments[i].capacity && other.arguments[i].capacity) {
      found.push_back(
          difference(*one.arguments[i].capacity, *other.arguments[i].capacity, fmt::format("the array of '{}'", one.arguments[i].name)));
    }
  }
  for (std::size_t i = 0; i < one.reference.size(); ++i) {
    found.push_back(difference(one.reference[i].extent, other.reference[i].extent, "the extent of the reference"));
  }
  for (std::size_t i = 0; i < std::min(one.problem.size(), other.problem.size()); ++i) {
    if (one.problem[i].default_value != other.problem[i].default_value) {
      found.push_back(fmt::format("the default of extent '{}'", one.problem[i].name));
    }
  }
  const auto first = std::ranges::find_if(found, [](const std::string& text) { return !text.empty(); });
  return first == found.end() ? "" : *first;
}

}  // namespace hone::kernel
