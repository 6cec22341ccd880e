// Two results of one kernel, neither of them the reference's: what both may be off by, and what is a difference.
#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "engine/measure/measure.hpp"
#include "engine/measure/output_check.hpp"

namespace hone::measure {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

template <class T>
Comparison held(const OutputRule& rule, const std::vector<T>& actual, const std::vector<T>& standard,
                const std::vector<double>& slack = {}) {
  return hold_against(rule, std::as_bytes(std::span(actual)), std::as_bytes(std::span(standard)), slack);
}

OutputRule absolute(double bound) { return {.element = DType::kF32, .tolerance = {.absolute = bound}}; }

}  // namespace

TEST_CASE("two results may be off by twice what one may be") {
  const OutputRule rule = absolute(0.25);
  CHECK(held<float>(rule, {1.0F, 2.0F}, {1.5F, 2.0F}).mismatches == 0);
  const Comparison found = held<float>(rule, {1.0F, 2.0F, 3.0F}, {1.0F, 3.0F, 4.0F});
  CHECK(found.mismatches == 2);
  CHECK(found.first_mismatch == 1);
  CHECK(found.first_actual == 2.0);
  CHECK(found.first_expected == 3.0);
  CHECK(found.max_error == 2.0);
}

TEST_CASE("a share of the results' root mean square is allowed, and what an element is given in addition") {
  const OutputRule rule{.element = DType::kF32, .tolerance = {.absolute_rms = 0.01}};
  CHECK(held<float>(rule, {100.0F, 1.0F}, {100.0F, 0.0F}).mismatches == 0);
  CHECK(held<float>(rule, {100.0F, 3.0F}, {100.0F, 0.0F}).mismatches == 1);
  CHECK(held<float>(rule, {100.0F, 3.0F}, {100.0F, 0.0F}, {0.0, 2.0}).mismatches == 0);
}

TEST_CASE("a NaN agrees with a NaN and an infinity with itself, and with nothing else") {
  const OutputRule rule = absolute(1.0);
  CHECK(held<float>(rule, {kNaN, kInfinity, 1.0F}, {kNaN, kInfinity, 1.5F}).mismatches == 0);
  const Comparison found = held<float>(rule, {kNaN, kInfinity, 1.0F}, {1.0F, -kInfinity, kNaN});
  CHECK(found.mismatches == 3);
  CHECK(found.not_finite == 1);
  CHECK(found.max_error == std::numeric_limits<double>::max());
  const std::vector<float> some{kNaN, 1.0F, kInfinity};
  CHECK(count_not_finite(DType::kF32, std::as_bytes(std::span(some))) == 2);
}

TEST_CASE("64-bit integers that a double cannot tell apart differ") {
  const OutputRule rule{.element = DType::kI64};
  const std::int64_t large = std::int64_t{1} << 60;
  CHECK(held<std::int64_t>(rule, {large, 5}, {large, 5}).mismatches == 0);
  CHECK(held<std::int64_t>(rule, {large + 1, 5}, {large, 5}).mismatches == 1);
}

TEST_CASE("a set may come in any order, within its groups") {
  OutputRule rule{.element = DType::kI32, .set = true};
  CHECK(held<std::int32_t>(rule, {1, 2, 3, 4}, {4, 3, 2, 1}).mismatches == 0);
  rule.group = 2;
  CHECK(held<std::int32_t>(rule, {1, 2, 3, 4}, {2, 1, 4, 3}).mismatches == 0);
  CHECK(held<std::int32_t>(rule, {1, 2, 3, 4}, {4, 3, 2, 1}).mismatches == 4);
}

TEST_CASE("of results that may be wrong in a share, each may be, and one that an author's function judges is not compared") {
  OutputRule rule{.element = DType::kI32, .fraction = 0.75};
  CHECK(held<std::int32_t>(rule, {1, 2, 3, 4}, {1, 2, 0, 0}).mismatches == 0);
  CHECK(held<std::int32_t>(rule, {1, 2, 3, 4}, {1, 0, 0, 0}).mismatches == 3);
  rule.is_accepted = true;
  CHECK(held<std::int32_t>(rule, {1, 2, 3, 4}, {1, 0, 0, 0}).mismatches == 0);
}

}  // namespace hone::measure
