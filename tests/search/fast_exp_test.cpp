#include "search/fast_exp.hpp"

#include <doctest/doctest.h>

#include <cmath>

using hone::search::fast_exp;

TEST_CASE("fast_exp is exp as far down as a float goes, and nothing below") {
  CHECK(fast_exp(0.0F) == doctest::Approx(1.0).epsilon(2e-6));
  for (const float x : {-1e-4F, -0.3F, -1.0F, -7.7F, -40.0F, -55.0F}) {
    CAPTURE(x);
    CHECK(static_cast<double>(fast_exp(x)) == doctest::Approx(std::exp(static_cast<double>(x))).epsilon(2e-6).scale(1e-30));
  }
  for (const float x : {-80.0F, -1e30F}) {
    CHECK(fast_exp(x) >= 0.0F);
    CHECK(fast_exp(x) < 1e-23F);
  }
}
