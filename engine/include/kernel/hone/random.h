#pragma once
// The random inputs of validation: element i of a buffer is a function of (seed, i) alone, so every device fills it with the same numbers
// and a failure is reproduced from its recorded seed. Compiles as C++ and as CUDA; includes nothing.

#if defined(__CUDACC__)
#define HONE_HOST_DEVICE __host__ __device__
#else
#define HONE_HOST_DEVICE
#endif

namespace hone {

/// SplitMix64's finalizer (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators") over a Weyl sequence.
HONE_HOST_DEVICE constexpr unsigned long long random_bits(unsigned long long seed, unsigned long long i) {
  unsigned long long z = seed * 0xd1342543de82ef95ULL + (i + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Uniform in [-1, 1), 24 random bits: exact in f32, rounded to nearest in narrower types.
HONE_HOST_DEVICE constexpr float random_element(unsigned long long seed, unsigned long long i) {
  return static_cast<float>(static_cast<long long>(random_bits(seed, i) >> 40) - (1LL << 23)) * (1.0f / (1 << 23));
}

/// The same for integer elements: uniform in [-128, 127], so that sums of a few million stay exact.
HONE_HOST_DEVICE constexpr int random_integer(unsigned long long seed, unsigned long long i) {
  return static_cast<int>(random_bits(seed, i) >> 56) - 128;
}

/// Of unsigned elements, and of bytes of 4-bit integers: uniform in [0, 255]. Of bool: either.
HONE_HOST_DEVICE constexpr int random_unsigned(unsigned long long seed, unsigned long long i) {
  return static_cast<int>(random_bits(seed, i) >> 56);
}
HONE_HOST_DEVICE constexpr bool random_boolean(unsigned long long seed, unsigned long long i) { return random_bits(seed, i) >> 63 != 0; }

/// The k-th element of `count` that is spoiled before a run, k below min(count, most): all of them, or a sample that `seed` draws.
HONE_HOST_DEVICE constexpr unsigned long long spot(unsigned long long seed, unsigned long long k, unsigned long long count,
                                                   unsigned long long most) {
  return count <= most ? k : random_bits(seed, k) % count;
}

/// A wrong value that looks right where `expected` is right within `allowed`: another element's answer or, where that is the same, the
/// double of this one (the half, where the type's largest number is in the way).
HONE_HOST_DEVICE constexpr double decoy(double expected, double other, double allowed, double largest) {
  constexpr double kClearly = 16.0;
  const double difference = other > expected ? other - expected : expected - other;
  if (difference > kClearly * allowed) {
    return other;
  }
  const bool too_large = 2.0 * expected > largest || -2.0 * expected > largest;
  const double doubled = expected == 0.0 ? 1.0 : (too_large ? 0.5 : 2.0) * expected;
  const double step = doubled > expected ? doubled - expected : expected - doubled;
  return step > kClearly * allowed ? doubled : expected + 2.0 * kClearly * allowed;
}

}  // namespace hone
