#include "engine/store/logarithm.hpp"

#include <cmath>

namespace hone {

double logarithm(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2.0;
    --exponent;
  }
  const double t = (mantissa - 1.0) / (mantissa + 1.0), square = t * t;
  double sum = 0.0;
  for (int i = 25; i >= 1; i -= 2) {
    sum = sum * square + 1.0 / i;
  }
  return 2.0 * t * sum + exponent * kLn2;
}

}  // namespace hone
