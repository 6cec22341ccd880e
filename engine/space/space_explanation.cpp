#include "engine/space/space_explanation.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/space/checks.hpp"
#include "engine/space/space_builder.hpp"

namespace hone {
namespace {

/// Spaces built in the search for a smaller contradiction.
constexpr std::size_t kMostTries = 2000;

class Explainer {
 public:
  Explainer(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints, const Bindings& fixed,
            const std::vector<Constraint>& expectations)
      : parameters_(parameters), conditions_(constraints), constraint_count_(constraints.size()), fixed_(fixed) {
    conditions_.insert(conditions_.end(), expectations.begin(), expectations.end());
  }

  SpaceExplanation run() {
    SpaceExplanation made;
    made.cartesian = 1;
    for (const Parameter& parameter : parameters_) {
      made.cartesian *= parameter.values.size();
    }
    std::vector<std::size_t> all(constraint_count_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    made.valid = count(all);
    for (const std::size_t i : all) {
      made.effects.push_back(effect(i, made.cartesian, {}, without(all, i), made.valid));
    }
    if (made.valid == Count{0}) {
      made.conflict = minimal(all);
      made.conflict_is_smallest = shrink(made.conflict);
      return made;
    }
    add_expectations(made, all);
    return made;
  }

 private:
  static std::vector<std::size_t> without(std::vector<std::size_t> set, std::size_t element) {
    std::erase(set, element);
    return set;
  }

  /// `whole`: how many there are with `base` alone; `others`: all that holds but for condition i; `left`: how many with all.
  ConstraintEffect effect(std::size_t i, std::optional<Count> whole, std::vector<std::size_t> base, const std::vector<std::size_t>& others,
                          std::optional<Count> left) {
    base.push_back(i);
    const std::optional<Count> alone = count(base), rest = count(others);
    return {.text = conditions_[i].text,
            .line = conditions_[i].line,
            .parameters = tied(conditions_[i]),
            .comment = conditions_[i].comment,
            .removes_alone = alone && whole ? std::optional(*whole - *alone) : std::nullopt,
            .removes_last = rest && left ? std::optional(*rest - *left) : std::nullopt};
  }

  void add_expectations(SpaceExplanation& made, const std::vector<std::size_t>& constraints) {
    std::vector<std::size_t> all(conditions_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    made.likely = all.size() == constraints.size() ? made.valid : count(all);
    for (std::size_t i = constraints.size(); i < all.size(); ++i) {
      made.expectations.push_back(effect(i, made.valid, constraints, without(all, i), made.likely));
    }
    if (made.likely == Count{0}) {
      for (const std::size_t i : minimal(all)) {
        if (i >= constraint_count_) {
          made.disagreement.push_back(i - constraint_count_);
        }
      }
    }
  }

  [[nodiscard]] std::vector<std::string> tied(const Constraint& constraint) const {
    const std::vector<std::string> names = constraint.condition.substitute(fixed_).variables();
    std::vector<std::string> found;
    for (const Parameter& parameter : parameters_) {
      if (std::ranges::binary_search(names, "c." + parameter.name)) {
        found.push_back(parameter.name);
      }
    }
    return found;
  }

  /// Configurations that meet these constraints; nothing where sharing fails.
  std::optional<Count> count(const std::vector<std::size_t>& chosen) {
    ++tries_;
    std::vector<Constraint> constraints;
    for (const std::size_t i : chosen) {
      constraints.push_back(conditions_[i]);
    }
    const auto product = space::build_product(parameters_, constraints, fixed_, {.name_conflict = false, .may_defer = false});
    if (!product) {
      return product.error().code == ErrorCode::kEmptySpace ? std::optional<Count>(0) : std::nullopt;
    }
    Count size = 1;
    for (const space::BuiltGroup& group : product->groups) {
      size *= group.diagram->count(group.diagram->root());
    }
    return size;
  }

  bool contradict(const std::vector<std::size_t>& chosen) { return count(chosen) == Count{0}; }

  /// Deletion filter: what can be left out with the rest still contradicting itself is left out.
  std::vector<std::size_t> minimal(std::vector<std::size_t> set) {
    for (std::size_t i = set.size(); i-- > 0;) {
      std::vector<std::size_t> fewer = without(set, set[i]);
      if (contradict(fewer)) {
        set = std::move(fewer);
      }
    }
    return set;
  }

  /// Tries every set that is smaller by one: a contradiction of fewer constraints lies within one of these. False where that is too many.
  bool shrink(std::vector<std::size_t>& conflict) {
    while (conflict.size() > 1) {
      std::optional<std::vector<std::size_t>> smaller;
      std::vector<std::size_t> chosen;
      if (!search(0, conflict.size() - 1, chosen, smaller)) {
        return false;
      }
      if (!smaller) {
        return true;
      }
      conflict = minimal(*smaller);
    }
    return true;
  }

  /// All sets of `size` constraints from `first` on, added to `chosen`. False if the tries are used up.
  bool search(std::size_t first, std::size_t size, std::vector<std::size_t>& chosen, std::optional<std::vector<std::size_t>>& found) {
    if (size == 0) {
      if (tries_ >= kMostTries) {
        return false;
      }
      if (contradict(chosen)) {
        found = chosen;
      }
      return true;
    }
    for (std::size_t i = first; i + size <= constraint_count_ && !found; ++i) {
      chosen.push_back(i);
      const bool within = search(i + 1, size - 1, chosen, found);
      chosen.pop_back();
      if (!within) {
        return false;
      }
    }
    return true;
  }

  const std::vector<Parameter>& parameters_;
  std::vector<Constraint> conditions_;  ///< the constraints, then the expectations
  std::size_t constraint_count_;
  const Bindings& fixed_;
  std::size_t tries_ = 0;
};

}  // namespace

Result<SpaceExplanation> explain(const std::vector<Parameter>& parameters, const std::vector<Constraint>& constraints,
                                 const Bindings& fixed, const std::vector<Constraint>& expectations) {
  HONE_TRY(space::check_parameters(parameters));
  HONE_TRY(space::check_names(parameters, constraints, fixed));
  HONE_TRY(space::check_names(parameters, expectations, fixed));
  return Explainer(parameters, constraints, fixed, expectations).run();
}

}  // namespace hone
