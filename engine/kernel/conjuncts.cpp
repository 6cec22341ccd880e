// Expression::conjuncts: a constraint in small pieces, so that the search space can check each as soon as its parameters are known.

#include <algorithm>

#include "engine/kernel/arithmetic.hpp"
#include "engine/kernel/expression.hpp"

namespace hone {
namespace {

bool is_constant(const Expression& e, bool truth) { return e.is_constant() && e.node().value.boolean() == truth; }

Operator opposite(Operator comparison) {
  switch (comparison) {
    case Operator::kLess:
      return Operator::kGreaterEqual;
    case Operator::kLessEqual:
      return Operator::kGreater;
    case Operator::kGreater:
      return Operator::kLessEqual;
    case Operator::kGreaterEqual:
      return Operator::kLess;
    case Operator::kEqual:
      return Operator::kNotEqual;
    default:
      return Operator::kEqual;
  }
}

/// Whether `e` computes with real numbers, so that it may be NaN. (A parameter or extent never is.)
bool may_be_nan(const Expression& e) {
  const auto& node = e.node();
  return node.op == Operator::kToReal || (node.op == Operator::kConstant && node.value.kind() == Value::Kind::kReal) ||
         std::any_of(node.operands.begin(), node.operands.end(), may_be_nan);
}

/// !e with the negation pushed down to where it disappears.
Expression negate(const Expression& e) {
  const auto& node = e.node();
  const auto& operands = node.operands;
  if (kernel::is_comparison(node.op)) {
    // NaN is neither less than a number nor greater or equal.
    const bool has_opposite = node.op == Operator::kEqual || node.op == Operator::kNotEqual || !may_be_nan(e);
    return has_opposite ? Expression::make(opposite(node.op), operands) : Expression::make(Operator::kNot, {e});
  }
  switch (node.op) {
    case Operator::kNot:
      return operands[0];
    case Operator::kToBoolean:
      return negate(operands[0]);
    case Operator::kLogicalAnd:
      return Expression::make(Operator::kLogicalOr, {negate(operands[0]), negate(operands[1])});
    case Operator::kLogicalOr:
      return Expression::make(Operator::kLogicalAnd, {negate(operands[0]), negate(operands[1])});
    case Operator::kSelect:
      return Expression::make(Operator::kSelect, {operands[0], negate(operands[1]), negate(operands[2])});
    default:
      return Expression::make(Operator::kNot, {e});
  }
}

Expression either(const Expression& a, const Expression& b) { return Expression::make(Operator::kLogicalOr, {a, b}); }

void collect(const Expression& e, std::vector<Expression>& conjuncts);

std::vector<Expression> parts(const Expression& e) {
  std::vector<Expression> result;
  collect(e, result);
  return result;
}

/// condition ? first : second is (!condition || first) && (condition || second), each side in its own parts.
void collect_select(const Expression& e, std::vector<Expression>& conjuncts) {
  const Expression& condition = e.node().operands[0];
  const Expression& first = e.node().operands[1];
  const Expression& second = e.node().operands[2];
  if (is_constant(first, false) || is_constant(second, false)) {
    collect(is_constant(first, false) ? negate(condition) : condition, conjuncts);
    collect(is_constant(first, false) ? second : first, conjuncts);
    return;
  }
  const auto if_true = parts(first);
  const auto if_false = parts(second);
  if (if_true.size() == if_false.size() && if_true.size() <= 1) {  // 0: it always holds, unless the condition cannot be evaluated
    conjuncts.push_back(e);
    return;
  }
  const Expression otherwise = negate(condition);  // once: the parts share it
  for (const auto& part : if_true) {
    conjuncts.push_back(either(otherwise, part));
  }
  for (const auto& part : if_false) {
    conjuncts.push_back(either(condition, part));
  }
}

void collect(const Expression& e, std::vector<Expression>& conjuncts) {
  const auto& node = e.node();
  switch (node.op) {
    case Operator::kConstant:
      if (!node.value.boolean()) {
        conjuncts.push_back(Expression::constant(false));
      }
      return;
    case Operator::kLogicalAnd:
      collect(node.operands[0], conjuncts);
      collect(node.operands[1], conjuncts);
      return;
    case Operator::kLogicalOr: {
      const auto right = parts(node.operands[1]);
      if (right.size() < 2) {
        conjuncts.push_back(e);
        return;
      }
      for (const auto& part : right) {
        conjuncts.push_back(either(node.operands[0], part));
      }
      return;
    }
    case Operator::kNot: {
      const Expression inner = negate(node.operands[0]);
      const bool irreducible = inner.node().op == Operator::kNot && &inner.node().operands[0].node() == &node.operands[0].node();
      if (irreducible) {
        conjuncts.push_back(inner);
      } else {
        collect(inner, conjuncts);
      }
      return;
    }
    case Operator::kToBoolean:
      collect(node.operands[0], conjuncts);
      return;
    case Operator::kSelect:
      collect_select(e, conjuncts);
      return;
    default:
      conjuncts.push_back(e);
      return;
  }
}

}  // namespace

std::vector<Expression> Expression::conjuncts() const { return parts(*this); }

}  // namespace hone
