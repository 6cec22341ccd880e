#include "engine/space/group_builder.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace hone::space {

GroupBuilder::GroupBuilder(Residuals& residuals, const std::vector<Parameter>& parameters, std::vector<ParameterId> order)
    : residuals_(residuals), parameters_(parameters), order_(std::move(order)) {}

bool GroupBuilder::include(Atom condition, State& state) {
  Atom plain = residuals_.simplify(condition);
  if (plain == Residuals::kTrue || plain == Residuals::kFalse) {
    return plain == Residuals::kTrue;
  }
  if (residuals_.is_conjunction(plain)) {
    const auto [first, second] = residuals_.conjuncts(plain);
    return include(first, state) && include(second, state);
  }
  if (residuals_.is_set(plain)) {
    const auto same = std::ranges::find_if(
        state, [&](Atom atom) { return residuals_.is_set(atom) && residuals_.free(atom).front() == residuals_.free(plain).front(); });
    if (same != state.end()) {
      plain = residuals_.intersect(*same, plain);
      state.erase(same);
    }
    if (plain == Residuals::kFalse) {
      return false;
    }
  }
  state.push_back(plain);
  return true;
}

std::optional<State> GroupBuilder::conjoin(const std::vector<Atom>& conditions) {
  State state;
  for (const Atom condition : conditions) {
    if (!include(condition, state)) {
      return std::nullopt;
    }
  }
  std::ranges::sort(state);
  const auto repeated = std::ranges::unique(state);
  state.erase(repeated.begin(), repeated.end());
  return state;
}

std::optional<State> GroupBuilder::assign(const State& state, ParameterId parameter, std::size_t value) {
  std::vector<Atom> next;
  next.reserve(state.size());
  for (const Atom atom : state) {
    next.push_back(residuals_.substitute(atom, parameter, value));
    if (next.back() == Residuals::kFalse) {
      return std::nullopt;
    }
  }
  return conjoin(next);
}

Node GroupBuilder::node(std::size_t level, const State& state) {
  if (level == order_.size()) {
    return kEnd;
  }
  if (const auto at = nodes_[level].find(state); at != nodes_[level].end()) {
    return at->second;
  }
  if (++states_ > limit_) {
    return kDead;
  }
  std::vector<Node> children(values(level), kDead);
  for (std::size_t value = 0; value < children.size() && states_ <= limit_; ++value) {
    if (const std::optional<State> next = assign(state, order_[level], value)) {
      children[value] = node(level + 1, *next);
    }
  }
  const Node result = diagram_.add(children);
  nodes_[level].emplace(state, result);
  return result;
}

std::optional<Diagram> GroupBuilder::build(const std::vector<Atom>& conditions, std::size_t limit) {
  nodes_.assign(order_.size(), {});
  diagram_ = DiagramBuilder();
  states_ = 0;
  limit_ = limit;
  const std::optional<State> state = conjoin(conditions);
  const Node root = state ? node(0, *state) : kDead;
  nodes_.clear();
  if (states_ > limit_) {
    return std::nullopt;
  }
  return diagram_.finish(root);
}

bool GroupBuilder::reaches_end(std::size_t level, const State& state) {
  if (level == order_.size() || state.empty()) {
    return true;
  }
  if (dead_[level].contains(state)) {
    return false;
  }
  for (std::size_t value = 0; value < values(level); ++value) {
    const std::optional<State> next = assign(state, order_[level], value);
    if (next && reaches_end(level + 1, *next)) {
      return true;
    }
  }
  dead_[level].insert(state);
  return false;
}

bool GroupBuilder::satisfiable(const std::vector<Atom>& conditions) {
  dead_.assign(order_.size(), {});
  const std::optional<State> state = conjoin(conditions);
  return state && reaches_end(0, *state);
}

std::vector<Group> independent_groups(std::size_t parameters, const Residuals& residuals, const std::vector<Atom>& conditions) {
  std::vector<std::size_t> leader(parameters);  // of each parameter's group: its first member
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  for (const Atom condition : conditions) {
    const auto& tied = residuals.free(condition);
    for (const ParameterId parameter : tied) {
      const std::size_t from = leader[parameter], to = leader[tied.front()];
      std::ranges::replace(leader, std::max(from, to), std::min(from, to));
    }
  }
  std::vector<Group> groups(parameters);
  for (std::size_t parameter = 0; parameter < parameters; ++parameter) {
    groups[leader[parameter]].parameters.push_back(static_cast<ParameterId>(parameter));
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (!residuals.free(conditions[i]).empty()) {
      groups[leader[residuals.free(conditions[i]).front()]].conditions.push_back(i);
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.parameters.empty(); });
  return groups;
}

namespace {

/// Logarithm of the combinations of assigned parameters that a still-open condition may have to tell apart.
double open_combinations(const std::vector<Parameter>& parameters, const Residuals& residuals, const Group& group,
                         const std::vector<Atom>& conditions, const std::vector<bool>& assigned) {
  std::vector<bool> remembered(parameters.size(), false);
  for (const std::size_t i : group.conditions) {
    const auto& tied = residuals.free(conditions[i]);
    if (std::ranges::any_of(tied, [&](ParameterId parameter) { return !assigned[parameter]; })) {
      std::ranges::for_each(tied, [&](ParameterId parameter) { remembered[parameter] = remembered[parameter] || assigned[parameter]; });
    }
  }
  double sum = 0.0;
  for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    sum += remembered[parameter] ? std::log2(static_cast<double>(parameters[parameter].values.size())) : 0.0;
  }
  return sum;
}

}  // namespace

std::vector<ParameterId> narrow_order(const std::vector<Parameter>& parameters, const Residuals& residuals, const Group& group,
                                      const std::vector<Atom>& conditions) {
  std::vector<bool> assigned(parameters.size(), false);
  std::vector<ParameterId> order, left = group.parameters;
  while (!left.empty()) {
    const auto cost = [&](ParameterId candidate) {
      assigned[candidate] = true;
      const double combinations = open_combinations(parameters, residuals, group, conditions, assigned);
      assigned[candidate] = false;
      return combinations;
    };
    const auto next = std::ranges::min_element(left, {}, cost);
    assigned[*next] = true;
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

}  // namespace hone::space
