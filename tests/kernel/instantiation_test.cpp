#include "engine/kernel/instantiation.hpp"

#include <doctest/doctest.h>

using hone::Expression;
using hone::Operator;

TEST_CASE("a pass can run unless the configuration alone forbids it") {
  hone::KernelSpec spec;
  hone::Parameter& parameter = spec.parameters.emplace_back();
  parameter.name = "split";
  parameter.values = {hone::Value(1), hone::Value(2)};
  const hone::Configuration whole{{hone::Value(1)}}, split{{hone::Value(2)}};
  const Expression splits = Expression::make(Operator::kGreater, {Expression::variable("c.split"), Expression::constant(1)});
  const Expression large = Expression::make(Operator::kGreater, {Expression::variable("p.n"), Expression::constant(100)});
  hone::Pass pass;
  pass.enabled = splits;
  CHECK_FALSE(hone::can_run(spec, pass, whole));
  CHECK(hone::can_run(spec, pass, split));
  pass.enabled = large;  // the problem decides
  CHECK(hone::can_run(spec, pass, whole));
  pass.enabled = Expression::make(Operator::kLogicalAnd, {splits, large});
  CHECK_FALSE(hone::can_run(spec, pass, whole));
  CHECK(hone::can_run(spec, pass, split));
}
