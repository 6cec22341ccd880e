#pragma once
// One thread's part of a row of a head that c.lanes threads share: c.vec neighbouring elements in each of several places.
#include "packet.h"

/// The elements at `from` in one access; those of 8 bits have no packets.
template <class T, int n>
HONE_DEVICE auto load_part(const T* from) {
  if constexpr (sizeof(T) == 1) {
    return load<n>(from);
  } else {
    return load_packet<T, n>(from);
  }
}

template <class T, Config c, int elements = Problem::head>
struct Part {
  static constexpr int kPlaces = elements / (c.lanes * c.vec), kElements = kPlaces * c.vec;
  float element[kElements] = {};

  static HONE_DEVICE int place(int i) { return (i * c.lanes + (int)threadIdx.x % c.lanes) * c.vec; }
  HONE_DEVICE void load_from(const T* row) {
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      const auto packet = load_part<T, c.vec>(row + place(i));
#pragma unroll
      for (int e = 0; e < c.vec; ++e) element[i * c.vec + e] = (float)packet[e];
    }
  }
  template <class Other>
  HONE_DEVICE float dot(const Part<Other, c, elements>& other) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kElements; ++i) sum += element[i] * other.element[i];
    return sum;
  }
  HONE_DEVICE void scale(float factor) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) element[i] *= factor;
  }
  template <class Other>
  HONE_DEVICE void add(float weight, const Part<Other, c, elements>& other) {
#pragma unroll
    for (int i = 0; i < kElements; ++i) element[i] += weight * other.element[i];
  }
  HONE_DEVICE void write(T* row) const {
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      float values[c.vec];
#pragma unroll
      for (int e = 0; e < c.vec; ++e) values[e] = element[i * c.vec + e];
      store_packet<false>(row + place(i), pack<T, c.vec>(values));
    }
  }
};

/// The sum over the threads of a row.
template <Config c>
HONE_DEVICE float sum_of_lanes(float x) {
#pragma unroll
  for (int distance = 1; distance < c.lanes; distance *= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}
