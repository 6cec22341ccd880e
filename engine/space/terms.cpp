#include "engine/space/terms.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "engine/kernel/arithmetic.hpp"

namespace hone::space {
namespace {

using kernel::is_logic;

constexpr std::uint64_t kConstantKey = 1 << 8, kVariableKey = 2 << 8, kFailedKey = 3 << 8;

bool gives_boolean(Operator op) {
  return op == Operator::kNot || op == Operator::kToBoolean || (op >= Operator::kLess && op <= Operator::kLogicalOr);
}

/// Whether the operator's result is a real number where one of its operands is.
bool carries_real(Operator op) {
  return op == Operator::kNegate || (op >= Operator::kAdd && op <= Operator::kRemainder) || op == Operator::kSelect;
}

Numbers numbers_of(Operator op, const std::vector<Numbers>& operands) {
  if (op == Operator::kToReal) {
    return Numbers::kReals;
  }
  const auto all = [&](std::size_t from, Numbers which) {
    return std::all_of(operands.begin() + static_cast<std::ptrdiff_t>(from), operands.end(), [&](Numbers n) { return n == which; });
  };
  const std::size_t first = op == Operator::kSelect ? 1 : 0;  // a condition's kind is not the result's
  if (!carries_real(op) || all(first, Numbers::kIntegers)) {
    return Numbers::kIntegers;
  }
  const bool one_is_enough = op != Operator::kSelect && std::ranges::find(operands, Numbers::kReals) != operands.end();
  return one_is_enough || all(first, Numbers::kReals) ? Numbers::kReals : Numbers::kBoth;
}

std::vector<ParameterId> united(const std::vector<ParameterId>& a, const std::vector<ParameterId>& b) {
  std::vector<ParameterId> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

}  // namespace

Terms::Terms(const std::vector<Parameter>& parameters) : parameters_(parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    names_.emplace("c." + parameters[i].name, static_cast<ParameterId>(i));
  }
  Term failed;
  failed.kind = Term::Kind::kFailed;
  failed.bounds.fails = true;
  add({kFailedKey}, std::move(failed));
  constant(Value(false));
  constant(Value(true));
}

TermId Terms::add(std::vector<std::uint64_t> key, Term term) {
  const auto [at, fresh] = known_.try_emplace(std::move(key), static_cast<TermId>(terms_.size()));
  if (fresh) {
    terms_.push_back(std::move(term));
  }
  return at->second;
}

TermId Terms::constant(const Value& value) {
  Term term;
  term.kind = Term::Kind::kConstant;
  term.value = value;
  const bool real = value.kind() == Value::Kind::kReal;
  term.plain = !real;
  term.numbers = real ? Numbers::kReals : Numbers::kIntegers;
  if (!real) {
    term.bounds = {value.integer(), value.integer()};
  }
  const std::uint64_t bits = real ? std::bit_cast<std::uint64_t>(value.real()) : static_cast<std::uint64_t>(value.integer());
  return add({kConstantKey + static_cast<std::uint64_t>(value.kind()), bits}, std::move(term));
}

TermId Terms::variable(ParameterId parameter) {
  Term term;
  term.kind = Term::Kind::kVariable;
  term.parameter = parameter;
  term.free = {parameter};
  const std::vector<Value>& values = parameters_[parameter].values;
  const auto reals = std::ranges::count(values, Value::Kind::kReal, &Value::kind);
  term.plain = reals == 0;
  term.numbers = reals == 0 ? Numbers::kIntegers : reals == std::ssize(values) ? Numbers::kReals : Numbers::kBoth;
  if (term.plain) {
    const auto [low, high] = std::ranges::minmax(values, {}, &Value::integer);
    term.bounds = {low.integer(), high.integer()};
  }
  return add({kVariableKey, parameter}, std::move(term));
}

TermId Terms::condition(const Expression& expression) {
  const TermId term = intern(expression);
  const Bounds& bounds = terms_[term].bounds;
  if (terms_[term].free.empty()) {
    return known(term) && terms_[term].value.boolean() ? kTrue : kFalse;
  }
  if (!bounds.may_hold()) {
    return kFalse;
  }
  return bounds.must_hold() && !bounds.fails ? kTrue : term;
}

TermId Terms::intern(const Expression& expression) {
  const Expression::Node& node = expression.node();
  if (node.op == Operator::kConstant) {
    return constant(node.value);
  }
  if (node.op == Operator::kVariable) {
    return variable(names_.at(node.name));
  }
  std::vector<TermId> operands;
  for (const Expression& operand : node.operands) {
    operands.push_back(intern(operand));
  }
  return make(node.op, std::move(operands));
}

TermId Terms::part(Operator op, std::vector<TermId> operands) { return operands.size() == 1 ? operands.front() : make_flat(op, operands); }

bool Terms::is_flat(TermId term) const {
  const Term& it = terms_[term];
  return it.kind == Term::Kind::kOperator && it.numbers == Numbers::kIntegers && (it.op == Operator::kAdd || it.op == Operator::kMultiply);
}

bool Terms::is_modular(TermId term) const {
  const Term& it = terms_[term];
  if (it.kind != Term::Kind::kOperator || it.op != Operator::kRemainder || !is_flat(it.operands[0]) || !known(it.operands[1]) ||
      terms_[it.operands[1]].bounds.low <= 0) {
    return false;
  }
  const Term& dividend = terms_[it.operands[0]];
  const auto tame = [&](TermId operand) { return terms_[operand].bounds.low >= 0 && !terms_[operand].bounds.fails; };
  return dividend.bounds.low >= 0 && dividend.bounds.high < Bounds{}.high && std::ranges::all_of(dividend.operands, tame);
}

TermId Terms::to_boolean(TermId term) {
  const Term& it = terms_[term];
  const bool is_boolean = it.kind == Term::Kind::kOperator ? gives_boolean(it.op) : known(term) && it.value.kind() == Value::Kind::kBoolean;
  return is_boolean ? term : make(Operator::kToBoolean, {term});
}

TermId Terms::fold(Operator op, std::span<const TermId> operands) {
  std::vector<Expression> constants;
  for (const TermId operand : operands) {
    constants.push_back(Expression::constant(terms_[operand].value));
  }
  const Expression folded = Expression::make(op, std::move(constants));
  return folded.is_constant() ? constant(folded.node().value) : kFailed;
}

std::optional<TermId> Terms::decide(Operator op, std::span<const TermId> operands) {
  if (operands[0] == kFailed) {
    return kFailed;
  }
  if (is_logic(op) && known(operands[0])) {
    const bool first = terms_[operands[0]].value.boolean();
    return first == (op == Operator::kLogicalOr) ? constant(Value(first)) : to_boolean(operands[1]);
  }
  if (op == Operator::kSelect && known(operands[0])) {
    return terms_[operands[0]].value.boolean() ? operands[1] : operands[2];
  }
  if (!is_logic(op) && op != Operator::kSelect && std::ranges::find(operands, kFailed) != operands.end()) {
    return kFailed;
  }
  if (std::ranges::all_of(operands, [this](TermId operand) { return known(operand); })) {
    return fold(op, operands);
  }
  return std::nullopt;
}

TermId Terms::make_flat(Operator op, std::span<const TermId> operands) {
  const std::int64_t neutral = op == Operator::kMultiply ? 1 : 0;
  TermId front = constant(Value(neutral));
  std::vector<TermId> flat;
  const auto take = [&](TermId operand) {
    if (known(operand)) {
      const TermId both[] = {front, operand};
      front = fold(op, both);
    } else {
      flat.push_back(operand);
    }
  };
  for (const TermId operand : operands) {
    if (is_flat(operand) && terms_[operand].op == op) {
      std::ranges::for_each(std::vector<TermId>(terms_[operand].operands), take);
    } else {
      take(operand);
    }
  }
  std::ranges::sort(flat);
  if (terms_[front].value.integer() != neutral) {
    flat.insert(flat.begin(), front);
  }
  if (flat.empty()) {
    return front;
  }
  if (flat.size() == 1) {
    return flat.front();
  }
  Term term;
  term.op = op;
  term.bounds = terms_[flat.front()].bounds;
  term.plain = terms_[flat.front()].plain;
  term.free = terms_[flat.front()].free;
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(op), flat.front()};
  for (const TermId operand : std::span(flat).subspan(1)) {
    const Bounds both[] = {term.bounds, terms_[operand].bounds};
    term.bounds = bounds_of(op, both, false);
    term.plain = term.plain && terms_[operand].plain;
    term.free = united(term.free, terms_[operand].free);
    key.push_back(operand);
  }
  term.operands = std::move(flat);
  return add(std::move(key), std::move(term));
}

TermId Terms::make(Operator op, std::vector<TermId> operands) {
  if (const std::optional<TermId> decided = decide(op, operands)) {
    return *decided;
  }
  Term term;
  term.op = op;
  std::vector<Bounds> bounds;
  std::vector<Numbers> numbers;
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(op)};
  bool any_real = false;
  for (const TermId operand : operands) {
    const Term& it = terms_[operand];
    any_real = any_real || it.numbers != Numbers::kIntegers;
    term.plain = term.plain && it.plain;
    term.free = united(term.free, it.free);
    bounds.push_back(it.bounds);
    numbers.push_back(it.numbers);
    key.push_back(operand);
  }
  if (!any_real && (op == Operator::kAdd || op == Operator::kMultiply)) {
    return make_flat(op, operands);
  }
  if (!any_real && (op == Operator::kSubtract || op == Operator::kNegate)) {  // a - b is a + (-1) * b, wrapping or not
    const TermId minus_last[] = {constant(Value(std::int64_t{-1})), operands.back()};
    const TermId negative = make_flat(Operator::kMultiply, minus_last);
    return op == Operator::kNegate ? negative : make(Operator::kAdd, {operands.front(), negative});
  }
  if (op == Operator::kToInteger && !any_real) {
    return operands.front();
  }
  term.numbers = numbers_of(op, numbers);
  term.plain = term.plain && term.numbers == Numbers::kIntegers;
  term.bounds = bounds_of(op, bounds, any_real);
  term.operands = std::move(operands);
  return add(std::move(key), std::move(term));
}

}  // namespace hone::space
