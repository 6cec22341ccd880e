#pragma once
// What must be remembered of the parameters above a level to decide the conditions below it, and how that changes with one more value.

#include <optional>
#include <vector>

#include "engine/space/program.hpp"
#include "engine/space/terms.hpp"

namespace hone::space {

/// The way from one cut, between two levels, to the next. From its first parameter on a condition is open (known terms are carried in
/// slots) until few combinations of its last parameters are left; then it is a truth table over these.
struct Transition {
  /// A condition that stays open.
  struct Check {
    Program::Node node = 0;
    int before = -1;  ///< its place among the open conditions of the cut before; -1 where it was not open
  };
  /// A condition that becomes a table.
  struct Fill {
    Program::Node node = 0;
    int before = -1;
    std::vector<std::size_t> reads;   ///< slots
    std::vector<std::size_t> levels;  ///< of the last parameters, in order
    std::vector<std::size_t> values;  ///< how many each of them has
    std::size_t combinations = 1;
    std::size_t table = 0;  ///< its place among the tables of the cut
  };
  /// A table of the cut before: its place there and here.
  struct Carried {
    std::size_t from = 0;
    std::optional<std::size_t> to;  ///< nothing where this level was its last
    bool restricted = false;        ///< the level passed is its first parameter
    std::size_t values = 0;         ///< of its first parameter
  };
  struct Slot {
    enum class Kind : std::uint8_t { kComputed, kCopied, kDigit };
    Kind kind = Kind::kComputed;
    bool real = false;
    Program::Node node = 0;
    std::size_t from = 0;  ///< kCopied: the slot of the cut before; kDigit: the level
  };
  std::vector<Slot> slots;  ///< the first `carried` are kept, the others are only read by fills
  std::size_t carried = 0, tables = 0;
  std::vector<Check> checks;
  std::vector<Fill> fills;
  std::vector<Carried> carries;
};

struct StateLayout {
  Program program;
  std::vector<Transition> transitions;  ///< [0] leads to the root's cut, [i] over level i - 1
};

/// Nothing where a cut would need more than 64 slots or open conditions. `conditions` are over the parameters of `order`.
std::optional<StateLayout> make_frontier(Terms& terms, const std::vector<ParameterId>& order, const std::vector<TermId>& conditions);

}  // namespace hone::space
