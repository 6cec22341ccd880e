// agreement.cu as the host compiler understands it. It includes no other header: the kernel's names are CUDA's, not the library's.

#define HONE_READ
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
#endif
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "agreement.cu"

/// valid, then grid, block, shared and enabled, as twelve numbers.
void compiled_agreement(long m, long n, int x, long y, bool flag, int mode, int size, long* result) {
  const Problem p{m, n};
  const Config c{x, y, flag, static_cast<Mode>(mode)};
  Device d{};
  d.warp_size = 32;
  const Launch l = size == 2 ? launch<short>(p, c) : launch<float>(p, c);
  result[0] = size == 2 ? valid<short>(p, c, d) : valid<float>(p, c, d);
  const long numbers[] = {l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z, l.cluster.x, l.shared, l.enabled};
  for (int i = 0; i < 9; ++i) {
    result[i + 1] = numbers[i];
  }
}
