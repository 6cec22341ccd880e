#pragma once
// The frame of every function of hone/hone.h: errors become values, exceptions end here, structs have the sizes of their callers.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hone/error.hpp"
#include "hone/hone.h"

struct hone_error {
  hone_status status;
  std::string message;
};

struct hone_texts {
  std::vector<std::string> all;
};

namespace hone::c {

/// Runs `work(context)` for a function of the interface.
hone_status call_work(hone_error** error, const char* function, Result<void> (*work)(const void*), const void* context) noexcept;

/// The same of a lambda that returns a Result<void>: the frame is compiled once.
template <class Work>
hone_status call(hone_error** error, const char* function, const Work& work) noexcept {
  return call_work(
      error, function, [](const void* context) -> Result<void> { return (*static_cast<const Work*>(context))(); }, &work);
}

/// Throws ContractError.
[[noreturn]] void refuse(const char* what, const char* why);

/// An argument that must not be null.
template <class T>
T& need(T* pointer, const char* what) {
  if (pointer == nullptr) {
    refuse(what, "is NULL");
  }
  return *pointer;
}
/// Where a handle is returned; null until then.
template <class T>
void clear(T** handle, const char* what) {
  need(handle, what) = nullptr;
}
inline const char* need_text(const char* text, const char* what) { return &need(text, what); }
inline std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

/// Elements that must be there where there are any.
template <class T>
std::span<const T> need_all(const T* first, std::size_t count, const char* what) {
  if (count > 0) {
    need(first, what);
  }
  return {first, count};
}
std::vector<std::string> texts_of(const char* const* first, std::size_t count, const char* what);

/// The size that a caller's struct says it has: fields of eight bytes, so that none is cut in two. Throws ContractError.
std::size_t size_of_struct(const void* given, const char* what);
void refuse_unknown(const void* given, std::size_t known, std::size_t size, const char* what);

/// A struct that the caller passes, maybe an older or newer one; null is one of zeros.
template <class T>
T read_struct(const T* given, const char* what) {
  static_assert(offsetof(T, size) == 0 && sizeof(T) % 8 == 0);
  T known{};
  if (given != nullptr) {
    const std::size_t size = size_of_struct(given, what);
    refuse_unknown(given, sizeof(T), size, what);
    std::memcpy(&known, given, std::min(size, sizeof(T)));
  }
  return known;
}

/// Fills a struct of the caller's, as far as that goes.
template <class T>
void write_struct(std::type_identity_t<T> made, T* to, const char* what) {
  static_assert(offsetof(T, size) == 0 && sizeof(T) % 8 == 0);
  need(to, what);
  made.size = size_of_struct(to, what);
  std::memcpy(to, &made, std::min(made.size, sizeof(T)));
  if (made.size > sizeof(T)) {
    std::memset(reinterpret_cast<std::byte*>(to) + sizeof(T), 0, made.size - sizeof(T));
  }
}

/// The element of a list. Errors: kInvalidArgument, there are not as many.
template <class List>
Result<const typename List::value_type*> element(const List& all, std::size_t index, std::string_view what) {
  if (index >= all.size()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} {} was asked for; there are {}, counted from 0", what, index, all.size())};
  }
  return &all[index];
}

}  // namespace hone::c
