// struct Problem and struct Config of a kernel file.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/kernel/reader.hpp"

namespace hone::kernel {
namespace {

std::string_view line_at(std::string_view text, std::size_t begin) { return text.substr(begin, text.find('\n', begin) - begin); }

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The text of a line that holds nothing but a // comment; its column is set.
bool comment_line(std::string_view line, std::string_view& comment, std::size_t& column) {
  column = line.find_first_not_of(" \t");
  if (column == std::string_view::npos || line.substr(column, 2) != "//") {
    return false;
  }
  comment = trimmed(
      line.substr(line.find_first_not_of('/', column) == std::string_view::npos ? line.size() : line.find_first_not_of('/', column)));
  return true;
}

void append(std::string& paragraph, std::string_view more) {
  if (!more.empty()) {
    paragraph += (paragraph.empty() ? "" : " ") + std::string(more);
  }
}

std::string comment_behind(std::string_view text, std::size_t line_begin, std::size_t end) {
  const std::string_view rest = line_at(text, end);
  const auto slashes = rest.find("//"), block = rest.find("/*");
  if (block < slashes) {
    return std::string(trimmed(rest.substr(block + 2, rest.find("*/", block) - block - 2)));
  }
  if (slashes == std::string_view::npos) {
    return {};
  }
  std::string comment(trimmed(rest.substr(std::min(rest.find_first_not_of('/', slashes), rest.size()))));
  const std::size_t column = end + slashes - line_begin;
  for (auto next = text.find('\n', end); next != std::string_view::npos; next = text.find('\n', next + 1)) {
    std::string_view more;
    std::size_t at = 0;
    if (!comment_line(line_at(text, next + 1), more, at) || at != column) {
      break;
    }
    append(comment, more);
  }
  return comment;
}

std::string comment_above(std::string_view text, std::size_t line_begin) {
  const std::size_t column = line_at(text, line_begin).find_first_not_of(" \t");
  std::vector<std::string_view> lines;
  while (line_begin > 0) {
    const auto before = text.rfind('\n', line_begin - 2);
    const std::size_t begin = line_begin < 2 || before == std::string_view::npos ? 0 : before + 1;
    std::string_view comment;
    std::size_t at = 0;
    if (!comment_line(line_at(text, begin), comment, at) || at != column) {
      break;
    }
    lines.push_back(comment);
    line_begin = begin;
  }
  std::string joined;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    append(joined, *line);
  }
  return joined;
}

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

std::string comment_of(std::string_view text, std::size_t begin, std::size_t end) {
  const auto newline = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  const auto last_newline = text.rfind('\n', end == 0 ? 0 : end - 1);
  std::string comment = comment_behind(text, last_newline == std::string_view::npos ? 0 : last_newline + 1, end);
  return comment.empty() ? comment_above(text, line_begin) : comment;
}

std::string leading_comment(std::string_view text) {
  std::string paragraph;
  if (trimmed(text).starts_with("/*")) {
    const auto begin = text.find("/*") + 2;
    std::string_view body = text.substr(begin, text.find("*/") - begin);
    while (!body.empty()) {
      std::string_view line = trimmed(line_at(body, 0));
      line = trimmed(line.substr(std::min(line.find_first_not_of('*'), line.size())));
      append(paragraph, line);
      body.remove_prefix(std::min(body.find('\n'), body.size() - 1) + 1);
    }
    return paragraph;
  }
  for (std::size_t at = 0; at < text.size();) {
    std::string_view comment;
    std::size_t column = 0;
    const std::string_view line = line_at(text, at);
    if (!comment_line(line, comment, column) || (comment.empty() && !paragraph.empty())) {
      break;
    }
    append(paragraph, comment);
    at += line.size() + 1;
  }
  return paragraph;
}

void KernelReader::read_problem() {
  for (const CXCursor field : unit_.fields(found_.problem)) {
    const std::string name = unit_.spelling(field);
    if (unit_.type(field).kind != CXType_Long) {
      error(field, fmt::format("extent '{}' of struct Problem must be a long, not '{}'", name, unit_.type_name(unit_.type(field))));
      continue;
    }
    const auto initializer = unit_.expressions(field);
    if (initializer.empty()) {
      error(field, fmt::format("extent '{}' of struct Problem needs an initializer, its default: long {} = 1024;", name, name));
      continue;
    }
    attempt([&] {
      const auto value = AstReader(unit_, fmt::format("the default of '{}'", name)).constant(initializer.back()).integer();
      if (value < 1) {
        error(field, fmt::format("the default of extent '{}' is {}; an extent is at least 1", name, value));
      }
      const bool here = unit_.physical_file(field) == file_.path;
      spec_.problem.push_back({name, value, here ? comment_of(file_.text, unit_.offset(field), unit_.end_offset(field)) : std::string{}});
    });
  }
  if (unit_.fields(found_.problem).empty()) {
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
  if (unit_.physical_file(field) == file_.path) {
    parameter.comment = comment_of(file_.text, unit_.offset(field), unit_.end_offset(field));
  }
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
  for (const CXCursor field : unit_.fields(found_.config)) {
    attempt([&] { read_parameter(field); });
  }
}

}  // namespace hone::kernel
