#include "engine/tune/newly_legal.hpp"

#include <doctest/doctest.h>

#include "tests/tune/copy_kernel.hpp"

namespace hone {
namespace {

Problem problem_of(std::int64_t n) { return {DType::kF32, {{"n", n}}}; }

}  // namespace

TEST_CASE("what a ragged shape forbids is newly legal at an even one, one parameter at a time") {
  const KernelSpec spec = test::copy_kernel();
  const Configuration narrow{{Value(1), Value(64)}};
  const auto found = newly_legal(spec, narrow, problem_of(64), problem_of(63), {});
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Configuration{{Value(2), Value(64)}});
  CHECK(found[1] == Configuration{{Value(4), Value(64)}});
  CHECK(newly_legal(spec, narrow, problem_of(62), problem_of(63), {}) == std::vector{Configuration{{Value(2), Value(64)}}});
}

TEST_CASE("likely neighbours meet what the author expects, and where none does all are") {
  KernelSpec spec = test::copy_kernel();
  const Configuration narrow{{Value(1), Value(32)}};
  CHECK(likely_neighbours(spec, narrow, problem_of(64), {}).size() == 3);
  const Expression wide = Expression::variable("c.wide");
  spec.expectations = {{Expression::make(Operator::kEqual, {wide, Expression::constant(4)}), "", 1}};
  CHECK(likely_neighbours(spec, narrow, problem_of(64), {}) == std::vector{Configuration{{Value(4), Value(32)}}});
  CHECK(likely_neighbours(spec, narrow, problem_of(62), {}) == legal_neighbours(spec, narrow, problem_of(62), {}));
}

TEST_CASE("nothing is newly legal where the same was legal before") {
  const KernelSpec spec = test::copy_kernel();
  CHECK(newly_legal(spec, {{Value(1), Value(64)}}, problem_of(64), problem_of(32), {}).empty());
  CHECK(newly_legal(spec, {{Value(1), Value(64)}}, problem_of(63), problem_of(64), {}).empty());
}

}  // namespace hone
