// For tests: many ways to write constraints, read by Hone and compiled by the host compiler, which must agree.
#include <hone/kernel.h>

enum class Mode { a, b, c = 9 };
constexpr long kLimit = 40;

struct Tile {
  long rows, columns = 3;
  constexpr long area() const { return rows * columns; }
};

struct Problem {
  long m = 8, n = 8;
};

struct Config {
  TUNE(0, 1, 2, 3, 4, 8) int x = 1;
  TUNE(-2, -1, 1, 5) long y = 1;
  TUNE(false, true) bool flag = false;
  TUNE(Mode::a, Mode::b, Mode::c) Mode mode = Mode::a;
  constexpr long sum() const { return x + y; }
};

constexpr long power(long base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }
constexpr long weight(Problem p, Config c) {
  if (c.mode == Mode::a) return p.m;
  else if (c.mode == Mode::b) { return p.n; }
  const long both = p.m + p.n, half = both / 2;
  if (c.flag) {
    if (half > 20) return -half;
  } else {
    return half % 7;
  }
  return both;
}
template <class U, int N> constexpr long bytes(long count = 3) { return count * (long)sizeof(U) * N; }
constexpr Tile tile(Problem p, Config c) {
  if (c.flag) return {p.m};
  return c.x > 2 ? Tile{.rows = p.n, .columns = c.y} : Tile{p.m, p.n};
}

template <class T> constexpr bool valid(Problem p, Config c, Device d) {
  if (c.x != 0 && p.m % c.x == 3) return false;
  if (!(c.flag || c.mode != Mode::b) || (c.y < 0 && -c.y > p.n)) return false;
  const double ratio = (double)p.m / p.n;
  if (ratio > 2.5 && !c.flag) return false;
  if (tile(p, c).area() > power(3, 5) + (c.x << 2) * (c.y ^ 5)) return false;
  if (sizeof(T) == 2) {
    if ((c.x & 1) != 0) return false;
  }
  return weight(p, c) + c.sum() < min_of(kLimit, d.warp_size + 1) && (c.flag ? bytes<T, 2>() <= 24 : bytes<T, 4>(c.x) >= 0) &&
         (int)(ratio * 10) % 3 != 1 && (c.x == 0 || p.n / c.x >= 1) && ~c.x < +c.y;
}

template <class T> constexpr Launch launch(Problem p, Config c) {
  const Extent3 block = {c.flag ? 32 : 64, c.x + 1};
  if (c.mode == Mode::c) return {{p.m, p.n}, block, {}, bytes<T, 1>(p.m)};
  return {.grid = {round_up<long>(p.m, 16) / 16, max_of(p.n, 4L)}, .block = block, .enabled = c.y > 0 || p.m * 0.5 > 3};
}

template <class T> REFERENCE(p.m) void agreement_reference(long i, const T* x, double* y, Problem p) { y[i] = 0; }
template <class T, Config c> KERNEL void agreement(IN(p.m) const T* x, OUT(p.m) T* y, Problem p) {}
