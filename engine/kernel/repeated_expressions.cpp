#include "engine/kernel/repeated_expressions.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "engine/kernel/arithmetic.hpp"

namespace hone {

RepeatedExpressions::RepeatedExpressions(const std::vector<Parameter>& parameters, const Bindings& fixed) : bound_(fixed) {
  for (const Parameter& parameter : parameters) {
    chosen_.push_back(&bound_["c." + parameter.name]);
  }
}

void RepeatedExpressions::choose(const Configuration& configuration) {
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    *chosen_[i] = configuration.values.at(i);
  }
  ++choices_;
}

std::optional<Value> RepeatedExpressions::evaluate(const Expression& expression) {
  const Value* const value = computed(place_of(expression));
  return value == nullptr ? std::nullopt : std::optional(*value);
}

RepeatedExpressions::Place RepeatedExpressions::place_of(const Expression& expression) {
  const Expression::Node& node = expression.node();
  if (const auto known = places_.find(&node); known != places_.end()) {
    return known->second;
  }
  Node made{.expression = &node};
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    made.operands[i] = place_of(node.operands[i]);
    made.varies = made.varies || nodes_[made.operands[i]].varies;
  }
  if (node.op == Operator::kConstant) {
    made.bound = &node.value;
  } else if (const auto bound = bound_.find(node.name); node.op == Operator::kVariable && bound != bound_.end()) {
    made.bound = &bound->second;
    made.varies = std::ranges::find(chosen_, &bound->second) != chosen_.end();
  }
  nodes_.push_back(made);
  const auto place = static_cast<Place>(nodes_.size() - 1);
  places_.emplace(&node, place);
  return place;
}

const Value* RepeatedExpressions::computed(Place place) {
  Node& node = nodes_[place];
  if (node.known_at == 0 || (node.varies && node.known_at != choices_)) {
    node.is_valid = compute(node, node.value);
    node.known_at = choices_;
  }
  return node.is_valid ? &node.value : nullptr;
}

bool RepeatedExpressions::compute(const Node& node, Value& result) {
  const Operator op = node.expression->op;
  if (op == Operator::kConstant || op == Operator::kVariable) {
    result = node.bound == nullptr ? Value() : *node.bound;
    return node.bound != nullptr;
  }
  const Value* const first = computed(node.operands[0]);
  if (first == nullptr) {
    return false;
  }
  if (op == Operator::kSelect || kernel::is_logic(op)) {
    // Of `a && b` and `a || b` the second is only asked where the first does not decide.
    const bool is_decided = kernel::is_logic(op) && first->boolean() == (op == Operator::kLogicalOr);
    const Value* const chosen = is_decided ? first : computed(node.operands[op == Operator::kSelect && !first->boolean() ? 2 : 1]);
    if (chosen != nullptr) {
      result = op == Operator::kSelect ? *chosen : Value(chosen->boolean());
    }
    return chosen != nullptr;
  }
  std::array<Value, 2> operands{*first};
  const std::size_t count = node.expression->operands.size();
  if (count == 2) {
    const Value* const second = computed(node.operands[1]);
    if (second == nullptr) {
      return false;
    }
    operands[1] = *second;
  }
  return kernel::apply(op, std::span(operands).first(count), result) == nullptr;
}

}  // namespace hone
