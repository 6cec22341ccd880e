#include "search/balance.hpp"

#include "tests/search/grid.hpp"

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;

TEST_CASE("Half the values apart is least alike, and both ends are beside each other") {
  const Grid grid({counting(8)});
  const Candidates candidates(grid.space());
  const Balance balance(grid.space(), candidates);
  CHECK(balance.likeness({2}, {2}) == doctest::Approx(0.25));
  CHECK(balance.likeness({2}, {6}) == doctest::Approx(0.0));
  CHECK(balance.likeness({0}, {7}) == doctest::Approx(balance.likeness({3}, {4})));
  CHECK(balance.likeness({0}, {1}) > balance.likeness({0}, {2}));
}

TEST_CASE("Labels are the same or not, and parameters add up") {
  const Grid labels({counting(3)}, HONE_CATEGORICAL);
  const Candidates of_labels(labels.space());
  const Balance balance(labels.space(), of_labels);
  CHECK(balance.likeness({1}, {1}) == 0.25F);
  CHECK(balance.likeness({0}, {2}) == 0.0F);
  const Grid two({counting(4), counting(2)});
  const Candidates of_two(two.space());
  CHECK(Balance(two.space(), of_two).likeness({0, 1}, {2, 1}) == doctest::Approx(0.25));
}
