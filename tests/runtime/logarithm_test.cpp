// The logarithm that is the same on every host.
#include "engine/store/logarithm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace hone {

TEST_CASE("the logarithm is the C library's to a few units in the last place") {
  for (const double x : {1e-300, 1e-9, 0.1, 0.5, 0.70710678118654752440, 0.999999, 1.000001, 1.5, 2.0, 3.0, 1e3, 12345.678, 1e300}) {
    CHECK(std::abs(logarithm(x) - std::log(x)) <= 8e-16 * std::max(1.0, std::abs(std::log(x))));
  }
  CHECK(logarithm(1.0) == 0.0);
  CHECK(logarithm(8.0) == 3 * kLn2);
}

}  // namespace hone
