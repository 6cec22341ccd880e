#include "search/source.hpp"

#include <cmath>
#include <limits>

#include "tests/search/grid.hpp"

namespace {

using namespace hone;
using namespace hone::search;
using test::counting;
using test::Grid;
using test::seen;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
constexpr ScaleSettings kPlain{.compression = 0.0, .failure_quantile = 0.5};

std::vector<Source> sources_of(const Grid& grid, const std::vector<std::vector<plugin::Observation>>& seen, std::size_t most = 4) {
  std::vector<hone_prior> priors;
  for (const auto& observations : seen) {
    priors.push_back({"device", "f32", "shape", observations.data(), observations.size()});
  }
  const hone_strategy_context context = grid.context(priors);
  constexpr plugin::About kAbout{};
  return search::sources_of(plugin::Context(context, kAbout), kPlain, most);
}

double recorded_above(plugin::Position position) { return 0.1 * std::abs(static_cast<double>(position % 10) - 4.0); }

/// Some configurations of a 10 x 10 grid, each `times` times.
std::vector<plugin::Observation> record_of(int times) {
  std::vector<plugin::Observation> observations;
  for (plugin::Position position = 0; position < 100; position += 3) {
    for (int i = 0; i < times; ++i) {
      observations.push_back(seen(position, 5.0 * std::exp(recorded_above(position))));
    }
  }
  return observations;
}

}  // namespace

TEST_CASE("A source says what was recorded, and between the records what they lead to expect") {
  const Grid grid({counting(10), counting(10)});
  const Metric metric(grid.space(), false);
  const Candidates candidates(grid.space());
  std::vector<Source> sources = sources_of(grid, {record_of(1)});
  REQUIRE(sources.size() == 1);
  CHECK((sources[0].ranking().front() % 10 == 4));
  const std::vector<float> values = sources[0].above_best(metric, candidates);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(static_cast<double>(values[i]) - recorded_above(i)) < (i % 3 == 0 ? 1e-6 : 0.12));
  }
  CHECK((sources[0].above_best(metric, candidates) == values));
}

TEST_CASE("Records that repeat are one") {
  const Grid grid({counting(10), counting(10)});
  const Metric metric(grid.space(), false);
  const Candidates candidates(grid.space());
  std::vector<Source> once = sources_of(grid, {record_of(1)}), often = sources_of(grid, {record_of(3)});
  CHECK((once[0].ranking() == often[0].ranking()));
  CHECK((once[0].above_best(metric, candidates) == often[0].above_best(metric, candidates)));
  const std::vector<plugin::Observation> same(6, seen(7, 5.0));
  std::vector<Source> single = sources_of(grid, {same});
  REQUIRE(single.size() == 1);
  for (const float value : single[0].above_best(metric, candidates)) {
    CHECK(std::isfinite(value));
  }
}

TEST_CASE("A record with too few times is no source: failures and times that are none are not counted") {
  const Grid grid({counting(10), counting(10)});
  std::vector<plugin::Observation> failed, untimed, few;
  for (plugin::Position position = 0; position < 20; ++position) {
    failed.push_back(seen(position, 5.0, HONE_LAUNCH_FAILURE));
    const double times[] = {0.0, -1.0, kNan, kInfinity};
    untimed.push_back(seen(position, times[static_cast<std::size_t>(position) % 4]));
    few.push_back(seen(position, position < 4 ? 5.0 : 0.0));
  }
  CHECK(sources_of(grid, {{}, failed, untimed, few}).empty());
}

TEST_CASE("What was too slow elsewhere is no place to begin, and its time is known") {
  const Grid grid({counting(10), counting(10)});
  const Metric metric(grid.space(), false);
  const Candidates candidates(grid.space());
  std::vector<plugin::Observation> record = record_of(1);
  const std::vector<float> expected = sources_of(grid, {record})[0].above_best(metric, candidates);
  const auto fastest = std::ranges::min_element(record, {}, &plugin::Observation::time_us);
  fastest->outcome = HONE_TOO_SLOW;
  std::vector<Source> sources = sources_of(grid, {record});
  CHECK((sources[0].ranking().back() == fastest->at()));
  const std::vector<float> values = sources[0].above_best(metric, candidates);
  for (std::size_t i = 0; i < values.size(); i += 3) {
    CHECK(values[i] == expected[i]);
  }
}

TEST_CASE("A time that is none counts as a failure") {
  const Grid grid({counting(10), counting(10)});
  const Metric metric(grid.space(), false);
  const Candidates candidates(grid.space());
  std::vector<plugin::Observation> failing = record_of(1);
  failing[5].outcome = HONE_RACE;
  std::vector<Source> expected = sources_of(grid, {failing});
  for (const double time : {0.0, -3.0, kNan, kInfinity}) {
    CAPTURE(time);
    std::vector<plugin::Observation> odd = record_of(1);
    odd[5].time_us = time;
    std::vector<Source> sources = sources_of(grid, {odd});
    CHECK((sources[0].ranking() == expected[0].ranking()));
    CHECK((sources[0].above_best(metric, candidates) == expected[0].above_best(metric, candidates)));
  }
}

TEST_CASE("The records with the most times are the sources") {
  const Grid grid({counting(10), counting(10)});
  std::vector<plugin::Observation> small(record_of(1));
  small.resize(6);
  const std::vector<Source> sources = sources_of(grid, {small, record_of(1)}, 1);
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].ranking().size() == record_of(1).size());
}
