#include "engine/reader/ast_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hone::kernel {
namespace {

constexpr std::string_view kMayUse =
    "arithmetic, comparisons, && || ! ?:, `if (...) return`, local constants, casts, sizeof(T), enumerators, constexpr constants and "
    "functions";

/// A level takes 1 to 4 KiB of stack, a step some microseconds: far more than a person writes, far less than a stack or a minute.
constexpr int kMostLevels = 1000, kMostSteps = 100'000;

bool is_integral(CXTypeKind kind) { return (kind >= CXType_Char_U && kind <= CXType_Int128) || kind == CXType_Enum; }
bool is_real(CXTypeKind kind) { return kind == CXType_Float || kind == CXType_Double || kind == CXType_LongDouble; }

bool is_truth(const Expression& e) {
  const Operator op = e.node().op;
  return op == Operator::kNot || op == Operator::kToBoolean || (op >= Operator::kLess && op <= Operator::kLogicalOr);
}

/// For what depends on T, whose type clang does not know.
bool may_be_real(const Expression& e) {
  const auto& node = e.node();
  const bool real = node.op == Operator::kToReal || (node.op == Operator::kConstant && node.value.kind() == Value::Kind::kReal);
  return real || std::any_of(node.operands.begin(), node.operands.end(), may_be_real);
}

struct BinaryName {
  CXBinaryOperatorKind clang;
  Operator op;
};
constexpr std::array<BinaryName, 18> kBinary{{
    {CXBinaryOperator_Add, Operator::kAdd},
    {CXBinaryOperator_Sub, Operator::kSubtract},
    {CXBinaryOperator_Mul, Operator::kMultiply},
    {CXBinaryOperator_Div, Operator::kDivide},
    {CXBinaryOperator_Rem, Operator::kRemainder},
    {CXBinaryOperator_Shl, Operator::kShiftLeft},
    {CXBinaryOperator_Shr, Operator::kShiftRight},
    {CXBinaryOperator_And, Operator::kAnd},
    {CXBinaryOperator_Or, Operator::kOr},
    {CXBinaryOperator_Xor, Operator::kXor},
    {CXBinaryOperator_LT, Operator::kLess},
    {CXBinaryOperator_LE, Operator::kLessEqual},
    {CXBinaryOperator_GT, Operator::kGreater},
    {CXBinaryOperator_GE, Operator::kGreaterEqual},
    {CXBinaryOperator_EQ, Operator::kEqual},
    {CXBinaryOperator_NE, Operator::kNotEqual},
    {CXBinaryOperator_LAnd, Operator::kLogicalAnd},
    {CXBinaryOperator_LOr, Operator::kLogicalOr},
}};

}  // namespace

const Form* Form::field(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == name; });
  return found == fields.end() ? nullptr : &found->second;
}

void AstReader::cannot(CXCursor where, std::string_view what) const {
  unit_.fail(where, fmt::format("{} cannot be read here: {} may use {}", what, reading_, kMayUse));
}

AstReader::Level::Level(AstReader& of, CXCursor where) : of_(of) {
  const bool deep = of.levels_ >= kMostLevels;
  if (deep || of.steps_ >= kMostSteps) {
    of.unit_.fail(where, fmt::format("{} is too long: it needs more than {} to read", of.reading_,
                                     deep ? fmt::format("{} levels of statements and operators", kMostLevels)
                                          : fmt::format("{} statements and operators, calls included,", kMostSteps)));
  }
  ++of.levels_;
  ++of.steps_;
}

Expression AstReader::number(CXCursor expression) {
  Frame frame;
  return scalar(expression, frame);
}

Value AstReader::constant(CXCursor expression) {
  const Expression value = number(expression);
  if (!value.is_constant()) {
    unit_.fail(expression, fmt::format("{} must be a constant", reading_));
  }
  return value.node().value;
}

Form AstReader::record(CXCursor expression) {
  Frame frame;
  return read(expression, frame, unit_.type(expression));
}

Expression AstReader::scalar(CXCursor e, Frame& frame) {
  const Form form = read(e, frame, unit_.type(e));
  if (form.is_record) {
    cannot(e, "a struct where a number is needed");
  }
  return form.scalar;
}

/// Only what changes the value is kept: between integers nothing does, for all are 64 bits wide here.
Expression AstReader::converted(Expression e, CXTypeKind from, CXTypeKind to) {
  if (from == to || (is_integral(from) && is_integral(to)) || (from == CXType_Bool && is_integral(to))) {
    return e;
  }
  if (to == CXType_Bool) {
    return is_truth(e) ? e : Expression::make(Operator::kToBoolean, {std::move(e)});
  }
  if (is_real(to)) {
    return is_real(from) ? e : Expression::make(Operator::kToReal, {std::move(e)});
  }
  const bool truncates = is_integral(to) && (is_real(from) || may_be_real(e));
  return truncates ? Expression::make(Operator::kToInteger, {std::move(e)}) : e;
}

Form AstReader::read(CXCursor e, Frame& frame, CXType wanted) {
  const Level level(*this, e);
  Form form = read_plain(e, frame, wanted);
  if (const auto& node = form.scalar.node(); node.size > Expression::kLargest || node.depth > Expression::kDeepest) {
    unit_.fail(e, fmt::format(
                      "{} is too complex: with calls and local constants expanded, it has more than {} levels or {} operators and operands",
                      reading_, Expression::kDeepest, Expression::kLargest));
  }
  // A number for a struct is its first member: `.grid = p.rows`.
  if (!form.is_record && wanted.kind == CXType_Record) {
    Form whole = defaults(wanted, e);
    if (whole.fields.empty()) {
      cannot(e, "this initializer");
    }
    whole.fields[0].second = std::move(form);
    return whole;
  }
  remember(e, form, frame);
  return form;
}

Form AstReader::read_plain(CXCursor e, Frame& frame, CXType wanted) {
  switch (static_cast<int>(unit_.kind(e))) {
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
      return literal(e);
    case CXCursor_ParenExpr:
      return one_child(e, frame, wanted);
    case CXCursor_UnexposedExpr: {
      const bool implicit_cast = unit_.type(e).kind != CXType_Record;
      return implicit_cast ? cast(e, frame) : one_child(e, frame, wanted);
    }
    case CXCursor_UnaryOperator:
      return unary(e, frame);
    case CXCursor_BinaryOperator:
      return binary(e, frame);
    case CXCursor_ConditionalOperator:
      return choice(e, frame, wanted);
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
      return cast(e, frame);
    case CXCursor_CXXFunctionalCastExpr:
    case CXCursor_CompoundLiteralExpr:
      return unit_.type(e).kind == CXType_Record ? one_child(e, frame, unit_.type(e)) : cast(e, frame);
    case CXCursor_UnaryExpr:
      return size_of(e, frame);
    case CXCursor_DeclRefExpr:
      return named(e, frame);
    case CXCursor_MemberRefExpr:
      return member(e, frame);
    case CXCursor_CallExpr:
      return call(e, frame);
    case CXCursor_InitListExpr:
    case CXCursor_CXXParenListInitExpr:
      return list(e, frame, wanted.kind == CXType_Record ? wanted : unit_.type(e));
    case CXCursor_CompoundAssignOperator:
      cannot(e, "an assignment");
    case CXCursor_ArraySubscriptExpr:
      cannot(e, "an array element");
    case CXCursor_LambdaExpr:
      cannot(e, "a lambda");
    default:
      cannot(e, "this construct");
  }
}

Form AstReader::one_child(CXCursor e, Frame& frame, CXType wanted) {
  const auto children = unit_.expressions(e);
  if (children.size() != 1) {
    cannot(e, "this construct");
  }
  return read(children[0], frame, wanted);
}

Form AstReader::cast(CXCursor e, Frame& frame) {
  const auto children = unit_.expressions(e);
  if (children.size() != 1) {
    cannot(e, "this construct");
  }
  const Form form = read(children[0], frame, unit_.type(children[0]));
  return form.is_record ? form : Form(converted(form.scalar, unit_.type(children[0]).kind, unit_.type(e).kind));
}

std::optional<Value> AstReader::evaluated(CXCursor e) const {
  const auto& clang = unit_.clang();
  CXEvalResult result = clang.Cursor_Evaluate(e);
  if (result == nullptr) {
    return std::nullopt;
  }
  std::optional<Value> value;
  switch (clang.EvalResult_getKind(result)) {
    case CXEval_Int: {
      const auto integer = static_cast<std::int64_t>(clang.EvalResult_getAsLongLong(result));
      value = unit_.type(e).kind == CXType_Bool ? Value(integer != 0) : Value(integer);
      break;
    }
    case CXEval_Float:
      value = Value(clang.EvalResult_getAsDouble(result));
      break;
    default:
      break;
  }
  clang.EvalResult_dispose(result);
  return value;
}

Form AstReader::literal(CXCursor e) const {
  const auto value = evaluated(e);
  if (!value) {
    cannot(e, "this literal");
  }
  return Expression::constant(*value);
}

Form AstReader::size_of(CXCursor e, Frame& frame) {
  if (unit_.first_tokens(e, 1) != std::vector<std::string>{"sizeof"}) {
    cannot(e, "this operator");
  }
  for (const CXCursor child : unit_.children(e)) {
    const CXCursor type = unit_.referenced(child);
    for (const auto& [parameter, size] : frame.sizes) {
      if (unit_.clang().equalCursors(parameter, type) != 0) {
        return size;
      }
    }
  }
  if (const auto value = evaluated(e)) {
    return Expression::constant(*value);
  }
  cannot(e, "the size of this type");
}

Form AstReader::unary(CXCursor e, Frame& frame) {
  const auto operands = unit_.expressions(e);
  if (operands.size() == 1) {
    switch (unit_.clang().getCursorUnaryOperatorKind(e)) {
      case CXUnaryOperator_Plus:
        return scalar(operands[0], frame);
      case CXUnaryOperator_Minus:
        return Expression::make(Operator::kNegate, {scalar(operands[0], frame)});
      case CXUnaryOperator_Not:
        return Expression::make(Operator::kComplement, {scalar(operands[0], frame)});
      case CXUnaryOperator_LNot:
        return Expression::make(Operator::kNot, {scalar(operands[0], frame)});
      default:
        break;
    }
  }
  cannot(e, "this operator");
}

Form AstReader::binary(CXCursor e, Frame& frame) {
  const auto kind = unit_.clang().getCursorBinaryOperatorKind(e);
  const auto operands = unit_.expressions(e);
  const auto found = std::find_if(kBinary.begin(), kBinary.end(), [&](const BinaryName& b) { return b.clang == kind; });
  if (found == kBinary.end() || operands.size() != 2) {
    cannot(e, kind == CXBinaryOperator_Assign ? "an assignment" : "this operator");
  }
  const Expression left = scalar(operands[0], frame);
  const Expression right = scalar(operands[1], frame);
  return Expression::make(found->op, {left, right});
}

Form AstReader::select(const Expression& condition, const Form& first, const Form& second) const {
  if (!first.is_record) {
    return Expression::make(Operator::kSelect, {condition, first.scalar, second.scalar});
  }
  Form merged = first;
  for (std::size_t i = 0; i < merged.fields.size(); ++i) {
    merged.fields[i].second = select(condition, first.fields[i].second, second.fields[i].second);
  }
  return merged;
}

Form AstReader::choice(CXCursor e, Frame& frame, CXType wanted) {
  const auto parts = unit_.expressions(e);
  if (parts.size() != 3) {
    cannot(e, "this operator");
  }
  const Expression condition = scalar(parts[0], frame);
  const CXType type = unit_.type(e).kind == CXType_Record ? unit_.type(e) : wanted;
  // Only the side that is taken is read where the condition is known: recursion ends there.
  if (condition.is_constant()) {
    return read(parts[condition.node().value.boolean() ? 1 : 2], frame, type);
  }
  const Form first = read(parts[1], frame, type);
  return select(condition, first, read(parts[2], frame, type));
}

}  // namespace hone::kernel
