// Level by level from the root down: a state is what must be remembered, equal states are one. Then nodes from the end up.
#include "engine/space/group_builder.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/space/truth_tables.hpp"

namespace hone::space {
namespace {

constexpr std::uint32_t kNoState = ~std::uint32_t{0};

/// What computing a table costs of the limit, which so bounds time as well as memory; and what states hold, of two cuts at a time.
constexpr std::size_t kEvaluationsPerBranch = 8, kWordsPerBranch = 4;

/// A state's words: which conditions are still undecided, which slots failed, the slots, the tables.
constexpr std::size_t kHead = 2;
std::size_t width(const Transition& to) { return kHead + to.carried + to.tables; }

class GroupBuilder {
 public:
  GroupBuilder(StateLayout frontier, std::vector<std::size_t> values, std::size_t limit)
      : frontier_(std::move(frontier)), values_(std::move(values)), limit_(limit), digits_(values_.size(), 0) {}

  std::optional<Diagram> run() {
    for (const Transition& transition : frontier_.transitions) {
      fills_.clear();
      filled_.assign(transition.fills.size(), {});
      for (const Transition::Fill& fill : transition.fills) {
        fills_.emplace_back(1 + fill.reads.size());
      }
      if (!pass(transition)) {
        return std::nullopt;
      }
    }
    return nodes();
  }

 private:
  /// Every state of the level above over every value.
  bool pass(const Transition& to) {
    const std::size_t level = reached_.size();  // cuts passed
    KeyTable next(width(to));
    next_.resize(width(to));
    slots_.resize(to.slots.size());
    std::vector<std::uint32_t> children;
    if (level == 0) {
      root_ = step(to, nullptr, 0) ? next.insert(next_.data()).first : kNoState;
    } else {
      const KeyTable& states = reached_.back();
      if (total_ + states.size() * values_[level - 1] > limit_) {  // before memory is asked for
        return false;
      }
      children.assign(states.size() * values_[level - 1], kNoState);
      for (std::uint32_t state = 0; state < states.size(); ++state) {
        for (std::size_t value = 0; value < values_[level - 1]; ++value) {
          digits_[level - 1] = static_cast<std::uint16_t>(value);
          if (step(to, states[state], level)) {
            children[state * values_[level - 1] + value] = next.insert(next_.data()).first;
          }
          if (total_ + children.size() + next.size() > limit_ || next.size() * width(to) > kWordsPerBranch * limit_) {
            return false;
          }
        }
      }
      total_ += children.size() + next.size();
      children_.push_back(std::move(children));
    }
    if (level > 0) {
      reached_.back() = KeyTable(0);  // its keys are not needed again
    }
    reached_.push_back(std::move(next));
    return true;
  }

  /// One more value: makes the state below `state`. False where no configuration can follow.
  bool step(const Transition& to, const std::uint64_t* state, std::size_t level) {
    const std::uint64_t open_before = state == nullptr ? 0 : state[0];
    const auto undecided = [&](int before) { return before < 0 || (open_before >> before & 1) != 0; };
    std::fill(next_.begin(), next_.end(), 0);
    if (state != nullptr && !carry(to, state, level)) {
      return false;
    }
    Program::Inputs in{slots_.data(), 0, digits_.data()};
    compute_slots(to, state, in);
    std::uint64_t needed = 0;
    for (std::size_t i = 0; i < to.checks.size(); ++i) {
      if (undecided(to.checks[i].before)) {
        std::uint64_t read = 0;
        const Bounds bounds = frontier_.program.range(to.checks[i].node, in, read);
        if (!bounds.may_hold()) {
          return false;
        }
        const bool decided = bounds.must_hold() && !bounds.fails;
        next_[0] |= std::uint64_t{decided ? 0U : 1U} << i;
        needed |= decided ? 0 : read;
      }
    }
    next_[1] = in.failed & needed;
    for (std::size_t i = 0; i < to.carried; ++i) {
      next_[kHead + i] = (needed >> i & 1) != 0 ? slots_[i] : 0;
    }
    for (std::size_t i = 0; i < to.fills.size(); ++i) {
      if (undecided(to.fills[i].before) && !join(to, to.fills[i].table, fill(to.fills[i], i, in))) {
        return false;
      }
    }
    return true;
  }

  /// Conjoins a table with what is known of the same parameters.
  bool join(const Transition& to, std::size_t table, TableId with) {
    std::uint64_t& word = next_[kHead + to.carried + table];
    const TableId both = with == kNone ? kNone : tables_.intersect(static_cast<TableId>(word), with);
    word = both;
    return both != kNone;
  }

  bool carry(const Transition& to, const std::uint64_t* state, std::size_t level) {
    const Transition& from = frontier_.transitions[level - 1];
    for (const Transition::Carried& carried : to.carries) {
      auto table = static_cast<TableId>(state[kHead + from.carried + carried.from]);
      if (carried.restricted) {
        table = tables_.restrict_first(table, digits_[level - 1], carried.values);
      }
      if (table == kNone || (carried.to && !join(to, *carried.to, table))) {
        return false;
      }
    }
    return true;
  }

  void compute_slots(const Transition& to, const std::uint64_t* state, Program::Inputs& in) {
    const Program::Inputs above{state == nullptr ? nullptr : state + kHead, state == nullptr ? 0 : state[1], digits_.data()};
    for (std::size_t i = 0; i < to.slots.size(); ++i) {
      const Transition::Slot& slot = to.slots[i];
      bool fine = true;
      if (slot.kind == Transition::Slot::Kind::kCopied) {
        slots_[i] = above.slots[slot.from];
        fine = (above.failed >> slot.from & 1) == 0;
      } else if (slot.kind == Transition::Slot::Kind::kDigit) {
        slots_[i] = digits_[slot.from];
      } else {
        Value value;
        fine = frontier_.program.evaluate(slot.node, above, value);
        slots_[i] = slot.real ? std::bit_cast<std::uint64_t>(value.real()) : static_cast<std::uint64_t>(value.integer());
      }
      if (!fine) {
        slots_[i] = 0;
        in.failed |= std::uint64_t{1} << i;
      }
    }
  }

  /// The table of a condition for what the slots hold; computed once for each combination of them.
  TableId fill(const Transition::Fill& fill, std::size_t number, const Program::Inputs& in) {
    key_.assign(1, 0);
    for (std::size_t i = 0; i < fill.reads.size(); ++i) {
      key_.push_back(slots_[fill.reads[i]]);
      key_[0] |= (in.failed >> fill.reads[i] & 1) << i;
    }
    const auto [place, fresh] = fills_[number].insert(key_.data());
    if (fresh) {
      filled_[number].push_back(tabulate(fill, in));
    }
    return filled_[number][place];
  }

  TableId tabulate(const Transition::Fill& fill, const Program::Inputs& in) {
    std::vector<std::uint64_t> bits((fill.combinations + 63) / 64, 0);
    for (const std::size_t level : fill.levels) {
      digits_[level] = 0;
    }
    for (std::size_t i = 0; i < fill.combinations; ++i) {
      bits[i / 64] |= std::uint64_t{frontier_.program.holds(fill.node, in) ? 1U : 0U} << (i % 64);
      for (std::size_t j = fill.levels.size(); j-- > 0;) {
        std::uint16_t& digit = digits_[fill.levels[j]];
        digit = static_cast<std::uint16_t>(digit + 1 == static_cast<int>(fill.values[j]) ? 0 : digit + 1);
        if (digit != 0) {
          break;
        }
      }
    }
    total_ += fill.combinations / kEvaluationsPerBranch;
    return tables_.intern(fill.combinations, std::move(bits));
  }

  Diagram nodes() {
    DiagramBuilder diagram;
    std::vector<Node> below(reached_.back().size(), kEnd), here, children;
    for (std::size_t level = children_.size(); level-- > 0;) {
      const std::size_t values = values_[level];
      here.assign(children_[level].size() / values, kDead);
      children.resize(values);
      for (std::size_t state = 0; state < here.size(); ++state) {
        for (std::size_t value = 0; value < values; ++value) {
          const std::uint32_t child = children_[level][state * values + value];
          children[value] = child == kNoState ? kDead : below[child];
        }
        here[state] = diagram.add(children);
      }
      std::swap(below, here);
      children_[level] = {};
    }
    return diagram.finish(root_ == kNoState ? kDead : below[root_]);
  }

  StateLayout frontier_;
  std::vector<std::size_t> values_;  ///< of each level's parameter
  std::size_t limit_, total_ = 0;
  TruthTables tables_;
  std::uint32_t root_ = kNoState;
  std::vector<KeyTable> reached_;                     ///< states of each cut
  std::vector<std::vector<std::uint32_t>> children_;  ///< of each level: state and value to state
  // of the transition that is being passed
  std::vector<KeyTable> fills_;
  std::vector<std::vector<TableId>> filled_;
  std::vector<std::uint64_t> slots_, next_, key_;
  std::vector<std::uint16_t> digits_;
};

/// Without conditions: one node a level.
Diagram every_combination(const std::vector<std::size_t>& values) {
  DiagramBuilder diagram;
  Node below = kEnd;
  for (std::size_t level = values.size(); level-- > 0;) {
    below = diagram.add(std::vector<Node>(values[level], below));
  }
  return diagram.finish(below);
}

}  // namespace

std::optional<Diagram> build_diagram(Terms& terms, const std::vector<ParameterId>& order, const std::vector<TermId>& conditions,
                                     std::size_t limit) {
  std::vector<std::size_t> values;
  for (const ParameterId parameter : order) {
    values.push_back(terms.parameters()[parameter].values.size());
  }
  if (conditions.empty()) {
    return every_combination(values);
  }
  std::optional<StateLayout> frontier = make_frontier(terms, order, conditions);
  return frontier ? GroupBuilder(std::move(*frontier), std::move(values), limit).run() : std::nullopt;
}

}  // namespace hone::space
