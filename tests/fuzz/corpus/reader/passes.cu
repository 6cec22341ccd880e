#include <hone/kernel.h>
struct Problem { long n = 1024; };
struct Config { TUNE(32, 64) int block = 32; TUNE(1, 2) int parts = 1; };
constexpr Launch launch_passes(Problem p, Config c) { return {.grid = {c.parts}, .block = {c.block}}; }
constexpr Launch launch_finish(Problem p, Config c) { return {.grid = {1}, .block = {c.block}, .enabled = c.parts > 1, .overlap = true}; }
template <class T> REFERENCE(1) void passes_reference(long i, const T* x, double* y, Problem p) { y[0] = 0; }
template <class T, Config c> KERNEL void passes(IN(p.n) const T* x, OUT(1) T* y, WORKSPACE(c.parts) float* w, Problem p) { w[0] = (float)x[0]; }
template <class T, Config c> KERNEL void finish(OUT(1) T* y, WORKSPACE(c.parts) float* w, Problem p) { y[0] = T(w[0]); }
