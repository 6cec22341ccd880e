#include "engine/kernel/repeated_expressions.hpp"

#include <algorithm>

#include "engine/kernel/arithmetic.hpp"

namespace hone {

RepeatedExpressions::RepeatedExpressions(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    parameters_.push_back("c." + parameter.name);
  }
}

std::size_t RepeatedExpressions::add(const Expression& expression) {
  expressions_.push_back(place_of(expression));
  return expressions_.size() - 1;
}

RepeatedExpressions::Place RepeatedExpressions::place_of(const Expression& expression) {
  const Expression::Node& node = expression.node();
  if (const auto known = places_.find(&node); known != places_.end()) {
    return known->second;
  }
  Step step{.op = node.op, .operands = static_cast<std::uint8_t>(node.operands.size())};
  Node made{.expression = &node};
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    step.from[i] = place_of(node.operands[i]);
    made.varies = made.varies || nodes_[step.from[i]].varies;
  }
  step.to = static_cast<Place>(nodes_.size());
  if (node.op == Operator::kVariable) {
    const auto parameter = std::ranges::find(parameters_, node.name);
    made.varies = parameter != parameters_.end();
    if (made.varies) {
      of_parameters_.emplace_back(step.to, static_cast<std::size_t>(parameter - parameters_.begin()));
    } else {
      others_.push_back(step.to);
    }
  } else if (node.op != Operator::kConstant) {
    std::vector<Step>& steps = made.varies ? each_ : once_;
    steps.push_back(step);
    made.steps = made.varies ? steps.size() : 0;
  }
  nodes_.push_back(made);
  places_.emplace(&node, step.to);
  return step.to;
}

RepeatedValues::RepeatedValues(const RepeatedExpressions& expressions, const Bindings& fixed)
    : expressions_(expressions), values_(expressions.nodes_.size()), is_valid_(expressions.nodes_.size(), 1) {
  for (std::size_t place = 0; place < values_.size(); ++place) {
    values_[place] = expressions.nodes_[place].expression->value;
  }
  for (const Place place : expressions.others_) {
    const auto bound = fixed.find(expressions.nodes_[place].expression->name);
    is_valid_[place] = bound != fixed.end() ? 1 : 0;
    values_[place] = bound != fixed.end() ? bound->second : Value();
  }
  std::ranges::for_each(expressions.once_, [this](const RepeatedExpressions::Step& step) { run(step); });
}

void RepeatedValues::choose(const Configuration& configuration) {
  for (const auto& [place, parameter] : expressions_.of_parameters_) {
    values_[place] = configuration.values.at(parameter);
  }
  done_ = 0;
}

const Value* RepeatedValues::operator[](std::size_t expression) {
  const Place place = expressions_.expressions_.at(expression);
  for (; done_ < expressions_.nodes_[place].steps; ++done_) {
    run(expressions_.each_[done_]);
  }
  return is_valid_[place] != 0 ? &values_[place] : nullptr;
}

void RepeatedValues::run(const RepeatedExpressions::Step& step) { is_valid_[step.to] = compute(step, values_[step.to]) ? 1 : 0; }

bool RepeatedValues::compute(const RepeatedExpressions::Step& step, Value& result) const {
  const auto is_valid = [&](std::size_t operand) { return is_valid_[step.from[operand]] != 0; };
  const Value& first = values_[step.from[0]];
  if (!is_valid(0)) {
    return false;
  }
  if (step.op == Operator::kSelect) {
    const std::size_t chosen = first.boolean() ? 1 : 2;
    result = values_[step.from[chosen]];
    return is_valid(chosen);
  }
  if (kernel::is_logic(step.op)) {
    // Of `a && b` and `a || b` the second counts only where the first does not decide.
    const bool is_decided = first.boolean() == (step.op == Operator::kLogicalOr);
    result = is_decided ? first.boolean() : values_[step.from[1]].boolean();
    return is_decided || is_valid(1);
  }
  if (step.operands == 1) {
    return kernel::apply(step.op, first, result) == nullptr;
  }
  return is_valid(1) && kernel::apply(step.op, first, values_[step.from[1]], result) == nullptr;
}

}  // namespace hone
