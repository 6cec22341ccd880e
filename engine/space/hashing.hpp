#pragma once
// One mixing function for the tables of this folder.

#include <cstddef>
#include <cstdint>
#include <ranges>

namespace hone::space {

/// The finalizer of splitmix64 over both words.
constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t word) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + word + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <std::ranges::input_range Range>
std::size_t hash_range(const Range& range) {
  std::uint64_t hash = 0;
  for (const auto element : range) {
    hash = mix(hash, static_cast<std::uint64_t>(element));
  }
  return static_cast<std::size_t>(hash);
}

/// For tables whose keys are vectors.
struct RangeHash {
  template <class Range>
  std::size_t operator()(const Range& range) const {
    return hash_range(range);
  }
};

}  // namespace hone::space
