#pragma once
// Random parameters and constraints, and the list of valid configurations that a search space must agree with.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "engine/space/search_space.hpp"

namespace hone::test {

struct RandomSpace {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
};

inline std::size_t pick(std::mt19937_64& random, std::size_t below) { return static_cast<std::size_t>(random() % below); }

inline Parameter random_parameter(std::mt19937_64& random, std::size_t number, bool reals) {
  Parameter parameter;
  parameter.name = "x" + std::to_string(number);
  if (pick(random, 5) == 0) {
    parameter.kind = ParameterKind::kBoolean;
    parameter.values = {Value(false), Value(true)};
  } else if (reals && pick(random, 3) == 0) {
    parameter.kind = ParameterKind::kReal;
    parameter.values = {Value(0.5), Value(2.0), pick(random, 3) == 0 ? Value(3) : Value(1.25)};  // 3: of both kinds
  } else {
    const std::size_t count = 1 + pick(random, 6);
    for (std::size_t i = 0; i < count; ++i) {
      parameter.values.emplace_back(pick(random, 3) == 0 ? std::int64_t{1} << i : static_cast<std::int64_t>(i) - 1);
    }
    for (std::size_t i = 0; i < count; ++i) {  // distinct: a power of two may have met a small number
      while (std::count(parameter.values.begin(), parameter.values.end(), parameter.values[i]) > 1) {
        parameter.values[i] = Value(parameter.values[i].integer() + 7);
      }
    }
  }
  parameter.default_value = parameter.values.front();
  return parameter;
}

/// Every operator may occur, divisions by zero and shifts too far among them. C++ has no bitwise operators for real numbers:
/// where there are real numbers, there are none of these.
inline Expression random_term(std::mt19937_64& random, std::size_t parameters, bool reals, int depth) {
  if (depth == 0 || pick(random, 5) == 0) {
    return pick(random, 4) == 0 ? Expression::constant(Value(static_cast<std::int64_t>(pick(random, 12)) - 3))
                                : Expression::variable("c.x" + std::to_string(pick(random, parameters)));
  }
  static const std::vector<Operator> common{Operator::kAdd,      Operator::kSubtract, Operator::kMultiply,
                                            Operator::kMultiply, Operator::kDivide,   Operator::kLogicalAnd,
                                            Operator::kLess,     Operator::kEqual,    Operator::kLogicalOr};
  static const std::vector<Operator> integral{Operator::kRemainder, Operator::kShiftLeft, Operator::kShiftRight,
                                              Operator::kAnd,       Operator::kOr,        Operator::kXor};
  static const std::vector<Operator> unary{Operator::kNegate, Operator::kNot, Operator::kToBoolean, Operator::kToInteger};
  const auto term = [&] { return random_term(random, parameters, reals, depth - 1); };
  switch (pick(random, 8)) {
    case 0:
      return Expression::make(unary[pick(random, unary.size())], {term()});
    case 1:
      return Expression::make(reals ? Operator::kToReal : Operator::kComplement, {term()});
    case 2:
      return Expression::make(Operator::kSelect, {term(), term(), term()});
    default: {
      const auto& operators = reals || pick(random, 2) == 0 ? common : integral;
      return Expression::make(operators[pick(random, operators.size())], {term(), term()});
    }
  }
}

inline Constraint random_constraint(std::mt19937_64& random, std::size_t parameters, bool reals) {
  static constexpr Operator kComparisons[] = {Operator::kLess,         Operator::kLessEqual, Operator::kGreater,
                                              Operator::kGreaterEqual, Operator::kNotEqual,  Operator::kEqual};
  Constraint constraint;
  constraint.condition = Expression::make(kComparisons[pick(random, std::size(kComparisons))],
                                          {random_term(random, parameters, reals, 3), random_term(random, parameters, reals, 1)});
  if (pick(random, 3) == 0) {
    constraint.condition = Expression::make(pick(random, 2) == 0 ? Operator::kLogicalOr : Operator::kLogicalAnd,
                                            {constraint.condition, random_term(random, parameters, reals, 2)});
  }
  constraint.text = constraint.condition.text();
  constraint.line = 1;
  return constraint;
}

inline RandomSpace random_space(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RandomSpace result;
  const bool reals = pick(random, 4) == 0;
  const std::size_t parameters = 1 + pick(random, 6);
  for (std::size_t i = 0; i < parameters; ++i) {
    result.parameters.push_back(random_parameter(random, i, reals));
  }
  const std::size_t constraints = pick(random, 4);
  for (std::size_t i = 0; i < constraints; ++i) {
    result.constraints.push_back(random_constraint(random, parameters, reals));
  }
  return result;
}

/// A constraint that cannot be evaluated is not met.
inline bool holds(const Constraint& constraint, const Bindings& bound) {
  const auto value = constraint.condition.evaluate(bound);
  return value.ok() && value->boolean();
}

/// Every valid configuration in lexicographic order, found by trying all.
inline std::vector<Configuration> enumerate(const RandomSpace& space) {
  std::vector<Configuration> valid;
  std::vector<std::size_t> digits(space.parameters.size(), 0);
  for (bool more = true; more;) {
    Configuration configuration;
    for (std::size_t p = 0; p < digits.size(); ++p) {
      configuration.values.push_back(space.parameters[p].values[digits[p]]);
    }
    const Bindings bound = bindings(space.parameters, configuration);
    if (std::all_of(space.constraints.begin(), space.constraints.end(), [&](const Constraint& c) { return holds(c, bound); })) {
      valid.push_back(std::move(configuration));
    }
    more = false;
    for (std::size_t p = digits.size(); p-- > 0 && !more;) {
      digits[p] = (digits[p] + 1) % space.parameters[p].values.size();
      more = digits[p] != 0;
    }
  }
  return valid;
}

}  // namespace hone::test
