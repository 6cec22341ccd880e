#include "engine/space/order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::space {

std::vector<Group> independent_groups(const Terms& terms, const std::vector<TermId>& conditions) {
  const std::size_t parameters = terms.parameters().size();
  std::vector<std::size_t> leader(parameters);  // of each parameter's group: its first member
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  for (const TermId condition : conditions) {
    const auto& tied = terms[condition].free;
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
    if (!terms[conditions[i]].free.empty()) {
      groups[leader[terms[conditions[i]].free.front()]].conditions.push_back(i);
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.parameters.empty(); });
  return groups;
}

namespace {

/// Logarithm of the combinations of assigned parameters that a still-open condition may have to tell apart.
double open_combinations(const Terms& terms, const Group& group, const std::vector<TermId>& conditions, const std::vector<bool>& assigned) {
  const std::vector<Parameter>& parameters = terms.parameters();
  std::vector<bool> remembered(parameters.size(), false);
  for (const std::size_t i : group.conditions) {
    const auto& tied = terms[conditions[i]].free;
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

std::vector<ParameterId> narrow_order(const Terms& terms, const Group& group, const std::vector<TermId>& conditions) {
  std::vector<bool> assigned(terms.parameters().size(), false);
  std::vector<ParameterId> order, left = group.parameters;
  while (!left.empty()) {
    const auto cost = [&](ParameterId candidate) {
      assigned[candidate] = true;
      const double combinations = open_combinations(terms, group, conditions, assigned);
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
