#pragma once
// What a thread has looked up, by extents: for that thread alone, so that finding it again takes no lock and no atomic write.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hone {

/// Sets of four places; an entry belongs into one set, and the one that was asked for longest ago makes room. Grows up to a limit.
template <class Value>
class alignas(64) LookupCache {
 public:
  /// Null: not there. Valid until the next put().
  Value* find(std::span<const std::int64_t> extents) {
    if (places_.empty()) {
      return nullptr;
    }
    const std::uint64_t hash = hash_of(extents);
    const std::size_t first = set_of(hash);
    for (std::size_t i = first; i < first + kWays; ++i) {
      if (places_[i].hash == hash && places_[i].value && std::ranges::equal(extents, key(i, extents.size()))) {
        places_[i].used = ++clock_;
        return &*places_[i].value;
      }
    }
    return nullptr;
  }

  /// Takes the place of what is there. `extents` are as many each time; there are at least four places, else no more than `most`.
  Value& put(std::span<const std::int64_t> extents, Value value, std::size_t most) {
    const std::uint64_t hash = hash_of(extents);
    std::size_t at = place_for(extents, hash);
    while (places_.empty() || (places_[at].value && !is(at, extents, hash) && 2 * places_.size() <= most)) {
      grow(extents.size());
      at = place_for(extents, hash);
    }
    places_[at].hash = hash;
    places_[at].used = ++clock_;
    places_[at].value.emplace(std::move(value));
    std::ranges::copy(extents, keys_.begin() + static_cast<std::ptrdiff_t>(at * extents.size()));
    return *places_[at].value;
  }

  [[nodiscard]] std::size_t places() const { return places_.size(); }

 private:
  static constexpr std::size_t kWays = 4;

  struct Place {
    std::uint64_t hash = 0, used = 0;
    std::optional<Value> value = {};
  };

  static std::uint64_t hash_of(std::span<const std::int64_t> extents) {
    std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
    for (const std::int64_t extent : extents) {
      hash = (hash ^ static_cast<std::uint64_t>(extent)) * 0xd6e8feb86659fd93ULL;
      hash ^= hash >> 32;
    }
    return hash;
  }

  [[nodiscard]] std::size_t set_of(std::uint64_t hash) const { return hash % (places_.size() / kWays) * kWays; }
  [[nodiscard]] std::span<const std::int64_t> key(std::size_t place, std::size_t count) const {
    return std::span(keys_).subspan(place * count, count);
  }
  [[nodiscard]] bool is(std::size_t place, std::span<const std::int64_t> extents, std::uint64_t hash) const {
    return places_[place].hash == hash && places_[place].value && std::ranges::equal(extents, key(place, extents.size()));
  }

  /// That of the extents, else an empty one, else that of what was asked for longest ago.
  [[nodiscard]] std::size_t place_for(std::span<const std::int64_t> extents, std::uint64_t hash) const {
    if (places_.empty()) {
      return 0;
    }
    const std::size_t first = set_of(hash);
    std::size_t best = first;
    for (std::size_t i = first; i < first + kWays; ++i) {
      if (is(i, extents, hash)) {
        return i;
      }
      best = places_[i].used < places_[best].used ? i : best;
    }
    return best;
  }

  /// Each set becomes two, so that everything has room.
  void grow(std::size_t count) {
    std::vector<Place> before(std::max(kWays, 2 * places_.size()));
    std::vector<std::int64_t> keys(before.size() * count);
    before.swap(places_);
    keys.swap(keys_);
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].value) {
        const std::span<const std::int64_t> extents = std::span<const std::int64_t>(keys).subspan(i * count, count);
        const std::size_t to = place_for(extents, before[i].hash);
        std::ranges::copy(extents, keys_.begin() + static_cast<std::ptrdiff_t>(to * count));
        places_[to] = std::move(before[i]);
      }
    }
  }

  std::vector<Place> places_;
  std::vector<std::int64_t> keys_;  ///< the extents of each place, one after the other
  std::uint64_t clock_ = 0;
};

}  // namespace hone
