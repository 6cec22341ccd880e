#include "python/src/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "python/src/dlpack.hpp"
#include "python/src/element_types.hpp"

namespace hone::python {
namespace {

/// Attribute names, made once.
PyObject* name_of(const char* text) { return PyUnicode_InternFromString(text); }

struct Names {
  PyObject* exchange = name_of("__dlpack_c_exchange_api__");
  PyObject* dlpack = name_of("__dlpack__");
  PyObject* dlpack_device = name_of("__dlpack_device__");
  PyObject* cuda_interface = name_of("__cuda_array_interface__");
  PyObject* array_interface = name_of("__array_interface__");
};
const Names& names() {
  static const Names all;
  return all;
}

/// A type whose arrays were seen, and its exchange table; null: it has none. Types live as long as the process.
struct KnownType {
  PyTypeObject* type;
  const dlpack::ExchangeTable* table;
};

/// Of the first version that is understood.
const dlpack::ExchangeTable* usable(const dlpack::ExchangeTable* table) {
  while (table != nullptr && table->version.major != dlpack::kMajor) {
    table = table->previous;
  }
  return table != nullptr && table->tensor_from_object != nullptr ? table : nullptr;
}

/// The table of a type. The GIL guards what is remembered.
const dlpack::ExchangeTable* exchange_of(PyTypeObject* type) {
  static std::vector<KnownType> known;
  for (const KnownType& one : known) {
    if (one.type == type) {
      return one.table;
    }
  }
  PyObject* const capsule = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), names().exchange);
  const void* table = capsule != nullptr ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : nullptr;
  PyErr_Clear();
  Py_XDECREF(capsule);
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  known.push_back({type, usable(static_cast<const dlpack::ExchangeTable*>(table))});
  return known.back().table;
}

/// Whether the strides, in units of `unit`, are those of a packed array.
template <class Stride>
bool is_packed(const Tensor& tensor, const Stride* strides, std::int64_t unit) {
  std::int64_t expected = unit;
  for (int i = tensor.axes; strides != nullptr && i-- > 0;) {
    if (tensor.shape[i] != 1 && strides[i] != expected) {
      return tensor.elements() == 0;
    }
    expected *= tensor.shape[i];
  }
  return true;
}

bool too_many_axes(int axes) {
  if (axes <= static_cast<int>(Tensor::kMostAxes)) {
    return false;
  }
  PyErr_Format(PyExc_TypeError, "an array of %d axes was passed; at most %d are possible", axes, static_cast<int>(Tensor::kMostAxes));
  return true;
}

bool take(const dlpack::Tensor& from, Tensor& tensor) {
  if (too_many_axes(from.ndim)) {
    return false;
  }
  tensor.data = static_cast<char*>(from.data) + from.byte_offset;
  tensor.device = from.device.type;
  tensor.device_index = from.device.id;
  tensor.axes = from.ndim;
  std::copy_n(from.shape, from.ndim, tensor.shape.begin());
  tensor.dtype = dtype_of(from.dtype);
  tensor.element_bytes = static_cast<std::size_t>(from.dtype.bits) * from.dtype.lanes / 8;
  tensor.contiguous = is_packed(tensor, from.strides, 1);
  return true;
}

/// sys.modules[name], borrowed; null where nobody has imported it.
PyObject* imported(const char* module) {
  PyObject* const modules = PyImport_GetModuleDict();
  return modules != nullptr ? PyDict_GetItemString(modules, module) : nullptr;
}

/// The number that an expression of attributes and calls gives; false with an exception.
bool number_from(PyObject* object, void*& number) {
  if (object == nullptr) {
    return false;
  }
  number = reinterpret_cast<void*>(PyLong_AsSize_t(object));
  Py_DECREF(object);
  return PyErr_Occurred() == nullptr;
}

/// module.a.b.c, a new reference.
PyObject* member(PyObject* of, std::initializer_list<const char*> path) {
  Py_XINCREF(of);
  for (const char* const step : path) {
    PyObject* const next = of != nullptr ? PyObject_GetAttrString(of, step) : nullptr;
    Py_XDECREF(of);
    of = next;
  }
  return of;
}

/// object.name(), without Python's own helper, which its stable interface lacks.
PyObject* call_method(PyObject* object, PyObject* name) {
  PyObject* const arguments[] = {object};
  return PyObject_VectorcallMethod(name, arguments, 1, nullptr);
}

PyObject* called(PyObject* function, PyObject* argument) {
  PyObject* const result = function == nullptr   ? nullptr
                           : argument == nullptr ? PyObject_CallNoArgs(function)
                                                 : PyObject_CallFunctionObjArgs(function, argument, nullptr);
  Py_XDECREF(function);
  Py_XDECREF(argument);
  return result;
}

/// The stream of a framework that has no exchange table: PyTorch before 2.10, CuPy. Others work on the default stream, or wait for it.
bool framework_stream(PyTypeObject* type, std::int32_t device, void*& stream) {
  stream = nullptr;
  PyObject* const module = type != nullptr ? PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__") : nullptr;
  const char* const text = module != nullptr ? PyUnicode_AsUTF8AndSize(module, nullptr) : nullptr;
  const std::string_view name = text != nullptr ? text : "";
  bool fine = true;
  if (name.starts_with("torch")) {
    PyObject* const torch = imported("torch");
    fine = number_from(called(member(torch, {"_C", "_cuda_getCurrentRawStream"}), PyLong_FromLong(device)), stream);
  } else if (name.starts_with("cupy")) {
    PyObject* const current = called(member(imported("cupy"), {"cuda", "get_current_stream"}), nullptr);
    fine = number_from(member(current, {"ptr"}), stream);
    Py_XDECREF(current);
  }
  Py_XDECREF(module);
  if (module == nullptr) {
    PyErr_Clear();
  }
  return fine;
}

}  // namespace

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (int i = 0; i < axes; ++i) {
    count *= shape[i];
  }
  return count;
}

std::string Tensor::shape_text() const { return fmt::format("({})", fmt::join(shape.begin(), shape.begin() + axes, ", ")); }

TensorReader::~TensorReader() {
  for (std::size_t i = 0; i < buffer_count_; ++i) {
    PyBuffer_Release(&buffers_[i]);
  }
  for (PyObject* const object : held_) {
    Py_DECREF(object);
  }
}

bool TensorReader::read(PyObject* array, Tensor& tensor) {
  type_ = Py_TYPE(array);
  exchange_ = exchange_of(type_);
  if (exchange_ != nullptr) {
    return read_exchange(array, tensor);
  }
  if (PyObject_CheckBuffer(array) != 0) {
    if (read_buffer(array, tensor)) {
      // JAX's buffers are read-only, and what DLPack gives is not.
      Tensor writable;
      if (tensor.readonly && PyObject_HasAttr(array, names().dlpack) != 0 && read_dlpack(array, writable)) {
        tensor = writable;
      }
      PyErr_Clear();
      return true;
    }
    PyErr_Clear();  // a type that the buffer protocol has no letter for: the interfaces below may have
  }
  if (PyObject_HasAttr(array, names().dlpack) != 0) {
    return read_dlpack(array, tensor);
  }
  if (PyObject* const interface = PyObject_GetAttr(array, names().cuda_interface)) {
    return read_interface(array, interface, kCudaDevice, tensor);
  }
  PyErr_Clear();
  if (PyObject* const interface = PyObject_GetAttr(array, names().array_interface)) {
    return read_interface(array, interface, kCpuDevice, tensor);
  }
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError,
               "%R is no array: it has neither __dlpack__ nor the buffer protocol, __cuda_array_interface__ or __array_interface__", type_);
  return false;
}

bool TensorReader::read_exchange(PyObject* array, Tensor& tensor) {
  dlpack::Tensor view{};
  return static_cast<const dlpack::ExchangeTable*>(exchange_)->tensor_from_object(array, &view) == 0 && take(view, tensor);
}

bool TensorReader::read_buffer(PyObject* array, Tensor& tensor) {
  if (buffer_count_ == buffers_.size()) {
    PyErr_SetString(PyExc_TypeError, "too many arrays");
    return false;
  }
  Py_buffer& view = buffers_[buffer_count_];
  if (PyObject_GetBuffer(array, &view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    return false;
  }
  ++buffer_count_;
  if (too_many_axes(view.ndim)) {
    return false;
  }
  tensor.data = view.buf;
  tensor.device = kCpuDevice;
  tensor.device_index = 0;
  tensor.axes = view.ndim;
  std::copy_n(view.shape, view.ndim, tensor.shape.begin());
  std::string_view format = view.format != nullptr ? view.format : "B";
  if (format.starts_with('<') || format.starts_with('=') || format.starts_with('@')) {
    format.remove_prefix(1);
  }
  tensor.element_bytes = static_cast<std::size_t>(view.itemsize);
  tensor.dtype = format.size() == 1 ? dtype_of(format[0], tensor.element_bytes) : std::nullopt;
  tensor.readonly = view.readonly != 0;
  tensor.contiguous = is_packed(tensor, view.strides, view.itemsize);
  return true;
}

bool TensorReader::read_dlpack(PyObject* array, Tensor& tensor) {
  PyObject* const place = call_method(array, names().dlpack_device);
  long device = kCpuDevice, index = 0;
  const bool placed = place != nullptr && PyArg_ParseTuple(place, "ll", &device, &index) != 0;
  Py_XDECREF(place);
  if (!placed) {
    return false;
  }
  PyObject* capsule = nullptr;
  if (device == kCudaDevice || device == kCudaManagedDevice) {
    void* stream = nullptr;
    if (!framework_stream(type_, static_cast<std::int32_t>(index), stream)) {
      return false;
    }
    // 1 is the legacy default stream, which DLPack does not call 0.
    PyObject* const number = PyLong_FromVoidPtr(stream != nullptr ? stream : reinterpret_cast<void*>(1));
    PyObject* const arguments[] = {array, number};
    PyObject* const keywords = Py_BuildValue("(s)", "stream");
    capsule = PyObject_VectorcallMethod(names().dlpack, arguments, 1, keywords);
    Py_DECREF(keywords);
    Py_DECREF(number);
  } else {
    capsule = call_method(array, names().dlpack);
  }
  if (capsule == nullptr) {
    return false;
  }
  held_.push_back(capsule);  // its destructor frees the tensor, which nobody takes out of it
  if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    return take(static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"))->tensor, tensor);
  }
  auto* const versioned = static_cast<dlpack::ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  if (versioned == nullptr || !take(versioned->tensor, tensor)) {
    return false;
  }
  tensor.readonly = (versioned->flags & dlpack::kReadOnly) != 0;
  return true;
}

bool TensorReader::read_interface(PyObject* array, PyObject* interface, std::int32_t device, Tensor& tensor) {
  held_.push_back(interface);
  PyObject* const shape = PyDict_GetItemString(interface, "shape");
  PyObject* const data = PyDict_GetItemString(interface, "data");
  PyObject* const typestr = PyDict_GetItemString(interface, "typestr");
  PyObject* const strides = PyDict_GetItemString(interface, "strides");
  if (shape == nullptr || data == nullptr || typestr == nullptr || PyTuple_Check(shape) == 0 || PyTuple_Check(data) == 0) {
    PyErr_Format(PyExc_TypeError, "the array interface of %R lacks shape, data or typestr", Py_TYPE(array));
    return false;
  }
  tensor.axes = static_cast<int>(PyTuple_Size(shape));
  if (too_many_axes(tensor.axes)) {
    return false;
  }
  std::array<std::int64_t, Tensor::kMostAxes> bytes{};
  for (int i = 0; i < tensor.axes; ++i) {
    tensor.shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    bytes[i] = strides != nullptr && PyTuple_Check(strides) != 0 ? PyLong_AsLongLong(PyTuple_GetItem(strides, i)) : 0;
  }
  tensor.data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
  tensor.readonly = PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1;
  const char* const text = PyUnicode_AsUTF8AndSize(typestr, nullptr);
  if (PyErr_Occurred() != nullptr || text == nullptr) {
    return false;
  }
  tensor.device = device;
  tensor.device_index = 0;
  if (device == kCudaDevice) {  // the interface does not tell which one: CuPy's and Numba's arrays do
    PyObject* const id = member(array, {"device", "id"});
    tensor.device_index = id != nullptr ? static_cast<std::int32_t>(PyLong_AsLong(id)) : 0;
    Py_XDECREF(id);
    PyErr_Clear();
  }
  tensor.dtype = dtype_of_typestr(text);
  tensor.element_bytes = std::strlen(text) > 2 ? std::strtoul(text + 2, nullptr, 10) : 0;
  const bool has_strides = strides != nullptr && PyTuple_Check(strides) != 0;
  tensor.contiguous = is_packed(tensor, has_strides ? bytes.data() : nullptr, static_cast<std::int64_t>(tensor.element_bytes));
  return true;
}

bool TensorReader::current_stream(const Tensor& tensor, void*& stream) const {
  stream = nullptr;
  if (tensor.device == kCpuDevice) {
    return true;
  }
  if (exchange_ != nullptr) {
    return static_cast<const dlpack::ExchangeTable*>(exchange_)->current_stream(tensor.device, tensor.device_index, &stream) == 0;
  }
  return framework_stream(type_, tensor.device_index, stream);
}

}  // namespace hone::python
