#include "engine/space/lazy_tree.hpp"

#include <algorithm>
#include <utility>

namespace hone::space {

LazyTree::LazyTree(const Terms& terms, const std::vector<Step>& walk, const std::vector<TermId>& conditions)
    : level_of_(walk.size()), checks_(walk.size() + 1) {
  for (std::size_t level = 0; level < walk.size(); ++level) {
    level_of_[walk[level].parameter] = level;
  }
  for (const TermId condition : conditions) {
    for (const ParameterId parameter : terms[condition].free) {
      const std::size_t cut = level_of_[parameter] + 1;
      checks_[cut].push_back(compile(terms, condition, cut));
    }
    whole_.push_back(compile(terms, condition, walk.size()));
  }
}

Program::Node LazyTree::compile(const Terms& terms, TermId term, std::size_t cut) {
  const Term& it = terms[term];
  const auto below = [&](ParameterId parameter) { return level_of_[parameter] >= cut; };
  if (it.kind == Term::Kind::kFailed) {
    return program_.failure();
  }
  if (it.kind == Term::Kind::kConstant) {
    return program_.constant(it.value);
  }
  if (std::ranges::all_of(it.free, below)) {
    return program_.bounded(it.bounds, it.numbers == Numbers::kIntegers);
  }
  if (it.kind == Term::Kind::kVariable) {
    return program_.choice(level_of_[it.parameter], terms.parameters()[it.parameter].values, it.plain);
  }
  std::vector<Program::Node> operands;
  for (const TermId operand : it.operands) {
    operands.push_back(compile(terms, operand, cut));
  }
  if (!terms.is_flat(term)) {
    return program_.operation(it.op, operands, it.numbers == Numbers::kIntegers);
  }
  Program::Node node = operands.front();
  for (const Program::Node operand : std::span(operands).subspan(1)) {
    node = program_.operation(it.op, {node, operand}, true);
  }
  return node;
}

bool LazyTree::may_hold(std::size_t cut, std::span<const std::uint16_t> by_level) const {
  const Program::Inputs in{nullptr, 0, by_level.data()};
  std::uint64_t read = 0;
  return std::ranges::all_of(checks_[cut], [&](Program::Node node) { return program_.range(node, in, read).may_hold(); });
}

bool LazyTree::holds(std::span<const std::uint16_t> digits) const {
  Digits by_level(digits.size());
  for (std::size_t parameter = 0; parameter < digits.size(); ++parameter) {
    by_level[level_of_[parameter]] = digits[parameter];
  }
  const Program::Inputs in{nullptr, 0, by_level.data()};
  return std::ranges::all_of(whole_, [&](Program::Node node) { return program_.holds(node, in); });
}

class LazyTree::Search {
 public:
  Search(const LazyTree& tree, const std::vector<Step>& walk, std::span<const Diagram* const> groups, std::size_t steps)
      : tree_(tree), walk_(walk), groups_(groups), left_(steps), by_level_(walk.size(), 0) {
    for (const Diagram* group : groups) {
      nodes_.push_back(group->root());
    }
  }

  Found run(std::span<const std::uint16_t> from) {
    Found found;
    if (descend(0, from, true)) {
      found.digits.emplace(walk_.size());
      for (std::size_t level = 0; level < walk_.size(); ++level) {
        (*found.digits)[walk_[level].parameter] = by_level_[level];
      }
    }
    found.complete = !found.digits && left_ > 0;
    return found;
  }

 private:
  /// `tight`: the levels above are as in `from`, so that smaller digits come before it.
  bool descend(std::size_t level, std::span<const std::uint16_t> from, bool tight) {
    if (level == walk_.size()) {
      return ends_well();
    }
    const Step& step = walk_[level];
    const Node here = nodes_[step.group];
    const auto children = groups_[step.group]->children(here);
    const std::uint16_t first = tight ? from[step.parameter] : std::uint16_t{0};
    for (std::size_t digit = first; digit < children.size() && left_ > 0; ++digit) {
      if (children[digit] == kDead) {
        continue;
      }
      --left_;
      by_level_[level] = static_cast<std::uint16_t>(digit);
      nodes_[step.group] = children[digit];
      const bool found = tree_.may_hold(level + 1, by_level_) && descend(level + 1, from, tight && digit == first);
      nodes_[step.group] = here;
      if (found) {
        return true;
      }
    }
    return false;
  }

  /// Bounds of everything may still leave open what a computation says.
  bool ends_well() {
    const Program::Inputs in{nullptr, 0, by_level_.data()};
    return std::ranges::all_of(tree_.whole_, [&](Program::Node node) { return tree_.program_.holds(node, in); });
  }

  const LazyTree& tree_;
  const std::vector<Step>& walk_;
  std::span<const Diagram* const> groups_;
  std::size_t left_;
  std::vector<Node> nodes_;  ///< where each group's walk stands
  Digits by_level_;
};

LazyTree::Found LazyTree::next(const std::vector<Step>& walk, std::span<const Diagram* const> groups, std::span<const std::uint16_t> from,
                               std::size_t steps) const {
  return Search(*this, walk, groups, steps).run(from);
}

}  // namespace hone::space
