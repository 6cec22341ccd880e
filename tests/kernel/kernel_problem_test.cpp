#include "engine/kernel/kernel_problem.hpp"

#include <doctest/doctest.h>

using hone::Direction;
using hone::Expression;
using hone::Operator;

namespace {

hone::Argument argument(Direction direction, hone::DType dtype, Expression extent) {
  hone::Argument made;
  made.direction = direction;
  made.element_is_t = false;
  made.dtype = dtype;
  made.extent = std::move(extent);
  return made;
}

}  // namespace

TEST_CASE("the sizes of a problem are those of the arrays that a caller passes") {
  const Expression n = Expression::variable("p.n"), halves = Expression::make(Operator::kDivide, {n, Expression::constant(2)});
  hone::KernelSpec spec;
  spec.arguments = {argument(Direction::kIn, hone::DType::kF32, n), argument(Direction::kOut, hone::DType::kF64, halves),
                    argument(Direction::kScalar, hone::DType::kF64, Expression::constant(1)),
                    argument(Direction::kWorkspace, hone::DType::kF64, Expression::make(Operator::kMultiply, {n, n})),
                    argument(Direction::kIn, hone::DType::kF32, Expression::variable("c.block"))};  // of the configuration: left out
  const hone::Problem problem{hone::DType::kF32, {{"n", 7}}};
  CHECK(hone::argument_bytes(spec, problem) == 7 * 4 + 3 * 8);
  CHECK(hone::largest_argument(spec, problem) == 7.0);
}
