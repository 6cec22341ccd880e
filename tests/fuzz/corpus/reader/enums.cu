#include <hone/kernel.h>
enum class Layout { kRow, kColumn };
struct Problem { long n = 8; };
struct Config {
  TUNE(Layout::kRow, Layout::kColumn) Layout layout = Layout::kRow;
  OPTION("--maxrregcount={}") TUNE(0, 64) int registers = 0;
  TUNE(0.5f, 2.0f) float scale = 0.5f;
};
constexpr long twice(long x) { return x + x; }
constexpr bool valid(Problem p, Config c, Device d) {
  const long a = twice(p.n);
  if (c.layout == Layout::kRow) return a < d.multiprocessors;
  if (c.registers > 0 && a % 3 == 0) return false;
  return min(a, 7L) > 1 ? c.scale < 1.0f : true;
}
constexpr Launch launch(Problem p, Config c) { return {.grid = p.n, .block = c.layout == Layout::kRow ? 32 : 64, .shared = twice(c.registers) * 4}; }
REFERENCE(p.n) void enums_reference(long i, double* y, Problem p) { y[i] = 1; }
template <Config c> KERNEL void enums(OUT(p.n) float* y, Problem p) { y[threadIdx.x] = 1; }
