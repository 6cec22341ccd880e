#pragma once
// A pass that overlaps what was launched before it (Launch::overlap) does what it can before it waits for that.
#include <hone/kernel.h>

/// grid_dependency_wait, behind the arithmetic that leads to these addresses. The compiler moves arithmetic to behind a wait that knows
/// nothing of it, and there it is in the way of the first load (in gemv 200 instructions).
HONE_DEVICE void grid_dependency_wait_after(const void* first, const void* second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{ .reg .b64 both; .reg .pred known; or.b64 both, %0, %1; setp.ne.b64 known, both, 0; @known griddepcontrol.wait; }" ::"l"(first),
      "l"(second)
      : "memory");
#else
  (void)first;
  (void)second;
#endif
}
