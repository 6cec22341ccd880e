#pragma once
// Packets: elements that one access loads or stores, 2 to 16 bytes of them, and the float values in them.
#include <hone/kernel.h>

template <int bytes> struct UnitOf { using type = unsigned; };
template <> struct UnitOf<2> { using type = unsigned short; };

/// N elements as they lie in memory, in units of 4 bytes. Compilers put each 2-byte element of a Vector into a register of its own.
template <class T, int N> struct alignas(N * sizeof(T)) Packet {
  using Unit = typename UnitOf<N * (int)sizeof(T)>::type;
  Unit unit[N * sizeof(T) / sizeof(Unit)];

  HONE_DEVICE T element(int e) const {
    if constexpr (sizeof(T) == sizeof(Unit)) {
      return __builtin_bit_cast(T, unit[e]);
    } else {
      return __builtin_bit_cast(T, (unsigned short)(unit[e / 2] >> (e % 2 * 16)));
    }
  }
  /// Sets element e, which must be zero.
  HONE_DEVICE void put(int e, T value) {
    if constexpr (sizeof(T) == sizeof(Unit)) {
      unit[e] = __builtin_bit_cast(Unit, value);
    } else {
      unit[e / 2] |= (unsigned)__builtin_bit_cast(unsigned short, value) << (e % 2 * 16);
    }
  }
  HONE_DEVICE float operator[](int e) const { return (float)element(e); }
};

/// The bits of two elements, `low` in the lower half.
template <class T> HONE_DEVICE unsigned pair_bits(float low, float high) {
  return __builtin_bit_cast(unsigned short, T(low)) | (unsigned)__builtin_bit_cast(unsigned short, T(high)) << 16;
}
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
template <> HONE_DEVICE unsigned pair_bits<f16>(float low, float high) {
  unsigned bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
template <> HONE_DEVICE unsigned pair_bits<bf16>(float low, float high) {
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
#endif

template <class T, int N> HONE_DEVICE Packet<T, N> pack(const float (&value)[N]) {
  Packet<T, N> packet;
  if constexpr (sizeof(T) == 4 || N == 1) {
#pragma unroll
    for (int e = 0; e < N; ++e) packet.unit[e] = __builtin_bit_cast(typename Packet<T, N>::Unit, T(value[e]));
  } else {
#pragma unroll
    for (int e = 0; e < N; e += 2) packet.unit[e / 2] = pair_bits<T>(value[e], value[e + 1]);
  }
  return packet;
}

/// N elements of the same value.
template <class T, int N> HONE_DEVICE Packet<T, N> splat(float value) {
  float values[N];
#pragma unroll
  for (int e = 0; e < N; ++e) values[e] = value;
  return pack<T, N>(values);
}

/// Loads the N elements at `from`, whose address is a multiple of their size. `stream`: the caches evict their lines first.
template <class T, int N, bool stream = false> HONE_DEVICE Packet<T, N> load_packet(const T* from) {
#if defined(__CUDACC__)
  using Memory = typename MemoryWord<N * sizeof(T)>::type;
  const Memory* at = reinterpret_cast<const Memory*>(from);
  if constexpr (stream) return __builtin_bit_cast(Packet<T, N>, __ldcs(at));
  return __builtin_bit_cast(Packet<T, N>, *at);
#else
  return *reinterpret_cast<const Packet<T, N>*>(from);
#endif
}

template <bool stream, class T, int N> HONE_DEVICE void store_packet(T* to, const Packet<T, N>& packet) {
#if defined(__CUDACC__)
  if constexpr (stream) {
    using Memory = typename MemoryWord<N * sizeof(T)>::type;
    __stcs(reinterpret_cast<Memory*>(to), __builtin_bit_cast(Memory, packet));
    return;
  }
  store_global(to, __builtin_bit_cast(Vector<T, N>, packet));
#else
  *reinterpret_cast<Packet<T, N>*>(to) = packet;
#endif
}
