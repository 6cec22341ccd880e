// What the marks of inputs promise, held for every profile.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "engine/measure/element.hpp"
#include "engine/measure/fill.hpp"
#include "engine/measure/input_profile.hpp"

using namespace hone;

namespace {

std::vector<double> drawn(const Fill& fill, DType element, std::size_t count, InputProfile profile = InputProfile::kUsual,
                          std::uint64_t seed = 1) {
  Argument argument;
  argument.name = "x";
  argument.fill = fill;
  const auto plan = measure::plan_fill(argument, element, count, {});
  REQUIRE_MESSAGE(plan.ok(), plan.error().message);
  const std::vector<std::byte> bytes = measure::draw(*plan, profile, element, count, seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(measure::decode(element, bytes.data() + i * size_of(element)));
  }
  return values;
}

std::string refused(const Fill& fill, DType element, std::size_t count) {
  Argument argument;
  argument.name = "x";
  argument.fill = fill;
  const auto plan = measure::plan_fill(argument, element, count, {});
  return plan ? "(accepted)" : plan.error().message;
}

Expression number(double value) { return Expression::constant(value); }

std::vector<InputProfile> all_profiles() {
  std::vector<InputProfile> all(provoking_profiles().begin(), provoking_profiles().end());
  all.push_back(InputProfile::kUsual);
  return all;
}

}  // namespace

TEST_CASE("elements lie in their range whatever provokes, and reach both its ends") {
  const Fill fill{.low = number(3), .below = number(10)};
  for (const InputProfile profile : all_profiles()) {
    for (const double value : drawn(fill, DType::kI32, 500, profile)) {
      REQUIRE(value >= 3.0);
      REQUIRE(value < 10.0);
    }
  }
  const std::vector<double> values = drawn(fill, DType::kI32, 500);
  CHECK(std::set<double>(values.begin(), values.end()).size() == 7);
}

TEST_CASE("of many elements, which several threads draw, the first are those of fewer") {
  constexpr std::size_t kMany = 200'000, kFewer = 131'075;
  for (const InputProfile profile : {InputProfile::kLarge, InputProfile::kFew, InputProfile::kNegative}) {
    const std::vector<std::byte> many = measure::draw(profile, DType::kF32, kMany, 7),
                                 fewer = measure::draw(profile, DType::kF32, kFewer, 7);
    REQUIRE(many.size() == kMany * sizeof(float));
    CHECK(std::equal(fewer.begin(), fewer.end(), many.begin()));
    CHECK_FALSE(std::equal(many.begin(), many.begin() + 4000, many.begin() + (1 << 16) * sizeof(float)));  // each by its place
    std::set<double> last;                                                                                 // they are drawn, too
    for (std::size_t i = kMany - 1000; i < kMany; ++i) {
      last.insert(measure::decode(DType::kF32, many.data() + i * sizeof(float)));
    }
    CHECK(last.size() > 3);
  }
}

TEST_CASE("a real number that rounds up to the end of its range stays below it") {
  for (const double value : drawn({.low = number(0.25), .below = number(0.2512)}, DType::kBF16, 2000)) {
    REQUIRE(value >= 0.25);
    REQUIRE(value < 0.2512);
  }
}

TEST_CASE("sorted elements rise, spread over the whole range") {
  for (const InputProfile profile : all_profiles()) {
    const std::vector<double> values = drawn({.below = number(1e6), .sorted = true}, DType::kI32, 1000, profile);
    CHECK(std::ranges::is_sorted(values));
  }
  const std::vector<double> values = drawn({.below = number(1e6), .sorted = true}, DType::kI32, 1000);
  CHECK(values.front() < 1e4);
  CHECK(values.back() > 9.9e5);
}

TEST_CASE("distinct elements are distinct, sorted or not, as many as the range has") {
  for (const bool sorted : {false, true}) {
    for (const double below : {300.0, 301.0, 1e9}) {
      for (const InputProfile profile : all_profiles()) {
        const std::vector<double> values = drawn({.below = number(below), .sorted = sorted, .distinct = true}, DType::kI32, 300, profile);
        REQUIRE(std::set<double>(values.begin(), values.end()).size() == 300);
        REQUIRE(*std::ranges::min_element(values) >= 0.0);
        REQUIRE(*std::ranges::max_element(values) < below);
      }
    }
  }
}

TEST_CASE("a permutation has every number once, in another order for another seed") {
  std::vector<double> values = drawn({.permutation = true}, DType::kI32, 777);
  CHECK(values != drawn({.permutation = true}, DType::kI32, 777, InputProfile::kUsual, 2));
  std::ranges::sort(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(values[i] == static_cast<double>(i));
  }
}

TEST_CASE("the share of zeros is what was asked for") {
  const std::vector<double> values = drawn({.zeros = number(0.9)}, DType::kF32, 20000);
  const auto zeros = static_cast<double>(std::ranges::count(values, 0.0));
  CHECK(zeros / 20000.0 == doctest::Approx(0.9).epsilon(0.01));
}

TEST_CASE("normal numbers have mean 0 and deviation 1") {
  double sum = 0.0, squares = 0.0;
  for (const double value : drawn({.normal = true}, DType::kF32, 20000)) {
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / 20000.0) < 0.03);
  CHECK(squares / 20000.0 == doctest::Approx(1.0).epsilon(0.03));
}

TEST_CASE("what cannot be drawn is refused with the reason") {
  CHECK(refused({.low = number(5), .below = number(5)}, DType::kI32, 4).find("its range is empty: [5, 5)") != std::string::npos);
  CHECK(refused({.below = number(3), .distinct = true}, DType::kI32, 4).find("4 distinct elements do not fit into [0, 3)") !=
        std::string::npos);
  CHECK(refused({.below = number(3), .distinct = true}, DType::kF32, 2).find("for integers, not for f32") != std::string::npos);
  CHECK(refused({.below = number(1e12)}, DType::kI32, 4).find("i32 does not hold") != std::string::npos);
}
