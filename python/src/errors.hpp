#pragma once
// Errors of the engine as Python's exceptions: hone.Error and its subclasses (python/hone/_errors.py).

#include <Python.h>

#include <utility>

#include "hone/error.hpp"

namespace hone::python {

/// Sets the exception. With the GIL.
void set_error(const Error& error);
/// Throws the exception, for functions that nanobind calls.
[[noreturn]] void raise(const Error& error);

/// The value, or the exception.
template <class T>
T value_or_raise(Result<T> result) {
  if (!result) {
    raise(result.error());
  }
  return *std::move(result);
}
inline void check(const Result<void>& result) {
  if (!result) {
    raise(result.error());
  }
}

}  // namespace hone::python
