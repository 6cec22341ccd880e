// Doubles.
#include <hone/kernel.h>
enum class Way { plain, wide };
struct Problem { long n = 64; };
struct Config { TUNE(Way::plain, Way::wide) Way way = Way::plain; TUNE(32, 64) int block = 32; };
constexpr bool valid(Problem p, Config c) { return p.n % c.block == 0; }
template <class T> constexpr bool likely(Problem p, Config c, Device d) {
  if (c.way == Way::wide || (c.block > 32 && p.n < 100)) return false;  // few
  return sizeof(T) > 2 ? c.block < d.threads_per_block : p.n / c.block > 1;  // (measured)
}
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n / c.block}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void expectations_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (float)x[i]; }
template <class T, Config c> KERNEL void expectations(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) { y[threadIdx.x] = x[threadIdx.x]; }
