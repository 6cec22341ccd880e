#include "engine/kernel/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/kernel/arithmetic.hpp"

namespace hone {
namespace {

using kernel::apply;
using kernel::arity;
using kernel::is_comparison;
using kernel::is_logic;

constexpr std::uint64_t kUncountable = std::uint64_t{1} << 60;  // what is shared at each level doubles it

bool is_boolean(const Expression& e) {
  const auto& node = e.node();
  switch (node.op) {
    case Operator::kConstant:
      return node.value.kind() == Value::Kind::kBoolean;
    case Operator::kNot:
    case Operator::kToBoolean:
      return true;
    case Operator::kSelect:
      return is_boolean(node.operands[1]) && is_boolean(node.operands[2]);
    default:
      return is_comparison(node.op) || is_logic(node.op);
  }
}

Expression to_boolean(const Expression& e) { return is_boolean(e) ? e : Expression::make(Operator::kToBoolean, {e}); }

/// Whether `e` gives a real number where all variables are integers.
bool gives_real(const Expression& e) {
  const auto& node = e.node();
  switch (node.op) {
    case Operator::kConstant:
      return node.value.kind() == Value::Kind::kReal;
    case Operator::kToReal:
      return true;
    case Operator::kNegate:
    case Operator::kAdd:
    case Operator::kSubtract:
    case Operator::kMultiply:
    case Operator::kDivide:
      return std::any_of(node.operands.begin(), node.operands.end(), gives_real);
    case Operator::kSelect:
      return gives_real(node.operands[1]) || gives_real(node.operands[2]);
    default:
      return false;
  }
}

/// Whether evaluating `e` can fail once its variables are bound; what cannot may be dropped by folding.
bool can_fail(const Expression& e) {
  const auto& node = e.node();
  const bool divides = node.op == Operator::kDivide || node.op == Operator::kRemainder;
  const bool shifts = node.op == Operator::kShiftLeft || node.op == Operator::kShiftRight;
  if (divides && !(node.operands[1].is_constant() && node.operands[1].node().value.boolean())) {
    return true;
  }
  if (shifts && !(node.operands[1].is_constant() && kernel::shift_fits(node.operands[1].node().value.integer()))) {
    return true;
  }
  const bool takes_integers = node.op >= Operator::kRemainder && node.op <= Operator::kXor;
  if (node.op == Operator::kToInteger || node.op == Operator::kComplement ||
      (takes_integers && std::any_of(node.operands.begin(), node.operands.end(), gives_real))) {
    return true;
  }
  return std::any_of(node.operands.begin(), node.operands.end(), can_fail);
}

/// a && b or a || b where one side is constant; nothing is left out that could have failed.
const Expression* fold_logic(Operator op, const std::vector<Expression>& operands, Expression& folded) {
  const bool decisive = op == Operator::kLogicalOr;
  for (int side = 0; side < 2; ++side) {
    const Expression& known = operands[side];
    const Expression& other = operands[1 - side];
    if (!known.is_constant()) {
      continue;
    }
    if (known.node().value.boolean() != decisive) {
      folded = to_boolean(other);
      return &folded;
    }
    if (side == 0 || !can_fail(other)) {
      folded = Expression::constant(decisive);
      return &folded;
    }
  }
  return nullptr;
}

bool same(const Expression& a, const Expression& b) {
  const auto& left = a.node();
  const auto& right = b.node();
  if (&left == &right) {
    return true;
  }
  return left.op == right.op && left.value == right.value && left.name == right.name &&
         std::equal(left.operands.begin(), left.operands.end(), right.operands.begin(), right.operands.end(), same);
}

/// Chains of `if (a) { if (b) return x; } return y;` name y twice; folded, they name it once and do not grow with every `if`.
const Expression* fold_select(const std::vector<Expression>& operands, Expression& folded) {
  const Expression &condition = operands[0], &first = operands[1], &second = operands[2];
  if (condition.is_constant()) {
    return &operands[condition.node().value.boolean() ? 1 : 2];
  }
  if (same(first, second) && !can_fail(condition)) {
    return &operands[1];
  }
  if (first.node().op != Operator::kSelect) {
    return nullptr;
  }
  const auto& inner = first.node().operands;
  if (same(inner[2], second)) {
    folded = Expression::make(Operator::kSelect, {Expression::make(Operator::kLogicalAnd, {condition, inner[0]}), inner[1], second});
    return &folded;
  }
  if (same(inner[1], second)) {
    const auto otherwise = Expression::make(Operator::kNot, {inner[0]});
    folded = Expression::make(Operator::kSelect, {Expression::make(Operator::kLogicalAnd, {condition, otherwise}), inner[2], second});
    return &folded;
  }
  return nullptr;
}

struct Evaluator {
  const Bindings& bindings;
  Error error{};

  bool fail(std::string message) {
    error = Error{ErrorCode::kInvalidArgument, std::move(message)};
    return false;
  }

  bool evaluate(const Expression& e, Value& result) {
    const auto& node = e.node();
    switch (node.op) {
      case Operator::kConstant:
        result = node.value;
        return true;
      case Operator::kVariable:
        return variable(node.name, result);
      case Operator::kLogicalAnd:
      case Operator::kLogicalOr:
        return logic(node, result);
      case Operator::kSelect: {
        Value condition;
        return evaluate(node.operands[0], condition) && evaluate(node.operands[condition.boolean() ? 1 : 2], result);
      }
      default:
        return arithmetic(e, result);
    }
  }

  bool variable(const std::string& name, Value& result) {
    const auto found = bindings.find(name);
    if (found == bindings.end()) {
      return fail(fmt::format("'{}' has no value here", name));
    }
    result = found->second;
    return true;
  }

  bool logic(const Expression::Node& node, Value& result) {
    const bool decisive = node.op == Operator::kLogicalOr;
    for (const auto& operand : node.operands) {
      Value value;
      if (!evaluate(operand, value)) {
        return false;
      }
      if (value.boolean() == decisive) {
        result = decisive;
        return true;
      }
    }
    result = !decisive;
    return true;
  }

  bool arithmetic(const Expression& e, Value& result) {
    const auto& node = e.node();
    std::array<Value, 2> operands;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (!evaluate(node.operands[i], operands[i])) {
        return false;
      }
    }
    const char* problem = apply(node.op, std::span(operands).first(node.operands.size()), result);
    return problem == nullptr || fail(fmt::format("{} in '{}'", problem, e.text()));
  }
};

void collect_variables(const Expression& e, std::set<std::string>& names) {
  if (e.node().op == Operator::kVariable) {
    names.insert(e.node().name);
  }
  for (const auto& operand : e.node().operands) {
    collect_variables(operand, names);
  }
}

}  // namespace

Expression::Expression() {
  static const auto zero = std::make_shared<const Node>();
  node_ = zero;
}

Expression Expression::constant(Value value) {
  Node node;
  node.value = value;
  return Expression(std::make_shared<const Node>(std::move(node)));
}

Expression Expression::variable(std::string name) {
  Node node;
  node.op = Operator::kVariable;
  node.name = std::move(name);
  return Expression(std::make_shared<const Node>(std::move(node)));
}

Expression Expression::make(Operator op, std::vector<Expression> operands) {
  if (arity(op) == 0 || operands.size() != static_cast<std::size_t>(arity(op))) {
    throw ContractError(
        fmt::format("Expression::make: operator {} takes {} operands, not {}", static_cast<int>(op), arity(op), operands.size()));
  }
  if (op == Operator::kSelect) {
    Expression folded;
    if (const Expression* result = fold_select(operands, folded)) {
      return *result;
    }
  } else if (is_logic(op)) {
    Expression folded;
    if (const Expression* result = fold_logic(op, operands, folded)) {
      return *result;
    }
  } else if (std::all_of(operands.begin(), operands.end(), [](const Expression& e) { return e.is_constant(); })) {
    std::array<Value, 2> values;
    std::transform(operands.begin(), operands.end(), values.begin(), [](const Expression& e) { return e.node().value; });
    Value result;
    if (apply(op, std::span(values).first(operands.size()), result) == nullptr) {
      return constant(result);
    }
  }
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  for (const Expression& operand : node.operands) {
    node.depth = std::max(node.depth, operand.node().depth + 1);
    node.size = std::min(kUncountable, node.size + operand.node().size);
  }
  return Expression(std::make_shared<const Node>(std::move(node)));
}

Result<Value> Expression::evaluate(const Bindings& bindings) const {
  Evaluator evaluator{bindings};
  Value result;
  if (!evaluator.evaluate(*this, result)) {
    return std::move(evaluator.error);
  }
  return result;
}

Expression Expression::substitute(const Bindings& bindings) const {
  if (node_->op == Operator::kVariable) {
    const auto found = bindings.find(node_->name);
    return found == bindings.end() ? *this : constant(found->second);
  }
  if (node_->operands.empty()) {
    return *this;
  }
  std::vector<Expression> operands;
  operands.reserve(node_->operands.size());
  bool changed = false;
  for (const auto& operand : node_->operands) {
    operands.push_back(operand.substitute(bindings));
    changed = changed || operands.back().node_ != operand.node_;
  }
  return changed ? make(node_->op, std::move(operands)) : *this;
}

std::vector<std::string> Expression::variables() const {
  std::set<std::string> names;
  collect_variables(*this, names);
  return {names.begin(), names.end()};
}

}  // namespace hone
