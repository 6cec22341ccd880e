// Expressions as C++ source text and as the compact prefix form of the embedded specs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "engine/kernel/arithmetic.hpp"
#include "engine/kernel/expression.hpp"

namespace hone {
namespace {

struct Spelling {
  Operator op;
  std::string_view cpp;
  std::string_view prefix;  ///< in serialized form
  int precedence;           ///< larger binds tighter
};

constexpr int kUnary = 12, kPrimary = 13;

constexpr std::array<Spelling, 25> kSpellings{{
    {Operator::kNegate, "-", "neg", kUnary},
    {Operator::kNot, "!", "!", kUnary},
    {Operator::kComplement, "~", "~", kUnary},
    {Operator::kToInteger, "long", "int", kPrimary},
    {Operator::kToReal, "double", "real", kPrimary},
    {Operator::kToBoolean, "bool", "bool", kPrimary},
    {Operator::kAdd, "+", "+", 10},
    {Operator::kSubtract, "-", "-", 10},
    {Operator::kMultiply, "*", "*", 11},
    {Operator::kDivide, "/", "/", 11},
    {Operator::kRemainder, "%", "%", 11},
    {Operator::kShiftLeft, "<<", "<<", 9},
    {Operator::kShiftRight, ">>", ">>", 9},
    {Operator::kAnd, "&", "&", 6},
    {Operator::kOr, "|", "|", 4},
    {Operator::kXor, "^", "^", 5},
    {Operator::kLess, "<", "<", 8},
    {Operator::kLessEqual, "<=", "<=", 8},
    {Operator::kGreater, ">", ">", 8},
    {Operator::kGreaterEqual, ">=", ">=", 8},
    {Operator::kEqual, "==", "==", 7},
    {Operator::kNotEqual, "!=", "!=", 7},
    {Operator::kLogicalAnd, "&&", "&&", 3},
    {Operator::kLogicalOr, "||", "||", 2},
    {Operator::kSelect, "?", "?", 1},
}};

const Spelling& spelling(Operator op) { return kSpellings[static_cast<std::size_t>(op) - static_cast<std::size_t>(Operator::kNegate)]; }

/// A negative literal is a unary minus to whoever reads it.
int precedence(const Expression& e) {
  const auto& node = e.node();
  if (node.op == Operator::kConstant) {
    return node.value.real() < 0 ? kUnary : kPrimary;
  }
  return node.op == Operator::kVariable ? kPrimary : spelling(node.op).precedence;
}

/// `e` as an operand in a place that binds as tightly as `needed`.
std::string operand_text(const Expression& e, int needed) { return precedence(e) < needed ? fmt::format("({})", e.text()) : e.text(); }

std::string binary_text(const Expression::Node& node) {
  const auto& how = spelling(node.op);
  // Compilers warn about && inside || and about bit operators beside comparisons; the extra parentheses are for people too.
  const auto needed = [&](const Expression& side, int usual) {
    const Operator op = side.node().op;
    const bool confusing = (node.op == Operator::kLogicalOr && op == Operator::kLogicalAnd) ||
                           (node.op >= Operator::kShiftLeft && node.op <= Operator::kXor && kernel::arity(op) == 2 && op != node.op);
    return confusing ? kUnary : usual;
  };
  return fmt::format("{} {} {}", operand_text(node.operands[0], needed(node.operands[0], how.precedence)), how.cpp,
                     operand_text(node.operands[1], needed(node.operands[1], how.precedence + 1)));
}

void serialize_value(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Value::Kind::kInteger:
      out += fmt::format("{}", value.integer());
      break;
    case Value::Kind::kBoolean:
      out += value.boolean() ? "true" : "false";
      break;
    case Value::Kind::kReal:
      out += fmt::format("r{}", value.real());
      break;
  }
}

void serialize_into(const Expression& e, std::string& out) {
  const auto& node = e.node();
  if (!out.empty()) {
    out += ' ';
  }
  if (node.op == Operator::kConstant) {
    serialize_value(node.value, out);
  } else if (node.op == Operator::kVariable) {
    out += '$' + node.name;
  } else {
    out += spelling(node.op).prefix;
    for (const auto& operand : node.operands) {
      serialize_into(operand, out);
    }
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<Expression> whole() {
    HONE_ASSIGN(Expression e, one(1));
    if (!next().empty()) {
      return bad("something follows the expression");
    }
    return e;
  }

 private:
  static Error bad(std::string_view what) { return {ErrorCode::kInvalidArgument, fmt::format("not a serialized expression: {}", what)}; }

  std::string_view next() {
    const auto begin = rest_.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
      return {};
    }
    const auto end = std::min(rest_.find(' ', begin), rest_.size());
    const auto token = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return token;
  }

  Result<Expression> one(std::uint32_t depth) {
    const auto token = next();
    if (token.empty()) {
      return bad("it ends too early");
    }
    if (depth > Expression::kDeepest || ++size_ > Expression::kLargest) {
      return bad(fmt::format("it has more than {} levels or {} operators and operands", Expression::kDeepest, Expression::kLargest));
    }
    if (token[0] == '$' && token.size() > 1) {
      return Expression::variable(std::string(token.substr(1)));
    }
    const std::optional<Operator> op = Expression::operator_of(token);
    return op ? operation(*op, depth) : constant(token);
  }

  Result<Expression> operation(Operator op, std::uint32_t depth) {
    std::vector<Expression> operands;
    for (int i = 0; i < kernel::arity(op); ++i) {
      HONE_ASSIGN(Expression operand, one(depth + 1));
      operands.push_back(std::move(operand));
    }
    return Expression::make(op, std::move(operands));
  }

  static Result<Expression> constant(std::string_view token) {
    if (token == "true" || token == "false") {
      return Expression::constant(token == "true");
    }
    const char *const begin = token.data(), *const end = begin + token.size();
    if (token[0] == 'r') {
      double real = 0;
      const auto read = std::from_chars(begin + 1, end, real);
      return read.ec == std::errc{} && read.ptr == end ? Result<Expression>(Expression::constant(real)) : bad(token);
    }
    std::int64_t integer = 0;
    const auto read = std::from_chars(begin, end, integer);
    return read.ec == std::errc{} && read.ptr == end ? Result<Expression>(Expression::constant(integer)) : bad(token);
  }

  std::string_view rest_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::string Value::text() const {
  switch (kind_) {
    case Kind::kInteger:
      return fmt::format("{}", integer_);
    case Kind::kBoolean:
      return integer_ != 0 ? "true" : "false";
    default:
      break;
  }
  std::string text = fmt::format("{}", real_);
  if (std::isfinite(real_) && text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string Expression::text() const {
  const Node& node = *node_;
  switch (kernel::arity(node.op)) {
    case 0:
      return node.op == Operator::kConstant ? node.value.text() : node.name;
    case 1: {
      const auto& how = spelling(node.op);
      if (how.precedence == kPrimary) {
        return fmt::format("{}({})", how.cpp, node.operands[0].text());
      }
      // "- -1": two minus signs in a row would be another operator.
      return fmt::format("{}{}", how.cpp, operand_text(node.operands[0], node.op == Operator::kNegate ? kPrimary : kUnary));
    }
    case 2:
      return binary_text(node);
    default:
      return fmt::format("{} ? {} : {}", operand_text(node.operands[0], 2), operand_text(node.operands[1], 1),
                         operand_text(node.operands[2], 1));
  }
}

std::string Expression::serialize() const {
  std::string out;
  serialize_into(*this, out);
  return out;
}

std::string_view Expression::prefix(Operator op) { return spelling(op).prefix; }

std::optional<Operator> Expression::operator_of(std::string_view prefix) {
  const auto* const how = std::ranges::find(kSpellings, prefix, &Spelling::prefix);
  return how == kSpellings.end() ? std::nullopt : std::optional(how->op);
}

Result<Expression> Expression::parse(std::string_view serialized) { return Parser(serialized).whole(); }

}  // namespace hone
