// From an expression tree to the instructions of CompiledExpression.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/kernel/arithmetic.hpp"
#include "engine/kernel/bytecode.hpp"
#include "engine/kernel/expression.hpp"

namespace hone {
namespace {

using kernel::as_bits;
using kernel::Code;
using kernel::kSourceShift;
using kernel::kStackSize;
using kernel::Source;

bool is_real(const Expression& e) {
  const auto& node = e.node();
  switch (node.op) {
    case Operator::kConstant:
      return node.value.kind() == Value::Kind::kReal;
    case Operator::kVariable:
      return false;
    case Operator::kToReal:
      return true;
    case Operator::kNegate:
      return is_real(node.operands[0]);
    case Operator::kAdd:
    case Operator::kSubtract:
    case Operator::kMultiply:
    case Operator::kDivide:
      return is_real(node.operands[0]) || is_real(node.operands[1]);
    case Operator::kSelect:
      return is_real(node.operands[1]) || is_real(node.operands[2]);
    default:
      return false;
  }
}

bool is_zero_or_one(const Expression& e) {
  const Operator op = e.node().op;
  return kernel::is_comparison(op) || kernel::is_logic(op) || op == Operator::kNot || op == Operator::kToBoolean;
}

Code real_code(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return Code::kRealAdd;
    case Operator::kSubtract:
      return Code::kRealSubtract;
    case Operator::kMultiply:
      return Code::kRealMultiply;
    case Operator::kDivide:
      return Code::kRealDivide;
    case Operator::kLess:
      return Code::kRealLess;
    case Operator::kLessEqual:
      return Code::kRealLessEqual;
    case Operator::kGreater:
      return Code::kRealGreater;
    case Operator::kGreaterEqual:
      return Code::kRealGreaterEqual;
    case Operator::kEqual:
      return Code::kRealEqual;
    case Operator::kNotEqual:
      return Code::kRealNotEqual;
    default:
      throw ContractError("CompiledExpression: an integer operator is applied to a real number");
  }
}

/// Operators from kAdd to kNotEqual stand in the same order in both enumerations.
Code integer_code(Operator op) {
  return static_cast<Code>(static_cast<int>(Code::kAdd) + static_cast<int>(op) - static_cast<int>(Operator::kAdd));
}

class Emitter {
 public:
  Emitter(std::span<const std::string> slots, std::vector<std::uint8_t>& code, std::vector<std::int64_t>& constants)
      : slots_(slots), code_(code), constants_(constants) {}

  void whole(const Expression& e) {
    emit(e, is_real(e));
    if (is_real(e)) {
      put(Code::kToInteger);
    }
    put(Code::kEnd);
  }

 private:
  void put(Code code, Source source = Source::kStack) {
    code_.push_back(static_cast<std::uint8_t>(static_cast<int>(code) | static_cast<int>(source) << kSourceShift));
  }

  void put_index(std::size_t index) {
    if (index > std::numeric_limits<std::uint16_t>::max()) {
      throw ContractError("CompiledExpression: more than 65536 variables or constants");
    }
    const auto narrow = static_cast<std::uint16_t>(index);
    code_.resize(code_.size() + sizeof narrow);
    std::memcpy(code_.data() + code_.size() - sizeof narrow, &narrow, sizeof narrow);
  }

  std::size_t constant(std::int64_t bits) {
    const auto found = std::find(constants_.begin(), constants_.end(), bits);
    if (found == constants_.end()) {
      constants_.push_back(bits);
      return constants_.size() - 1;
    }
    return static_cast<std::size_t>(found - constants_.begin());
  }

  std::size_t slot(const std::string& name) const {
    const auto found = std::find(slots_.begin(), slots_.end(), name);
    if (found == slots_.end()) {
      throw ContractError(fmt::format("CompiledExpression: '{}' is not among the slots", name));
    }
    return static_cast<std::size_t>(found - slots_.begin());
  }

  /// `code` with the leaf `e` as its right operand (or as what is pushed).
  void put_leaf(Code code, const Expression& e, bool real) {
    const auto& node = e.node();
    if (node.op == Operator::kVariable) {
      put(code, Source::kSlot);
      put_index(slot(node.name));
    } else {
      put(code, Source::kConstant);
      put_index(constant(real ? as_bits(node.value.real()) : node.value.integer()));
    }
  }

  static bool fits_operand(const Expression& e, bool real) { return e.is_constant() || (e.node().op == Operator::kVariable && !real); }

  void push() {
    if (++depth_ > kStackSize) {
      throw ContractError("CompiledExpression: the expression is nested more deeply than 64 operands");
    }
  }

  /// Leaves the value of `e` on the stack, as a real if `real`.
  void emit(const Expression& e, bool real) {
    const auto& node = e.node();
    if (kernel::arity(node.op) == 0) {
      push();
      const bool direct = fits_operand(e, real);
      put_leaf(Code::kPush, e, real && direct);
      if (!direct) {
        put(Code::kToReal);
      }
      return;
    }
    if (node.op == Operator::kSelect) {
      select(node, is_real(e));
    } else if (kernel::is_logic(node.op)) {
      logic(node);
    } else if (node.operands.size() == 1) {
      unary(node);
    } else {
      binary(node);
    }
    if (real && !is_real(e)) {
      put(Code::kToReal);
    }
  }

  void truth(const Expression& e) {
    emit(e, is_real(e));
    if (is_real(e)) {
      put(Code::kRealToBoolean);
    } else if (!is_zero_or_one(e)) {
      put(Code::kToBoolean);
    }
  }

  void unary(const Expression::Node& node) {
    const Expression& a = node.operands[0];
    const bool real = is_real(a);
    switch (node.op) {
      case Operator::kNegate:
        emit(a, real);
        put(real ? Code::kRealNegate : Code::kNegate);
        return;
      case Operator::kNot:
        truth(a);
        put(Code::kNot);
        return;
      case Operator::kComplement:
        if (real) {
          throw ContractError("CompiledExpression: '~' is applied to a real number");
        }
        emit(a, false);
        put(Code::kComplement);
        return;
      case Operator::kToReal:
        emit(a, true);
        return;
      case Operator::kToBoolean:
        truth(a);
        return;
      default:
        emit(a, real);
        if (real) {
          put(Code::kToInteger);
        }
        return;
    }
  }

  void binary(const Expression::Node& node) {
    const bool real = is_real(node.operands[0]) || is_real(node.operands[1]);
    const Code code = real ? real_code(node.op) : integer_code(node.op);
    emit(node.operands[0], real);
    if (fits_operand(node.operands[1], real)) {
      put_leaf(code, node.operands[1], real);
      return;
    }
    emit(node.operands[1], real);
    put(code);
    --depth_;
  }

  std::size_t jump(Code code) {
    put(code);
    code_.resize(code_.size() + sizeof(std::uint32_t));
    return code_.size() - sizeof(std::uint32_t);
  }

  void land(std::size_t from) {
    const auto target = static_cast<std::uint32_t>(code_.size());
    std::memcpy(code_.data() + from, &target, sizeof target);
  }

  void logic(const Expression::Node& node) {
    truth(node.operands[0]);
    const auto decided = jump(node.op == Operator::kLogicalAnd ? Code::kJumpFalseKeep : Code::kJumpTrueKeep);
    --depth_;
    truth(node.operands[1]);
    land(decided);
  }

  void select(const Expression::Node& node, bool real) {
    truth(node.operands[0]);
    const auto otherwise = jump(Code::kJumpFalse);
    --depth_;
    emit(node.operands[1], real);
    const auto end = jump(Code::kJump);
    --depth_;
    land(otherwise);
    emit(node.operands[2], real);
    land(end);
  }

  std::span<const std::string> slots_;
  std::vector<std::uint8_t>& code_;
  std::vector<std::int64_t>& constants_;
  std::size_t depth_ = 0;
};

}  // namespace

CompiledExpression::CompiledExpression(const Expression& expression, std::span<const std::string> slots) {
  Emitter(slots, code_, constants_).whole(expression);
}

}  // namespace hone
