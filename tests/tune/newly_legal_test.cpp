#include "engine/tune/newly_legal.hpp"

#include <doctest/doctest.h>

namespace hone {
namespace {

/// c.wide divides p.n; c.block is free.
KernelSpec copy_kernel() {
  KernelSpec spec;
  spec.name = "copy";
  spec.parameters = {{.name = "wide", .values = {1, 2, 4}, .default_value = 1}, {.name = "block", .values = {32, 64}, .default_value = 32}};
  spec.problem = {{.name = "n", .default_value = 64, .comment = ""}};
  const Expression rest = Expression::make(Operator::kRemainder, {Expression::variable("p.n"), Expression::variable("c.wide")});
  spec.constraints = {{Expression::make(Operator::kEqual, {rest, Expression::constant(0)}), "", 1}};
  return spec;
}

Problem problem_of(std::int64_t n) { return {DType::kF32, {{"n", n}}}; }

}  // namespace

TEST_CASE("what a ragged shape forbids is newly legal at an even one, one parameter at a time") {
  const KernelSpec spec = copy_kernel();
  const Configuration narrow{{Value(1), Value(64)}};
  const auto found = newly_legal(spec, narrow, problem_of(64), problem_of(63), {});
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Configuration{{Value(2), Value(64)}});
  CHECK(found[1] == Configuration{{Value(4), Value(64)}});
  CHECK(newly_legal(spec, narrow, problem_of(62), problem_of(63), {}) == std::vector{Configuration{{Value(2), Value(64)}}});
}

TEST_CASE("nothing is newly legal where the same was legal before") {
  const KernelSpec spec = copy_kernel();
  CHECK(newly_legal(spec, {{Value(1), Value(64)}}, problem_of(64), problem_of(32), {}).empty());
  CHECK(newly_legal(spec, {{Value(1), Value(64)}}, problem_of(63), problem_of(64), {}).empty());
}

}  // namespace hone
