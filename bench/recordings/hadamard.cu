// Small transforms, many of them: the Walsh-Hadamard transform of each row.
#include <hone/kernel.h>

struct Problem {
  long rows = 1L << 15;     // transforms
  STATIC long log_len = 8;  // of their lengths, to base 2
};

struct Config {
  TUNE(1, 2, 4, 8, 16, 32, 64, 128, 256) int lanes = 32;  // threads of a row
  TUNE(1, 2, 4, 8, 16, 32, 64) int groups = 4;            // rows of a block at a time
  TUNE(1, 2, 4, 8) int items = 1;                         // rows that a group goes through
  TUNE(0, 1, 2) int exchange = 1;            // between threads: shuffles, a round in shared memory for each step, one transposition
  TUNE(false, true) bool blocked = false;    // a thread begins with neighbours, not with every so manieth
  TUNE(0, 1, 2, 4) int pad = 0;              // elements behind each 32 in shared memory
  TUNE(1, 2, 4) int vec = 1;                 // elements in one access of a blocked thread
  TUNE(1, 2, 4) int residency = 1;           // blocks of a multiprocessor that registers must suffice for
  TUNE(false, true) bool streaming = false;  // stores that are not to stay in caches
};

constexpr int own_of(Problem p, Config c) { return (int)((1L << p.log_len) / c.lanes); }
constexpr long shared_bytes(Problem p, Config c) {
  return c.exchange == 0 ? 0 : c.groups * (1L << p.log_len) / 32 * (32 + c.pad) * (long)sizeof(float);
}

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.lanes > (1L << p.log_len) / 2) return false;                                  // a thread has two elements
  if (c.lanes * c.groups > d.threads_per_block) return false;                         // the device's limit
  if (c.lanes * c.groups < d.warp_size) return false;                                 // not a warp
  if (c.lanes * c.groups * c.residency > d.threads_per_multiprocessor) return false;  // what can be resident
  if (shared_bytes(p, c) > d.shared_memory_per_block) return false;                   // what a block may have
  if (c.exchange == 0 && (c.lanes > d.warp_size || c.pad > 0)) return false;          // a shuffle is of a warp, and needs no memory
  if (c.exchange == 2 && c.lanes * c.lanes > (1L << p.log_len)) return false;         // one transposition is not enough
  if (c.lanes == 1 && (c.exchange > 0 || c.blocked)) return false;                    // duplicate: nothing to exchange
  if (c.vec > 1 && !c.blocked) return false;                                          // duplicate: no neighbours
  return c.vec <= own_of(p, c);                                                       // as many as there are
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.rows, (long)c.groups * c.items)}, .block = {c.lanes * c.groups}, .shared = shared_bytes(p, c)};
}

constexpr Cost cost(Problem p) {
  return {.flops = 1.0 * p.rows * (1L << p.log_len) * p.log_len,
          .bytes = 8.0 * p.rows * (1L << p.log_len),
          .sum_length = 1.0 * (1L << p.log_len)};
}

REFERENCE(p.rows*(1L << p.log_len)) void hadamard_reference(long i, const float* x, double* y, Problem p) {
  const long len = 1L << p.log_len, row = i / len, k = i % len;
  double sum = 0;
  for (long j = 0; j < len; ++j) {
    long bits = j & k;
    bits ^= bits >> 8;
    bits ^= bits >> 4;
    bits ^= bits >> 2;
    bits ^= bits >> 1;
    sum += bits & 1 ? -(double)x[row * len + j] : (double)x[row * len + j];
  }
  y[i] = sum;
}

template <Config c>
KERNEL LAUNCH_BOUNDS(c.lanes* c.groups, c.residency) void hadamard(IN(p.rows*(1L << p.log_len)) const float* x,
                                                                   OUT(p.rows*(1L << p.log_len)) float* y, Problem p) {
  SHARED_DYNAMIC(float, shared);
  constexpr int kLen = 1 << (int)p.log_len, kOwn = kLen / c.lanes;
  const int lane = threadIdx.x % c.lanes, group = threadIdx.x / c.lanes;
  float* const mine = shared + group * (kLen / 32 * (32 + c.pad));
  auto padded = [](int k) { return k + k / 32 * c.pad; };
  auto blocked_place = [&](int e) { return lane * kOwn + e; };
  auto strided_place = [&](int e) { return e * c.lanes + lane; };
  auto place = [&](int e) { return c.blocked ? blocked_place(e) : strided_place(e); };
  for (int item = 0; item < c.items; ++item) {
    const long row = ((long)blockIdx.x * c.items + item) * c.groups + group;
    const bool there = row < p.rows;
    float own[kOwn];
    if constexpr (c.vec > 1) {
#pragma unroll
      for (int e = 0; e < kOwn; e += c.vec) {
        Vector<float, c.vec> in = {};
        if (there) in = load<c.vec>(x + row * kLen + blocked_place(e));
#pragma unroll
        for (int k = 0; k < c.vec; ++k) own[e + k] = in[k];
      }
    } else {
#pragma unroll
      for (int e = 0; e < kOwn; ++e) own[e] = there ? x[row * kLen + place(e)] : 0.0f;
    }
    auto local = [&](int most) {
#pragma unroll
      for (int step = 1; step < most; step *= 2) {
#pragma unroll
        for (int e = 0; e < kOwn; ++e) {
          if ((e & step) == 0) {
            const float a = own[e], b = own[e + step];
            own[e] = a + b, own[e + step] = a - b;
          }
        }
      }
    };
    local(kOwn);
    if constexpr (c.exchange == 0) {
#pragma unroll
      for (int step = 1; step < c.lanes; step *= 2) {
#pragma unroll
        for (int e = 0; e < kOwn; ++e) {
          const float other = __shfl_xor_sync(0xffffffff, own[e], step);
          own[e] = lane & step ? other - own[e] : own[e] + other;
        }
      }
    } else if constexpr (c.exchange == 1) {
      for (int step = 1; step < c.lanes; step *= 2) {
        __syncthreads();
#pragma unroll
        for (int e = 0; e < kOwn; ++e) mine[padded(place(e))] = own[e];
        __syncthreads();
        const int apart = c.blocked ? step * kOwn : step;
#pragma unroll
        for (int e = 0; e < kOwn; ++e) {
          const float other = mine[padded(place(e) ^ apart)];
          own[e] = lane & step ? other - own[e] : own[e] + other;
        }
      }
    } else {  // what was between threads lies within one afterwards
      __syncthreads();
#pragma unroll
      for (int e = 0; e < kOwn; ++e) mine[padded(place(e))] = own[e];
      __syncthreads();
      constexpr int kRest = c.lanes;
#pragma unroll
      for (int turn = 0; turn < kOwn / kRest; ++turn) {
        const int chunk = turn * c.lanes + lane;  // of the kOwn ones that each hold all threads' elements of one place
        float part[kRest];
        auto at = [&](int k) { return c.blocked ? k * kOwn + chunk : chunk * c.lanes + k; };
#pragma unroll
        for (int k = 0; k < kRest; ++k) part[k] = mine[padded(at(k))];
#pragma unroll
        for (int step = 1; step < kRest; step *= 2) {
#pragma unroll
          for (int k = 0; k < kRest; ++k) {
            if ((k & step) == 0) {
              const float a = part[k], b = part[k + step];
              part[k] = a + b, part[k + step] = a - b;
            }
          }
        }
#pragma unroll
        for (int k = 0; k < kRest; ++k) mine[padded(at(k))] = part[k];
      }
      __syncthreads();
#pragma unroll
      for (int e = 0; e < kOwn; ++e) own[e] = mine[padded(place(e))];
    }
    if (!there) continue;
    if constexpr (c.vec > 1) {
#pragma unroll
      for (int e = 0; e < kOwn; e += c.vec) {
        Vector<float, c.vec> out;
#pragma unroll
        for (int k = 0; k < c.vec; ++k) out[k] = own[e + k];
        store(y + row * kLen + blocked_place(e), out);
      }
    } else {
#pragma unroll
      for (int e = 0; e < kOwn; ++e) {
        if constexpr (c.streaming)
          __stcs(y + row * kLen + place(e), own[e]);
        else
          y[row * kLen + place(e)] = own[e];
      }
    }
  }
}
