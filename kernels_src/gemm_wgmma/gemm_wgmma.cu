// Matrix product on Hopper's tensor cores (wgmma): out = activation(alpha * a b + beta * added + bias), a and b each transposed or not, any
// m, n, k; sums in float.
#include <hone/kernel.h>
#include <hone/kernel_hopper.h>

struct Problem {
  long m = 1024, n = 1024, k = 1024;
  RANGE(1, 4) STATIC long layout = 1;      // how a and b lie: 1 a[m, k] b[k, n], 2 a[m, k] b[n, k], 3 a[k, m] b[k, n], 4 a[k, m] b[n, k]
  RANGE(1, 4) STATIC long terms = 1;       // what is added to alpha * a b: 1 nothing, 2 beta * added[m, n], 3 bias[n], 4 both
  RANGE(1, 4) STATIC long activation = 1;  // 1 none, 2 relu, 3 gelu, 4 silu
};

// Warp-specialized persistent blocks: one or two consumer warpgroups (128 threads) multiply; one thread of the producer warpgroup loads
// tiles of a and b by TMA into a pipeline of stages ahead of them. A block computes tile after tile of out.
struct Config {
  // Rows of a block's tile: larger tiles read a and b less often, smaller ones are more. Multiples of 64 unless swap_ab.
  TUNE(16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256) int bm = 128;
  TUNE(64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256) int bn = 256;  // columns: any multiple of 16 (64 if swap_ab) can save a round
  TUNE(false, true) bool swap_ab = false;    // wgmma multiplies 64 rows of a (M) and any width of b (N), or, swapped, 64 columns of b and
                                             // any height of a: few rows fill a tile
  TUNE(1, 2) int consumers = 2;              // warpgroups that multiply: two hold larger tiles in their registers
  TUNE(false, true) bool pingpong = false;   // each consumer has tiles of its own and writes them while the other one multiplies
  TUNE(2, 3, 4, 5, 6, 7, 8, 12) int stages = 4;  // k-steps of a and b in shared memory: enough to hide the latency of memory
  TUNE(1, 2, 4) int cluster_m = 1;           // blocks one above the other that share columns of b: each loads a part for all (multicast)
  TUNE(1, 2, 4) int cluster_n = 1;           // blocks side by side that share rows of a
  TUNE(1, 2, 4, 8) int cluster_k = 1;        // blocks that share a tile's sum over k, and reduce it through distributed shared memory
  TUNE(1, 2, 4, 8, 16) int raster = 16;      // row tiles that run side by side, so that the columns of b they share stay in L2
  TUNE(1, 2, 4, 8) int split = 1;            // split-K, for tiles that would leave multiprocessors idle. Costs a second pass
  TUNE(1, 2) int residency = 1;              // persistent blocks on a multiprocessor: two need small tiles
  TUNE(1, 8) int multiple = 8;               // the number of blocks is a multiple of this: 8 leaves 4 of 132 multiprocessors idle, but rows
                                             // of tiles end together
  TUNE(false, true) bool staged = true;      // TMA stores tiles of out from shared memory; else they go from registers
  // TMA needs lines that are multiples of 16 bytes apart. Where they are not: 1 copies a or b or both first; 2 (for layout 1) copies only b
  // and loads a in classes of rows, every eighth row in one class (work.h).
  TUNE(0, 1, 2) int repack = 0;
  TUNE(0, 1, 2) int once = 0;                // a (1) or b (2) is read once and need not stay in L2
  TUNE(128, 256) int fetch = 128;            // bytes that L2 fetches at a time (L2 promotion)
};
#include "../product.h"

#include "sizes.h"

/// Clusters of a number of blocks that is a multiple of 8.
constexpr long round_clusters_of(Config c, Device d) { return d.multiprocessors * c.residency / 8 * 8 / cluster_of(c); }

template <class T>
constexpr bool valid(Problem p, Config c, Device d) {
  if (d.compute_capability != 90) return false;                              // wgmma: Hopper alone
  if (c.pingpong && c.consumers != 2) return false;                          // two consumers take turns
  if (lines_of(c) % 64 != 0) return false;                                   // a wgmma has 64 lines
  if (sums_of(c) + 16 * c.residency > registers_of(c, d)) return false;      // sums of products under way must be in registers
  if (c.residency > 1 && c.consumers > 1) return false;                      // setmaxnreg moves registers within a block
  if (shared_bytes(c) > d.shared_memory_per_block) return false;             // the device's limit
  if (clusters_of(c, d) < 1 || blocks_of(c, d) > kMostBlocks) return false;  // at least one, and room for the partial sums of all
  if (sharers_of(c) > 8) return false;                                       // the largest cluster that can be had everywhere
  if (a_is_k_major() && c.bm / c.cluster_n % 8 != 0) return false;           // a swizzle repeats after 8 lines
  if (b_is_k_major() && c.bn / c.cluster_m % 8 != 0) return false;           // the same of b
  if (c.cluster_k > 1 && (sharers_of(c) > 1 || c.split > 1)) return false;   // one way to share at a time
  if (c.cluster_k > 1 && (c.pingpong || c.staged)) return false;             // sums of a cluster leave from shared memory
  if (c.cluster_k > 1 && !at_once(p, c, d)) return false;                    // one tile for each cluster: the sums overwrite the stages
  if (c.cluster_k > 1 && c.bm * pitch_of(c) * 4 > c.stages * stage_bytes(c)) return false;  // the sums fit where the stages were
  if (c.cluster_k > steps_of(p, c)) return false;                            // a block without a step has no sum
  if (c.split > steps_of(p, c)) return false;                                // a part without a step has no sum
  if (c.split > 1 && !parts_fit(p, c, clusters_of(c, d))) return false;      // each part needs a cluster
  if (c.repack == 0 && !aligned(p)) return false;                            // lines begin at multiples of 16 bytes
  if (c.repack > 0 && c.staged) return false;                                // TMA cannot store ragged lines of out
  if (c.repack == 2 && p.layout != 1) return false;                          // only rows of a along k form classes
  if (c.repack == 2 && c.swap_ab) return false;                              // consumers clear the beginnings of rows of a
  if (c.repack == 2 && c.cluster_m > 1) return false;                        // rows of two classes need different rows of b
  if (c.repack == 2 && c.split > 1) return false;                            // gemm_wgmma_classes writes no partial sums
  if (c.staged && c.bn % 32 != 0) return false;                              // TMA stores whole panels
  if (c.staged && c.split > 1) return false;                                 // partial sums leave from registers
  if (c.multiple == 1 && clusters_of(c, d) == round_clusters_of(c, d)) return false;  // duplicate: the number of blocks is the same
  const bool is_round = tiles_of(p, c) <= round_clusters_of(c, d) && parts_fit(p, c, round_clusters_of(c, d));
  return c.multiple > 1 || !is_round;                                        // duplicate: all pieces of work run at once either way
}

// Learned on an H200 in November 2026, at the products of bench/vendor, in bf16.
template <class T>
constexpr bool likely(Problem p, Config c, Device d) {
  if (lines_of(c) > 128) return false;                                       // squarer tiles read less: at most two products for a warpgroup
  if (sums_of(c) > (c.consumers > 1 ? 128 : 160)) return false;              // of 232 or 255 registers too few would be left
  if (c.residency > 1 && sums_of(c) > 64) return false;                      // each of two blocks has half of the registers
  if (shared_bytes(c) * c.residency > d.shared_memory_per_multiprocessor) return false;  // two blocks do not fit
  if (c.cluster_k > 1 && c.cluster_k * 2 > steps_of(p, c)) return false;     // a part of k is worth at least two steps
  if (c.cluster_m > 1 && c.cluster_m > ceil_div(p.m, (long)c.bm)) return false;  // a block would have no tile
  if (c.cluster_n > 1 && c.cluster_n * c.bn >= p.n + c.bn) return false;     // a block would have no tile
  if (c.repack > 0 && aligned(p)) return false;                              // the lines need no copy
  if (c.repack == 1 && p.layout == 1 && p.m >= 2048) return false;           // classes fill their tiles, and save the copy of a
  if (c.repack == 2 && c.bm > 64 && c.bm * classes_of(p, c) >= 2 * p.m) return false;  // more than half of every tile is outside
  if (c.bm > 64 && c.bm >= 2 * p.m) return false;                            // more than half of every tile is outside
  if (c.swap_ab && c.bm >= p.m + 16) return false;                           // fewer rows hold all
  if (c.swap_ab && c.bm < 64 && c.bm < p.m) return false;                    // b would be read again for each few rows
  if (c.swap_ab && has_twin(c)) return false;                                // the same tile can be had without
  if (c.bn > 64 && c.bn >= 2 * p.n) return false;                            // the same along n
  if (c.once == 1 && c.bn < p.n) return false;                               // other columns of tiles read a again
  if (c.once == 2 && c.bm < p.m) return false;                               // other rows of tiles read b again
  if (c.stages < 8 && c.stages < steps_of(p, c) && has_room(c, d) && !is_long(c)) return false;  // a longer pipeline costs nothing
  if (c.stages > 3 && c.stages > steps_of(p, c) + 1) return false;           // some stages would never be filled
  if (c.raster < 16 && at_once(p, c, d)) return false;                       // all tiles run at once: there is no order
  if (c.raster > 1 && c.raster * c.cluster_m > tiles_m(p, c) && !at_once(p, c, d)) return false;  // a smaller one gives nearly the same order
  if (c.pingpong && at_once(p, c, d)) return false;                          // a block has one tile: one consumer would be idle
  if (c.residency > 1 && tiles_of(p, c) * cluster_of(c) <= d.multiprocessors) return false;  // second blocks would be idle
  const bool idle = c.multiple > 1 && c.residency == 1;
  if (idle && rounds_of(p, c, blocks_of(c, d)) > rounds_of(p, c, d.multiprocessors)) return false;  // the idle multiprocessors would cost a round
  const bool is_low = c.swap_ab && c.bm >= p.m;                              // a tile has all rows: larger ones read b no less
  if (!is_low && c.bm * c.bn < 128 * 128 && small_tiles(p, c) >= 3 * d.multiprocessors) return false;  // there are enough larger tiles, which read less
  if (c.bm * c.bn > 64 * 64 && 5 * busy_blocks(p, c) <= 3 * d.multiprocessors) return false;  // two fifths of the device would be idle
  if (sharers_of(c) > 2 && tiles_of(p, c) * sharers_of(c) * 16 > 15 * d.multiprocessors) return false;  // not all such clusters run at once
  const bool one_round = c.repack == 0 && sharers_of(c) > 1 && at_once(p, c, d);
  if (one_round && steps_of(p, c) <= 16) return false;                       // L2 serves what they share
  if (leaves_idle(p, c, d)) return false;                                    // other tiles keep more of the device busy
  const bool is_wide = width_of(c) > 64;
  if (is_wide && width_of(c) % width_step(c) > 0) return false;              // lines would be slow to load
  if (is_wide && width_of(c) % 64 > 0 && !width_pays(p, c, d)) return false;  // hardly any time is saved
  if (c.split > 1 && at_once(p, c, d)) return false;                         // cluster_k saves the second pass
  if (c.split > 1 && c.split * 2 > steps_of(p, c)) return false;             // a part of k is worth at least two steps
  return c.split == 1 || c.split * c.bm * c.bn * 4 <= 1 << 20;               // partial sums that fit no cache cost more than they gain
}

constexpr Launch launch_gemm_wgmma_pack(Problem p, Config c) {
  return {.grid = {ceil_div(max_of(copied_a(p, c) ? lines_a(p) * ceil_div(line_a(p), 8L) : 1,
                                   copied_b(p, c) ? lines_b(p) * ceil_div(line_b(p), 8L) : 1),
                            4L * 256),
                   copied_a(p, c) && copied_b(p, c) ? 2 : 1},
          .block = {256},
          .enabled = copied_a(p, c) || copied_b(p, c),
          .overlap = true};
}
constexpr Launch launch_gemm_wgmma(Problem p, Config c, Device d) {
  return {.grid = {grid_of(p, c, d)},
          .block = {threads_of(c)},
          .cluster = {cluster_of(c)},
          .shared = shared_bytes(c),
          .enabled = c.repack == 0 && !c.staged,
          .overlap = at_once(p, c, d)};
}
constexpr Launch launch_gemm_wgmma_staged(Problem p, Config c, Device d) {
  return {.grid = {grid_of(p, c, d)},
          .block = {threads_of(c)},
          .cluster = {cluster_of(c)},
          .shared = shared_bytes(c),
          .enabled = c.staged,
          .overlap = at_once(p, c, d)};
}
// Blocks of many tiles do not overlap the copy, so that they begin together: on an H200, those that began before it had ended made 4097^3
// slower by a tenth.
constexpr Launch launch_gemm_wgmma_packed(Problem p, Config c, Device d) {
  return {.grid = {grid_of(p, c, d)},
          .block = {threads_of(c)},
          .cluster = {cluster_of(c)},
          .shared = shared_bytes(c),
          .enabled = c.repack == 1,
          .overlap = at_once(p, c, d)};
}
constexpr Launch launch_gemm_wgmma_classes(Problem p, Config c, Device d) {
  return {.grid = {grid_of(p, c, d)},
          .block = {threads_of(c)},
          .cluster = {cluster_of(c)},
          .shared = shared_bytes(c),
          .enabled = c.repack == 2,
          .overlap = at_once(p, c, d)};
}
constexpr Launch launch_gemm_wgmma_sum(Problem p, Config c, Device d) {
  return {.grid = {c.bm / 4, max_of(1L, rest_of(p, c, clusters_of(c, d)) * cluster_of(c))},
          .block = {256},
          .enabled = c.split > 1,
          .overlap = true};
}

template <class T>
REFERENCE(p.m * p.n)
void gemm_wgmma_reference(long i, const T* a, const T* b, const T* added, const T* bias, double* out, float alpha, float beta, Problem p) {
  out[i] = product_at(i, a, b, added, bias, alpha, beta, p);
}

// ---- the kernels --------------------------------------------------------------------------------------------------------------------------
#include "work.h"
#include "producer.h"
#include "widths.h"
#include "sums.h"
#include "write.h"
#include "write_swapped.h"
#include "parts.h"
#include "edge.h"

#if defined(HONE_HOPPER)
/// The main loop of a consumer warpgroup.
template <class T, Config c>
HONE_DEVICE void consume(Sums<T, c>& sums, const Finish<T>& finish, T* out, float* partial, const TensorMap* out_map) {
  const Problem p = sums.p;
  PipelineState<c> pipeline;
  hopper::u32 turn = 0;
  const long rest = rest_here<c>(p), pieces = work_of(p, c, rest);
  int count = 0, buffer = 0;
  for (long index = blockIdx.x / cluster_of(c); index < pieces; index += clusters_here<c>(), ++count) {
    const Work work = work_at<c>(p, index, sums.rank, rest);
    if (c.pingpong && count % 2 != sums.group) {
      pipeline.skip(work.end - work.begin);
      continue;
    }
    if constexpr (c.pingpong) hopper::mbarrier_wait(sums.layout.turn(sums.group), turn);
    sums.accumulate(work, pipeline);
    if constexpr (c.pingpong) {
      if (sums.thread == 0) hopper::mbarrier_arrive(sums.layout.turn(1 - sums.group));
      turn ^= 1;
    }
    if constexpr (c.cluster_k > 1) {
      leave_part(sums);
    } else if (c.split > 1 && work.part >= 0) {
      write_partial(sums, partial, work, rest);
    } else if constexpr (c.swap_ab) {
      complete_swapped(sums, finish, work);
      if constexpr (c.staged) {
        write_staged_swapped(sums, *out_map, work, buffer);
      } else if constexpr (c.repack > 0) {
        write_anywhere_swapped(sums, out, work);
      } else {
        write_swapped(sums, out, work);
      }
    } else {
      complete(sums, finish, work);
      if constexpr (c.staged) {
        write_staged(sums, *out_map, work, buffer);
      } else if constexpr (c.repack > 0) {
        write_anywhere(sums, out, work);
      } else {
        write(sums, out, work);
      }
    }
  }
  if (c.staged && sums.thread == 0) hopper::bulk_wait_group_read<0>();
}

template <Config c> HONE_DEVICE int rank_of() { return cluster_of(c) > 1 ? (int)hopper::cluster_rank() : 0; }

template <Config c> HONE_DEVICE void prepare(const SharedLayout<c>& layout) {
  if (threadIdx.x == 0) init_barriers(layout);
  if constexpr (cluster_of(c) > 1) {
    hopper::cluster_sync();
  } else {
    __syncthreads();
  }
}
#endif

template <class T, Config c>
KERNEL DTYPES(bf16, f16) LAUNCH_BOUNDS(256)
void gemm_wgmma_pack(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
                     WORKSPACE(copied_a(p, c) ? lines_a(p) * padded(line_a(p)) : 1) T* __restrict__ packed_a,
                     WORKSPACE(copied_b(p, c) ? lines_b(p) * padded(line_b(p)) : 1) T* packed_b, Problem p) {
  launch_dependents();
  grid_dependency_wait();
  if (copied_a(p, c) && blockIdx.y == 0) {
    pack(a, packed_a, lines_a(p), line_a(p));
  } else {
    pack(b, packed_b, lines_b(p), line_b(p));
  }
}

#if defined(HONE_HOPPER)
/// The kernel of a block: the first warpgroup is the producer (and adds up the edge), the others are consumers.
template <class T, Config c>
HONE_DEVICE void multiply(const Producer<c>& producer, const Edge<T, c>& edge, float* partial, const TensorMap* out_map) {
  // setmaxnreg keeps the total: 504 registers for one thread of each of the three warpgroups.
  constexpr int kMany = exchanged_registers(c), kFew = 504 - 2 * kMany;
  // Tensor maps come from memory: without a prefetch the first copies would wait for them.
  if (threadIdx.x == 0) {
    hopper::prefetch_tensor_map(producer.b_map);
    if constexpr (c.repack < 2) hopper::prefetch_tensor_map(*producer.a_maps[0]);
  }
  if (c.staged && threadIdx.x == 128) hopper::prefetch_tensor_map(*out_map);
  prepare(producer.layout);
  launch_dependents();
  grid_dependency_wait();
  if (threadIdx.x < 128) {
    if constexpr (c.consumers > 1) hopper::setmaxnreg_dec<kFew>();
    if (threadIdx.x == 0) {
      producer.run();
    } else if (c.repack == 2 && threadIdx.x >= 32) {
      edge.add();
    }
    __syncwarp();
    if constexpr (c.cluster_k > 1) hopper::cluster_sync();
  } else {
    if constexpr (c.consumers > 1) hopper::setmaxnreg_inc<kMany>();
    Sums<T, c> sums{producer.p, producer.layout, producer.rank, (int)threadIdx.x / 128 - 1, (int)threadIdx.x % 128};
    consume(sums, edge.finish, edge.out, partial, out_map);
    if constexpr (c.cluster_k > 1) {
      hopper::cluster_sync();
      add_parts(sums, edge.finish, edge.out);
    }
  }
  if constexpr (cluster_of(c) > 1) hopper::cluster_sync();  // a block must not end while others access its shared memory
}
#endif

// A configuration runs one of the next four kernels. Each has only the tensor maps that it needs: a map adds a tenth of a microsecond to a
// launch.

/// Lines are multiples of 16 bytes; tiles of out go from registers.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.residency)
void gemm_wgmma(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added,
                IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias, OUT(p.m * p.n) T* __restrict__ out,
                WORKSPACE(c.split > 1 ? kMostBlocks * c.bm * c.bn : 1) float* __restrict__ partial,
                TENSOR_MAP(a, .size = {c.repack == 0 ? line_a(p) : 0, lines_a(p)}, .box = {box_line_a(c), box_a(c)},
                           .swizzle = 2 * box_line_a(c), .l2 = c.fetch)
                const __grid_constant__ TensorMap a_map,
                TENSOR_MAP(b, .size = {c.repack == 0 ? line_b(p) : 0, lines_b(p)}, .box = {box_line_b(c), box_b(c)},
                           .swizzle = 2 * box_line_b(c), .l2 = c.fetch)
                const __grid_constant__ TensorMap b_map,
                SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
#if defined(HONE_HOPPER)
  if constexpr (c.repack == 0 && !c.staged) {
    SHARED_DYNAMIC(unsigned char, memory);
    const TensorMap* const a_maps[8] = {&a_map};
    multiply<T, c>(Producer<c>{a_maps, b_map, p, SharedLayout<c>(memory), rank_of<c>()}, {p, nullptr, nullptr, out, {added, bias, alpha, beta}},
                   partial, nullptr);
  }
#endif
}

/// Lines are multiples of 16 bytes; TMA stores tiles of out.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.residency)
void gemm_wgmma_staged(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added,
                       IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
                       TENSOR_MAP(a, .size = {c.repack == 0 ? line_a(p) : 0, lines_a(p)}, .box = {box_line_a(c), box_a(c)},
                           .swizzle = 2 * box_line_a(c), .l2 = c.fetch)
                       const __grid_constant__ TensorMap a_map,
                       TENSOR_MAP(b, .size = {c.repack == 0 ? line_b(p) : 0, lines_b(p)}, .box = {box_line_b(c), box_b(c)},
                           .swizzle = 2 * box_line_b(c), .l2 = c.fetch)
                       const __grid_constant__ TensorMap b_map,
                       TENSOR_MAP(out, .size = {c.staged ? p.n : 0, p.m}, .box = {panel_out(c), panel_rows(c)}, .swizzle = 2 * panel_out(c))
                       const __grid_constant__ TensorMap out_map,
                       SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
#if defined(HONE_HOPPER)
  if constexpr (c.staged) {
    SHARED_DYNAMIC(unsigned char, memory);
    const TensorMap* const a_maps[8] = {&a_map};
    multiply<T, c>(Producer<c>{a_maps, b_map, p, SharedLayout<c>(memory), rank_of<c>()},
                   {p, nullptr, nullptr, nullptr, {added, bias, alpha, beta}}, nullptr, &out_map);
  }
#endif
}

/// Lines are ragged: the kernel reads copies of a or b or both.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.residency)
void gemm_wgmma_packed(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added,
                       IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias, OUT(p.m * p.n) T* __restrict__ out,
                       WORKSPACE(c.split > 1 ? kMostBlocks * c.bm * c.bn : 1) float* __restrict__ partial,
                       TENSOR_MAP(a, .size = {c.repack != 1 || copied_a(p, c) ? 0 : line_a(p), lines_a(p)}, .box = {box_line_a(c), box_a(c)},
                                  .swizzle = 2 * box_line_a(c), .l2 = c.fetch)
                       const __grid_constant__ TensorMap a_map,
                       TENSOR_MAP(b, .size = {c.repack != 1 || copied_b(p, c) ? 0 : line_b(p), lines_b(p)}, .box = {box_line_b(c), box_b(c)},
                                  .swizzle = 2 * box_line_b(c), .l2 = c.fetch)
                       const __grid_constant__ TensorMap b_map,
                       TENSOR_MAP(packed_a, .size = {copied_a(p, c) ? line_a(p) : 0, lines_a(p)}, .box = {box_line_a(c), box_a(c)},
                                  .swizzle = 2 * box_line_a(c), .stride = {1, padded(line_a(p))}, .l2 = c.fetch)
                       const __grid_constant__ TensorMap packed_a_map,
                       TENSOR_MAP(packed_b, .size = {c.repack == 1 && copied_b(p, c) ? line_b(p) : 0, lines_b(p)}, .box = {box_line_b(c), box_b(c)},
                                  .swizzle = 2 * box_line_b(c), .stride = {1, padded(line_b(p))}, .l2 = c.fetch)
                       const __grid_constant__ TensorMap packed_b_map,
                       SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
#if defined(HONE_HOPPER)
  if constexpr (c.repack == 1) {
    SHARED_DYNAMIC(unsigned char, memory);
    const TensorMap* const a_maps[8] = {copied_a(p, c) ? &packed_a_map : &a_map};
    const TensorMap& columns = copied_b(p, c) ? packed_b_map : b_map;
    multiply<T, c>(Producer<c>{a_maps, columns, p, SharedLayout<c>(memory), rank_of<c>()}, {p, nullptr, nullptr, out, {added, bias, alpha, beta}},
                   partial, nullptr);
  }
#endif
}

/// A parameter: the tensor map of class j of the rows of a.
#define ROW_CLASS_MAP(j)                                                                                         \
  TENSOR_MAP(a, .size = {class_columns(p, c, j), class_rows(p, c, j)}, .box = {kDepth, c.bm / c.cluster_n},      \
             .swizzle = 128, .stride = {1, classes_of(p, c) * p.k}, .offset = class_begin(p, j), .l2 = c.fetch)  \
  const __grid_constant__ TensorMap a_map_##j

/// Rows are ragged: those of a form classes; b may be a copy.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(threads_of(c), c.residency)
void gemm_wgmma_classes(IN(p.m * p.k) const T* __restrict__ a, IN(p.k * p.n) const T* __restrict__ b,
                        IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added,
                        IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias, OUT(p.m * p.n) T* __restrict__ out,
                        ROW_CLASS_MAP(0), ROW_CLASS_MAP(1), ROW_CLASS_MAP(2), ROW_CLASS_MAP(3),
                        ROW_CLASS_MAP(4), ROW_CLASS_MAP(5), ROW_CLASS_MAP(6), ROW_CLASS_MAP(7),
                        TENSOR_MAP(b, .size = {c.repack < 2 || copied_b(p, c) ? 0 : p.n, p.k}, .box = {box_line_b(c), kDepth},
                                   .swizzle = 2 * box_line_b(c), .l2 = c.fetch)
                        const __grid_constant__ TensorMap b_map,
                        TENSOR_MAP(packed_b, .size = {c.repack == 2 && copied_b(p, c) ? main_n(p, c) : 0, p.k}, .box = {box_line_b(c), kDepth},
                                   .swizzle = 2 * box_line_b(c), .stride = {1, padded(p.n)}, .l2 = c.fetch)
                        const __grid_constant__ TensorMap packed_b_map,
                        SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
#if defined(HONE_HOPPER)
  if constexpr (c.repack == 2) {
    SHARED_DYNAMIC(unsigned char, memory);
    const TensorMap* const a_maps[8] = {&a_map_0, &a_map_1, &a_map_2, &a_map_3, &a_map_4, &a_map_5, &a_map_6, &a_map_7};
    const TensorMap& columns = copied_b(p, c) ? packed_b_map : b_map;
    multiply<T, c>(Producer<c>{a_maps, columns, p, SharedLayout<c>(memory), rank_of<c>()}, {p, a, b, out, {added, bias, alpha, beta}}, nullptr,
                   nullptr);
  }
#endif
}

/// Adds up the parts of k of split tiles in a fixed order: the result is deterministic.
template <class T, Config c>
KERNEL LAUNCH_BOUNDS(256)
void gemm_wgmma_sum(IN(p.terms % 2 == 0 ? p.m * p.n : 1) const T* __restrict__ added,
                    IN(p.terms >= 3 ? p.n : 1) const T* __restrict__ bias,
                    OUT(p.m * p.n) T* __restrict__ out,
                    WORKSPACE(c.split > 1 ? kMostBlocks * c.bm * c.bn : 1) const float* partial,
                    SCALAR(1.0) float alpha, SCALAR(1.0) float beta, Problem p) {
  grid_dependency_wait();
  const Finish<T> finish = {added, bias, alpha, beta};
  const long slots = gridDim.y, rest = slots / cluster_of(c);
  const int slot = (int)blockIdx.y, rank = slot % cluster_of(c);
  const Work work = work_at<c>(p, tiles_of(p, c) - rest + slot / cluster_of(c), rank, rest);
  for (int i = (int)threadIdx.x * 4; i < 4 * c.bn; i += 1024) {
    const int row = (int)blockIdx.x * 4 + i / c.bn, column = i % c.bn;
    float sums[4] = {};
#pragma unroll
    for (int part = 0; part < c.split; ++part) {
      const Vector<float, 4> add = load<4>(partial + (part * slots + slot) * (c.bm * c.bn) + row * c.bn + column);
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[e] += add[e];
    }
    const long at_row = row_at<c>(p, work, row), at_column = (long)work.column_tile * c.bn + column;
    if (at_row >= p.m) continue;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (at_column + e < p.n) finish.template write<1>(out, {sums[e]}, at_row, at_column + e, p.n);
    }
  }
}
