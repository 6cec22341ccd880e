#pragma once
// What a search space is held against: its constraints, evaluated one after the other.

#include <algorithm>
#include <string>
#include <vector>

#include "engine/kernel/expression.hpp"
#include "engine/space/search_space.hpp"

namespace hone::test {

/// Says of a combination of values whether it meets all constraints; what cannot be computed is not met.
class Oracle {
 public:
  /// `known`: the values of names that are fixed.
  Oracle(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints, const Bindings& known = {})
      : parameters_(parameters) {
    for (const Constraint& constraint : constraints) {
      conditions_.push_back(constraint.condition.substitute(known));
    }
    for (const Parameter& parameter : parameters) {
      values_.push_back(&bindings_["c." + parameter.name]);
    }
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  bool operator()(const std::vector<std::uint16_t>& digits) {
    for (std::size_t p = 0; p < digits.size(); ++p) {
      *values_[p] = parameters_[p].values[digits[p]];
    }
    return std::ranges::all_of(conditions_, [&](const Expression& condition) {
      const Result<Value> value = condition.evaluate(bindings_);
      return value.ok() && value->boolean();
    });
  }

 private:
  const std::vector<Parameter>& parameters_;
  std::vector<Expression> conditions_;
  Bindings bindings_;
  std::vector<Value*> values_;  ///< of bindings_, by parameter
};

}  // namespace hone::test
