// Expressions of one configuration after another.
#include "engine/kernel/repeated_expressions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"

namespace hone {
namespace {

const Expression kBlock = Expression::variable("c.block"), kRows = Expression::variable("p.rows"), kZero = Expression::constant(0);

std::vector<Parameter> one_parameter() {
  std::vector<Parameter> parameters(1);
  parameters[0].name = "block";
  return parameters;
}

std::optional<Value> value_of(const Expression& expression, const Bindings& bound) {
  const Result<Value> value = expression.evaluate(bound);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<Value> value_of(RepeatedValues& values, std::size_t expression) {
  const Value* const value = values[expression];
  return value == nullptr ? std::nullopt : std::optional(*value);
}

/// All expressions that a kernel has of its configurations.
std::vector<Expression> expressions_of(const KernelSpec& spec) {
  std::vector<Expression> all;
  for (const Pass& pass : spec.passes) {
    all.push_back(pass.enabled);
    all.insert(all.end(), pass.grid.begin(), pass.grid.end());
    all.insert(all.end(), pass.block.begin(), pass.block.end());
  }
  for (const Constraint& constraint : spec.constraints) {
    all.push_back(constraint.condition);
  }
  return all;
}

}  // namespace

TEST_CASE("repeated expressions are what they are one at a time, for every kernel") {
  std::mt19937_64 random(3);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  std::size_t valid = 0, failed = 0;
  for (const KernelSpec* const spec : builtin_kernels()) {
    CAPTURE(spec->name);
    // A device without one of its properties, and an extent of 0 now and then: what asks for it, or divides by it, fails.
    Bindings fixed{{"d.multiprocessors", Value(132)}, {"d.shared_memory_per_block", Value(232448)}};
    const std::vector<Expression> all = expressions_of(*spec);
    for (const Expression& one : all) {
      for (const std::string& name : one.variables()) {
        if (name.starts_with("p.") || name.starts_with("sizeof")) {
          fixed.emplace(name, Value(static_cast<std::int64_t>(below(5) * 37)));
        }
      }
    }
    RepeatedExpressions expressions(spec->parameters);
    for (const Expression& one : all) {
      expressions.add(one);
    }
    RepeatedValues values(expressions, fixed);
    for (int i = 0; i < 10; ++i) {
      Configuration configuration;
      for (const Parameter& parameter : spec->parameters) {
        configuration.values.push_back(parameter.values[below(parameter.values.size())]);
      }
      values.choose(configuration);
      Bindings bound = bindings(spec->parameters, configuration);
      bound.insert(fixed.begin(), fixed.end());
      std::vector<std::size_t> order(all.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t one : order) {
        const std::optional<Value> expected = value_of(all[one], bound);
        CHECK(value_of(values, one) == expected);
        ++(expected ? valid : failed);
      }
    }
  }
  CHECK(valid > 1000);
  CHECK(failed > 100);
}

TEST_CASE("what fails fails for its configuration alone, and not where nobody asks for it") {
  const Expression quotient = Expression::make(Operator::kDivide, {kRows, kBlock});
  const Expression is_some = Expression::make(Operator::kNotEqual, {kBlock, kZero});
  const Expression guarded = Expression::make(Operator::kSelect, {is_some, quotient, kZero});
  const Expression both = Expression::make(Operator::kLogicalAnd, {is_some, quotient});
  RepeatedExpressions expressions(one_parameter());
  const Expression nothing = Expression::variable("d.nothing");
  for (const Expression* const one : {&quotient, &guarded, &both, &nothing}) {
    expressions.add(*one);
  }
  RepeatedValues values(expressions, {{"p.rows", Value(6)}});
  for (const int block : {2, 0, 3}) {
    CAPTURE(block);
    values.choose({{Value(block)}});
    CHECK(value_of(values, 0) == (block == 0 ? std::nullopt : std::optional(Value(6 / block))));
    CHECK(value_of(values, 1) == Value(block == 0 ? 0 : 6 / block));
    CHECK(value_of(values, 2) == Value(block != 0));
    CHECK_FALSE(value_of(values, 3).has_value());
  }
}

}  // namespace hone
