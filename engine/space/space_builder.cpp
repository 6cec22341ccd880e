#include "engine/space/space_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "engine/space/checks.hpp"
#include "engine/space/conflict.hpp"
#include "engine/space/group_builder.hpp"
#include "engine/space/order.hpp"

namespace hone::space {
namespace {

/// Branches that one group's construction may hold, some bytes each. Real kernels need thousands. The order of declaration is tried first.
constexpr std::size_t kDeclaredOrderLimit = std::size_t{1} << 19;
constexpr std::size_t kNarrowOrderLimit = std::size_t{1} << 21;
/// What a condition may cost to be kept where all together cost too much.
constexpr std::size_t kRelaxedLimit = std::size_t{1} << 18;
/// Partial configurations looked at for the first valid one, and how many places are tried for it.
constexpr std::size_t kFirstSteps = std::size_t{1} << 20, kPlaces = 64;

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

class Builder {
 public:
  Builder(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed, const BuildOptions& options)
      : fixed_(fixed), options_(options), parameters_(std::move(parameters)), terms_(parameters_) {
    const Bindings known = known_values(parameters_, fixed);
    for (const Constraint& constraint : constraints) {
      for (const Expression& conjunct : constraint.condition.substitute(known).conjuncts()) {
        const TermId term = terms_.condition(conjunct);
        if (term != Terms::kTrue) {
          conditions_.push_back({term, &constraint, conjunct.serialize()});
        }
      }
    }
  }

  Result<Product> run() {
    for (const Condition& condition : conditions_) {
      if (condition.term == Terms::kFalse) {
        return contradiction({condition}, fixed_);
      }
    }
    product_.walk.resize(parameters_.size());
    HONE_TRY(add_groups(conditions_, options_.may_defer));
    if (!deferred_.empty()) {
      HONE_TRY(add_lazy_tree());
    }
    product_.parameters = std::move(parameters_);
    return std::move(product_);
  }

 private:
  Result<void> add_groups(const std::vector<Condition>& conditions, bool may_relax) {
    for (const Group& group : independent_groups(terms_, terms_of(conditions))) {
      std::vector<Condition> own;
      for (const std::size_t i : group.conditions) {
        own.push_back(conditions[i]);
      }
      HONE_TRY(add_group(group.parameters, own, may_relax));
    }
    return {};
  }

  static std::vector<TermId> terms_of(const std::vector<Condition>& conditions) {
    std::vector<TermId> terms;
    std::ranges::transform(conditions, std::back_inserter(terms), &Condition::term);
    return terms;
  }

  Result<void> add_group(const std::vector<ParameterId>& members, const std::vector<Condition>& conditions, bool may_relax) {
    std::string made_of = description(members, conditions);
    if (const BuiltGroup* same = find_previous(made_of)) {
      ++product_.reused;
      add_built({same->diagram, shifted(same->order, members), std::move(made_of)}, members);
      return {};
    }
    std::optional<BuiltGroup> built = build(members, terms_of(conditions), kDeclaredOrderLimit, kNarrowOrderLimit);
    if (!built) {
      return may_relax ? relax(members, conditions) : invalid_space("its constraints connect too many parameters");
    }
    if (built->diagram->root() == kDead) {
      return options_.name_conflict ? contradiction(minimal_conflict(terms_, built->order, conditions), fixed_)
                                    : Error{ErrorCode::kEmptySpace, "no configuration is valid"};
    }
    built->made_of = std::move(made_of);
    add_built(std::move(*built), members);
    return {};
  }

  std::optional<BuiltGroup> build(const std::vector<ParameterId>& members, const std::vector<TermId>& conditions,
                                  std::size_t declared_limit, std::size_t narrow_limit) {
    std::vector<ParameterId> order = members;
    auto diagram = build_diagram(terms_, order, conditions, declared_limit);
    if (!diagram) {
      Group group{members, std::vector<std::size_t>(conditions.size())};
      for (std::size_t i = 0; i < conditions.size(); ++i) {
        group.conditions[i] = i;
      }
      order = narrow_order(terms_, group, conditions);
      diagram = build_diagram(terms_, order, conditions, narrow_limit);
    }
    return diagram ? std::optional(BuiltGroup{std::make_shared<const Diagram>(std::move(*diagram)), std::move(order), {}}) : std::nullopt;
  }

  /// Keeps the conditions that share well, those over few combinations first; what is left over is checked lazily.
  Result<void> relax(const std::vector<ParameterId>& members, std::vector<Condition> conditions) {
    const auto combinations = [this](const Condition& condition) {
      double product = 1.0;
      for (const ParameterId parameter : terms_[condition.term].free) {
        product *= static_cast<double>(parameters_[parameter].values.size());
      }
      return product;
    };
    std::ranges::stable_sort(conditions, {}, combinations);
    std::vector<Condition> kept;
    for (const Condition& condition : conditions) {
      kept.push_back(condition);
      const std::vector<TermId> terms = terms_of(kept);
      for (const Group& group : independent_groups(terms_, terms)) {
        if (!group.conditions.empty() && group.conditions.back() == kept.size() - 1 && !affordable(group, terms)) {
          deferred_.push_back(condition);
          kept.pop_back();
          break;
        }
      }
    }
    for (const Group& group : independent_groups(terms_, terms_of(kept))) {
      if (std::ranges::find(members, group.parameters.front()) != members.end()) {
        std::vector<Condition> own;
        for (const std::size_t i : group.conditions) {
          own.push_back(kept[i]);
        }
        HONE_TRY(add_group(group.parameters, own, false));
      }
    }
    return {};
  }

  bool affordable(const Group& group, const std::vector<TermId>& terms) {
    std::vector<TermId> own;
    for (const std::size_t i : group.conditions) {
      own.push_back(terms[i]);
    }
    return build(group.parameters, own, kRelaxedLimit, kRelaxedLimit).has_value();
  }

  /// The group's parameters by their place among its members, so that the same group elsewhere reads the same.
  [[nodiscard]] std::string description(const std::vector<ParameterId>& members, const std::vector<Condition>& conditions) const {
    std::string text;
    for (const ParameterId member : members) {
      text += parameters_[member].name + ":";
      for (const Value& value : parameters_[member].values) {
        text += value.text() + ",";
      }
    }
    for (const Condition& condition : conditions) {
      text += "\n" + condition.text;
    }
    return text;
  }

  [[nodiscard]] const BuiltGroup* find_previous(const std::string& made_of) const {
    if (options_.previous == nullptr) {
      return nullptr;
    }
    const auto at = std::ranges::find(options_.previous->groups, made_of, &BuiltGroup::made_of);
    return at == options_.previous->groups.end() ? nullptr : &*at;
  }

  /// An order of the previous space's parameters as one of these, which have the same names in the same order.
  [[nodiscard]] std::vector<ParameterId> shifted(const std::vector<ParameterId>& order, const std::vector<ParameterId>& members) const {
    std::vector<ParameterId> made;
    for (const ParameterId parameter : order) {
      const std::string& name = options_.previous->parameters[parameter].name;
      made.push_back(*std::ranges::find(members, name, [this](ParameterId member) { return parameters_[member].name; }));
    }
    return made;
  }

  void add_built(BuiltGroup built, const std::vector<ParameterId>& members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      product_.walk[members[i]] = {built.order[i], product_.groups.size()};
    }
    product_.groups.push_back(std::move(built));
  }

  Result<void> add_lazy_tree() {
    for (const Condition& condition : deferred_) {
      if (std::ranges::find(product_.deferred, condition.source->text) == product_.deferred.end()) {
        product_.deferred.push_back(condition.source->text);
      }
    }
    product_.lazy = std::make_unique<const LazyTree>(terms_, product_.walk, terms_of(deferred_));
    std::vector<const Diagram*> groups;
    std::ranges::transform(product_.groups, std::back_inserter(groups), [](const BuiltGroup& group) { return group.diagram.get(); });
    std::mt19937_64 random(0);
    Digits from(parameters_.size(), 0);
    for (std::size_t place = 0; place < kPlaces; ++place) {
      LazyTree::Found found = product_.lazy->next(product_.walk, groups, from, kFirstSteps / (place == 0 ? 1 : kPlaces));
      if (found.digits) {
        product_.witness = std::move(*found.digits);
        return {};
      }
      if (place == 0 && found.complete) {
        return contradiction(conditions_, fixed_);
      }
      for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<std::uint16_t>(random() % parameters_[i].values.size());
      }
    }
    return invalid_space(
        fmt::format("no valid configuration was found among {} candidates, and no proof that none exists: '{}' connects too many "
                    "parameters; list fewer values or simplify the constraint",
                    2 * kFirstSteps, product_.deferred.front()));
  }

  const Bindings& fixed_;
  const BuildOptions& options_;
  std::vector<Parameter> parameters_;
  Terms terms_;
  std::vector<Condition> conditions_, deferred_;
  Product product_;
};

}  // namespace

Result<Product> build_product(std::vector<Parameter> parameters, const std::vector<Constraint>& constraints, const Bindings& fixed,
                              const BuildOptions& options) {
  HONE_TRY(check_parameters(parameters));
  HONE_TRY(check_names(parameters, constraints, fixed));
  return Builder(std::move(parameters), constraints, fixed, options).run();
}

}  // namespace hone::space
