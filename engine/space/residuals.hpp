#pragma once
// What is left of constraints once some parameters are known. Equal remainders are one atom, so that equal sub-problems can be shared.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/space/hashing.hpp"
#include "hone/search_space.hpp"

namespace hone::space {

using ParameterId = std::uint16_t;
using Atom = std::uint32_t;

/// What a term can be over all values of its parameters. Reals are not bounded.
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  bool fails = false;  ///< may divide by zero or shift too far
  [[nodiscard]] bool may_hold() const { return low != 0 || high != 0; }
  [[nodiscard]] bool must_hold() const { return low > 0 || high < 0; }
};

/// Interned terms over parameters, and sets of values of one parameter. A term that cannot be evaluated does not hold.
class Residuals {
 public:
  static constexpr Atom kFailed = 0, kFalse = 1, kTrue = 2;

  explicit Residuals(const std::vector<Parameter>& parameters);

  /// The atom of a condition; each of its variables is "c." and a parameter's name.
  Atom intern(const Expression& condition);
  /// The atom once the parameter has its `value`-th value.
  Atom substitute(Atom atom, ParameterId parameter, std::size_t value);
  /// The plainest atom that holds for the same configurations: kTrue, kFalse, a set where one parameter is left, else the atom.
  Atom simplify(Atom atom);
  /// Holds where both sets do; they are sets of one parameter.
  Atom intersect(Atom a, Atom b);

  [[nodiscard]] bool is_set(Atom atom) const { return terms_[atom].kind == Kind::kSet; }
  [[nodiscard]] bool set_has(Atom set, std::size_t value) const { return (sets_[terms_[set].set][value / 64] >> (value % 64) & 1) != 0; }
  [[nodiscard]] bool is_conjunction(Atom atom) const {
    return terms_[atom].kind == Kind::kTerm && terms_[atom].op == Operator::kLogicalAnd;
  }
  [[nodiscard]] std::array<Atom, 2> conjuncts(Atom atom) const { return {terms_[atom].operands[0], terms_[atom].operands[1]}; }
  /// Parameters the atom depends on, ascending.
  [[nodiscard]] const std::vector<ParameterId>& free(Atom atom) const { return terms_[atom].free; }
  [[nodiscard]] bool depends_on(Atom atom, ParameterId parameter) const;

 private:
  enum class Kind : std::uint8_t { kFailed, kConstant, kVariable, kTerm, kSet };
  struct Term {
    Kind kind = Kind::kTerm;
    Operator op = Operator::kConstant;
    bool real = false;  ///< may be a real number
    Value value;
    ParameterId parameter = 0;
    std::vector<Atom> operands;
    std::uint32_t set = 0;
    std::vector<ParameterId> free;
    Bounds bounds;
  };

  Atom constant(const Value& value);
  Atom variable(ParameterId parameter);
  Atom make(Operator op, std::vector<Atom> operands);
  /// The result where known operands decide it alone (short circuits, folding); otherwise no atom.
  std::optional<Atom> decide(Operator op, const std::vector<Atom>& operands);
  Atom to_boolean(Atom atom);
  Atom fold(Operator op, const std::vector<Atom>& operands);
  /// Sorted operands and one constant in front: products and sums that are equal become one term.
  Atom make_commutative(Operator op, Atom a, Atom b);
  [[nodiscard]] bool has_constant_front(Operator op, Atom atom) const;
  Atom set_of(ParameterId parameter, std::vector<std::uint64_t> words);
  Atom tabulate(Atom atom);
  Atom add(std::vector<std::uint64_t> key, Term term);
  [[nodiscard]] bool known(Atom atom) const { return terms_[atom].kind == Kind::kConstant; }

  const std::vector<Parameter>& parameters_;
  std::unordered_map<std::string, ParameterId> names_;
  std::vector<Term> terms_;
  std::vector<std::vector<std::uint64_t>> sets_;
  std::vector<Atom> simplified_;  ///< kUnknown where not yet asked
  std::unordered_map<std::vector<std::uint64_t>, Atom, RangeHash> known_;
  std::unordered_map<std::uint64_t, Atom> substituted_;
};

/// Bounds of an operator's result from those of its operands; `any_real`: one of these may be a real number.
Bounds bounds_of(Operator op, const std::vector<Bounds>& operands, bool any_real);

}  // namespace hone::space
