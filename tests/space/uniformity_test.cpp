// Whether samples are uniform, by a statistic that a plausible but wrong sampler does not pass.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <tuple>

#include "tests/space/described.hpp"

namespace {

using namespace hone;
using namespace hone::test;

/// Lopsided: a = 1 leaves 24 values of b, a = 24 leaves one.
SearchSpace lopsided() {
  return build({described("a", counting(1, 24)), described("b", counting(1, 24)), described("c", counting(1, 4))},
               {"a * b <= 24", "c <= a"});
}

/// Pearson's statistic of how often each position was drawn, as standard deviations above its mean.
/// https://en.wikipedia.org/wiki/Pearson%27s_chi-squared_test
double excess(const std::vector<std::size_t>& drawn) {
  double total = 0.0, statistic = 0.0;
  for (const std::size_t times : drawn) {
    total += static_cast<double>(times);
  }
  const double expected = total / static_cast<double>(drawn.size()), freedom = static_cast<double>(drawn.size()) - 1.0;
  for (const std::size_t times : drawn) {
    statistic += std::pow(static_cast<double>(times) - expected, 2) / expected;
  }
  return (statistic - freedom) / std::sqrt(2.0 * freedom);
}

constexpr double kRejected = 5.0;  // a uniform sampler exceeds it once in some million runs
constexpr std::size_t kDrawsEach = 100;

template <class Draw>
double excess_of(const SearchSpace& space, const Draw& draw) {
  std::vector<std::size_t> drawn(static_cast<std::size_t>(space.size()), 0);
  for (std::size_t i = 0; i < kDrawsEach * drawn.size(); ++i) {
    ++drawn[static_cast<std::size_t>(draw())];
  }
  return excess(drawn);
}

/// What a walk down the diagram with equal odds for every branch would draw: each parameter uniform among the values that can go on.
Count equal_odds(const SearchSpace& space, std::mt19937_64& random) {
  Count first = 0, last = space.size();
  for (std::size_t p = 0; p < space.parameters().size(); ++p) {
    std::vector<std::pair<Count, Count>> branches;  // positions with the same value of p: they lie side by side
    for (Count i = first; i < last; ++i) {
      if (i == first || space.digits(i)[p] != space.digits(i - 1)[p]) {
        branches.emplace_back(i, i);
      }
      branches.back().second = i + 1;
    }
    std::tie(first, last) = branches[random() % branches.size()];
  }
  return first;
}

}  // namespace

TEST_CASE("Samples pass a chi-squared test of uniformity") {
  const SearchSpace space = lopsided();
  std::mt19937_64 random(11);
  CHECK(excess_of(space, [&] { return space.sample(random); }) < kRejected);
}

TEST_CASE("Samples without replacement pass a chi-squared test of uniformity, at every place of the sample") {
  const SearchSpace space = lopsided();
  std::mt19937_64 random(12);
  for (const std::size_t place : {0, 3, 6}) {
    CHECK(excess_of(space, [&] { return space.sample(random, 7)[place]; }) < kRejected);
  }
}

TEST_CASE("The test of uniformity rejects a walk down the diagram with equal odds for every branch") {
  const SearchSpace space = lopsided();
  std::mt19937_64 random(13);
  CHECK(excess_of(space, [&] { return equal_odds(space, random); }) > 100 * kRejected);
}
