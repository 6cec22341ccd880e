#include "engine/space/conflict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
  return {ErrorCode::kEmptySpace, fmt::format("no configuration is valid: {} {}{}; change the shape, the values listed or the constraint{}",
                                              fmt::join(texts, " and "), texts.size() == 1 ? "cannot be met" : "cannot be met together",
                                              fixed_values(constraints, fixed), texts.size() == 1 ? "" : "s")};
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
