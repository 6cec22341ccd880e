#pragma once
// What references read of rows whose elements are multiplied: eight neighbouring elements in one access, or two.

template <class T>
struct Eight {
  float element[8];
  /// From an address that is a multiple of 16 bytes, or of eight elements where these are less.
  HONE_DEVICE explicit Eight(const T* from) {
    constexpr int kAtOnce = sizeof(T) > 2 ? 16 / sizeof(T) : 8;
#pragma unroll
    for (int i = 0; i < 8; i += kAtOnce) {
      const auto part = load<kAtOnce>(from + i);
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) element[i + e] = (float)part[e];
    }
  }
  /// Products of narrow numbers are exact in float; added there before they are converted to double they are off by 2^-22 of them at most,
  /// and several times as fast.
  HONE_DEVICE double dot(const float* other) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += element[i] * other[i];
    return sum;
  }
};

/// A row of so many elements in registers.
template <int elements>
struct RowOf {
  float element[elements];
  template <class T>
  HONE_DEVICE explicit RowOf(const T* from) {
#pragma unroll
    for (int e = 0; e < elements; e += 8) {
      const Eight<T> part(from + e);
#pragma unroll
      for (int i = 0; i < 8; ++i) element[e + i] = part.element[i];
    }
  }
  template <class T>
  HONE_DEVICE double dot(const T* other) const {
    double sum = 0;
#pragma unroll
    for (int e = 0; e < elements; e += 8) sum += Eight<T>(other + e).dot(element + e);
    return sum;
  }
};

/// Adds a row's elements, times `weight`.
template <class T, int elements>
HONE_DEVICE void add_row(double (&sums)[elements], float weight, const T* row) {
#pragma unroll
  for (int e = 0; e < elements; e += 8) {
    const Eight<T> part(row + e);
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[e + i] += weight * part.element[i];
  }
}
