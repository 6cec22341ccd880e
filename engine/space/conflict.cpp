#include "engine/space/conflict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "engine/space/group_builder.hpp"

namespace hone::space {
namespace {

/// What a proof of contradiction may cost: a set that cannot be decided within it counts as satisfiable.
constexpr std::size_t kEffort = std::size_t{1} << 20;

/// "p.cols = 7": what the constraints say of things that are fixed, for the message.
std::string fixed_values(const std::vector<const Constraint*>& constraints, const Bindings& fixed) {
  std::set<std::string> texts;
  for (const Constraint* constraint : constraints) {
    for (const std::string& name : constraint->condition.variables()) {
      if (const auto at = fixed.find(name); at != fixed.end()) {
        texts.insert(fmt::format("{} = {}", name, at->second.text()));
      }
    }
  }
  return texts.empty() ? "" : fmt::format(" (here {})", fmt::join(texts, ", "));
}

/// The innermost sum or product of fixed values that 64 bits do not hold: C++ leaves undefined what it is, and constraints then fail
/// without anybody seeing why.
std::optional<Expression> overflowing(const Expression& expression, const Bindings& fixed) {
  const Expression::Node& node = expression.node();
  for (const Expression& operand : node.operands) {
    if (auto found = overflowing(operand, fixed)) {
      return found;
    }
  }
  if (node.op != Operator::kAdd && node.op != Operator::kSubtract && node.op != Operator::kMultiply) {
    return std::nullopt;
  }
  const Result<Value> whole = expression.evaluate(fixed), left = node.operands[0].evaluate(fixed), right = node.operands[1].evaluate(fixed);
  if (!whole || !left || !right || whole->kind() == Value::Kind::kReal) {
    return std::nullopt;  // real, or not of fixed values alone
  }
  const double a = left->real(), b = right->real();
  const double real = node.op == Operator::kAdd ? a + b : node.op == Operator::kSubtract ? a - b : a * b;
  return std::abs(real) >= 0x1p63 ? std::optional(expression) : std::nullopt;
}

std::string overflow_hint(const std::vector<const Constraint*>& constraints, const Bindings& fixed) {
  for (const Constraint* constraint : constraints) {
    if (const auto found = overflowing(constraint->condition, fixed)) {
      return fmt::format("; {} exceeds 64 bits: begin such a product with 1.0", found->text());
    }
  }
  return "";
}

}  // namespace

Error contradiction(const std::vector<Condition>& culprits, const Bindings& fixed) {
  std::vector<const Constraint*> constraints;
  for (const Condition& culprit : culprits) {
    if (std::ranges::find(constraints, culprit.source) == constraints.end()) {
      constraints.push_back(culprit.source);
    }
  }
  std::vector<std::string> texts;
  for (const Constraint* constraint : constraints) {
    texts.push_back(constraint->line > 0 ? fmt::format("'{}' (line {})", constraint->text, constraint->line)
                                         : fmt::format("'{}'", constraint->text));
  }
  return {ErrorCode::kEmptySpace,
          fmt::format("no configuration is valid: {} {}{}; change the shape, the values listed or the constraint{}{}",
                      fmt::join(texts, " and "), texts.size() == 1 ? "cannot be met" : "cannot be met together",
                      fixed_values(constraints, fixed), texts.size() == 1 ? "" : "s", overflow_hint(constraints, fixed))};
}

std::vector<Condition> minimal_conflict(Terms& terms, const std::vector<ParameterId>& order, std::vector<Condition> conditions) {
  // Deletion filter: what can be left out with the rest still contradicting itself is left out.
  const auto satisfiable_without = [&](std::size_t left_out) {
    std::vector<TermId> rest;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      if (i != left_out) {
        rest.push_back(conditions[i].term);
      }
    }
    const auto diagram = build_diagram(terms, order, rest, kEffort);
    return !diagram || diagram->root() != kDead;
  };
  for (std::size_t i = conditions.size(); i-- > 0;) {
    if (!satisfiable_without(i)) {
      conditions.erase(conditions.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return conditions;
}

}  // namespace hone::space
