#include "python/src/argument_rule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// Of an axis; kUnknown: nothing told it.
std::int64_t size_of(const Factor& factor, std::span<const std::int64_t> extents) {
  return factor.extent < 0 ? factor.number : extents[static_cast<std::size_t>(factor.extent)];
}

/// The size of the axis of a factor, after leading axes were folded into the first one.
std::int64_t axis_of(const Tensor& tensor, std::size_t factor, std::size_t folded) {
  std::int64_t size = tensor.shape[folded + factor];
  for (std::size_t axis = 0; factor == 0 && axis < folded; ++axis) {
    size *= tensor.shape[axis];
  }
  return size;
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
    const std::int64_t size = axis_of(tensor, f, folded);
    const std::int64_t known = size_of(factor, extents);
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
    const std::int64_t size = size_of(factor, extents);
    if (size == kUnknown && unknown >= 0) {
      return;
    }
    size == kUnknown ? static_cast<void>(unknown = factor.extent) : static_cast<void>(known *= size);
  }
  if (unknown >= 0 && known > 0 && tensor.elements() % known == 0) {
    extents[unknown] = tensor.elements() / known;
  }
}

bool ArgumentRule::is_told(std::span<const std::int64_t> extents) const {
  return !factors || std::ranges::none_of(*factors, [&](const Factor& factor) { return size_of(factor, extents) == kUnknown; });
}

bool ArgumentRule::fits(const Tensor& tensor, std::span<const std::int64_t> extents, std::span<const std::int64_t> named) const {
  if (!factors) {
    return true;  // the launch holds its bytes against the extent
  }
  std::int64_t count = 1;
  for (const Factor& factor : *factors) {
    count *= size_of(factor, extents);
  }
  if (tensor.elements() != count || is_told(named) || tensor.axes < static_cast<int>(factors->size())) {
    return tensor.elements() == count;
  }
  const std::size_t folded = static_cast<std::size_t>(tensor.axes) - factors->size();
  for (std::size_t f = 0; f < factors->size(); ++f) {
    if (axis_of(tensor, f, folded) != size_of((*factors)[f], extents)) {
      return false;
    }
  }
  return true;
}

std::string ArgumentRule::wanted(std::span<const std::int64_t> extents, const std::vector<std::string>& names) const {
  std::vector<std::string> axes;
  for (const Factor& factor : factors ? std::span<const Factor>(*factors) : std::span<const Factor>()) {
    const std::int64_t size = size_of(factor, extents);
    axes.push_back(size == kUnknown ? names[static_cast<std::size_t>(factor.extent)] : fmt::format("{}", size));
  }
  return fmt::format("({})", fmt::join(axes, ", "));
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
