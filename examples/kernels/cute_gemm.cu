// A product in CuTe: y = a b', with a of m x k and b of n x k in f16, whose tile, stages and warps are parameters.
#include <hone/kernel.h>

#include <cute/tensor.hpp>

struct Problem {
  long m = 2048, n = 2048, k = 2048;  // rows of a, rows of b, and what they share
};

struct Config {
  TUNE(64, 128, 256) int bm = 128;   // rows of y in a tile
  TUNE(64, 128, 256) int bn = 128;   // and its columns
  TUNE(32, 64) int bk = 32;          // of k at a time
  TUNE(2, 3, 4, 5) int stages = 3;   // tiles of a and b in shared memory
  TUNE(1, 2, 4) int warps_m = 2;     // warps of a block along m
  TUNE(1, 2, 4) int warps_n = 2;     // and along n
};

constexpr int threads_of(Config c) { return c.warps_m * c.warps_n * 32; }
constexpr long shared_bytes(Config c) { return (c.bm + c.bn) * c.bk * c.stages * 2L; }

constexpr bool valid(Problem p, Config c, Device d) {
  if (d.compute_capability < 80) return false;                                         // cp.async and these mma came with Ampere
  if (p.m % c.bm != 0 || p.n % c.bn != 0 || p.k % c.bk != 0) return false;             // whole tiles alone
  if (shared_bytes(c) > d.shared_memory_per_block) return false;                       // the tiles of all stages
  if (c.bm % (threads_of(c) * 8 / c.bk) != 0 || c.bn % (threads_of(c) * 8 / c.bk) != 0) return false;  // a copy of all threads is whole rows
  return c.bm % (c.warps_m * 16) == 0 && c.bn % (c.warps_n * 16) == 0;                 // whole mma for each warp
}

constexpr bool likely(Problem p, Config c) {
  return c.bm * c.bn / threads_of(c) <= 128;  // more accumulators than that spill
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {p.m / c.bm, p.n / c.bn}, .block = {threads_of(c)}, .shared = shared_bytes(c)};
}

constexpr Cost cost(Problem p) {
  return {.flops = 2.0 * p.m * p.n * p.k, .bytes = 2.0 * (p.m * p.k + p.k * p.n + p.m * p.n), .sum_length = (double)p.k};
}

REFERENCE(p.m * p.n) void cute_gemm_reference(long i, const f16* a, const f16* b, double* y, Problem p) {
  const long row = i / p.n, col = i % p.n;
  double sum = 0;
  for (long k = 0; k < p.k; ++k) sum += (double)(float)a[row * p.k + k] * (double)(float)b[col * p.k + k];
  y[i] = sum;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c))
void cute_gemm(IN(p.m * p.k) const f16* a, IN(p.n * p.k) const f16* b, OUT(p.m * p.n) f16* y, Problem p) {
  using namespace cute;
  using Element = cute::half_t;
  const int m = (int)p.m, n = (int)p.n, k = (int)p.k;
  Tensor all_a = make_tensor(make_gmem_ptr(reinterpret_cast<const Element*>(a)), make_shape(m, k), make_stride(k, _1{}));
  Tensor all_b = make_tensor(make_gmem_ptr(reinterpret_cast<const Element*>(b)), make_shape(n, k), make_stride(k, _1{}));
  Tensor all_y = make_tensor(make_gmem_ptr(reinterpret_cast<Element*>(y)), make_shape(m, n), make_stride(n, _1{}));
  const auto tile = Shape<Int<c.bm>, Int<c.bn>, Int<c.bk>>{};
  const auto place = make_coord((int)blockIdx.x, (int)blockIdx.y, _);
  Tensor global_a = local_tile(all_a, tile, place, Step<_1, X, _1>{});  // (bm, bk, tiles of k)
  Tensor global_b = local_tile(all_b, tile, place, Step<X, _1, _1>{});  // (bn, bk, tiles of k)
  Tensor global_y = local_tile(all_y, tile, place, Step<_1, _1, X>{});  // (bm, bn)

  // Eight rows of bk halves, swizzled so that ldmatrix meets no bank twice.
  using Atom = decltype(composition(Swizzle<c.bk == 64 ? 3 : 2, 3, 3>{}, Layout<Shape<_8, Int<c.bk>>, Stride<Int<c.bk>, _1>>{}));
  using LayoutA = decltype(tile_to_shape(Atom{}, Shape<Int<c.bm>, Int<c.bk>, Int<c.stages>>{}));
  using LayoutB = decltype(tile_to_shape(Atom{}, Shape<Int<c.bn>, Int<c.bk>, Int<c.stages>>{}));
  SHARED_DYNAMIC(f16, memory);
  Element* const shared = reinterpret_cast<Element*>(memory);
  Tensor shared_a = make_tensor(make_smem_ptr(shared), LayoutA{});
  Tensor shared_b = make_tensor(make_smem_ptr(shared + cosize_v<LayoutA>), LayoutB{});

  constexpr int kAcross = c.bk / 8;  // threads along k, each with 16 bytes
  const auto to_shared = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, Element>{},
                                         Layout<Shape<Int<threads_of(c) / kAcross>, Int<kAcross>>, Stride<Int<kAcross>, _1>>{},
                                         Layout<Shape<_1, _8>>{});
  const auto thread_copy = to_shared.get_slice(threadIdx.x);
  Tensor from_a = thread_copy.partition_S(global_a);
  Tensor into_a = thread_copy.partition_D(shared_a);
  Tensor from_b = thread_copy.partition_S(global_b);
  Tensor into_b = thread_copy.partition_D(shared_b);

  using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<Int<c.warps_m>, Int<c.warps_n>, _1>>,
                       Tile<Int<16 * c.warps_m>, Int<16 * c.warps_n>, _16>>;
  const Mma mma;
  const auto thread_mma = mma.get_slice(threadIdx.x);
  Tensor part_a = thread_mma.partition_fragment_A(shared_a(_, _, 0));
  Tensor part_b = thread_mma.partition_fragment_B(shared_b(_, _, 0));
  Tensor sums = thread_mma.partition_fragment_C(global_y);
  clear(sums);
  const auto read_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, Element>{}, mma);
  const auto read_b = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, Element>{}, mma);
  const auto thread_a = read_a.get_slice(threadIdx.x);
  const auto thread_b = read_b.get_slice(threadIdx.x);
  Tensor tiles_a = thread_a.partition_S(shared_a);
  Tensor registers_a = thread_a.retile_D(part_a);
  Tensor tiles_b = thread_b.partition_S(shared_b);
  Tensor registers_b = thread_b.retile_D(part_b);

  const int tiles = k / c.bk;
  int next = 0;
  const auto fetch = [&] {
    if (next < tiles) {
      copy(to_shared, from_a(_, _, _, next), into_a(_, _, _, next % c.stages));
      copy(to_shared, from_b(_, _, _, next), into_b(_, _, _, next % c.stages));
    }
    cp_async_fence();
    ++next;
  };
  for (int stage = 0; stage < c.stages - 1; ++stage) fetch();
  for (int at = 0; at < tiles; ++at) {
    cp_async_wait<c.stages - 2>();
    __syncthreads();  // the tile is here, and nobody reads the one before it any more
    fetch();
#pragma unroll
    for (int step = 0; step < size<2>(part_a); ++step) {
      copy(read_a, tiles_a(_, _, step, at % c.stages), registers_a(_, _, step));
      copy(read_b, tiles_b(_, _, step, at % c.stages), registers_b(_, _, step));
      gemm(mma, part_a(_, _, step), part_b(_, _, step), sums);
    }
  }
  Tensor result = thread_mma.partition_C(global_y);
#pragma unroll
  for (int i = 0; i < size(sums); ++i) result(i) = Element(sums(i));
}
