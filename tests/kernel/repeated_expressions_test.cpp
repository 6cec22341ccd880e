// Expressions of one configuration after another.
#include "engine/kernel/repeated_expressions.hpp"

#include <doctest/doctest.h>

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
    RepeatedExpressions repeated(spec->parameters, fixed);
    for (int i = 0; i < 10; ++i) {
      Configuration configuration;
      for (const Parameter& parameter : spec->parameters) {
        configuration.values.push_back(parameter.values[below(parameter.values.size())]);
      }
      repeated.choose(configuration);
      Bindings bound = bindings(spec->parameters, configuration);
      bound.insert(fixed.begin(), fixed.end());
      for (const Expression& one : all) {
        const std::optional<Value> expected = value_of(one, bound);
        CHECK(repeated.evaluate(one) == expected);
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
  RepeatedExpressions repeated(one_parameter(), {{"p.rows", Value(6)}});
  for (const int block : {2, 0, 3}) {
    CAPTURE(block);
    repeated.choose({{Value(block)}});
    CHECK(repeated.evaluate(quotient) == (block == 0 ? std::nullopt : std::optional(Value(6 / block))));
    CHECK(repeated.evaluate(guarded) == Value(block == 0 ? 0 : 6 / block));
    CHECK(repeated.evaluate(both) == Value(block != 0));
  }
  CHECK_FALSE(repeated.evaluate(Expression::variable("d.nothing")).has_value());
}

}  // namespace hone
