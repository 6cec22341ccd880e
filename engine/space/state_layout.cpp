#include "engine/space/state_layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace hone::space {
namespace {

/// Combinations of last parameters up to which a condition over two or more of them becomes a table.
constexpr std::size_t kMostCombinations = 16;
constexpr std::size_t kMostBits = 64;
constexpr std::size_t kNever = ~std::size_t{0};

using Slots = std::map<TermId, std::size_t>;
using Levels = std::vector<std::size_t>;

/// One condition's life along the order.
struct ConstraintSchedule {
  std::size_t tabled = 0;  ///< the cut at which it becomes a table
  Levels levels;           ///< of its parameters, ascending
};

/// A sum or product at a cut. What is known of it is one term.
struct Split {
  TermId flat = 0;  ///< the sum or product
  std::optional<TermId> known, modulus;
  std::vector<TermId> free, others;  ///< operands without a known parameter; the rest
};

class Maker {
 public:
  Maker(Terms& terms, const std::vector<ParameterId>& order, const std::vector<TermId>& conditions)
      : terms_(terms), order_(order), conditions_(conditions), level_of_(terms.parameters().size(), kNever) {
    for (std::size_t level = 0; level < order.size(); ++level) {
      level_of_[order[level]] = level;
    }
    for (const TermId condition : conditions) {
      lives_.push_back(life(condition));
    }
  }

  std::optional<StateLayout> run() {
    for (cut_ = 0; cut_ <= order_.size(); ++cut_) {
      before_ = std::exchange(slots_, {});
      open_before_ = std::exchange(open_, {});
      tables_before_ = std::exchange(tables_, {});
      if (!make_transition()) {
        return std::nullopt;
      }
    }
    return std::move(frontier_);
  }

 private:
  [[nodiscard]] std::size_t values(std::size_t level) const { return terms_.parameters()[order_[level]].values.size(); }

  [[nodiscard]] ConstraintSchedule life(TermId condition) const {
    ConstraintSchedule made;
    for (const ParameterId parameter : terms_[condition].free) {
      made.levels.push_back(level_of_[parameter]);
    }
    std::ranges::sort(made.levels);
    std::size_t combinations = values(made.levels.back()), left = made.levels.size() - 1;
    while (left > 0 && combinations * values(made.levels[left - 1]) <= kMostCombinations) {
      combinations *= values(made.levels[--left]);
    }
    made.tabled = left == 0 ? 0 : made.levels[left - 1] + 1;
    return made;
  }

  /// How many of the term's parameters are assigned above `cut`.
  enum class Assigned { kNone, kSome, kAll };
  [[nodiscard]] Assigned assigned(TermId term, std::size_t cut) const {
    const auto& free = terms_[term].free;
    const auto above = std::ranges::count_if(free, [&](ParameterId parameter) { return level_of_[parameter] < cut; });
    return above == 0 ? Assigned::kNone : above == std::ssize(free) ? Assigned::kAll : Assigned::kSome;
  }

  std::optional<Split> split(TermId term, std::size_t cut) {
    Split made;
    const bool modular = terms_.is_modular(term);
    if (!modular && !terms_.is_flat(term)) {
      return std::nullopt;
    }
    made.flat = modular ? terms_[term].operands[0] : term;
    std::vector<TermId> known;
    for (const TermId operand : terms_[made.flat].operands) {
      const Assigned how = assigned(operand, cut);
      (how == Assigned::kAll ? known : how == Assigned::kNone ? made.free : made.others).push_back(operand);
    }
    if (modular) {
      made.modulus = terms_[term].operands[1];
    }
    if (!known.empty()) {
      const TermId part = terms_.part(terms_[made.flat].op, std::move(known));
      made.known = modular ? terms_.remainder(part, *made.modulus) : part;
    }
    return made;
  }

  /// The largest terms within `term` that are known at this cut.
  void find_slots(TermId term) {
    const Assigned how = assigned(term, cut_);
    if (how == Assigned::kNone) {
      return;
    }
    if (how == Assigned::kAll && (terms_[term].kind == Term::Kind::kVariable || terms_[term].numbers != Numbers::kBoth)) {
      slots_.try_emplace(term, slots_.size());
      return;
    }
    std::vector<TermId> operands = terms_[term].operands;
    if (const std::optional<Split> parts = split(term, cut_)) {
      if (parts->known) {
        slots_.try_emplace(*parts->known, slots_.size());
      }
      operands = parts->others;
    }
    for (const TermId operand : operands) {
      find_slots(operand);
    }
  }

  Program::Node slot(TermId term, std::size_t index) {
    const Term& it = terms_[term];
    return it.numbers == Numbers::kBoth ? frontier_.program.remembered_choice(index, terms_.parameters()[it.parameter].values)
                                        : frontier_.program.slot(index, it.numbers == Numbers::kIntegers);
  }

  /// A term over the slots of `cut`. `ranged`: parameters below it are known by their bounds, otherwise by their digits.
  Program::Node compile(TermId term, std::size_t cut, const Slots& slots, bool ranged) {
    if (const auto at = slots.find(term); at != slots.end()) {
      return slot(term, at->second);
    }
    const Term it = terms_[term];
    if (it.kind == Term::Kind::kFailed) {
      return frontier_.program.failure();
    }
    if (it.kind == Term::Kind::kConstant) {
      return frontier_.program.constant(it.value);
    }
    if (ranged && assigned(term, cut) == Assigned::kNone) {
      return frontier_.program.bounded(it.bounds, it.numbers == Numbers::kIntegers);
    }
    if (it.kind == Term::Kind::kVariable) {
      return frontier_.program.choice(level_of_[it.parameter], terms_.parameters()[it.parameter].values, it.plain);
    }
    if (const std::optional<Split> parts = split(term, cut)) {
      return compile(*parts, cut, slots, ranged);
    }
    std::vector<Program::Node> operands;
    for (const TermId operand : it.operands) {
      operands.push_back(compile(operand, cut, slots, ranged));
    }
    return frontier_.program.operation(it.op, operands, it.numbers == Numbers::kIntegers);
  }

  Program::Node compile(const Split& parts, std::size_t cut, const Slots& slots, bool ranged) {
    std::vector<TermId> operands = parts.others;
    if (ranged && parts.free.size() > 1) {
      operands.push_back(terms_.part(terms_[parts.flat].op, parts.free));
    } else {
      operands.insert(operands.end(), parts.free.begin(), parts.free.end());
    }
    if (parts.known) {
      operands.insert(operands.begin(), *parts.known);
    }
    Program::Node node = compile(operands.front(), cut, slots, ranged);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      node = frontier_.program.operation(terms_[parts.flat].op, {node, compile(operands[i], cut, slots, ranged)}, true);
    }
    return parts.modulus ? frontier_.program.operation(Operator::kRemainder, {node, compile(*parts.modulus, cut, slots, ranged)}, true)
                         : node;
  }

  bool make_transition() {
    Transition made;
    std::vector<std::size_t> tabled;
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      if (lives_[i].tabled > cut_) {
        find_slots(conditions_[i]);
        if (lives_[i].levels.front() < cut_) {  // otherwise nothing is known of it yet: its bounds were looked at when it was read
          open_.push_back(i);
        }
      } else if (lives_[i].tabled == cut_) {
        tabled.push_back(i);
      }
    }
    made.carried = slots_.size();
    std::ranges::for_each(tabled, [this](std::size_t i) { find_slots(conditions_[i]); });
    if (slots_.size() > kMostBits || open_.size() > kMostBits) {
      return false;
    }
    add_slots(made);
    for (const std::size_t i : open_) {
      made.checks.push_back({compile(conditions_[i], cut_, slots_, true), place_before(i)});
    }
    add_tables(made, tabled);
    frontier_.transitions.push_back(std::move(made));
    return true;
  }

  void add_slots(Transition& made) {
    made.slots.resize(slots_.size());
    const std::size_t above = cut_ == 0 ? 0 : cut_ - 1;
    for (const auto& [term, index] : slots_) {
      const auto same = before_.find(term);
      const bool copied = same != before_.end();
      const bool digit = terms_[term].numbers == Numbers::kBoth;
      made.slots[index].kind = copied  ? Transition::Slot::Kind::kCopied
                               : digit ? Transition::Slot::Kind::kDigit
                                       : Transition::Slot::Kind::kComputed;
      made.slots[index].real = terms_[term].numbers == Numbers::kReals;
      made.slots[index].from = copied ? same->second : above;
      made.slots[index].node = copied || digit ? 0 : compile(term, above, before_, false);
    }
  }

  void add_tables(Transition& made, const std::vector<std::size_t>& tabled) {
    for (const auto& [levels, index] : tables_before_) {
      const bool restricted = levels.front() + 1 == cut_;
      const Levels left(levels.begin() + (restricted ? 1 : 0), levels.end());
      made.carries.push_back({index, left.empty() ? std::nullopt : std::optional(table(left)), restricted, values(levels.front())});
    }
    for (const std::size_t i : tabled) {
      Transition::Fill fill;
      fill.before = place_before(i);
      fill.node = compile(conditions_[i], cut_, slots_, false);
      fill.levels.assign(std::ranges::lower_bound(lives_[i].levels, cut_), lives_[i].levels.end());
      for (const std::size_t level : fill.levels) {
        fill.values.push_back(values(level));
        fill.combinations *= values(level);
      }
      Slots all = std::exchange(slots_, {});
      find_slots(conditions_[i]);
      for (const auto& [term, index] : slots_) {
        fill.reads.push_back(all.at(term));
      }
      slots_ = std::move(all);
      fill.table = table(fill.levels);
      made.fills.push_back(std::move(fill));
    }
    made.tables = tables_.size();
  }

  std::size_t table(const Levels& levels) { return tables_.try_emplace(levels, tables_.size()).first->second; }

  [[nodiscard]] int place_before(std::size_t condition) const {
    const auto at = std::ranges::find(open_before_, condition);
    return at == open_before_.end() ? -1 : static_cast<int>(at - open_before_.begin());
  }

  Terms& terms_;
  const std::vector<ParameterId>& order_;
  const std::vector<TermId>& conditions_;
  std::vector<std::size_t> level_of_;
  std::vector<ConstraintSchedule> lives_;
  StateLayout frontier_;
  // of the cut that is being made, and of the one before
  std::size_t cut_ = 0;
  Slots slots_, before_;
  std::vector<std::size_t> open_, open_before_;
  std::map<Levels, std::size_t> tables_, tables_before_;
};

}  // namespace

std::optional<StateLayout> make_frontier(Terms& terms, const std::vector<ParameterId>& order, const std::vector<TermId>& conditions) {
  return Maker(terms, order, conditions).run();
}

}  // namespace hone::space
