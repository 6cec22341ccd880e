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

using Times = double (*)(const Grid& grid, plugin::Position position);

Search searched(const Grid& grid, const std::vector<hone_prior>& priors, std::size_t budget, std::size_t batch = 1, std::uint64_t seed = 1,
                Times landscape = time_of, const SurrogateSettings& settings = {}) {
  const hone_strategy_context context = grid.context(priors, seed);
  Surrogate surrogate(plugin::Context(context, kNoParameters), settings);
  Search result;
  while (result.asked.size() < budget) {
    std::vector<plugin::Observation> outcomes;
    for (const plugin::Position position : surrogate.ask(batch)) {
      result.asked.push_back(position);
      result.best = std::min(result.best, landscape(grid, position));
      outcomes.push_back(seen(position, landscape(grid, position)));
    }
    if (outcomes.empty()) {
      break;
    }
    surrogate.tell(outcomes);
  }
  return result;
}

/// What is asked for until something is right, with that; what is not right is too slow, with its time.
std::vector<plugin::Position> until_right(const Grid& grid, double slowest_right, std::size_t budget, std::uint64_t seed,
                                          std::size_t spread) {
  const hone_strategy_context context = grid.context({}, seed);
  Surrogate surrogate(plugin::Context(context, kNoParameters), {.spread = spread});
  std::vector<plugin::Position> asked;
  while (asked.size() < budget) {
    const plugin::Position position = surrogate.ask(1).front();
    asked.push_back(position);
    if (time_of(grid, position) <= slowest_right) {
      break;
    }
    const plugin::Observation outcome = seen(position, time_of(grid, position), HONE_TOO_SLOW);
    surrogate.tell({&outcome, 1});
  }
  return asked;
}

/// Half of it is a plateau that is better in the mean; the other half is bad, but for one in eight that is the best.
double misleading_time(const Grid& grid, plugin::Position position) {
  const plugin::Digits digits = grid.space().at(position);
  plugin::Random noise(static_cast<std::uint64_t>(position));
  if (digits[0] < 4) {
    return 1.0 + 0.04 * noise.unit();
  }
  return noise.index(8) == 0 ? 0.7 : 1.5 + noise.unit();
}

/// Of so many searches, the share that finds less than 0.8.
double share_that_finds(const Grid& grid, std::size_t budget, Times landscape) {
  constexpr std::uint64_t kSearches = 60;
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= kSearches; ++seed) {
    found += searched(grid, {}, budget, 1, seed, landscape).best < 0.8 ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(kSearches);
}

double noise_time(const Grid&, plugin::Position position) { return std::exp(plugin::Random(static_cast<std::uint64_t>(position)).unit()); }

/// Good values in a corner beside a wide plateau.
double corner_time(const Grid& grid, plugin::Position position) {
  const plugin::Digits digits = grid.space().at(position);
  const int within = digits[0] + digits[1] + digits[2];
  return (within < 3 ? 1.0 + 0.2 * within : 2.0) + 0.01 * plugin::Random(static_cast<std::uint64_t>(position)).unit();
}

/// Mean of best possible time / best time found, after `budget` evaluations.
double mean_fraction(const Grid& grid, std::size_t budget, Times landscape) {
  constexpr std::uint64_t kSearches = 40;
  double best = 1e300, sum = 0.0;
  for (plugin::Position position = 0; position < grid.space().size(); ++position) {
    best = std::min(best, landscape(grid, position));
  }
  for (std::uint64_t seed = 1; seed <= kSearches; ++seed) {
    sum += best / searched(grid, {}, budget, 1, seed, landscape).best;
  }
  return sum / static_cast<double>(kSearches);
}

/// The expectation of the same for random search without replacement.
double random_fraction(const Grid& grid, std::size_t budget, Times landscape) {
  std::vector<double> times;
  for (plugin::Position position = 0; position < grid.space().size(); ++position) {
    times.push_back(landscape(grid, position));
  }
  std::ranges::sort(times);
  double sum = 0.0, missed = 1.0;  // the probability that none of the faster ones is drawn
  for (std::size_t i = 0; i + budget <= times.size(); ++i) {
    const double hit = static_cast<double>(budget) / static_cast<double>(times.size() - i);
    sum += missed * hit * times.front() / times[i];
    missed *= 1.0 - hit;
  }
  return sum;
}

std::vector<plugin::Observation> recorded(const Grid& grid, plugin::Position step) {
  std::vector<plugin::Observation> observations;
  for (plugin::Position position = 0; position < grid.space().size(); position += step) {
    observations.push_back(seen(position, 7.0 * time_of(grid, position)));
  }
  return observations;
}

/// The same times, dealt out anew.
std::vector<plugin::Observation> shuffled(std::vector<plugin::Observation> record, std::uint64_t seed) {
  plugin::Random random(seed);
  for (std::size_t left = record.size(); left > 1; --left) {
    std::swap(record[left - 1].time_us, record[random.index(left)].time_us);
  }
  return record;
}

std::set<plugin::Position> best_of(std::vector<plugin::Observation> record, std::size_t count) {
  std::ranges::sort(record, {}, &plugin::Observation::time_us);
  std::set<plugin::Position> best;
  for (std::size_t i = 0; i < count; ++i) {
    best.insert(record[i].at());
  }
  return best;
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

TEST_CASE("In a large space a record that says nothing is left, also where what was drawn is no candidate any more") {
  const Grid grid({counting(10), counting(10), counting(10), counting(10), counting(10)});
  const std::vector<plugin::Observation> record = shuffled(recorded(grid, 331), 5);
  const std::vector<hone_prior> priors{{"device", "f32", "shape", record.data(), record.size()}};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Search found = searched(grid, priors, 90, 1, seed);
    CHECK(found.best < std::exp(1.2));
    CHECK(std::set<plugin::Position>(found.asked.begin(), found.asked.end()).size() == found.asked.size());
  }
}

TEST_CASE("A source is begun with: its best first") {
  const Grid grid({counting(9), counting(9), counting(9)});
  const std::vector<plugin::Observation> record = recorded(grid, 1);
  const std::vector<hone_prior> priors{{"device", "f32", "shape", record.data(), record.size()}};
  CHECK((searched(grid, priors, 1).asked.front() == *grid.space().index(plugin::Digits{4, 4, 4})));
}

TEST_CASE("A model that is right about a plateau and wrong about where the best are costs a part of the search, not all of it") {
  const Grid grid({counting(8), counting(6), counting(5)});
  CHECK(share_that_finds(grid, 30, misleading_time) > 0.5);  // random search: 0.86
}

TEST_CASE("The bottom of a space of 10^9 is found, which a sample does not hold") {
  const Grid grid(std::vector(9, counting(10)));
  const Search found = searched(grid, {}, 70);
  CHECK(found.best < std::exp(1.0 + 0.02 * 9.0));  // on average one step off in each parameter
}

TEST_CASE("A record that says nothing is left within ten proposals") {
  const Grid grid({counting(9), counting(9), counting(9)});
  const std::vector<plugin::Observation> record = shuffled(recorded(grid, 1), 5);
  const std::vector<hone_prior> priors{{"device", "f32", "shape", record.data(), record.size()}};
  double with = 0.0, without = 0.0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    with += std::log(searched(grid, priors, 35, 1, seed).best) / 10.0;
    without += std::log(searched(grid, {}, 25, 1, seed).best) / 10.0;
  }
  CHECK(with <= without + 0.02);
}

TEST_CASE("After ten proposals the best of a record that says nothing are proposed no more often than others") {
  const Grid grid({counting(9), counting(9), counting(9)});
  std::size_t favoured = 0, proposed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<plugin::Observation> record = shuffled(recorded(grid, 1), seed);
    const std::vector<hone_prior> priors{{"device", "f32", "shape", record.data(), record.size()}};
    const std::set<plugin::Position> best = best_of(record, record.size() / 10);
    const Search search = searched(grid, priors, 25, 1, seed);
    for (std::size_t i = 10; i < search.asked.size(); ++i, ++proposed) {
      favoured += best.contains(search.asked[i]) ? 1 : 0;
    }
  }
  CHECK(static_cast<double>(favoured) < 0.15 * static_cast<double>(proposed));
}

TEST_CASE("A record that says nothing does not take one with it that says much") {
  const Grid grid({counting(9), counting(9), counting(9), counting(9)});
  const std::vector<plugin::Observation> good = recorded(grid, 7), bad = shuffled(good, 3);
  const std::vector<hone_prior> priors{{"device", "f32", "shape", bad.data(), bad.size()},
                                       {"device", "f32", "other", good.data(), good.size()}};
  double with = 0.0, without = 0.0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    with += std::log(searched(grid, priors, 10, 1, seed).best) / 10.0;
    without += std::log(searched(grid, {}, 10, 1, seed).best) / 10.0;
  }
  CHECK(with < 1.03);
  CHECK(without > 1.06);
}

TEST_CASE("Random search is not ahead, whether there is something to learn, nothing, or only what misleads") {
  const Grid grid({counting(8), counting(6), counting(5)});
  for (const Times landscape : {time_of, corner_time, noise_time}) {
    for (const std::size_t budget : {5, 10, 25, 50}) {
      CHECK(mean_fraction(grid, budget, landscape) > random_fraction(grid, budget, landscape) - 0.02);
    }
  }
}

TEST_CASE("Initial configurations share fewer values than random ones") {
  const Grid grid({counting(8), counting(8), counting(8), counting(8)});
  const auto shared = [&](std::size_t draws) {
    std::size_t pairs = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Search search = searched(grid, {}, 5, 1, seed, time_of, {.spread = 0, .draws = draws});
      for (std::size_t i = 0; i < search.asked.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          const plugin::Digits a = grid.space().at(search.asked[i]), b = grid.space().at(search.asked[j]);
          for (std::size_t p = 0; p < a.size(); ++p) {
            pairs += a[p] == b[p] ? 1 : 0;
          }
        }
      }
    }
    return pairs;
  };
  CHECK(shared(8) < shared(1) * 2 / 3);
}

TEST_CASE("Where everything was too slow so far, the model goes to what is less so") {
  const Grid grid({counting(9), counting(9), counting(9)});
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CHECK(until_right(grid, std::exp(1.025), 30, seed, 2).size() < 30);  // 7 of 729: chance finds one of them in a quarter of the searches
  }
}

TEST_CASE("Nothing is spread before something is right") {
  const Grid grid({counting(9), counting(9), counting(9)});
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CHECK(until_right(grid, 0.0, 5, seed, 2) == until_right(grid, 0.0, 5, seed, 0));
  }
}
