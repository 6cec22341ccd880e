#include "python/src/errors.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>

namespace nb = nanobind;

namespace hone::python {
namespace {

constexpr std::array<const char*, 13> kCodes{"invalid_argument", "not_found", "bad_kernel", "empty_space", "io",      "store",
                                             "unavailable",      "compile",   "launch",     "device",      "timeout", "plugin",
                                             "cancelled"};

}  // namespace

void set_error(const Error& error) {
  try {
    const nb::object made =
        nb::module_::import_("hone._errors").attr("make")(kCodes.at(static_cast<std::size_t>(error.code)), error.message);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

void raise(const Error& error) {
  set_error(error);
  throw nb::python_error();
}

}  // namespace hone::python
