#pragma once
// One mixing function and one table for this folder.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

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

/// Numbers keys of one width in the order of their first coming. They lie one after the other: no allocation for each.
class KeyTable {
 public:
  explicit KeyTable(std::size_t width) : width_(width), places_(16, kFree) {}

  /// The key's number, and whether it is new.
  std::pair<std::uint32_t, bool> insert(const std::uint64_t* key) {
    if (2 * (std::size_t{size_} + 1) > places_.size()) {
      grow();
    }
    std::size_t place = hash_range(std::span(key, width_)) & (places_.size() - 1);
    for (; places_[place] != kFree; place = (place + 1) & (places_.size() - 1)) {
      if (std::equal(key, key + width_, (*this)[places_[place]])) {
        return {places_[place], false};
      }
    }
    places_[place] = size_;
    keys_.insert(keys_.end(), key, key + width_);
    return {size_++, true};
  }
  [[nodiscard]] const std::uint64_t* operator[](std::uint32_t number) const { return keys_.data() + number * width_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};

  void grow() {
    places_.assign(2 * places_.size(), kFree);
    for (std::uint32_t number = 0; number < size_; ++number) {
      const std::uint64_t* key = (*this)[number];
      std::size_t place = hash_range(std::span(key, width_)) & (places_.size() - 1);
      while (places_[place] != kFree) {
        place = (place + 1) & (places_.size() - 1);
      }
      places_[place] = number;
    }
  }

  std::size_t width_;
  std::uint32_t size_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint32_t> places_;  ///< open addressing; at most half full
};

}  // namespace hone::space
