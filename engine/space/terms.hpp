#pragma once
// The terms of constraints as one graph: equal terms are one, sums and products are flat, so that any part of one can be computed first.

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/space/bounds.hpp"
#include "engine/space/hashing.hpp"

namespace hone::space {

using ParameterId = std::uint16_t;
using TermId = std::uint32_t;

/// What kind of number a term gives. Booleans compute as integers do.
enum class Numbers : std::uint8_t { kIntegers, kReals, kBoth };

struct Term {
  enum class Kind : std::uint8_t { kFailed, kConstant, kVariable, kOperator };
  Kind kind = Kind::kOperator;
  Operator op = Operator::kConstant;
  Numbers numbers = Numbers::kIntegers;
  bool plain = true;  ///< no real number occurs in it
  ParameterId parameter = 0;
  Value value;
  std::vector<TermId> operands;   ///< of a sum or product of integers: two or more, a constant first
  std::vector<ParameterId> free;  ///< ascending
  Bounds bounds;
};

/// A term that cannot be evaluated (a division by zero, ...) does not hold.
class Terms {
 public:
  static constexpr TermId kFailed = 0, kFalse = 1, kTrue = 2;

  explicit Terms(const std::vector<Parameter>& parameters);

  /// The term of a condition; each of its variables is "c." and a parameter's name. kTrue or kFalse where bounds decide it.
  TermId condition(const Expression& expression);
  /// A sum or product of some operands of one; a single operand is itself.
  TermId part(Operator op, std::vector<TermId> operands);
  /// `dividend` % `modulus` for a modulus above 0.
  TermId remainder(TermId dividend, TermId modulus) { return make(Operator::kRemainder, {dividend, modulus}); }

  [[nodiscard]] const Term& operator[](TermId term) const { return terms_[term]; }
  [[nodiscard]] bool known(TermId term) const { return terms_[term].kind == Term::Kind::kConstant; }
  /// A sum or product whose operands may be computed in any order.
  [[nodiscard]] bool is_flat(TermId term) const;
  /// t % m with a constant m > 0 over a flat t whose operands are never negative and never overflow: parts of t may be reduced by m.
  [[nodiscard]] bool is_modular(TermId term) const;
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  TermId intern(const Expression& expression);
  TermId constant(const Value& value);
  TermId variable(ParameterId parameter);
  TermId make(Operator op, std::vector<TermId> operands);
  /// The result where known operands decide it alone (short circuits, folding).
  std::optional<TermId> decide(Operator op, std::span<const TermId> operands);
  TermId fold(Operator op, std::span<const TermId> operands);
  TermId to_boolean(TermId term);
  TermId make_flat(Operator op, std::span<const TermId> operands);
  TermId add(std::vector<std::uint64_t> key, Term term);

  const std::vector<Parameter>& parameters_;
  std::unordered_map<std::string, ParameterId> names_;
  std::vector<Term> terms_;
  std::unordered_map<std::vector<std::uint64_t>, TermId, RangeHash> known_;
};

}  // namespace hone::space
