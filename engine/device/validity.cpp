#include "engine/device/validity.hpp"

#include <algorithm>

namespace hone {
namespace {

std::vector<std::size_t> add_conditions(const std::vector<Constraint>& constraints, RepeatedExpressions& expressions) {
  std::vector<std::size_t> conditions;
  for (const Constraint& constraint : constraints) {
    conditions.push_back(expressions.add(constraint.condition));
  }
  return conditions;
}

Bindings fixed(const Problem& problem, const DeviceInfo& device) {
  Bindings bound = bindings(problem);
  bound.merge(bindings(device));
  return bound;
}

}  // namespace

Validity::Validity(const KernelSpec& spec, const std::vector<Constraint>& constraints, const Problem& problem, const DeviceInfo& device)
    : expressions_(spec.parameters),
      conditions_(add_conditions(constraints, expressions_)),
      values_(expressions_, fixed(problem, device)) {}

bool Validity::operator()(const Configuration& configuration) {
  values_.choose(configuration);
  return std::ranges::all_of(conditions_, [this](std::size_t condition) {
    const Value* const met = values_[condition];
    return met != nullptr && met->boolean();
  });
}

}  // namespace hone
