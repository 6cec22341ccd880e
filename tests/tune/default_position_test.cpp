#include "engine/space/default_position.hpp"

#include <doctest/doctest.h>

#include "engine/tune/session.hpp"

namespace hone {
namespace {

std::vector<Parameter> parameters() {
  return {{.name = "a", .values = {1, 2, 3, 4}, .default_value = 4}, {.name = "b", .values = {1, 2, 3, 4}, .default_value = 4}};
}

SearchSpace space_with_sum_below(int limit) {
  const Expression sum = Expression::make(Operator::kAdd, {Expression::variable("c.a"), Expression::variable("c.b")});
  return SearchSpace::build(parameters(), {{Expression::make(Operator::kLess, {sum, Expression::constant(limit)}), "", 1}}, {}).value();
}

}  // namespace

TEST_CASE("a valid default is its own position") {
  const SearchSpace space = space_with_sum_below(100);
  const Configuration wanted{{Value(4), Value(4)}};
  CHECK(space.at(default_position(space, wanted)) == wanted);
}

TEST_CASE("for an invalid default the nearest valid configuration stands in, the same every time") {
  const SearchSpace space = space_with_sum_below(8);
  const Configuration wanted{{Value(4), Value(4)}};
  const Count position = default_position(space, wanted);
  const Configuration stand_in = space.at(position);
  CHECK(stand_in.values[0].integer() + stand_in.values[1].integer() == 7);
  CHECK(default_position(space, wanted) == position);
}

}  // namespace hone
