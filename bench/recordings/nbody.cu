// N bodies: the acceleration of each by all others, softened.
#include <hone/kernel.h>

struct Problem {
  long n = 1L << 13;  // bodies
};

struct Config {
  TUNE(32, 64, 128, 256, 512, 1024) int block = 256;  // threads in a block
  TUNE(1, 2, 4, 8) int items = 1;                     // bodies of a thread
  TUNE(0, 1, 2, 4, 8) int tile = 1;                   // bodies that a thread brings to shared memory at a time; 0: all read device memory
  TUNE(1, 2, 4, 8, 16, 32) int unroll = 4;            // of the loop over others
  TUNE(1, 2, 4, 8, 16, 32, 64) int split = 1;         // parts of the others, each with blocks of its own, that add to the result
  TUNE(false, true) bool apart = false;               // x, y, z and masses each have an array of their own in shared memory
  TUNE(0, 1, 2) int root = 0;  // how the reciprocal square root is made: approximate, exact root and division, powers
  TUNE(0, 32, 64, 128) OPTION("--maxrregcount={}") int register_limit = 0;  // that a thread may have; 0: no limit
};

constexpr long kTerms = 4;

constexpr bool valid(Problem p, Config c, Device d) {
  if (c.block > d.threads_per_block) return false;                                                // the device's limit
  if (c.tile * c.block * kTerms * (long)sizeof(float) > d.shared_memory_per_block) return false;  // what a block may have
  if (c.apart && c.tile == 0) return false;                                                       // duplicate: there is no array
  if (c.tile > 0 && c.unroll > c.tile * c.block) return false;                                    // duplicate of a shorter one
  return c.split == 1 || c.split <= p.n;                                                          // a part has a body
}

constexpr Launch launch(Problem p, Config c) {
  return {.grid = {ceil_div(p.n, (long)c.block * c.items), c.split},
          .block = {c.block},
          .shared = c.tile * c.block * kTerms * (long)sizeof(float)};
}

constexpr Cost cost(Problem p) { return {.flops = 20.0 * p.n * p.n, .bytes = 28.0 * p.n, .sum_length = 1.0 * p.n}; }

HONE_BOTH constexpr float softening() { return 0.05f; }

REFERENCE(p.n) void nbody_reference(long i, const float4* body, double* acceleration, Problem p) {
  double x = 0, y = 0, z = 0;
  for (long j = 0; j < p.n; ++j) {
    const double dx = (double)body[j].x - body[i].x, dy = (double)body[j].y - body[i].y, dz = (double)body[j].z - body[i].z;
    const double squared = dx * dx + dy * dy + dz * dz + (double)softening();
    const double weight = (double)body[j].w / (squared * sqrt(squared));
    x += weight * dx;
    y += weight * dy;
    z += weight * dz;
  }
  acceleration[3 * i] = x;
  acceleration[3 * i + 1] = y;
  acceleration[3 * i + 2] = z;
}

template <int root>
HONE_DEVICE float inverse_cube(float squared) {
  if constexpr (root == 0) {
    const float r = rsqrtf(squared);
    return r * r * r;
  } else if constexpr (root == 1) {
    return 1.0f / (squared * sqrtf(squared));
  } else {
    return powf(squared, -1.5f);
  }
}

template <Config c>
KERNEL void nbody(IN(p.n) const float4* body, OUT_ZEROED(3 * p.n) float* acceleration, Problem p) {
  SHARED_DYNAMIC(float, shared);
  constexpr int kHeld = c.tile * c.block;
  const long first = blockIdx.x * (long)(c.block * c.items) + threadIdx.x;
  const long part = ceil_div(p.n, (long)c.split), begin = blockIdx.y * part, end = min_of(p.n, begin + part);
  float at[c.items][3], sum[c.items][3];
#pragma unroll
  for (int k = 0; k < c.items; ++k) {
    const long i = first + k * c.block;
    const float4 own = body[i < p.n ? i : 0];
    at[k][0] = own.x, at[k][1] = own.y, at[k][2] = own.z;
    sum[k][0] = sum[k][1] = sum[k][2] = 0;
  }
  auto add = [&](float x, float y, float z, float mass) {
#pragma unroll
    for (int k = 0; k < c.items; ++k) {
      const float dx = x - at[k][0], dy = y - at[k][1], dz = z - at[k][2];
      const float weight = mass * inverse_cube<c.root>(dx * dx + dy * dy + dz * dz + softening());
      sum[k][0] += weight * dx;
      sum[k][1] += weight * dy;
      sum[k][2] += weight * dz;
    }
  };
  if constexpr (c.tile == 0) {
#pragma unroll c.unroll
    for (long j = begin; j < end; ++j) {
      const float4 other = body[j];
      add(other.x, other.y, other.z, other.w);
    }
  } else {
    for (long from = begin; from < end; from += kHeld) {
      for (int k = threadIdx.x; k < kHeld; k += c.block) {
        const float4 other = from + k < end ? body[from + k] : make_float4(0, 0, 0, 0);  // one without a mass pulls at nobody
        const float values[4] = {other.x, other.y, other.z, other.w};
#pragma unroll
        for (int term = 0; term < 4; ++term) shared[c.apart ? term * kHeld + k : 4 * k + term] = values[term];
      }
      __syncthreads();
#pragma unroll c.unroll
      for (int j = 0; j < kHeld; ++j) {
        if constexpr (c.apart) {
          add(shared[j], shared[kHeld + j], shared[2 * kHeld + j], shared[3 * kHeld + j]);
        } else {
          const Vector<float, 4> other = load<4>(shared + 4 * j);
          add(other[0], other[1], other[2], other[3]);
        }
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int k = 0; k < c.items; ++k) {
    const long i = first + k * c.block;
    for (int axis = 0; axis < 3 && i < p.n; ++axis) {
      if constexpr (c.split == 1)
        acceleration[3 * i + axis] = sum[k][axis];
      else
        atomicAdd(&acceleration[3 * i + axis], sum[k][axis]);
    }
  }
}
