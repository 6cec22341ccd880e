// How much the configurations of a portfolio's members differ.
#include "engine/store/member_values.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace hone {

TEST_CASE("configurations differ by their values: numbers by powers of two, words as a whole") {
  const auto apart = [](std::string_view a, std::string_view b) {
    const std::vector<MemberValues> values = values_of(std::array{a, b});
    return difference(values[0], values[1]);
  };
  CHECK(apart("bm=64,async=true", "bm=64,async=true") == 0.0);
  CHECK(apart("bm=64,async=true", "bm=128,async=true") == doctest::Approx(0.5 + 1.0 / 6));
  CHECK(apart("bm=64,async=true", "bm=16,async=true") == doctest::Approx(0.5 + 2.0 / 6));
  CHECK(apart("bm=1,async=true", "bm=256,async=true") == doctest::Approx(1.0));  // no more than three
  CHECK(apart("bm=64,async=true", "bm=64,async=false") == doctest::Approx(0.5 + 1.0 / 6));
  CHECK(apart("bm=0,async=true", "bm=64,async=true") == doctest::Approx(0.5 + 1.0 / 6));  // 0 has no logarithm
  CHECK(apart("bm=64,async=true", "bm=128,async=false") == doctest::Approx(1.0 + 2.0 / 6));
  CHECK(std::isinf(apart("bm=64", "bm=64,async=true")));
  CHECK(apart("", "") == 0.0);
}

}  // namespace hone
