#pragma once
// Functions that one instruction computes to nearly all digits of a float. Results and arguments below the smallest normal number may
// become zero.
#include <hone/kernel.h>

/// 1 / x, for x neither zero nor tiny.
HONE_DEVICE float reciprocal(float x) {
#if defined(__CUDACC__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return 1.0f / x;
#endif
}

/// 2^x
HONE_DEVICE float power_of_two(float x) {
#if defined(__CUDACC__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return exp2f(x);
#endif
}
