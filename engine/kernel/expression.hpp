#pragma once
// The engine's own expressions: what `valid`, `launch`, `cost` and extents of a kernel file become.
// Semantics are those of C++: integers are 64-bit and signed, `/` and `%` truncate, `&&` and `||` short-circuit.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hone/error.hpp"
#include "hone/value.hpp"

namespace hone {

/// Values of variables by full name: "p.rows", "c.block", "d.multiprocessors", "sizeof(T)".
using Bindings = std::map<std::string, Value, std::less<>>;

enum class Operator : std::uint8_t {
  kConstant,
  kVariable,
  kNegate,
  kNot,
  kComplement,
  kToInteger,
  kToReal,
  kToBoolean,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kShiftLeft,
  kShiftRight,
  kAnd,
  kOr,
  kXor,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kLogicalAnd,
  kLogicalOr,
  kSelect,  ///< condition ? first : second
};

/// An immutable expression tree; copies share it.
class Expression {
 public:
  struct Node {
    Operator op = Operator::kConstant;
    Value value;                       ///< of a constant
    std::string name;                  ///< of a variable
    std::vector<Expression> operands;  ///< one, two or (kSelect) three
    std::uint32_t depth = 1;           ///< levels
    std::uint64_t size = 1;            ///< operators and operands, counted as a tree: a shared operand counts each time
  };

  /// Limits of what is read from outside. The engine recurses over the levels (a level of the deepest recursion takes about 1 KiB of
  /// stack), and visits what is shared each time. The built-in kernels need 31 levels and 6,068 operators and operands.
  static constexpr std::uint32_t kDeepest = 1000;
  static constexpr std::uint64_t kLargest = 100'000;

  Expression();  ///< the integer 0
  static Expression constant(Value value);
  static Expression variable(std::string name);
  /// Any operator; operands are folded where all are constant. Throws ContractError on a wrong number of operands.
  static Expression make(Operator op, std::vector<Expression> operands);

  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] bool is_constant() const { return node_->op == Operator::kConstant; }

  /// The value under `bindings`. Errors: an unbound variable (named), a division by zero, an overflow of a shift.
  [[nodiscard]] Result<Value> evaluate(const Bindings& bindings) const;

  /// The same expression with the bound variables replaced and constants folded (a division by zero is left in place).
  [[nodiscard]] Expression substitute(const Bindings& bindings) const;

  /// Names of the free variables, sorted, each once.
  [[nodiscard]] std::vector<std::string> variables() const;

  /// Splits a && b && c (also under conditions that return false early) into its conjuncts.
  [[nodiscard]] std::vector<Expression> conjuncts() const;

  /// C++ source text with the fewest parentheses.
  [[nodiscard]] std::string text() const;

  /// A compact prefix form that `parse` reads back: for the embedded specs and the wire.
  [[nodiscard]] std::string serialize() const;
  static Result<Expression> parse(std::string_view serialized);

  /// How the prefix form writes an operator.
  static std::string_view prefix(Operator op);
  /// The operator that is written so; nothing: none is.
  static std::optional<Operator> operator_of(std::string_view prefix);

 private:
  explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

}  // namespace hone
