#include "search/surrogate.hpp"

#include <cmath>
#include <set>

#include "tests/search/grid.hpp"

namespace {

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;
using test::seen;

constexpr plugin::About kNoParameters{};

double time_of(const Grid& grid, plugin::Position position) {
  double log_time = 1.0;
  for (const std::uint16_t digit : grid.space().at(position)) {
    log_time += 0.02 * std::pow(digit - 4.0, 2);
  }
  return std::exp(log_time);
}

/// Positions in the order they were asked for, and the best time among them.
struct Search {
  std::vector<plugin::Position> asked;
  double best = 1e300;
};

Search searched(const Grid& grid, const std::vector<hone_prior>& priors, std::size_t budget, std::size_t batch = 1) {
  const hone_strategy_context context = grid.context(priors);
  Surrogate surrogate(plugin::Context(context, kNoParameters), {});
  Search result;
  while (result.asked.size() < budget) {
    std::vector<plugin::Observation> outcomes;
    for (const plugin::Position position : surrogate.ask(batch)) {
      result.asked.push_back(position);
      result.best = std::min(result.best, time_of(grid, position));
      outcomes.push_back(seen(position, time_of(grid, position)));
    }
    if (outcomes.empty()) {
      break;
    }
    surrogate.tell(outcomes);
  }
  return result;
}

std::vector<plugin::Observation> recorded(const Grid& grid, plugin::Position step) {
  std::vector<plugin::Observation> observations;
  for (plugin::Position position = 0; position < grid.space().size(); position += step) {
    observations.push_back(seen(position, 7.0 * time_of(grid, position)));
  }
  return observations;
}

}  // namespace

TEST_CASE("A bowl's bottom is found soon, and nothing is asked for twice") {
  const Grid grid({counting(9), counting(9), counting(9)});
  for (const std::size_t batch : {1, 4}) {
    const Search found = searched(grid, {}, 40, batch);
    CHECK(found.best == doctest::Approx(std::exp(1.0)));
    CHECK(std::set<plugin::Position>(found.asked.begin(), found.asked.end()).size() == found.asked.size());
  }
}

TEST_CASE("A space is asked for to its end, also one of a single configuration") {
  CHECK(searched(Grid({counting(3), counting(4)}), {}, 100).asked.size() == 12);
  CHECK(searched(Grid({counting(1)}), {}, 100).asked.size() == 1);
  CHECK(searched(Grid({}), {}, 100).asked.size() == 1);
}

TEST_CASE("In a large space a source is followed, and its candidates are drawn anew without it being fitted again") {
  const Grid grid({counting(10), counting(10), counting(10), counting(10), counting(10)});
  const std::vector<plugin::Observation> record = recorded(grid, 331);
  const std::vector<hone_prior> priors{{"device", "f32", "shape", record.data(), record.size()}};
  CHECK(searched(grid, priors, 12).best < std::exp(1.1));
}

TEST_CASE("A source is begun with: its best first") {
  const Grid grid({counting(9), counting(9), counting(9)});
  const std::vector<plugin::Observation> record = recorded(grid, 1);
  const std::vector<hone_prior> priors{{"device", "f32", "shape", record.data(), record.size()}};
  CHECK((searched(grid, priors, 1).asked.front() == *grid.space().index(plugin::Digits{4, 4, 4})));
}
