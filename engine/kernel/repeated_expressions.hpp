#pragma once
// Expressions that are evaluated for one configuration after another, as those of a launch are for all members of a portfolio.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/kernel/expression.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "hone/configuration.hpp"

namespace hone {

/// Expressions as steps, of which each computes an operator. What several expressions share is one step, and what no parameter changes
/// is computed once.
class RepeatedExpressions {
 public:
  explicit RepeatedExpressions(const std::vector<Parameter>& parameters);

  /// The number of the expression, which must live as long as this.
  std::size_t add(const Expression& expression);

 private:
  friend class RepeatedValues;
  using Place = std::uint32_t;  ///< of a value
  struct Step {
    Operator op = Operator::kConstant;
    std::uint8_t operands = 0;
    std::array<Place, 3> from{};
    Place to = 0;
  };
  struct Node {
    const Expression::Node* expression = nullptr;
    bool varies = false;    ///< with the configuration
    std::size_t steps = 0;  ///< so many of its kind are run before its value is known
  };
  Place place_of(const Expression& expression);

  std::vector<std::string> parameters_;  ///< as variables
  std::unordered_map<const Expression::Node*, Place> places_;
  std::vector<Node> nodes_;
  std::vector<Step> once_, each_;                             ///< operands come before what is computed of them
  std::vector<std::pair<Place, std::size_t>> of_parameters_;  ///< variables, and which parameter each is
  std::vector<Place> others_;                                 ///< variables
  std::vector<Place> expressions_;
};

/// Their values under one set of bindings.
class RepeatedValues {
 public:
  /// `fixed`: the values of all variables but the parameters'. No expression is added any more; they must live as long as this.
  RepeatedValues(const RepeatedExpressions& expressions, const Bindings& fixed);

  /// The configuration that is asked about from now on.
  void choose(const Configuration& configuration);
  /// As Expression::evaluate; null where that fails.
  const Value* operator[](std::size_t expression);

 private:
  using Place = RepeatedExpressions::Place;
  void run(const RepeatedExpressions::Step& step);
  /// Whether there is a value.
  bool compute(const RepeatedExpressions::Step& step, Value& result) const;

  const RepeatedExpressions& expressions_;
  std::vector<Value> values_;
  std::vector<std::uint8_t> is_valid_;
  std::size_t done_ = 0;  ///< steps, for the configuration
};

}  // namespace hone
