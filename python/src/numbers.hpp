#pragma once
// Small conversions for calls from Python: scalars, names, allocation.

#include <Python.h>

#include <span>
#include <string>
#include <vector>

#include "hone/kernel_handle.hpp"
#include "python/src/argument_rule.hpp"

namespace hone::python {

/// The number (null: `otherwise`) as a scalar of that dtype. False, with a Python exception.
bool to_number(DType dtype, PyObject* given, const Value& otherwise, DynamicArgument& argument);

/// A new array of the framework and device of `like`, by hone._arrays. Null, with a Python exception.
PyObject* allocate_like(PyObject* like, const std::vector<std::int64_t>& shape, DType dtype);

std::vector<std::string> argument_names(const ArgumentRules& rules);
/// "rows=4, cols=8"
std::string extents_text(const std::vector<std::string>& names, std::span<const std::int64_t> extents);

}  // namespace hone::python
