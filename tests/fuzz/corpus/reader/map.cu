#include <hone/kernel.h>
struct Problem { long m = 64, k = 128; };
struct Config { TUNE(64, 128) int bm = 64; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.m / c.bm}, .block = {128}}; }
template <class T> REFERENCE(p.m) void map_reference(long i, const T* x, double* y, Problem p) { y[i] = x[i * p.k]; }
template <class T, Config c> KERNEL void map(IN(p.m * p.k) const T* x, TENSOR_MAP(x, .size = {p.k, p.m}, .box = {128 / sizeof(T), c.bm}, .swizzle = 128) const __grid_constant__ TensorMap t, OUT(p.m) T* y, Problem p) {}
