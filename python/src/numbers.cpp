#include "python/src/numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace hone::python {
namespace {

/// The 16 bits of a number with so many bits of exponent and fraction, rounded to nearest even; beyond the range infinity.
std::uint16_t narrow(double number, int exponent_bits, int fraction_bits) {
  const std::uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  if (std::isnan(number)) {
    return static_cast<std::uint16_t>(sign | infinity | 1 << (fraction_bits - 1));
  }
  const double size = std::fabs(number);
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);  // subnormal numbers share the least exponent
  const double units = std::nearbyint(std::ldexp(size, fraction_bits - exponent));
  const double bits = units + std::ldexp(static_cast<double>(exponent + bias - 1), fraction_bits);
  return static_cast<std::uint16_t>(sign | (size == 0.0 ? 0 : bits >= infinity ? infinity : static_cast<std::uint16_t>(bits)));
}

template <class T>
DynamicArgument passed(DType dtype, T number) {
  return DynamicArgument::number(dtype, &number);
}

DynamicArgument from_real(DType dtype, double number) {
  switch (dtype) {
    case DType::kF32:
      return passed(dtype, static_cast<float>(number));
    case DType::kF64:
      return passed(dtype, number);
    case DType::kF16:
      return passed(dtype, narrow(number, 5, 10));
    default:
      return passed(dtype, narrow(number, 8, 7));
  }
}

DynamicArgument from_whole(DType dtype, std::int64_t number) { return passed(dtype, number); }  // its low bytes come first

bool is_real(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 || dtype == DType::kBF16; }

}  // namespace

bool to_number(DType dtype, PyObject* given, const Value& otherwise, DynamicArgument& argument) {
  static_assert(std::endian::native == std::endian::little);
  if (dtype == DType::kE4M3 || dtype == DType::kE5M2 || dtype == DType::kI4x2 || dtype == DType::kU4x2) {
    PyErr_Format(PyExc_TypeError, "a scalar of a type below 16 bits cannot be passed from Python");
    return false;
  }
  if (is_real(dtype)) {
    const double number = given != nullptr ? PyFloat_AsDouble(given) : otherwise.real();
    argument = from_real(dtype, number);
  } else {
    const bool wraps = dtype == DType::kU64;
    const std::int64_t number = given == nullptr ? otherwise.integer()
                                : wraps          ? static_cast<std::int64_t>(PyLong_AsUnsignedLongLong(given))
                                                 : PyLong_AsLongLong(given);
    const Range range = range_of(dtype);
    if (!wraps && PyErr_Occurred() == nullptr && (static_cast<double>(number) < range.least || static_cast<double>(number) > range.most)) {
      PyErr_Format(PyExc_OverflowError, "%lld is beyond the range of the kernel's scalar", static_cast<long long>(number));
    }
    argument = from_whole(dtype, number);
  }
  return PyErr_Occurred() == nullptr;
}

PyObject* allocate_like(PyObject* like, const std::vector<std::int64_t>& shape, DType dtype) {
  PyObject* const module = PyImport_ImportModule("hone._arrays");
  PyObject* const axes = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  for (std::size_t i = 0; axes != nullptr && i < shape.size(); ++i) {
    PyTuple_SetItem(axes, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  }
  PyObject* made = nullptr;
  if (module != nullptr && axes != nullptr) {
    made = PyObject_CallMethod(module, "allocate", "OOs", like, axes, std::string(name(dtype)).c_str());
  }
  Py_XDECREF(axes);
  Py_XDECREF(module);
  return made;
}

std::vector<std::string> argument_names(const ArgumentRules& rules) {
  std::vector<std::string> names;
  for (const ArgumentRule& rule : rules.rules) {
    names.push_back(rule.argument.name);
  }
  return names;
}

std::string extents_text(const std::vector<std::string>& names, std::span<const std::int64_t> extents) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", names[i], extents[i]);
  }
  return text;
}

}  // namespace hone::python
