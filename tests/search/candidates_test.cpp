#include "search/candidates.hpp"

#include "tests/search/grid.hpp"

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;

TEST_CASE("A small space is listed whole and stays as it is") {
  const Grid grid({counting(4), counting(5)});
  Candidates candidates(grid.space());
  CHECK(candidates.complete());
  REQUIRE(candidates.size() == 20);
  CHECK(candidates.digits(7)[0] == 3);
  CHECK(candidates.digits(7)[1] == 1);
  CHECK(candidates.find(19) == 19);
  CHECK_FALSE(candidates.find(20));
  plugin::Random random(1);
  candidates.renew(random, {}, {}, {3});
  CHECK(candidates.size() == 20);
}

TEST_CASE("Of a large space there is what was wanted, the neighbours of the centres and a sample, nothing twice") {
  const Grid grid({counting(100), counting(100), counting(100)});
  Candidates candidates(grid.space());
  CHECK_FALSE(candidates.complete());
  plugin::Random random(1);
  const std::vector<plugin::Position> centres{0};
  candidates.renew(random, centres, {}, {123456, 999999, 123456});
  CHECK(candidates.size() > 1000);
  for (const plugin::Position expected : {123456, 999999, 1, 99, 100, 9900, 990000}) {
    const auto found = candidates.find(expected);
    REQUIRE(found);
    CHECK((candidates.position(*found) == expected));
    CHECK((grid.space().index(candidates.digits(*found)) == expected));
  }
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    REQUIRE(candidates.position(i - 1) < candidates.position(i));
  }
}

TEST_CASE("A space without parameters has one candidate") {
  const Grid grid({});
  CHECK(Candidates(grid.space()).size() == 1);
}

TEST_CASE("Of a space that no sample covers there is what two good ones have each a part of") {
  const Grid grid(std::vector(12, counting(10)));  // 10^12
  Candidates candidates(grid.space());
  plugin::Random random(1);
  plugin::Digits left(12, 3), right(12, 3), child(12, 3);
  left[0] = right[7] = child[0] = child[7] = 8;
  left[4] = 1;
  const std::vector<plugin::Position> parents{*grid.space().index(left), *grid.space().index(right)};
  candidates.renew(random, {}, parents, {});
  CHECK(candidates.find(*grid.space().index(child)));
}
