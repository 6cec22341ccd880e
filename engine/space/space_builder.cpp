#include "engine/space/space_builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "engine/space/group_builder.hpp"
#include "hone/names.hpp"

namespace hone::space {
namespace {

/// States of one group's construction, some hundred bytes each. Real kernels need thousands.
constexpr std::size_t kStateLimit = std::size_t{1} << 21;
/// In the order of declaration, which is tried first, a group may need this many before another order is tried.
constexpr std::size_t kDeclaredOrderLimit = std::size_t{1} << 17;
constexpr std::size_t kMostValues = std::size_t{1} << 16;

/// One conjunct of a constraint, with what is fixed put in.
struct Condition {
  Atom atom = Residuals::kTrue;
  const Constraint* source = nullptr;
};

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, "search space: " + std::move(message)}; }

Result<void> check_parameter(const Parameter& parameter) {
  if (parameter.values.empty() || parameter.values.size() > kMostValues) {
    return invalid(fmt::format("parameter '{}' has {} values; give it 1 to {}", parameter.name, parameter.values.size(), kMostValues));
  }
  std::set<std::string> texts;
  for (const Value& value : parameter.values) {
    if (!texts.insert(value.text()).second) {
      return invalid(fmt::format("parameter '{}' lists the value {} twice", parameter.name, value.text()));
    }
  }
  return {};
}

Result<void> check_parameters(const std::vector<Parameter>& parameters) {
  std::set<std::string> names;
  Count cartesian = 1;
  for (const Parameter& parameter : parameters) {
    HONE_TRY(check_parameter(parameter));
    if (!names.insert(parameter.name).second) {
      return invalid(fmt::format("parameter '{}' is declared twice", parameter.name));
    }
    if (cartesian > (~Count{0} >> 1) / parameter.values.size()) {
      return invalid(fmt::format("more than 2^127 combinations with parameter '{}'; list fewer values", parameter.name));
    }
    cartesian *= parameter.values.size();
  }
  return {};
}

Result<void> check_names(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints, const Bindings& fixed) {
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters) {
    known.push_back("c." + parameter.name);
  }
  for (const auto& [name, value] : fixed) {
    known.push_back(name);
  }
  for (const Constraint& constraint : constraints) {
    for (const std::string& name : constraint.condition.variables()) {
      if (std::ranges::find(known, name) == known.end()) {
        return Error{ErrorCode::kBadKernel,
                     fmt::format("line {}: constraint '{}': {}", constraint.line, constraint.text, unknown_name("name", name, known))};
      }
    }
  }
  return {};
}

/// What is fixed, and parameters that have no choice.
Bindings known_values(const std::vector<Parameter>& parameters, const Bindings& fixed) {
  Bindings known = fixed;
  for (const Parameter& parameter : parameters) {
    if (parameter.values.size() == 1) {
      known.insert_or_assign("c." + parameter.name, parameter.values.front());
    }
  }
  return known;
}

std::vector<Condition> conditions_of(const std::vector<Constraint>& constraints, const Bindings& known, Residuals& residuals) {
  std::vector<Condition> conditions;
  for (const Constraint& constraint : constraints) {
    for (const Expression& conjunct : constraint.condition.substitute(known).conjuncts()) {
      const Atom atom = residuals.simplify(residuals.intern(conjunct));
      if (atom != Residuals::kTrue) {
        conditions.push_back({atom, &constraint});
      }
    }
  }
  return conditions;
}

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

/// Deletion filter: what can be left out with the rest still contradicting itself is left out.
std::vector<Condition> minimal_conflict(std::vector<Condition> conditions, GroupBuilder& builder) {
  const auto satisfiable_without = [&](std::size_t left_out) {
    std::vector<Atom> atoms;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      if (i != left_out) {
        atoms.push_back(conditions[i].atom);
      }
    }
    return builder.satisfiable(atoms);
  };
  for (std::size_t i = conditions.size(); i-- > 0;) {
    if (!satisfiable_without(i)) {
      conditions.erase(conditions.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return conditions;
}

/// A group's diagram and the order of its levels.
struct Built {
  Diagram diagram;
  std::vector<ParameterId> order;
};

Result<Built> build_group(const std::vector<Parameter>& parameters, Residuals& residuals, const Group& group,
                          const std::vector<Condition>& conditions, const Bindings& fixed) {
  std::vector<Atom> atoms, all;
  std::vector<Condition> own;
  std::ranges::transform(conditions, std::back_inserter(all), &Condition::atom);
  for (const std::size_t i : group.conditions) {
    atoms.push_back(all[i]);
    own.push_back(conditions[i]);
  }
  std::vector<ParameterId> order = group.parameters;
  auto diagram = GroupBuilder(residuals, parameters, order).build(atoms, kDeclaredOrderLimit);
  if (!diagram) {
    order = narrow_order(parameters, residuals, group, all);
    diagram = GroupBuilder(residuals, parameters, order).build(atoms, kStateLimit);
  }
  if (!diagram) {
    return invalid(fmt::format(
        "its constraints tie parameters '{}' to '{}' together in more than {} ways; list fewer values or simplify the constraints",
        parameters[group.parameters.front()].name, parameters[group.parameters.back()].name, kStateLimit));
  }
  if (diagram->root() == kDead) {
    GroupBuilder builder(residuals, parameters, order);
    return contradiction(minimal_conflict(std::move(own), builder), fixed);
  }
  return Built{std::move(*diagram), std::move(order)};
}

}  // namespace

Result<Product> build_product(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed) {
  HONE_TRY(check_parameters(parameters));
  HONE_TRY(check_names(parameters, constraints, fixed));
  Residuals residuals(parameters);
  const std::vector<Condition> conditions = conditions_of(constraints, known_values(parameters, fixed), residuals);
  std::vector<Atom> atoms;
  for (const Condition& condition : conditions) {
    if (condition.atom == Residuals::kFalse) {
      return contradiction({condition}, fixed);
    }
    atoms.push_back(condition.atom);
  }
  Product product;
  product.walk.resize(parameters.size());
  for (const Group& group : independent_groups(parameters.size(), residuals, atoms)) {
    HONE_ASSIGN(Built built, build_group(parameters, residuals, group, conditions, fixed));
    for (std::size_t i = 0; i < built.order.size(); ++i) {
      product.walk[group.parameters[i]] = {built.order[i], product.groups.size()};
    }
    product.groups.push_back(std::move(built.diagram));
  }
  product.parameters = std::move(parameters);
  return product;
}

namespace {

using Rows = std::vector<std::vector<std::uint16_t>>;

/// The node of sorted rows [first, last), which agree before `level`.
Node node_of_rows(const std::vector<Parameter>& parameters, std::size_t level, Rows::const_iterator first, Rows::const_iterator last,
                  DiagramBuilder& diagram) {
  if (level == parameters.size()) {
    return kEnd;
  }
  std::vector<Node> children(parameters[level].values.size(), kDead);
  while (first != last) {
    const std::uint16_t value = (*first)[level];
    const auto next = std::find_if(first, last, [&](const auto& row) { return row[level] != value; });
    children[value] = node_of_rows(parameters, level + 1, first, next, diagram);
    first = next;
  }
  return diagram.add(children);
}

}  // namespace

Result<Product> product_of_rows(std::vector<Parameter> parameters, const Rows& rows) {
  HONE_TRY(check_parameters(parameters));
  if (rows.empty()) {
    return Error{ErrorCode::kEmptySpace, "search space: no rows were given, so no configuration is valid"};
  }
  for (const auto& row : rows) {
    if (row.size() != parameters.size()) {
      return invalid(fmt::format("a row has {} values where there are {} parameters", row.size(), parameters.size()));
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] >= parameters[i].values.size()) {
        return invalid(
            fmt::format("a row names value {} of parameter '{}', which has {}", row[i], parameters[i].name, parameters[i].values.size()));
      }
    }
  }
  Rows sorted = rows;
  std::ranges::sort(sorted);
  DiagramBuilder diagram;
  const Node root = node_of_rows(parameters, 0, sorted.begin(), sorted.end(), diagram);
  Product product;
  product.groups.push_back(diagram.finish(root));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    product.walk.push_back({i, 0});
  }
  product.parameters = std::move(parameters);
  return product;
}

}  // namespace hone::space
