#pragma once
// A kernel of which some shapes forbid what others allow.

#include "engine/kernel/kernel_spec.hpp"

namespace hone::test {

/// c.wide divides p.n; c.block is free.
inline KernelSpec copy_kernel() {
  KernelSpec spec;
  spec.name = "copy";
  spec.dtypes = {DType::kF32};
  spec.parameters = {{.name = "wide", .values = {1, 2, 4}, .default_value = 1}, {.name = "block", .values = {32, 64}, .default_value = 32}};
  spec.problem = {{.name = "n", .default_value = 64, .comment = ""}};
  const Expression rest = Expression::make(Operator::kRemainder, {Expression::variable("p.n"), Expression::variable("c.wide")});
  spec.constraints = {{Expression::make(Operator::kEqual, {rest, Expression::constant(0)}), "", 1}};
  spec.cost.bytes = spec.cost.flops = Expression::variable("p.n");
  return spec;
}

}  // namespace hone::test
