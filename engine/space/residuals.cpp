#include "engine/space/residuals.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hone::space {
namespace {

constexpr Atom kUnknown = std::numeric_limits<Atom>::max();
constexpr std::uint64_t kConstantKey = 1 << 8, kVariableKey = 2 << 8, kSetKey = 3 << 8;

bool gives_boolean(Operator op) {
  return op == Operator::kNot || op == Operator::kToBoolean || (op >= Operator::kLess && op <= Operator::kLogicalOr);
}

/// Whether the operator's result is a real number where one of its operands is.
bool carries_real(Operator op) {
  return op == Operator::kNegate || op == Operator::kAdd || op == Operator::kSubtract || op == Operator::kMultiply ||
         op == Operator::kDivide || op == Operator::kRemainder || op == Operator::kSelect;
}

std::vector<ParameterId> united(const std::vector<ParameterId>& a, const std::vector<ParameterId>& b) {
  std::vector<ParameterId> both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

}  // namespace

Residuals::Residuals(const std::vector<Parameter>& parameters) : parameters_(parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    names_.emplace("c." + parameters[i].name, static_cast<ParameterId>(i));
  }
  Term failed;
  failed.kind = Kind::kFailed;
  failed.bounds.fails = true;
  add({}, failed);
  constant(Value(false));
  constant(Value(true));
}

Atom Residuals::add(std::vector<std::uint64_t> key, Term term) {
  const auto [at, fresh] = known_.try_emplace(std::move(key), static_cast<Atom>(terms_.size()));
  if (fresh) {
    terms_.push_back(std::move(term));
    simplified_.push_back(kUnknown);
  }
  return at->second;
}

Atom Residuals::constant(const Value& value) {
  Term term;
  term.kind = Kind::kConstant;
  term.value = value;
  term.real = value.kind() == Value::Kind::kReal;
  if (!term.real) {
    term.bounds = {value.integer(), value.integer()};
  }
  const std::uint64_t bits = term.real ? std::bit_cast<std::uint64_t>(value.real()) : static_cast<std::uint64_t>(value.integer());
  return add({kConstantKey + static_cast<std::uint64_t>(value.kind()), bits}, std::move(term));
}

Atom Residuals::variable(ParameterId parameter) {
  Term term;
  term.kind = Kind::kVariable;
  term.parameter = parameter;
  term.free = {parameter};
  const std::vector<Value>& values = parameters_[parameter].values;
  term.real = std::ranges::any_of(values, [](const Value& value) { return value.kind() == Value::Kind::kReal; });
  if (!term.real) {
    const auto [low, high] = std::ranges::minmax(values, {}, &Value::integer);
    term.bounds = {low.integer(), high.integer()};
  }
  return add({kVariableKey, parameter}, std::move(term));
}

Atom Residuals::intern(const Expression& condition) {
  const Expression::Node& node = condition.node();
  if (node.op == Operator::kConstant) {
    return constant(node.value);
  }
  if (node.op == Operator::kVariable) {
    return variable(names_.at(node.name));
  }
  std::vector<Atom> operands;
  for (const Expression& operand : node.operands) {
    operands.push_back(intern(operand));
  }
  return make(node.op, std::move(operands));
}

Atom Residuals::to_boolean(Atom atom) {
  const Term& term = terms_[atom];
  const bool is_boolean = term.kind == Kind::kTerm ? gives_boolean(term.op) : known(atom) && term.value.kind() == Value::Kind::kBoolean;
  return is_boolean ? atom : make(Operator::kToBoolean, {atom});
}

Atom Residuals::fold(Operator op, const std::vector<Atom>& operands) {
  std::vector<Expression> constants;
  for (const Atom operand : operands) {
    constants.push_back(Expression::constant(terms_[operand].value));
  }
  const Expression folded = Expression::make(op, std::move(constants));
  return folded.is_constant() ? constant(folded.node().value) : kFailed;
}

std::optional<Atom> Residuals::decide(Operator op, const std::vector<Atom>& operands) {
  const bool logical = op == Operator::kLogicalAnd || op == Operator::kLogicalOr;
  if (operands[0] == kFailed) {
    return kFailed;
  }
  if (logical && known(operands[0])) {
    const bool first = terms_[operands[0]].value.boolean();
    return first == (op == Operator::kLogicalOr) ? constant(Value(first)) : to_boolean(operands[1]);
  }
  if (op == Operator::kSelect && known(operands[0])) {
    return terms_[operands[0]].value.boolean() ? operands[1] : operands[2];
  }
  if (!logical && op != Operator::kSelect && std::ranges::find(operands, kFailed) != operands.end()) {
    return kFailed;
  }
  if (std::ranges::all_of(operands, [this](Atom operand) { return known(operand); })) {
    return fold(op, operands);
  }
  return std::nullopt;
}

bool Residuals::has_constant_front(Operator op, Atom atom) const {
  const Term& term = terms_[atom];
  return term.kind == Kind::kTerm && term.op == op && !term.real && known(term.operands[0]);
}

Atom Residuals::make_commutative(Operator op, Atom a, Atom b) {
  if (!known(a) && (known(b) || a > b)) {
    std::swap(a, b);
  }
  if (has_constant_front(op, b)) {
    const auto [front, rest] = conjuncts(b);
    return known(a) ? make(op, {fold(op, {a, front}), rest}) : make(op, {front, make(op, {a, rest})});
  }
  if (has_constant_front(op, a)) {
    const auto [front, rest] = conjuncts(a);
    return make(op, {front, make(op, {rest, b})});
  }
  Term term;
  term.op = op;
  term.operands = {a, b};
  term.free = united(terms_[a].free, terms_[b].free);
  term.bounds = bounds_of(op, {terms_[a].bounds, terms_[b].bounds}, false);
  return add({static_cast<std::uint64_t>(op), a, b}, std::move(term));
}

Atom Residuals::make(Operator op, std::vector<Atom> operands) {
  if (const std::optional<Atom> decided = decide(op, operands)) {
    return *decided;
  }
  Term term;
  term.op = op;
  std::vector<Bounds> bounds;
  std::vector<std::uint64_t> key{static_cast<std::uint64_t>(op)};
  bool any_real = false;
  for (const Atom operand : operands) {
    any_real = any_real || terms_[operand].real;
    term.free = united(term.free, terms_[operand].free);
    bounds.push_back(terms_[operand].bounds);
    key.push_back(operand);
  }
  term.real = op == Operator::kToReal || (any_real && carries_real(op));
  if (!term.real && (op == Operator::kAdd || op == Operator::kMultiply)) {
    return make_commutative(op, operands[0], operands[1]);
  }
  term.operands = std::move(operands);
  term.bounds = bounds_of(op, bounds, any_real);
  return add(std::move(key), std::move(term));
}

bool Residuals::depends_on(Atom atom, ParameterId parameter) const { return std::ranges::binary_search(terms_[atom].free, parameter); }

Atom Residuals::substitute(Atom atom, ParameterId parameter, std::size_t value) {
  if (!depends_on(atom, parameter)) {
    return atom;
  }
  if (is_set(atom)) {
    return set_has(atom, value) ? kTrue : kFalse;
  }
  if (terms_[atom].kind == Kind::kVariable) {
    return constant(parameters_[parameter].values[value]);
  }
  const std::uint64_t key = std::uint64_t{atom} << 32 | std::uint64_t{parameter} << 16 | value;
  if (const auto at = substituted_.find(key); at != substituted_.end()) {
    return at->second;
  }
  const Operator op = terms_[atom].op;
  std::vector<Atom> operands = terms_[atom].operands;
  for (Atom& operand : operands) {
    operand = substitute(operand, parameter, value);
  }
  const Atom result = make(op, std::move(operands));
  substituted_.emplace(key, result);
  return result;
}

Atom Residuals::set_of(ParameterId parameter, std::vector<std::uint64_t> words) {
  std::size_t members = 0;
  for (const std::uint64_t word : words) {
    members += static_cast<std::size_t>(std::popcount(word));
  }
  if (members == 0 || members == parameters_[parameter].values.size()) {
    return members == 0 ? kFalse : kTrue;
  }
  std::vector<std::uint64_t> key{kSetKey, parameter};
  key.insert(key.end(), words.begin(), words.end());
  Term term;
  term.kind = Kind::kSet;
  term.parameter = parameter;
  term.free = {parameter};
  term.set = static_cast<std::uint32_t>(sets_.size());
  const std::size_t before = terms_.size();
  const Atom atom = add(std::move(key), std::move(term));
  if (terms_.size() != before) {
    sets_.push_back(std::move(words));
  }
  return atom;
}

Atom Residuals::tabulate(Atom atom) {
  const ParameterId parameter = terms_[atom].free.front();
  const std::size_t values = parameters_[parameter].values.size();
  std::vector<std::uint64_t> words((values + 63) / 64, 0);
  for (std::size_t value = 0; value < values; ++value) {
    const Atom result = substitute(atom, parameter, value);
    if (known(result) && terms_[result].value.boolean()) {
      words[value / 64] |= std::uint64_t{1} << (value % 64);
    }
  }
  return set_of(parameter, std::move(words));
}

Atom Residuals::simplify(Atom atom) {
  if (is_set(atom)) {
    return atom;
  }
  if (simplified_[atom] != kUnknown) {
    return simplified_[atom];
  }
  Atom result = atom;
  const Bounds bounds = terms_[atom].bounds;
  if (terms_[atom].free.empty()) {
    result = known(atom) && terms_[atom].value.boolean() ? kTrue : kFalse;
  } else if (!bounds.may_hold()) {
    result = kFalse;
  } else if (bounds.must_hold() && !bounds.fails) {
    result = kTrue;
  } else if (terms_[atom].free.size() == 1) {
    result = tabulate(atom);
  }
  simplified_[atom] = result;
  return result;
}

Atom Residuals::intersect(Atom a, Atom b) {
  std::vector<std::uint64_t> words = sets_[terms_[a].set];
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] &= sets_[terms_[b].set][i];
  }
  return set_of(terms_[a].parameter, std::move(words));
}

}  // namespace hone::space
