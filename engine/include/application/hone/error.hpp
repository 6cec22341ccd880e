#pragma once
// Expected failures are values: every fallible call of Hone returns Result<T>.

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "hone/export.h"

namespace hone {

/// What kind of failure an Error is; callers branch on it, people read the message.
enum class ErrorCode {
  kInvalidArgument,  ///< the caller asked for something impossible (a shape of zero, an unknown name)
  kNotFound,         ///< a named thing does not exist (a kernel, a device, a file, a record)
  kBadKernel,        ///< a kernel file cannot be read; the message carries clang's file:line:column
  kEmptySpace,       ///< no configuration meets the constraints
  kIo,               ///< a file or socket could not be read or written; a disk is full or fails
  kStore,            ///< the store is foreign, newer, corrupt or read-only
  kUnavailable,      ///< a part of the machine is missing (no GPU, no NVRTC, no libclang)
  kCompile,          ///< a configuration does not compile; the message carries the compiler's log
  kLaunch,           ///< a kernel could not be launched
  kDevice,           ///< the device failed while it ran (illegal access, ...)
  kTimeout,          ///< a deadline passed
  kPlugin,           ///< a plugin broke its contract
  kCancelled,        ///< the caller asked to stop
};

/// An expected failure: what, where and what to do, in one message for people.
struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;
};

/// Thrown where a contract of the API is broken (reading the value of a failed Result, an index out of range).
class HONE_API ContractError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A value or an Error. Reading the one that it does not hold throws ContractError.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & {
    check();
    return std::get<0>(state_);
  }
  const T& value() const& {
    check();
    return std::get<0>(state_);
  }
  /// By value: `for (auto& x : call().value())` must not iterate over a destroyed temporary.
  T value() && {
    check();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& {
    if (ok()) throw ContractError("Result::error() called on a value");
    return std::get<1>(state_);
  }
  [[nodiscard]] Error&& error() && {
    if (ok()) throw ContractError("Result::error() called on a value");
    return std::get<1>(std::move(state_));
  }

 private:
  void check() const {
    if (!ok()) throw ContractError("Result::value() called on an error: " + std::get<1>(state_).message);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> : public Result<std::monostate> {
 public:
  Result() : Result<std::monostate>(std::monostate{}) {}
  Result(Error error) : Result<std::monostate>(std::move(error)) {}  // NOLINT(google-explicit-constructor)
};

}  // namespace hone

#define HONE_CONCAT_INNER(a, b) a##b
#define HONE_CONCAT(a, b) HONE_CONCAT_INNER(a, b)

/// Returns the error of `expression` from the enclosing function, or declares/assigns `target` from its value.
#define HONE_ASSIGN(target, expression) HONE_ASSIGN_INNER(HONE_CONCAT(hone_result_, __LINE__), target, expression)
#define HONE_ASSIGN_INNER(name, target, expression) \
  auto name = (expression);                         \
  if (!name) return std::move(name).error();        \
  target = std::move(name).value()

/// Returns the error of `expression` from the enclosing function; its value, if any, is dropped.
#define HONE_TRY(expression)                                   \
  if (auto hone_try_result = (expression); !hone_try_result) { \
    return std::move(hone_try_result).error();                 \
  }
