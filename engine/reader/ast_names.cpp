// Names, members and braced lists.

#include <fmt/format.h>

#include <algorithm>

#include "engine/reader/ast_expression.hpp"

namespace hone::kernel {

Form AstReader::named(CXCursor e, Frame& frame) {
  const CXCursor target = unit_.referenced(e);
  for (const auto& [name, form] : frame.names) {
    if (unit_.clang().equalCursors(name, target) != 0) {
      return form;
    }
  }
  if (unit_.kind(target) == CXCursor_EnumConstantDecl) {
    return Expression::constant(static_cast<std::int64_t>(unit_.clang().getEnumConstantDeclValue(target)));
  }
  if (unit_.is_static_field(target)) {  // a constant of the code, and a variable of the space
    return Expression::variable("p." + unit_.spelling(target));
  }
  if (unit_.kind(target) == CXCursor_VarDecl) {
    const bool fixed = unit_.clang().isConstQualifiedType(unit_.clang().getCursorType(target)) != 0;
    const auto initializer = unit_.expressions(target);
    if (!fixed || initializer.empty()) {
      cannot(e, fmt::format("'{}', which is not a constant,", unit_.spelling(e)));
    }
    Frame global;
    return read(initializer.back(), global, unit_.type(target));
  }
  cannot(e, fmt::format("'{}'", unit_.spelling(e)));
}

Form AstReader::member(CXCursor e, Frame& frame) {
  const CXCursor target = unit_.referenced(e);
  if (unit_.kind(target) == CXCursor_VarDecl || unit_.kind(target) == CXCursor_EnumConstantDecl) {
    return named(e, frame);
  }
  const auto base = unit_.expressions(e);
  if (base.empty() && !frame.object) {
    cannot(e, fmt::format("'{}'", unit_.spelling(e)));
  }
  const Form object = base.empty() ? *frame.object : read(base[0], frame, unit_.type(base[0]));
  const Form* field = object.field(unit_.spelling(e));
  if (field == nullptr) {
    cannot(e, fmt::format("'{}'", unit_.spelling(e)));
  }
  // A node of its own for each mention, so that each remembers its own place in the source.
  const bool variable = !field->is_record && field->scalar.node().op == Operator::kVariable;
  return variable ? Form(Expression::variable(field->scalar.node().name)) : *field;
}

Form AstReader::default_of(CXCursor field) {
  const auto initializer = unit_.expressions(field);
  const CXType type = unit_.type(field);
  if (initializer.empty() || type.kind == CXType_Invalid) {
    return defaults(type, field);
  }
  Frame none;
  return read(initializer.back(), none, type);
}

Form AstReader::defaults(CXType type, CXCursor where) {
  if (type.kind != CXType_Record) {
    return Expression::constant(0);
  }
  Form whole;
  whole.is_record = true;
  const CXCursor record = unit_.record(type);
  if (unit_.clang().Cursor_isNull(record) != 0) {
    cannot(where, fmt::format("the type '{}'", unit_.type_name(type)));
  }
  for (const CXCursor field : unit_.fields(record)) {
    whole.fields.emplace_back(unit_.spelling(field), default_of(field));
  }
  return whole;
}

Form AstReader::list(CXCursor e, Frame& frame, CXType wanted) {
  const auto items = unit_.expressions(e);
  if (wanted.kind != CXType_Record) {  // `long{3}`
    return items.empty() ? Form(Expression::constant(0)) : one_child(e, frame, wanted);
  }
  Form whole = defaults(wanted, e);
  const auto fields = unit_.fields(unit_.record(wanted));
  std::size_t position = 0;
  for (const CXCursor item : items) {
    CXCursor value = item;
    // In a list that depends on T clang has not looked the designators up yet, so they are taken from the tokens.
    const auto tokens = unit_.first_tokens(item, 2);
    if (tokens.size() == 2 && tokens[0] == ".") {
      value = unit_.expressions(item).back();
      const auto same = [&](CXCursor field) { return unit_.spelling(field) == tokens[1]; };
      position = static_cast<std::size_t>(std::find_if(fields.begin(), fields.end(), same) - fields.begin());
    }
    if (position >= fields.size()) {
      cannot(item, "this initializer");
    }
    whole.fields[position].second = read(value, frame, unit_.type(fields[position]));
    ++position;
  }
  return whole;
}

}  // namespace hone::kernel
