#pragma once
// One call of an operation: what was passed, and what was read from it.

#include <array>
#include <vector>

#include "python/src/operation.hpp"

namespace hone::python {

/// What one call passes.
struct Operation::Call {
  std::array<PyObject*, Kernel::kMostArguments> given{};  ///< by rule; null: not passed
  std::array<Tensor, Kernel::kMostArguments> tensors;
  std::vector<PyObject*> made;  ///< outputs that the call allocated, in the order of the rules; owned
  std::array<std::int64_t, BoundKernel::kMostExtents> extents;
  std::array<DynamicArgument, Kernel::kMostArguments> values;
  PyObject* out = nullptr;        ///< as passed
  const Bound* bound = nullptr;   ///< by the arrays' dtypes
  const Tensor* first = nullptr;  ///< whose framework's stream is the launch's
  void* stream = nullptr;
  bool has_stream = false;
  TensorReader reader;

  Call() { extents.fill(kUnknown); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    for (PyObject* const object : made) {
      Py_DECREF(object);
    }
  }
};

}  // namespace hone::python
