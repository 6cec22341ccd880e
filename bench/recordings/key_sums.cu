// Sums by key: sums[b] is the sum of the values whose key is b.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 23;  // values
  long bins = 256;    // what keys are below
};

struct Config {
  TUNE(32, 64, 128, 256, 384, 512, 768, 1024) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8, 16, 32) int items = 8;                       // accesses of a thread in its turn
  TUNE(1, 2, 4) int vec = 1;                                    // values in one access
  TUNE(0, 1, 2, 4, 8, 16, 32) int copies = 1;                   // of the sums in shared memory; 0: all add to device memory
  TUNE(0, 1, 2) int spread = 0;                                 // who has a copy: neighbours in turn, warps in turn, thirds of a block
  TUNE(false, true) bool pad = false;                           // a copy is one element longer
  TUNE(0, 1, 2, 4, 8, 16) int persistent = 0;                   // blocks of a multiprocessor that take parts in turn; 0: a block for each
  TUNE(false, true) bool runs = false;                          // equal keys in a row are added up first
  TUNE(false, true) bool batch = false;                         // all of a turn's values are loaded before the first is added
};

constexpr long shared_bytes(Problem p, Config c) { return c.copies * (p.bins + (c.pad ? 1 : 0)) * (long)sizeof(float); }
constexpr long parts_of(Problem p, Config c) { return ceil_div(p.n, (long)c.block * c.items * c.vec); }

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;                                           // the device's limit
  if (shared_bytes(p, c) > d.shared_memory_per_block) return false;                          // what a block may have
  if (p.n % c.vec != 0) return false;                                                        // no access reaches beyond the end
  if (c.copies < 2 && (c.pad || c.spread > 0)) return false;                                 // duplicate: there is one copy at most
  if (c.persistent * c.block > d.threads_per_multiprocessor) return false;                   // what can be resident
  if (c.persistent > 0 && d.multiprocessors * c.persistent >= parts_of(p, c)) return false;  // duplicate: a block for each part
  return !c.batch || c.items * c.vec > 1;                                                    // duplicate: one value
}

constexpr Launch launch(Problem p, Config c, Device d) {
  return {.grid = {c.persistent > 0 ? min_of(parts_of(p, c), (long)(d.multiprocessors * c.persistent)) : parts_of(p, c)},
          .block = {c.block},
          .shared = shared_bytes(p, c)};
}

constexpr Cost cost(Problem p) { return {.flops = 1.0 * p.n, .bytes = 8.0 * p.n, .sum_length = 1.0 * p.n}; }

REFERENCE(p.bins) void key_sums_reference_zero(long b, double* sums) { sums[b] = 0; }

REFERENCE(p.n) void key_sums_reference(long i, const i32* keys, const float* values, double* sums, Problem p) {
  atomicAdd(&sums[keys[i]], (double)values[i]);
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.block) void key_sums(IN(p.n, .below = p.bins) const i32* keys, IN(p.n, .low = 0, .below = 1) const float* values,
                                            OUT_ZEROED(p.bins) float* sums, Problem p) {
  SHARED_DYNAMIC(float, shared);
  const long pitch = p.bins + (c.pad ? 1 : 0);
  constexpr int kCopies = c.copies > 0 ? c.copies : 1;
  const int copy = c.spread == 0 ? threadIdx.x % kCopies : c.spread == 1 ? threadIdx.x / 32 % kCopies : threadIdx.x * kCopies / c.block;
  float* const into = c.copies > 0 ? shared + copy * pitch : sums;
  if constexpr (c.copies > 0) {
    for (long b = threadIdx.x; b < c.copies * pitch; b += c.block) shared[b] = 0;
    __syncthreads();
  }
  constexpr long kPart = (long)c.block * c.items * c.vec;
  for (long part = blockIdx.x; part * kPart < p.n; part += gridDim.x) {
    int run = -1;
    float sum = 0;
    auto add = [&](int key, float value) {
      if constexpr (c.runs) {
        if (key != run) {
          if (run >= 0) atomicAdd(&into[run], sum);
          run = key, sum = 0;
        }
        sum += value;
      } else {
        atomicAdd(&into[key], value);
      }
    };
    auto place = [&](int k) { return part * kPart + ((long)k * c.block + threadIdx.x) * c.vec; };
    if constexpr (c.batch) {
      Vector<i32, c.vec> key[c.items];
      Vector<float, c.vec> value[c.items];
#pragma unroll
      for (int k = 0; k < c.items; ++k) {
        if (place(k) < p.n) key[k] = load<c.vec>(keys + place(k)), value[k] = load<c.vec>(values + place(k));
      }
#pragma unroll
      for (int k = 0; k < c.items; ++k) {
#pragma unroll
        for (int e = 0; e < c.vec; ++e) {
          if (place(k) < p.n) add(key[k][e], value[k][e]);
        }
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < c.items; ++k) {
        if (place(k) >= p.n) break;
        const Vector<i32, c.vec> key = load<c.vec>(keys + place(k));
        const Vector<float, c.vec> value = load<c.vec>(values + place(k));
#pragma unroll
        for (int e = 0; e < c.vec; ++e) add(key[e], value[e]);
      }
    }
    if (c.runs && run >= 0) atomicAdd(&into[run], sum);
  }
  if constexpr (c.copies > 0) {
    __syncthreads();
    for (long b = threadIdx.x; b < p.bins; b += c.block) {
      float sum = 0;
      for (int k = 0; k < c.copies; ++k) sum += shared[k * pitch + b];
      if (sum != 0) atomicAdd(&sums[b], sum);
    }
  }
}
