#pragma once
// hone.Engine and hone.Kernel for Python.

#include <nanobind/nanobind.h>

namespace hone::python {

void bind_engine(nanobind::module_& module);

}  // namespace hone::python
