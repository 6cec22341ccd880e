#include <doctest/doctest.h>

#include <algorithm>

#include "engine/tune/check.hpp"

namespace hone {
namespace {

/// a + b below 8, of 1 to 6 each: 6 with 1 alone.
KernelSpec spec() {
  KernelSpec made;
  for (const char* name : {"a", "b"}) {
    made.parameters.push_back({.name = name, .values = {1, 2, 3, 4, 5, 6, 7}, .default_value = 1});
  }
  const Expression sum = Expression::make(Operator::kAdd, {Expression::variable("c.a"), Expression::variable("c.b")});
  made.constraints = {{Expression::make(Operator::kLess, {sum, Expression::constant(8)}), "", 1}};
  return made;
}

}  // namespace

TEST_CASE("a check's sample begins with the default and meets every value that a valid configuration has") {
  const KernelSpec kernel = spec();
  std::vector<std::string> without;
  const auto sample = check_sample(kernel, {}, {}, 2, 5, without);
  REQUIRE(sample.ok());
  CHECK(sample->front() == default_configuration(kernel));
  CHECK(sample->size() <= 2 + 12);
  for (std::size_t p = 0; p < 2; ++p) {
    for (int value = 1; value <= 6; ++value) {
      CHECK(std::ranges::any_of(*sample, [&](const Configuration& one) { return one.values[p] == Value(value); }));
    }
  }
  CHECK(without == std::vector<std::string>{"a=7", "b=7"});
  CHECK(*check_sample(kernel, {}, {}, 2, 5, without) == *sample);
}

TEST_CASE("a reduced problem keeps to what it may cost, and to the kernel's defaults where they do") {
  KernelSpec kernel;
  kernel.problem = {{"m", 4096, ""}, {"layout", 1, ""}};
  Argument x;
  x.name = "x";
  x.extent = Expression::variable("p.m");
  kernel.arguments = {x};
  const Problem reduced = reduced_problem(kernel, DType::kF32, 1000, 1e9);
  CHECK(reduced.shape == Shape{{"m", 512}, {"layout", 1}});
  CHECK(reduced_problem(kernel, DType::kF32, 1 << 20, 1e9).shape == Shape{{"m", 4096}, {"layout", 1}});
  kernel.cost.flops = Expression::make(Operator::kMultiply, {Expression::variable("p.m"), Expression::constant(100)});
  CHECK(reduced_problem(kernel, DType::kF32, 1 << 20, 12800).shape[0].second == 128);
}

}  // namespace hone
