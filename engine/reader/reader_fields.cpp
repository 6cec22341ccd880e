// struct Problem and struct Config of a kernel file.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/reader/comments.hpp"
#include "engine/reader/reader.hpp"

namespace hone::kernel {
namespace {

/// The float nearest to v has many digits as a double; its own shortest spelling is what the author wrote.
double as_float(double v) { return std::strtod(fmt::format("{}", static_cast<float>(v)).c_str(), nullptr); }

Value typed(const Value& value, const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kBoolean:
      return value.boolean();
    case ParameterKind::kReal:
      return parameter.cpp_type == "float" ? as_float(value.real()) : value.real();
    default:
      return value.integer();
  }
}

}  // namespace

/// The kind of a field, its bounds and where it lies. RANGE(least) and RANGE(least, most) narrow what an extent may be.
ProblemField KernelReader::problem_field(CXCursor field) {
  ProblemField read{.name = unit_.spelling(field), .comment = comment_of(unit_, field)};
  const CXType type = unit_.clang().getCanonicalType(unit_.type(field));
  if (type.kind == CXType_Bool) {
    read.kind = FieldKind::kFlag;
    read.least = 0;
    read.most = 1;
  } else if (type.kind == CXType_Enum) {
    read.kind = FieldKind::kEnumeration;
    for (const CXCursor enumerator : unit_.children(unit_.record(type))) {
      if (unit_.kind(enumerator) == CXCursor_EnumConstantDecl) {
        read.labels.emplace_back(unit_.spelling(enumerator), unit_.clang().getEnumConstantDeclValue(enumerator));
      }
    }
  } else if (type.kind != CXType_Long) {  // products of ints would overflow
    unit_.fail(field, fmt::format("extent '{}' of struct Problem must be a long, not '{}'; a flag is a bool, a choice an enumeration",
                                  read.name, unit_.type_name(unit_.type(field))));
  }
  if (unit_.is_static_field(field)) {
    return read;
  }
  read.offset = static_cast<int>(unit_.clang().Cursor_getOffsetOfField(field) / 8);
  read.width = static_cast<int>(unit_.clang().Type_getSizeOf(type));
  return read;
}

/// Its fields, and those that are STATIC, in the order of the file.
std::vector<CXCursor> KernelReader::problem_members() const {
  std::vector<CXCursor> members = unit_.children(found_.problem);
  std::erase_if(members, [&](CXCursor child) { return unit_.kind(child) != CXCursor_FieldDecl && !unit_.is_static_field(child); });
  return members;
}

/// What is compiled for a problem has its value here.
Initializer KernelReader::static_initializer(CXCursor field, CXCursor expression) const {
  const std::string name = unit_.spelling(field);
  if (unit_.physical_file(field) != file_.path) {
    unit_.fail(field, fmt::format("STATIC field '{}' must be declared in the kernel file itself, not in a header", name));
  }
  const std::string_view text = file_.text;
  const std::size_t begin = unit_.offset(expression), end = unit_.end_offset(expression);
  const std::size_t before = begin == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", begin - 1);
  const std::size_t after = text.find_first_not_of(" \t\r\n", end);
  const bool plain =
      begin < end && before != std::string_view::npos && text[before] == '=' && after != std::string_view::npos && text[after] == ';';
  if (!plain) {
    unit_.fail(field, fmt::format("STATIC field '{}' needs its value in the form STATIC {} {} = 128; one per declaration", name,
                                  unit_.type_name(unit_.clang().getCursorType(field)), name));
  }
  const std::size_t newline = text.rfind('\n', begin - 1);
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  return {.line = 1 + static_cast<int>(std::ranges::count(text.substr(0, begin), '\n')),
          .column = 1 + static_cast<int>(begin - line_begin),
          .text = std::string(text.substr(begin, end - begin))};
}

void KernelReader::read_range(const Mark& mark, ProblemField& field) {
  const char* at = mark.text.c_str();
  char* end = nullptr;
  field.least = std::strtoll(at, &end, 10);
  bool whole = end != at;
  end += std::strspn(end, " \t\n");
  if (whole && *end == ',') {
    at = end + 1;
    field.most = std::strtoll(at, &end, 10);
    whole = end != at;
    end += std::strspn(end, " \t\n");
  }
  if (!whole || *end != '\0' || field.kind != FieldKind::kExtent || field.least < 0 || field.most.value_or(field.least) < field.least) {
    throw BadKernel(diagnostic(
        mark.where,
        fmt::format("RANGE({}) of '{}': it gives the minimum of an extent, and optionally the maximum, as in RANGE(0) or RANGE(1, 64)",
                    mark.text, field.name)));
  }
}

void KernelReader::read_problem() {
  for (const CXCursor field : problem_members()) {
    attempt([&] {
      ProblemField read = problem_field(field);
      const auto initializer = unit_.expressions(field);
      if (initializer.empty()) {
        unit_.fail(field,
                   fmt::format("field '{}' of struct Problem needs an initializer, its default: long {} = 1024;", read.name, read.name));
      }
      if (const auto marks = marks_of(unit_, file_, field); const Mark* range = find_mark(marks, "range")) {
        read_range(*range, read);
      }
      read.default_value = AstReader(unit_, fmt::format("the default of '{}'", read.name)).constant(initializer.back()).integer();
      if (const std::string why = why_not(read, read.default_value); !why.empty()) {
        unit_.fail(field, fmt::format("the default of '{}' is {}; {}", read.name, read.default_value, why));
      }
      if (unit_.is_static_field(field)) {
        read.initializer = static_initializer(field, initializer.back());
      }
      spec_.problem.push_back(std::move(read));
    });
  }
  if (problem_members().empty()) {
    error(found_.problem, "struct Problem is empty: it holds the extents the caller fixes, as in `long rows = 4096;`");
  }
}

void KernelReader::set_kind(CXCursor field, Parameter& parameter) const {
  const CXType type = unit_.type(field);
  parameter.cpp_type = unit_.type_name(type);
  switch (type.kind) {
    case CXType_Int:
    case CXType_UInt:
    case CXType_Long:
    case CXType_ULong:
    case CXType_LongLong:
    case CXType_ULongLong:
      parameter.kind = ParameterKind::kInteger;
      return;
    case CXType_Bool:
      parameter.kind = ParameterKind::kBoolean;
      return;
    case CXType_Float:
    case CXType_Double:
      parameter.kind = ParameterKind::kReal;
      return;
    case CXType_Enum:
      parameter.kind = ParameterKind::kEnumeration;
      return;
    default:
      unit_.fail(field,
                 fmt::format("parameter '{}' is of type '{}'; a parameter is an int, unsigned, long, bool, float, double or an enumeration",
                             parameter.name, parameter.cpp_type));
  }
}

void KernelReader::check_values(CXCursor field, const Mark& tune, Parameter& parameter) const {
  for (auto value = parameter.values.begin(); value != parameter.values.end(); ++value) {
    if (std::find(parameter.values.begin(), value, *value) != value) {
      throw BadKernel(diagnostic(tune.where, fmt::format("value {} of parameter '{}' is listed twice", value->text(), parameter.name)));
    }
  }
  if (std::find(parameter.values.begin(), parameter.values.end(), parameter.default_value) == parameter.values.end()) {
    unit_.fail(field, fmt::format("the initializer of parameter '{}', {}, is not among its values TUNE({})", parameter.name,
                                  parameter.default_value.text(), tune.text));
  }
  if (parameter.kind != ParameterKind::kEnumeration) {
    return;
  }
  const auto enumerators = unit_.children(unit_.record(unit_.type(field)));
  for (const Value& value : parameter.values) {
    const auto named = std::find_if(enumerators.begin(), enumerators.end(), [&](CXCursor e) {
      return unit_.kind(e) == CXCursor_EnumConstantDecl && unit_.clang().getEnumConstantDeclValue(e) == value.integer();
    });
    parameter.labels.push_back(named == enumerators.end() ? value.text() : unit_.spelling(*named));
  }
}

void KernelReader::read_parameter(CXCursor field) {
  Parameter parameter;
  parameter.name = unit_.spelling(field);
  set_kind(field, parameter);
  const auto marks = marks_of(unit_, file_, field);
  const Mark* tune = find_mark(marks, "tune");
  if (tune == nullptr) {
    unit_.fail(field, fmt::format("parameter '{}' needs its values: TUNE(1, 2, 4) {} {} = 1;", parameter.name, parameter.cpp_type,
                                  parameter.name));
  }
  if (tune->text.find_first_not_of(" \t\n") == std::string::npos) {
    throw BadKernel(diagnostic(tune->where, fmt::format("TUNE of parameter '{}' lists no value", parameter.name)));
  }
  if (const Mark* option = find_mark(marks, "option")) {
    parameter.compile_option = option->text;
    if (parameter.compile_option.find("{}") == std::string::npos) {
      throw BadKernel(diagnostic(option->start, "OPTION needs {} where the value goes, as in OPTION(\"--maxrregcount={}\")"));
    }
  }
  const auto initializer = unit_.expressions(field);
  if (initializer.empty()) {
    unit_.fail(field, fmt::format("parameter '{}' needs an initializer: the safe default, one of its values", parameter.name));
  }
  parameter.default_value =
      typed(AstReader(unit_, fmt::format("the initializer of '{}'", parameter.name)).constant(initializer.back()), parameter);
  parameter.comment = comment_of(unit_, field);
  const std::size_t id = texts_.add_values(*tune, parameter.name, parameter.cpp_type), index = spec_.parameters.size();
  spec_.parameters.push_back(std::move(parameter));
  later_.emplace_back([this, id, index, field, mark = *tune] {
    Parameter& read = spec_.parameters[index];
    for (const Value& value : texts_.values(id)) {
      read.values.push_back(typed(value, read));
    }
    check_values(field, mark, read);
  });
}

void KernelReader::read_config() {
  for (const CXCursor member : unit_.children(found_.config)) {
    if (unit_.is_static_field(member)) {
      error(member, fmt::format("'{}' of struct Config is STATIC, but only fields of struct Problem, which the caller fixes, can be STATIC",
                                unit_.spelling(member)));
    }
  }
  for (const CXCursor field : unit_.fields(found_.config)) {
    attempt([&] { read_parameter(field); });
  }
}

}  // namespace hone::kernel
