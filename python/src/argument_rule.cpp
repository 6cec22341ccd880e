#include "python/src/argument_rule.hpp"

#include <algorithm>

namespace hone::python {
namespace {

/// Adds the factors of a product of extents and numbers; false: it is another expression.
bool add_factors(const Expression& expression, const std::vector<std::string>& names, std::vector<Factor>& factors) {
  const Expression::Node& node = expression.node();
  switch (node.op) {
    case Operator::kConstant:
      if (node.value.integer() != 1) {
        factors.push_back({.extent = -1, .number = node.value.integer()});
      }
      return node.value.kind() == Value::Kind::kInteger;
    case Operator::kVariable: {
      const auto found = std::ranges::find(names, node.name.starts_with("p.") ? node.name.substr(2) : node.name);
      factors.push_back({.extent = static_cast<int>(found - names.begin())});
      return found != names.end();
    }
    case Operator::kToInteger:
      return add_factors(node.operands[0], names, factors);
    case Operator::kMultiply:
      return add_factors(node.operands[0], names, factors) && add_factors(node.operands[1], names, factors);
    default:
      return false;
  }
}

/// The branch that is left of conditions which are known.
Expression taken_branch(Expression expression) {
  while (expression.node().op == Operator::kSelect && expression.node().operands[0].is_constant()) {
    const Expression::Node& node = expression.node();
    expression = Expression(node.operands[node.operands[0].node().value.boolean() ? 1 : 2]);
  }
  return expression;
}

ArgumentRule make_rule(const Argument& argument, const std::vector<std::string>& names, const Bindings& fixed) {
  ArgumentRule rule{.argument = argument};
  rule.name = PyUnicode_InternFromString(argument.name.c_str());
  rule.scalar = argument.direction == Direction::kScalar;
  rule.output = argument.direction == Direction::kOut;
  const Expression extent = taken_branch(argument.extent.substitute(fixed));
  rule.optional = argument.direction == Direction::kIn && extent.is_constant() && !argument.extent.is_constant();
  std::vector<Factor> factors;
  if (!rule.scalar && !rule.optional && add_factors(extent, names, factors)) {
    if (argument.lanes > 1) {
      factors.push_back({.extent = -1, .number = argument.lanes});
    }
    rule.factors = std::move(factors);
  }
  return rule;
}

}  // namespace

bool ArgumentRule::infer_axes(const Tensor& tensor, std::span<std::int64_t> extents) const {
  if (!factors || factors->empty() || tensor.axes < static_cast<int>(factors->size())) {
    return true;
  }
  const auto folded = static_cast<std::size_t>(tensor.axes) - factors->size();  // leading axes that belong to the first factor
  std::array<std::pair<int, std::int64_t>, Tensor::kMostAxes> told;
  std::size_t count = 0;
  for (std::size_t f = 0; f < factors->size(); ++f) {
    const Factor& factor = (*factors)[f];
    std::int64_t size = tensor.shape[folded + f];
    for (std::size_t axis = 0; f == 0 && axis < folded; ++axis) {
      size *= tensor.shape[axis];
    }
    const std::int64_t known = factor.extent < 0 ? factor.number : extents[factor.extent];
    const auto twice = std::find_if(told.begin(), told.begin() + count, [&](const auto& one) { return one.first == factor.extent; });
    if ((known != kUnknown && known != size) || (known == kUnknown && twice != told.begin() + count && twice->second != size)) {
      return false;
    }
    if (known == kUnknown) {
      told[count++] = {factor.extent, size};
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    extents[told[i].first] = told[i].second;
  }
  return true;
}

void ArgumentRule::infer_count(const Tensor& tensor, std::span<std::int64_t> extents) const {
  std::int64_t known = 1;
  int unknown = -1;
  for (const Factor& factor : factors ? std::span<const Factor>(*factors) : std::span<const Factor>()) {
    const std::int64_t size = factor.extent < 0 ? factor.number : extents[factor.extent];
    if (size == kUnknown && unknown >= 0) {
      return;
    }
    size == kUnknown ? static_cast<void>(unknown = factor.extent) : static_cast<void>(known *= size);
  }
  if (unknown >= 0 && known > 0 && tensor.elements() % known == 0) {
    extents[unknown] = tensor.elements() / known;
  }
}

bool ArgumentRule::has_count(const Tensor& tensor, std::span<const std::int64_t> extents) const {
  if (!factors) {
    return true;  // the launch holds its bytes against the extent
  }
  std::int64_t count = 1;
  for (const Factor& factor : *factors) {
    count *= factor.extent < 0 ? factor.number : extents[factor.extent];
  }
  return tensor.elements() == count;
}

ArgumentRules make_rules(const KernelSpec& spec, const std::vector<std::string>& names, const Bindings& fixed) {
  ArgumentRules all;
  const auto add = [&](auto belongs) {
    std::size_t place = 0;
    for (const Argument& argument : spec.arguments) {
      if (argument.direction == Direction::kWorkspace) {
        continue;
      }
      if (belongs(argument.direction)) {
        all.rules.push_back(make_rule(argument, names, fixed));
        all.places.push_back(place);
      }
      ++place;
    }
  };
  add([](Direction direction) { return direction == Direction::kIn || direction == Direction::kInOut; });
  all.inputs = all.rules.size();
  add([](Direction direction) { return direction == Direction::kOut; });
  all.outputs = all.rules.size() - all.inputs;
  add([](Direction direction) { return direction == Direction::kScalar; });
  return all;
}

}  // namespace hone::python
