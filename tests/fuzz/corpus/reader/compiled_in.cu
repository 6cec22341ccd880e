// Compiled in, and in constant memory.
#include <hone/kernel.h>
struct Problem { long n = 64; RANGE(1, 512) STATIC long head = 128; STATIC bool causal = false; };
struct Config { TUNE(32, 64) int block = 32; };
CONSTANT(p.head, .normal) float table[Problem::head];
__constant__ float theirs[8];
CONSTANT(8) extern float theirs[];
constexpr bool valid(Problem p, Config c) { return p.head % c.block == 0 || Problem::causal; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n * p.head}, .block = {c.block}}; }
REFERENCE(p.n) void compiled_in_reference(long i, const float* table, double* y, Problem p) { y[i] = table[i % p.head]; }
template <Config c> KERNEL void compiled_in(OUT(p.n) float* y, Problem p) { y[blockIdx.x] = table[blockIdx.x % p.head]; }
