#pragma once
// Python's arithmetic in the engine's operators, whose meaning is that of C++.

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/kernel/kernel_spec.hpp"
#include "engine/space/bounds.hpp"

namespace hone::space {

class PythonArithmetic {
 public:
  /// Variables are "c." and a parameter's name.
  explicit PythonArithmetic(const std::vector<Parameter>& parameters);

  /// Whether the expression gives a real number.
  [[nodiscard]] bool is_real(const Expression& e) const;
  /// Whether %, a shift or a bitwise operator in it has a real operand, which nothing would ever meet.
  [[nodiscard]] bool misuses_reals(const Expression& e) const;

  /// Whether a `op` b may need more than 64 bits: Python's integers have as many as they need, the engine's wrap around.
  [[nodiscard]] bool may_overflow(Operator op, const Expression& a, const Expression& b) const;

  /// a / b divides as real numbers.
  [[nodiscard]] static Expression divide(const Expression& a, const Expression& b);
  /// a // b rounds down.
  [[nodiscard]] Expression floor_divide(const Expression& a, const Expression& b) const;
  /// a % b has the sign of b.
  [[nodiscard]] Expression remainder(const Expression& a, const Expression& b) const;
  /// (a / b) % c == 0 is a % (b * c) == 0, and a % (b / c) == 0 is a * c % b == 0: the engine's remainder is of integers.
  [[nodiscard]] static Expression compare(Operator op, const Expression& a, const Expression& b);

 private:
  struct Range {
    Bounds bounds;
    bool real = false;
  };
  /// Of the expression. `left`: how many operators and operands are looked at still.
  [[nodiscard]] Range range(const Expression& e, std::size_t& left) const;
  [[nodiscard]] Bounds bounds(const Expression& e) const;

  std::unordered_map<std::string, Range> variables_;
};

}  // namespace hone::space
