#pragma once
// Expressions that are evaluated for one configuration after another, as those of a launch are for all members of a portfolio.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/kernel/expression.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "hone/configuration.hpp"

namespace hone {

/// What no parameter changes is computed once, and what expressions share once for each configuration.
class RepeatedExpressions {
 public:
  /// `fixed`: the values of all variables but the parameters'.
  RepeatedExpressions(const std::vector<Parameter>& parameters, const Bindings& fixed);
  RepeatedExpressions(const RepeatedExpressions&) = delete;
  RepeatedExpressions& operator=(const RepeatedExpressions&) = delete;

  /// The configuration that is asked about from now on.
  void choose(const Configuration& configuration);
  /// As Expression::evaluate; nothing where that fails. The expression must live as long as this.
  std::optional<Value> evaluate(const Expression& expression);

 private:
  using Place = std::uint32_t;
  struct Node {
    const Expression::Node* expression = nullptr;
    std::array<Place, 3> operands{};
    const Value* bound = nullptr;  ///< of a variable or a constant; null: the variable has no value
    std::uint64_t known_at = 0;    ///< the choice for which `value` was computed; 0: none yet
    bool varies = false;           ///< with the configuration
    bool is_valid = false;
    Value value{};
  };
  Place place_of(const Expression& expression);
  /// Null where it fails.
  const Value* computed(Place place);
  bool compute(const Node& node, Value& result);

  Bindings bound_;
  std::vector<Value*> chosen_;  ///< of each parameter, what is bound
  std::unordered_map<const Expression::Node*, Place> places_;
  std::vector<Node> nodes_;
  std::uint64_t choices_ = 1;
};

}  // namespace hone
