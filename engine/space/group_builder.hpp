#pragma once
// From the constraints of one group of parameters to its diagram.

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/space/diagram.hpp"
#include "engine/space/residuals.hpp"

namespace hone::space {

/// Conditions that must all hold: sorted atoms, at most one set for a parameter, no conjunction.
using State = std::vector<Atom>;

/// Assigns parameters in one order. Nodes are shared by what is left of the constraints below them.
class GroupBuilder {
 public:
  /// `order`: the group's parameters from the root down.
  GroupBuilder(Residuals& residuals, const std::vector<Parameter>& parameters, std::vector<ParameterId> order);

  /// The diagram of the configurations for which all conditions hold; its root is kDead if there are none.
  /// Nothing where it would need more than `limit` states.
  std::optional<Diagram> build(const std::vector<Atom>& conditions, std::size_t limit);
  /// Whether any configuration meets the conditions. Stops at the first.
  bool satisfiable(const std::vector<Atom>& conditions);

 private:
  std::optional<State> conjoin(const std::vector<Atom>& conditions);
  std::optional<State> assign(const State& state, ParameterId parameter, std::size_t value);
  bool include(Atom condition, State& state);
  Node node(std::size_t level, const State& state);
  bool reaches_end(std::size_t level, const State& state);
  [[nodiscard]] std::size_t values(std::size_t level) const { return parameters_[order_[level]].values.size(); }

  Residuals& residuals_;
  const std::vector<Parameter>& parameters_;
  std::vector<ParameterId> order_;
  DiagramBuilder diagram_;
  std::vector<std::unordered_map<State, Node, RangeHash>> nodes_;
  std::vector<std::unordered_set<State, RangeHash>> dead_;
  std::size_t states_ = 0, limit_ = 0;
};

/// Parameters that a condition ties together, directly or through others, and the conditions over them.
struct Group {
  std::vector<ParameterId> parameters;  ///< in the order of declaration
  std::vector<std::size_t> conditions;  ///< indices into the conditions given
};
std::vector<Group> independent_groups(std::size_t parameters, const Residuals& residuals, const std::vector<Atom>& conditions);

/// An order that keeps few conditions open: next comes the parameter after which the fewest combinations are to be remembered.
std::vector<ParameterId> narrow_order(const std::vector<Parameter>& parameters, const Residuals& residuals, const Group& group,
                                      const std::vector<Atom>& conditions);

}  // namespace hone::space
