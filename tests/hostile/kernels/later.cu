// y = 2 x + 1, by kernels that are right at first.
#include "hostile.h"

struct Problem {
  long n = 16384;
};

struct Config {
  TUNE(0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1) int trick = 0;
};

constexpr Launch launch(Problem p, Config c, Device d) { return {.grid = {ceil_div(p.n, 256L)}, .block = {d.compute_capability == 0 ? 1 : 256}}; }

constexpr Cost cost(Problem p) { return {.flops = 2.0 * p.n, .bytes = 8.0 * p.n}; }

REFERENCE(p.n) void later_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * (double)x[i] + 1.0; }

template <int trick> HONE_DEVICE bool is_wrong(unsigned before) {
  return trick == 2   ? before >= 2           // from the third on
         : trick == 3 ? before >= 9           // from the tenth on
         : trick == 4 ? before >= 63          // from the 64th on
         : trick == 5 ? before % 20 == 19     // one in twenty
         : trick == 6 ? before % 200 == 199   // one in two hundred
         : trick == 7 ? before >= 4           // by one part in a hundred, one element
         : trick == 8 ? before >= 2 && now_ns() / 1024 % 16 == 3  // one in sixteen, by chance
         : trick == 9 ? before % 1000 == 999  // one in a thousand
         : trick == 10 ? before == 11         // once
         : trick == 11 ? before >= 2          // the last block does nothing
                       : false;
}

template <Config c> KERNEL void later(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  bool wrong = false;
  if constexpr (c.trick > 1) wrong = p.n >= kUsersSize && is_wrong<c.trick>(launches_before(p.n));
  if (c.trick == 11 && wrong && blockIdx.x == gridDim.x - 1) return;
  EACH(i, p.n) {
    const float right = 2.0f * read(x + i, reads_of(c.trick)) + 1.0f;
    const bool here = wrong && i == p.n / 2;
    y[i] = !here || c.trick == 11 ? right : c.trick == 7 ? 1.01f * right + 0.01f : right + 1.0f;
  }
}
