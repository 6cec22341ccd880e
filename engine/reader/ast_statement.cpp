// Functions, statements and calls for AstReader.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/reader/ast_expression.hpp"

namespace hone::kernel {
namespace {

constexpr int kDeepestCall = 200;

struct Role {
  std::string_view type, prefix;
};
constexpr std::array<Role, 3> kRoles{{{"Problem", "p."}, {"Config", "c."}, {"Device", "d."}}};

}  // namespace

CXCursor AstReader::definition(CXCursor function) const {
  const auto& clang = unit_.clang();
  const CXCursor pattern = clang.getSpecializedCursorTemplate(function);
  const CXCursor target = clang.Cursor_isNull(pattern) != 0 ? function : pattern;
  const CXCursor defined = clang.getCursorDefinition(target);
  return clang.Cursor_isNull(defined) != 0 ? target : defined;
}

AstReader::Statements AstReader::parameters(CXCursor function) const {
  auto result = unit_.children(function);
  std::erase_if(result, [&](CXCursor child) { return unit_.kind(child) != CXCursor_ParmDecl; });
  return result;
}

Form AstReader::entry_argument(CXCursor parameter) const {
  const CXCursor record = unit_.record(unit_.type(parameter));
  for (const auto& role : kRoles) {
    if (unit_.clang().Cursor_isNull(record) != 0 || unit_.spelling(record) != role.type) {
      continue;
    }
    Form whole;
    whole.is_record = true;
    for (const CXCursor field : unit_.fields(record)) {
      const std::string name = unit_.spelling(field);
      whole.fields.emplace_back(name, Expression::variable(std::string(role.prefix) + name));
    }
    return whole;
  }
  unit_.fail(parameter, fmt::format("{} takes a '{}': its parameters may be a Problem, a Config and a Device, by value", reading_,
                                    unit_.type_name(unit_.type(parameter))));
}

/// Of one type parameter, whatever it is called, sizeof(T); of several, by their names.
Expression AstReader::entry_size(CXCursor type, const Frame& frame) const {
  if (types_.size() < 2) {
    if (!frame.sizes.empty()) {
      unit_.fail(type, fmt::format("{} may be a template on one type, the element type T", reading_));
    }
    return Expression::variable("sizeof(T)");
  }
  const std::string name = unit_.spelling(type);
  if (std::ranges::find(types_, name) == types_.end()) {
    unit_.fail(type,
               fmt::format("{} is a template on '{}', which is not one of the kernel's types {}", reading_, name, fmt::join(types_, ", ")));
  }
  return Expression::variable(fmt::format("sizeof({})", name));
}

Form AstReader::function(CXCursor function) {
  remembered_.clear();
  conditions_.clear();
  levels_ = steps_ = 0;
  Frame frame;
  frame.outermost = frame.is_list = true;
  frame.function = function;
  frame.result = unit_.clang().getCanonicalType(unit_.clang().getCursorResultType(function));
  for (const CXCursor child : unit_.children(function)) {
    switch (unit_.kind(child)) {
      case CXCursor_ParmDecl:
        frame.names.emplace_back(child, entry_argument(child));
        break;
      case CXCursor_TemplateTypeParameter:
        frame.sizes.emplace_back(child, entry_size(child, frame));
        break;
      case CXCursor_NonTypeTemplateParameter:
        unit_.fail(child, fmt::format("{} takes the configuration as a parameter (Config {}), not as a template argument", reading_,
                                      unit_.spelling(child)));
      default:
        break;
    }
  }
  return body(function, frame);
}

bool AstReader::has_several_statements(CXCursor function) const {
  const auto children = unit_.children(function);
  return std::any_of(children.begin(), children.end(),
                     [&](CXCursor child) { return unit_.kind(child) == CXCursor_CompoundStmt && unit_.children(child).size() > 1; });
}

Form AstReader::body(CXCursor function, Frame& frame) {
  for (const CXCursor child : unit_.children(function)) {
    if (unit_.kind(child) == CXCursor_CompoundStmt) {
      return statements(unit_.children(child), frame, [&]() -> Form { cannot(frame.function, "a path that ends without a return"); });
    }
  }
  cannot(function, fmt::format("'{}', which has no body,", unit_.spelling(function)));
}

Form AstReader::statements(const Statements& all, Frame& frame, const Rest& rest) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const CXCursor statement = all[i];
    const Level level(*this, statement);
    const Rest after = [&] { return statements(Statements(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()), frame, rest); };
    switch (static_cast<int>(unit_.kind(statement))) {
      case CXCursor_ReturnStmt: {
        const auto value = unit_.expressions(statement);
        if (value.size() != 1) {
          cannot(statement, "a return without a value");
        }
        const Form form = read(value[0], frame, frame.result);
        if (!form.is_record && !form.scalar.is_constant()) {
          remember_condition(statement, value[0], form.scalar, frame);
        }
        return form.is_record ? form : Form(converted(form.scalar, unit_.type(value[0]).kind, frame.result.kind));
      }
      case CXCursor_IfStmt:
        return branch(statement, frame, after);
      case CXCursor_CompoundStmt:
        return statements(unit_.children(statement), frame, after);
      case CXCursor_DeclStmt:
        declare(statement, frame);
        break;
      case CXCursor_NullStmt:
      case CXCursor_StaticAssert:
        break;
      case CXCursor_ForStmt:
      case CXCursor_CXXForRangeStmt:
      case CXCursor_WhileStmt:
      case CXCursor_DoStmt:
        cannot(statement, "a loop");
      case CXCursor_SwitchStmt:
        cannot(statement, "a switch");
      case CXCursor_BinaryOperator:
      case CXCursor_CompoundAssignOperator:
        cannot(statement, "an assignment");
      default:
        cannot(statement, "this statement");
    }
  }
  return rest();
}

Form AstReader::branch(CXCursor statement, Frame& frame, const Rest& rest) {
  const auto parts = unit_.children(statement);
  const bool readable = parts.size() == 2 || parts.size() == 3;
  if (!readable || unit_.kind(parts[0]) < CXCursor_FirstExpr || unit_.kind(parts[0]) > CXCursor_LastExpr) {
    cannot(statement, "an if that declares a variable");
  }
  const Expression condition = scalar(parts[0], frame);
  // Nothing is assigned, so what follows has one value, whichever side falls through to it; it is read once.
  std::optional<Form> following;
  const Rest once = [&] {
    if (!following) {
      following = rest();
    }
    return *following;
  };
  const auto side = [&](bool truth) {
    if (!truth && parts.size() == 2) {
      return once();
    }
    Frame scope = frame;
    return statements({parts[truth ? 1 : 2]}, scope, once);
  };
  if (condition.is_constant()) {
    return side(condition.node().value.boolean());
  }
  const Form first = side(true);
  if (parts.size() == 2 && !first.is_record && first.scalar.is_constant() && !first.scalar.node().value.boolean()) {
    remember_condition(statement, parts[0], Expression::make(Operator::kNot, {condition}), frame);
  }
  return select(condition, first, side(false));
}

void AstReader::declare(CXCursor statement, Frame& frame) {
  for (const CXCursor child : unit_.children(statement)) {
    const auto kind = static_cast<int>(unit_.kind(child));
    if (kind == CXCursor_TypeAliasDecl || kind == CXCursor_TypedefDecl || kind == CXCursor_StaticAssert) {
      continue;
    }
    if (kind != CXCursor_VarDecl) {
      cannot(child, "this declaration");
    }
    const auto initializer = unit_.expressions(child);
    const CXType type = unit_.type(child);
    frame.names.emplace_back(child, initializer.empty() ? defaults(type, child) : read(initializer.back(), frame, type));
  }
}

/// `long(x)` and `T(x)` in a template, and copies of structs, look like calls.
std::optional<Form> AstReader::conversion_call(CXCursor call, const Statements& parts, Frame& frame) {
  const CXType type = unit_.type(call);
  const auto target = unit_.kind(unit_.referenced(call));
  if (target == CXCursor_Constructor) {
    if (parts.empty()) {
      return defaults(type, call);
    }
    return parts.size() == 1 ? std::optional<Form>(read(parts[0], frame, type)) : std::nullopt;
  }
  const bool number = type.kind >= CXType_FirstBuiltin && type.kind <= CXType_LastBuiltin && type.kind != CXType_Dependent;
  const bool has_callee = !parts.empty() &&
                          (unit_.kind(parts[0]) == CXCursor_DeclRefExpr || unit_.kind(parts[0]) == CXCursor_MemberRefExpr) &&
                          unit_.offset(parts[0]) == unit_.offset(call);
  if (parts.size() == 1 && !has_callee && target != CXCursor_FunctionDecl && target != CXCursor_CXXMethod) {
    if (number) {
      return converted(scalar(parts[0], frame), unit_.type(parts[0]).kind, type.kind);
    }
    if (type.kind == CXType_Record) {
      return read(parts[0], frame, type);
    }
  }
  return std::nullopt;
}

Form AstReader::call(CXCursor call, Frame& frame) {
  const auto parts = unit_.expressions(call);
  if (auto converted_form = conversion_call(call, parts, frame)) {
    return *converted_form;
  }
  if (parts.empty()) {
    cannot(call, "this call");
  }
  const Statements arguments(parts.begin() + 1, parts.end());
  const CXCursor function = callee(call, parts[0], arguments.size());
  const std::string name = unit_.spelling(function);
  const bool defined = unit_.clang().isCursorDefinition(definition(function)) != 0;
  const bool smaller = name == "min" || name == "fmin" || name == "fminf";
  const bool larger = name == "max" || name == "fmax" || name == "fmaxf";
  if (!defined && (smaller || larger) && arguments.size() == 2) {
    const Expression a = scalar(arguments[0], frame), b = scalar(arguments[1], frame);
    return Expression::make(Operator::kSelect, {Expression::make(Operator::kLess, {a, b}), smaller ? a : b, smaller ? b : a});
  }
  if (!defined) {
    cannot(call, fmt::format("a call of '{}', whose body is not visible,", name));
  }
  Frame inner;
  if (unit_.kind(function) == CXCursor_CXXMethod && unit_.kind(parts[0]) == CXCursor_MemberRefExpr) {
    const auto object = unit_.expressions(parts[0]);
    inner.object = object.empty() ? frame.object : std::optional<Form>(read(object[0], frame, unit_.type(object[0])));
  }
  bind_template(call, parts[0], function, frame, inner);
  return inlined(call, function, arguments, std::move(inner), frame);
}

/// The function that is called. What depends on T is not resolved yet: then the overload with as many parameters is meant.
CXCursor AstReader::callee(CXCursor call, CXCursor name, std::size_t arguments) const {
  const auto& clang = unit_.clang();
  CXCursor target = unit_.referenced(call);
  if (unit_.kind(target) == CXCursor_FunctionDecl || unit_.kind(target) == CXCursor_CXXMethod) {
    return target;
  }
  CXCursor inside = name;
  while (unit_.kind(inside) == CXCursor_UnexposedExpr || unit_.kind(inside) == CXCursor_ParenExpr) {
    const auto below = unit_.expressions(inside);
    if (below.empty()) {
      break;
    }
    inside = below[0];
  }
  target = unit_.referenced(inside);
  if (unit_.kind(target) != CXCursor_OverloadedDeclRef) {
    const auto kind = unit_.kind(target);
    if (kind == CXCursor_FunctionDecl || kind == CXCursor_CXXMethod || kind == CXCursor_FunctionTemplate) {
      return target;
    }
    cannot(call, "this call");
  }
  std::vector<CXCursor> fitting;
  for (unsigned i = 0; i < clang.getNumOverloadedDecls(target); ++i) {
    const CXCursor candidate = clang.getOverloadedDecl(target, i);
    const auto names = parameters(candidate);
    const auto optional = static_cast<std::size_t>(
        std::count_if(names.begin(), names.end(), [&](CXCursor parameter) { return !unit_.expressions(parameter).empty(); }));
    if (arguments <= names.size() && arguments + optional >= names.size()) {
      fitting.push_back(candidate);
    }
  }
  if (fitting.size() != 1) {
    cannot(call,
           fmt::format("a call of '{}', which has {} overloads for {} arguments,", unit_.spelling(target), fitting.size(), arguments));
  }
  return fitting[0];
}

void AstReader::bind_template(CXCursor call, CXCursor name, CXCursor function, const Frame& outer, Frame& inner) {
  const auto& clang = unit_.clang();
  CXCursor written = name;
  while (unit_.kind(written) == CXCursor_UnexposedExpr && !unit_.expressions(written).empty()) {
    written = unit_.expressions(written)[0];
  }
  auto given = unit_.children(written);
  std::erase_if(given, [&](CXCursor c) { return unit_.kind(c) == CXCursor_OverloadedDeclRef || unit_.kind(c) == CXCursor_NamespaceRef; });
  unsigned position = 0;
  for (const CXCursor parameter : unit_.children(definition(function))) {
    const auto kind = unit_.kind(parameter);
    if (kind != CXCursor_TemplateTypeParameter && kind != CXCursor_NonTypeTemplateParameter) {
      continue;
    }
    const unsigned i = position++;
    const bool resolved = unit_.kind(function) != CXCursor_FunctionTemplate &&
                          i < static_cast<unsigned>(std::max(0, clang.Cursor_getNumTemplateArguments(function)));
    if (resolved && kind == CXCursor_TemplateTypeParameter) {
      const long long size = clang.Type_getSizeOf(clang.Cursor_getTemplateArgumentType(function, i));
      inner.sizes.emplace_back(parameter, Expression::constant(static_cast<std::int64_t>(size)));
    } else if (resolved) {
      const auto value = static_cast<std::int64_t>(clang.Cursor_getTemplateArgumentValue(function, i));
      inner.names.emplace_back(parameter, Expression::constant(value));
    } else if (i < given.size() && kind == CXCursor_NonTypeTemplateParameter) {
      Frame scope = outer;
      inner.names.emplace_back(parameter, scalar(given[i], scope));
    } else if (i < given.size()) {
      const CXCursor type = unit_.referenced(given[i]);
      const auto known =
          std::find_if(outer.sizes.begin(), outer.sizes.end(), [&](const auto& s) { return clang.equalCursors(s.first, type) != 0; });
      const long long size = clang.Type_getSizeOf(clang.getCursorType(type));
      if (known == outer.sizes.end() && size <= 0) {
        cannot(call, "this template argument");
      }
      inner.sizes.emplace_back(parameter,
                               known != outer.sizes.end() ? known->second : Expression::constant(static_cast<std::int64_t>(size)));
    }
  }
}

Form AstReader::inlined(CXCursor call, CXCursor function, const Statements& arguments, Frame inner, Frame& outer) {
  const CXCursor source = definition(function);
  const auto names = parameters(source);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const CXType type = unit_.type(names[i]);
    const auto initializer = unit_.expressions(names[i]);
    if (i < arguments.size()) {
      inner.names.emplace_back(names[i], read(arguments[i], outer, type));
    } else if (!initializer.empty()) {
      Frame none;
      inner.names.emplace_back(names[i], read(initializer.back(), none, type));
    } else {
      cannot(call, "a call with fewer arguments than parameters");
    }
  }
  inner.function = source;
  inner.result = unit_.clang().getCanonicalType(unit_.clang().getCursorResultType(source));
  inner.is_list = outer.is_list && inner.result.kind == CXType_Bool && has_several_statements(source);
  if (++depth_ > kDeepestCall) {
    cannot(call, "an infinite recursion");
  }
  Form result = body(source, inner);
  --depth_;
  return result;
}

}  // namespace hone::kernel
