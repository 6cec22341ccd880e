#pragma once
// Structs of the C interface whose other side may be older or newer: the members that both sides know.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "hone/error.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

/// Copies a struct with a `struct_size`: missing members become 0 or null, unknown ones are dropped.
template <class T>
T normalized(const T& given) {
  static_assert(std::is_trivially_copyable_v<T>);
  T known{};
  std::memcpy(&known, &given, std::min(given.struct_size, sizeof(T)));
  return known;
}

/// The sizes of array elements in ABI 2: the stride of plugins that give none. Later fields are found by the stride.
template <class T>
constexpr std::size_t kStrideOfAbi2 = 0;
template <>
inline constexpr std::size_t kStrideOfAbi2<hone_parameter> = 48;
template <>
inline constexpr std::size_t kStrideOfAbi2<hone_property> = 16;
template <>
inline constexpr std::size_t kStrideOfAbi2<hone_text> = 16;
inline constexpr std::size_t kCompiledOfAbi2 = 64;
static_assert(sizeof(hone_parameter) >= 48 && sizeof(hone_property) >= 16 && sizeof(hone_text) >= 16 &&
              sizeof(hone_compiled) >= kCompiledOfAbi2);
// Elements of arrays that are passed to plugins: plugins of ABI 2 know no stride. A struct that grows must be copied for them.
static_assert(sizeof(hone_observation) == 80 && sizeof(hone_prior) == 40 && sizeof(hone_dimension) == 32 && sizeof(hone_text) == 16 &&
              sizeof(hone_unit) == 40 && sizeof(hone_function) == 24 && sizeof(hone_pass) == 120 && sizeof(hone_preparation) == 24);

/// Structs at a distance of a stride (0: that of ABI 2). Throws ContractError for a stride that is too small. `what`: the stride's
/// name.
template <class T>
std::vector<T> elements(const T* first, std::size_t count, std::size_t stride, const char* what) {
  static_assert(std::is_trivially_copyable_v<T> && kStrideOfAbi2<T> > 0);
  stride = stride == 0 ? kStrideOfAbi2<T> : stride;
  if (stride < kStrideOfAbi2<T> || stride % alignof(T) != 0) {
    throw ContractError(
        fmt::format("its {} is {}: a multiple of {} that is at least {} is needed", what, stride, alignof(T), kStrideOfAbi2<T>));
  }
  std::vector<T> all(first == nullptr ? 0 : count, T{});
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::memcpy(&all[i], HONE_AT(T, first, stride, i), std::min(stride, sizeof(T)));
  }
  return all;
}

/// A required field of a table.
struct Needed {
  const char* name;
  bool there;
};

/// The message about missing fields of a table; empty if none is missing.
inline std::string lacking(std::size_t struct_size, std::initializer_list<Needed> fields) {
  std::string names;
  for (const Needed& field : fields) {
    names += field.there ? "" : (names.empty() ? "" : ", ") + std::string(field.name);
  }
  return names.empty() ? names : fmt::format("its table, of {} bytes, lacks {}", struct_size, names);
}

/// A struct that is handed over alone, in as much room as was promised.
template <class T>
class InRoom {
 public:
  explicit InRoom(const T& value = {}) : known_(new (room_) T(value)) {}
  InRoom(const InRoom&) = delete;
  InRoom& operator=(const InRoom&) = delete;
  ~InRoom() = default;

  [[nodiscard]] T* get() { return known_; }
  T* operator->() { return known_; }

 private:
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= HONE_ROOM);
  alignas(std::max_align_t) std::byte room_[HONE_ROOM]{};
  T* known_;
};

}  // namespace hone::plugin_host
