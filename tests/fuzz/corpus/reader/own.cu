// Bias.
#include <hone/kernel.h>
struct Problem { long rows = 64, cols = 32; };
struct Config {
  TUNE(64, 128) int block = 64;  // threads
  TUNE(1, 2, 4) int vec = 1;
  TUNE(false, true) bool fast = false;
};
template <class T> constexpr bool valid(Problem p, Config c) { return p.cols % c.vec == 0 && c.vec * sizeof(T) <= 16; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.cols, (long)c.block * c.vec), p.rows}, .block = {c.block}}; }
template <class T> constexpr Cost cost(Problem p) { return {.flops = 10.0 * p.rows, .bytes = 2.0 * p.rows * sizeof(T)}; }
template <class T> REFERENCE(p.rows * p.cols) void own_reference(long i, const T* x, double* y, Problem p) { y[i] = (double)(float)x[i]; }
template <class T, Config c> KERNEL LAUNCH_BOUNDS(c.block) void own(IN(p.rows * p.cols) const T* x, OUT(p.rows * p.cols) T* y, Problem p) { y[0] = x[0]; }
