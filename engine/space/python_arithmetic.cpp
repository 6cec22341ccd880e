#include "engine/space/python_arithmetic.hpp"

#include <algorithm>
#include <array>

namespace hone::space {
namespace {

/// What is looked at to know a sign; a larger expression may have either.
constexpr std::size_t kMostLookedAt = 1000;

Expression make(Operator op, const Expression& a, const Expression& b) { return Expression::make(op, {a, b}); }

bool keeps_real(Operator op) {
  return op == Operator::kNegate || (op >= Operator::kAdd && op <= Operator::kDivide) || op == Operator::kSelect;
}

bool is_quotient(const Expression& e) { return e.node().op == Operator::kDivide && e.node().operands[0].node().op == Operator::kToReal; }

Expression whole_remainder(const Expression& e) {
  const Expression &a = e.node().operands[0], &b = e.node().operands[1];
  const auto dividend = [](const Expression& quotient) { return quotient.node().operands[0].node().operands[0]; };
  if (is_quotient(a)) {
    return make(Operator::kRemainder, dividend(a), make(Operator::kMultiply, a.node().operands[1], b));
  }
  if (is_quotient(b)) {
    return make(Operator::kRemainder, make(Operator::kMultiply, a, b.node().operands[1]), dividend(b));
  }
  return e;
}

bool unlimited(const Bounds& bounds) { return bounds.low == Bounds{}.low && bounds.high == Bounds{}.high; }

/// What stands in for Python's remainder where the engine's has another sign.
bool is_shifted(const Expression& e) {
  const auto& outer = e.node();
  if (outer.op != Operator::kRemainder || outer.operands[0].node().op != Operator::kAdd) {
    return false;
  }
  const auto& sum = outer.operands[0].node().operands;
  return sum[0].node().op == Operator::kRemainder && &sum[1].node() == &outer.operands[1].node();
}

Bounds bounds_of_values(const std::vector<Value>& values) {
  if (std::ranges::find(values, Value::Kind::kReal, &Value::kind) != values.end()) {
    return {};
  }
  const auto [low, high] = std::ranges::minmax(values, {}, &Value::integer);
  return {low.integer(), high.integer()};
}

}  // namespace

PythonArithmetic::PythonArithmetic(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    variables_["c." + parameter.name] = {bounds_of_values(parameter.values), parameter.kind == ParameterKind::kReal};
  }
}

bool PythonArithmetic::is_real(const Expression& e) const {
  const auto& node = e.node();
  if (node.op == Operator::kConstant) {
    return node.value.kind() == Value::Kind::kReal;
  }
  if (node.op == Operator::kVariable) {
    return variables_.at(node.name).real;
  }
  return node.op == Operator::kToReal ||
         (keeps_real(node.op) && std::ranges::any_of(node.operands, [this](const Expression& operand) { return is_real(operand); }));
}

bool PythonArithmetic::misuses_reals(const Expression& e) const {
  const bool whole = e.node().op >= Operator::kRemainder && e.node().op <= Operator::kXor;
  return std::ranges::any_of(e.node().operands,
                             [&](const Expression& operand) { return (whole && is_real(operand)) || misuses_reals(operand); });
}

PythonArithmetic::Range PythonArithmetic::range(const Expression& e, std::size_t& left) const {
  const auto& node = e.node();
  if (left == 0) {
    return {};
  }
  --left;
  if (node.op == Operator::kVariable) {
    return variables_.at(node.name);
  }
  if (node.op == Operator::kConstant) {
    return {bounds_of_values({node.value}), is_real(e)};
  }
  std::array<Bounds, 3> operands;
  bool any_real = false;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const Range operand = range(node.operands[i], left);
    operands[i] = operand.bounds;
    any_real = any_real || operand.real;
  }
  return {bounds_of(node.op, std::span(operands).first(node.operands.size()), any_real),
          node.op == Operator::kToReal || (any_real && keeps_real(node.op))};
}

Bounds PythonArithmetic::bounds(const Expression& e) const {
  std::size_t left = kMostLookedAt;
  return range(e, left).bounds;
}

bool PythonArithmetic::may_overflow(Operator op, const Expression& a, const Expression& b) const {
  const bool grows = op == Operator::kAdd || op == Operator::kSubtract || op == Operator::kMultiply || op == Operator::kShiftLeft;
  if (!grows || is_real(a) || is_real(b)) {
    return false;
  }
  const Bounds both[] = {bounds(a), bounds(b)};
  const Bounds result = bounds_of(op, both, false);
  return !unlimited(both[0]) && !unlimited(both[1]) && unlimited(result) && !result.fails;
}

Expression PythonArithmetic::divide(const Expression& a, const Expression& b) {
  return make(Operator::kDivide, Expression::make(Operator::kToReal, {a}), b);
}

Expression PythonArithmetic::floor_divide(const Expression& a, const Expression& b) const {
  const bool truncates_alike = bounds(a).low >= 0 && bounds(b).low >= 0;
  return make(Operator::kDivide, truncates_alike ? a : make(Operator::kSubtract, a, remainder(a, b)), b);
}

Expression PythonArithmetic::remainder(const Expression& a, const Expression& b) const {
  Expression truncated = make(Operator::kRemainder, a, b);
  const bool of_reals = is_real(a) || is_real(b);  // only ever compared with 0
  if (of_reals || (bounds(a).low >= 0 && bounds(b).low >= 0)) {
    return truncated;
  }
  return make(Operator::kRemainder, make(Operator::kAdd, truncated, b), b);
}

Expression PythonArithmetic::compare(Operator op, const Expression& a, const Expression& b) {
  const bool with_zero = (op == Operator::kEqual || op == Operator::kNotEqual) && b.is_constant() && b.node().value == Value(0);
  if (!with_zero || a.node().op != Operator::kRemainder) {
    return make(op, a, b);
  }
  return make(op, is_shifted(a) ? a.node().operands[0].node().operands[0] : whole_remainder(a), b);  // whatever its sign
}

}  // namespace hone::space
