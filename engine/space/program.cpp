#include "engine/space/program.hpp"

#include <algorithm>
#include <bit>

#include "engine/kernel/arithmetic.hpp"

namespace hone::space {
namespace {

using kernel::is_logic;

constexpr Bounds kFalse{0, 0}, kTrue{1, 1};

/// As kernel::apply for integers, without the detour over Value. False if it fails.
bool compute(Operator op, std::int64_t a, std::int64_t b, std::int64_t& result) {
  switch (op) {
    case Operator::kAdd:
      result = kernel::wrap_add(a, b);
      return true;
    case Operator::kSubtract:
      result = kernel::wrap_subtract(a, b);
      return true;
    case Operator::kMultiply:
      result = kernel::wrap_multiply(a, b);
      return true;
    case Operator::kDivide:
      result = b == 0 ? 0 : kernel::wrap_divide(a, b);
      return b != 0;
    case Operator::kRemainder:
      result = b == 0 ? 0 : kernel::wrap_remainder(a, b);
      return b != 0;
    case Operator::kLess:
      result = a < b ? 1 : 0;
      return true;
    case Operator::kLessEqual:
      result = a <= b ? 1 : 0;
      return true;
    case Operator::kGreater:
      result = a > b ? 1 : 0;
      return true;
    case Operator::kGreaterEqual:
      result = a >= b ? 1 : 0;
      return true;
    case Operator::kEqual:
      result = a == b ? 1 : 0;
      return true;
    case Operator::kNotEqual:
      result = a != b ? 1 : 0;
      return true;
    default: {
      const Value operands[] = {Value(a), Value(b)};
      Value value;
      const bool unary = kernel::arity(op) == 1;
      const bool fine = kernel::apply(op, std::span(operands).first(unary ? 1 : 2), value) == nullptr;
      result = value.integer();
      return fine;
    }
  }
}

}  // namespace

Program::Node Program::add(Instruction instruction) {
  code_.push_back(instruction);
  return static_cast<Node>(code_.size() - 1);
}

Program::Node Program::slot(std::size_t index, bool plain) {
  Instruction made;
  made.kind = Kind::kSlot;
  made.plain = made.integers = plain;
  made.index = static_cast<std::uint32_t>(index);
  return add(made);
}

Program::Node Program::constant(const Value& value) {
  Instruction made;
  made.kind = Kind::kConstant;
  made.plain = made.integers = value.kind() != Value::Kind::kReal;
  made.value = value;
  if (made.plain) {
    made.bounds = {value.integer(), value.integer()};
  }
  return add(made);
}

Program::Node Program::failure() {
  Instruction made;
  made.kind = Kind::kFailure;
  made.bounds.fails = true;
  return add(made);
}

Program::Node Program::choice(std::size_t level, const std::vector<Value>& values, bool plain) {
  Instruction made;
  made.kind = Kind::kChoice;
  made.plain = made.integers = plain;
  made.index = static_cast<std::uint32_t>(level);
  made.values = values.data();
  return add(made);
}

Program::Node Program::remembered_choice(std::size_t slot, const std::vector<Value>& values) {
  const Node node = choice(slot, values, false);
  code_[node].kind = Kind::kRememberedChoice;
  return node;
}

Program::Node Program::bounded(const Bounds& bounds, bool integers) {
  Instruction made;
  made.kind = Kind::kBounded;
  made.integers = integers;
  made.bounds = bounds;
  return add(made);
}

Program::Node Program::operation(Operator op, const std::vector<Node>& operands, bool integers) {
  Instruction made;
  made.op = op;
  made.integers = integers;
  made.plain = integers;
  made.arity = static_cast<std::uint8_t>(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    made.operands[i] = operands[i];
    made.plain = made.plain && code_[operands[i]].plain;
  }
  return add(made);
}

bool Program::plain_operation(const Instruction& it, const Inputs& in, std::int64_t& result) const {
  std::int64_t a = 0, b = 0;
  if (!plain(it.operands[0], in, a)) {
    return false;
  }
  if (it.op == Operator::kSelect) {
    return plain(it.operands[a != 0 ? 1 : 2], in, result);
  }
  if (is_logic(it.op)) {
    const bool decisive = it.op == Operator::kLogicalOr;
    const bool fine = (a != 0) == decisive || plain(it.operands[1], in, a);
    result = a != 0 ? 1 : 0;
    return fine;
  }
  return (it.arity == 1 || plain(it.operands[1], in, b)) && compute(it.op, a, b, result);
}

bool Program::plain(Node node, const Inputs& in, std::int64_t& result) const {
  const Instruction& it = code_[node];
  switch (it.kind) {
    case Kind::kSlot:
      result = static_cast<std::int64_t>(in.slots[it.index]);
      return (in.failed >> it.index & 1) == 0;
    case Kind::kChoice:
      result = it.values[in.digits[it.index]].integer();
      return true;
    case Kind::kConstant:
      result = it.value.integer();
      return true;
    case Kind::kOperation:
      return plain_operation(it, in, result);
    default:
      return false;
  }
}

bool Program::evaluate(Node node, const Inputs& in, Value& result) const {
  const Instruction& it = code_[node];
  if (it.plain) {
    std::int64_t integer = 0;
    const bool fine = plain(node, in, integer);
    result = integer;
    return fine;
  }
  switch (it.kind) {
    case Kind::kSlot:
      result = std::bit_cast<double>(in.slots[it.index]);
      return (in.failed >> it.index & 1) == 0;
    case Kind::kChoice:
      result = it.values[in.digits[it.index]];
      return true;
    case Kind::kRememberedChoice:
      result = it.values[in.slots[it.index]];
      return true;
    case Kind::kConstant:
      result = it.value;
      return true;
    case Kind::kOperation:
      break;
    default:
      return false;
  }
  std::array<Value, 2> operands;
  if (!evaluate(it.operands[0], in, operands[0])) {
    return false;
  }
  if (it.op == Operator::kSelect) {
    return evaluate(it.operands[operands[0].boolean() ? 1 : 2], in, result);
  }
  if (is_logic(it.op)) {
    const bool decided = operands[0].boolean() == (it.op == Operator::kLogicalOr);
    const bool fine = decided || evaluate(it.operands[1], in, operands[0]);
    result = operands[0].boolean();
    return fine;
  }
  return (it.arity == 1 || evaluate(it.operands[1], in, operands[1])) &&
         kernel::apply(it.op, std::span(operands).first(it.arity), result) == nullptr;
}

bool Program::holds(Node node, const Inputs& in) const {
  Value value;
  return evaluate(node, in, value) && value.boolean();
}

Bounds Program::logic(const Instruction& it, const Inputs& in, std::uint64_t& read) const {
  const bool is_or = it.op == Operator::kLogicalOr;
  const Bounds first = range(it.operands[0], in, read);
  if (!first.fails && (is_or ? first.must_hold() : !first.may_hold())) {
    return is_or ? kTrue : kFalse;
  }
  const Bounds both[] = {first, range(it.operands[1], in, read)};
  return bounds_of(it.op, both, false);
}

Bounds Program::select(const Instruction& it, const Inputs& in, std::uint64_t& read) const {
  const Bounds condition = range(it.operands[0], in, read);
  if (!condition.fails && (condition.must_hold() || !condition.may_hold())) {
    return range(it.operands[condition.must_hold() ? 1 : 2], in, read);
  }
  const Bounds all[] = {condition, range(it.operands[1], in, read), range(it.operands[2], in, read)};
  return bounds_of(it.op, all, !it.integers);
}

Bounds Program::range(Node node, const Inputs& in, std::uint64_t& read) const {
  const Instruction& it = code_[node];
  switch (it.kind) {
    case Kind::kSlot: {
      read |= std::uint64_t{1} << it.index;
      Bounds point;
      point.fails = (in.failed >> it.index & 1) != 0;
      if (it.plain && !point.fails) {
        point.low = point.high = static_cast<std::int64_t>(in.slots[it.index]);
      }
      return point;
    }
    case Kind::kRememberedChoice:
      read |= std::uint64_t{1} << it.index;
      return {};
    case Kind::kOperation:
      break;
    case Kind::kChoice: {
      const Value& value = it.values[in.digits[it.index]];
      return value.kind() == Value::Kind::kReal ? Bounds{} : Bounds{value.integer(), value.integer()};
    }
    default:
      return it.bounds;
  }
  if (is_logic(it.op)) {
    return logic(it, in, read);
  }
  if (it.op == Operator::kSelect) {
    return select(it, in, read);
  }
  std::array<Bounds, 2> operands{range(it.operands[0], in, read), Bounds{0, 0}};
  bool any_real = !code_[it.operands[0]].integers;
  if (it.arity == 2) {
    operands[1] = range(it.operands[1], in, read);
    any_real = any_real || !code_[it.operands[1]].integers;
  }
  return bounds_of(it.op, std::span(operands).first(it.arity), any_real);
}

}  // namespace hone::space
