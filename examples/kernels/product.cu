// Matrix product of f32 that offers cheaper arithmetic: c = a b, summed in f32 by the vector units, or by tensor cores from inputs rounded to tf32 or bf16.
// Without --max-error the first alone is right enough.
#include <hone/kernel.h>

enum class Arithmetic { kF32, kTf32, kBf16 };

struct Problem {
  long m = 2048, n = 2048, k = 2048;
};

struct Config {
  TUNE(Arithmetic::kF32, Arithmetic::kTf32, Arithmetic::kBf16) Arithmetic arithmetic = Arithmetic::kF32;
  TUNE(32, 64, 128) int tile_m = 64;  // rows of c in a block
  TUNE(32, 64, 128) int tile_n = 64;  // columns of c in a block
  TUNE(16, 32) int tile_k = 16;       // of both inputs at a time
  TUNE(1, 2) int warps_m = 2;         // warps that share the rows,
  TUNE(1, 2, 4) int warps_n = 2;      // and the columns
};

constexpr int threads_of(Config c) { return 32 * c.warps_m * c.warps_n; }
constexpr long shared_of(Config c) { return 4L * (c.tile_m * (c.tile_k + 4) + c.tile_k * (c.tile_n + 8)); }

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.arithmetic != Arithmetic::kF32 && d.compute_capability > 0 && d.compute_capability < 80) return false;  // tensor cores take these since Ampere
  if (shared_of(c) > d.shared_memory_per_block) return false;                                                   // the device's limit
  if (c.tile_m % (16 * c.warps_m) != 0) return false;                                                           // tensor cores take 16 rows
  return c.tile_n % (8 * c.warps_n) == 0;                                                                       // and 8 columns
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, (long)c.tile_n), ceil_div(p.m, (long)c.tile_m)}, .block = {threads_of(c)}, .shared = shared_of(c)};
}

constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k, .bytes = 4.0 * (p.m * p.k + p.k * p.n + p.m * p.n), .sum_length = 1.0 * p.k};
}

REFERENCE(p.m* p.n) void product_reference(long i, const float* a, const float* b, double* out, Problem p) {
  double sum = 0;
  for (long k = 0; k < p.k; ++k) sum += (double)a[i / p.n * p.k + k] * (double)b[k * p.n + i % p.n];
  out[i] = sum;
}

// A fragment is what a thread holds of a 16 x 8 part of c: rows lane / 4 and 8 below, columns 2 * (lane % 4) and the next.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
HONE_DEVICE unsigned tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
HONE_DEVICE unsigned bf16_pair(float low, float high) {
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
template <Arithmetic how> HONE_DEVICE void multiply(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (how == Arithmetic::kTf32) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}
#endif

template <Config c> struct Tiles {
  static constexpr int kStepM = c.tile_m / (16 * c.warps_m), kStepN = c.tile_n / (8 * c.warps_n), kWideA = c.tile_k + 4, kWideB = c.tile_n + 8;
};

/// One step over tile_k by the vector units; elsewhere than on tensor cores inputs are rounded to what those would take.
template <Config c> HONE_DEVICE void add_by_vectors(float (&sums)[Tiles<c>::kStepM][Tiles<c>::kStepN][4], const float* a, const float* b, int row, int col) {
  const auto rounded = [](float x) { return c.arithmetic == Arithmetic::kF32 ? x : (float)bf16(x); };
  for (int k = 0; k < c.tile_k; ++k) {
    for (int i = 0; i < Tiles<c>::kStepM; ++i) {
      for (int j = 0; j < Tiles<c>::kStepN; ++j) {
        for (int e = 0; e < 4; ++e) {
          sums[i][j][e] += rounded(a[(row + 16 * i + e / 2 * 8) * Tiles<c>::kWideA + k]) * rounded(b[k * Tiles<c>::kWideB + col + 8 * j + e % 2]);
        }
      }
    }
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <Config c> HONE_DEVICE void add_by_tensor_cores(float (&sums)[Tiles<c>::kStepM][Tiles<c>::kStepN][4], const float* a, const float* b, int row, int warp_col, int lane) {
  constexpr bool is_tf32 = c.arithmetic == Arithmetic::kTf32;
  constexpr int kDepth = is_tf32 ? 8 : 16;
  const int quad = lane % 4;
  for (int k = 0; k < c.tile_k; k += kDepth) {
    unsigned left[Tiles<c>::kStepM][4];
    for (int i = 0; i < Tiles<c>::kStepM; ++i) {
      const float* at = a + (row + 16 * i) * Tiles<c>::kWideA + k;
      for (int e = 0; e < 4; ++e) {
        const float* from = at + e % 2 * 8 * Tiles<c>::kWideA + (is_tf32 ? quad + e / 2 * 4 : 2 * quad + e / 2 * 8);
        left[i][e] = is_tf32 ? tf32(from[0]) : bf16_pair(from[0], from[1]);
      }
    }
    for (int j = 0; j < Tiles<c>::kStepN; ++j) {
      const float* at = b + k * Tiles<c>::kWideB + warp_col + 8 * j + lane / 4;
      unsigned right[2];
      for (int e = 0; e < 2; ++e) {
        const float* from = at + (is_tf32 ? quad + 4 * e : 2 * quad + 8 * e) * Tiles<c>::kWideB;
        right[e] = is_tf32 ? tf32(from[0]) : bf16_pair(from[0], from[Tiles<c>::kWideB]);
      }
      for (int i = 0; i < Tiles<c>::kStepM; ++i) multiply<c.arithmetic>(sums[i][j], left[i], right);
    }
  }
}
#endif

template <Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c))
void product(IN(p.m * p.k) const float* a, IN(p.k * p.n) const float* b, OUT(p.m * p.n) float* out, Problem p) {
  SHARED_DYNAMIC(float, tile_a);
  float* tile_b = tile_a + c.tile_m * Tiles<c>::kWideA;
  const long first_row = (long)blockIdx.y * c.tile_m, first_col = (long)blockIdx.x * c.tile_n;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / c.warps_n * (c.tile_m / c.warps_m) + lane / 4, warp_col = warp % c.warps_n * (c.tile_n / c.warps_n);
  float sums[Tiles<c>::kStepM][Tiles<c>::kStepN][4] = {};
  for (long begin = 0; begin < p.k; begin += c.tile_k) {
    for (int i = threadIdx.x; i < c.tile_m * c.tile_k; i += threads_of(c)) {
      const long r = first_row + i / c.tile_k, k = begin + i % c.tile_k;
      tile_a[i / c.tile_k * Tiles<c>::kWideA + i % c.tile_k] = r < p.m && k < p.k ? a[r * p.k + k] : 0.0f;
    }
    for (int i = threadIdx.x; i < c.tile_k * c.tile_n; i += threads_of(c)) {
      const long k = begin + i / c.tile_n, col = first_col + i % c.tile_n;
      tile_b[i / c.tile_n * Tiles<c>::kWideB + i % c.tile_n] = k < p.k && col < p.n ? b[k * p.n + col] : 0.0f;
    }
    __syncthreads();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (c.arithmetic != Arithmetic::kF32) {
      add_by_tensor_cores<c>(sums, tile_a, tile_b, row, warp_col, lane);
    } else
#endif
      add_by_vectors<c>(sums, tile_a, tile_b, row, warp_col + 2 * (lane % 4));
    __syncthreads();
  }
  for (int i = 0; i < Tiles<c>::kStepM; ++i) {
    for (int j = 0; j < Tiles<c>::kStepN; ++j) {
      for (int e = 0; e < 4; ++e) {
        const long r = first_row + row + 16 * i + e / 2 * 8, col = first_col + warp_col + 8 * j + 2 * (lane % 4) + e % 2;
        if (r < p.m && col < p.n) out[r * p.n + col] = sums[i][j][e];
      }
    }
  }
}
