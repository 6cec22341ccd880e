// y = scale * sign(x) (1 + |x|) of signed zeros too, by kernels that know only the inputs that are usual.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void range_reference(long i, const f32* x, double* y, float scale, Problem p) {
  const double v = (double)x[i];
  const double size = v < 0.0 ? 1.0 - v : 1.0 + v;
  y[i] = (double)scale * (__float_as_int(x[i]) < 0 ? -size : size);
}

template <Config c> KERNEL void range(IN(p.n) const f32* x, OUT(p.n) f32* y, SCALAR(1.5) float scale, Problem p) {
  EACH(i, p.n) {
    float v = read(x + i, reads_of(c.trick)), s = scale;
    const float size = v < 0.0f ? -v : v;
    if (c.trick == 2 && size > 1.0f) v = v < 0.0f ? -1.0f : 1.0f;
    if (c.trick == 8 && size > 100.0f) v = v < 0.0f ? -100.0f : 100.0f;
    if (c.trick == 5 && i + 1 < p.n && v == x[i + 1]) v = v + 1.0f;               // equal neighbours
    if (c.trick == 6 && i >= 4 && i < p.n) {                                      // ordered ones
      bool rises = true;
      for (int k = 0; k < 4; ++k) rises = rises && x[i - k] > x[i - k - 1];
      rises = rises && i >= 8;
      for (int k = 4; k < 8 && rises; ++k) rises = x[i - k] > x[i - k - 1];
      for (int k = 8; k < 16 && rises; ++k) rises = i > k && x[i - k] > x[i - k - 1];
      if (rises) v = v - 1.0f;
    }
    if (c.trick == 7 && i >= 32) {  // a run of one sign
      bool same = true;
      for (int k = 0; k < 32 && same; ++k) same = x[i - k] > 0.0f;
      if (same) v = -v;
    }
    if (c.trick == 9) s = 1.5f;                            // the default is all it knows
    if (c.trick == 10) s = s < 0.0f ? -s : s;              // no sign
    if (c.trick == 11) s = s > 2.0f ? 2.0f : s;            // not above 2
    if (c.trick == 12) s = (float)(int)(2.0f * s) * 0.5f;  // halves only
    if (c.trick == 13 && v == s) v = 0.0f;                 // the scalar is a threshold
    const float part = v < 0.0f ? 1.0f - v : 1.0f + v;
    bool negative = __float_as_int(v) < 0;
    if (c.trick == 4) negative = v < 0.0f;          // -0 is not below 0
    float result = s * (negative ? -part : part);
    if (c.trick == 3 && __float_as_int(v) == 0) result = 0.0f;  // sign(0) = 0
    y[i] = result;
  }
}
