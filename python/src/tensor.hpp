#pragma once
// Arrays of any framework as memory with a shape: DLPack's C exchange, the buffer protocol, __dlpack__, __cuda_array_interface__ and
// __array_interface__, in this order, without importing a framework.

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hone/dtype.hpp"

namespace hone::python {

/// Kinds of device as DLPack numbers them.
inline constexpr std::int32_t kCpuDevice = 1, kCudaDevice = 2, kCudaHostDevice = 3, kCudaManagedDevice = 13;

/// An array as a kernel sees it.
struct Tensor {
  static constexpr std::size_t kMostAxes = 16;

  void* data = nullptr;
  std::int32_t device = kCpuDevice, device_index = 0;
  int axes = 0;
  std::array<std::int64_t, kMostAxes> shape;  ///< the first `axes` of them
  std::optional<DType> dtype = {};            ///< nothing: bytes without a meaning here, such as NumPy's void and uint16 for bf16
  std::size_t element_bytes = 0;
  bool contiguous = true, readonly = false;

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::string shape_text() const;
};

/// Reads arrays for one call, and holds what has to live until its end. With the GIL.
class TensorReader {
 public:
  TensorReader() = default;
  TensorReader(const TensorReader&) = delete;
  TensorReader& operator=(const TensorReader&) = delete;
  ~TensorReader();

  /// False, with a Python exception: it is no array, or cannot be exported.
  bool read(PyObject* array, Tensor& tensor);
  /// The stream on which the framework of what was read last works, on that device. False, with a Python exception.
  bool current_stream(const Tensor& tensor, void*& stream) const;

 private:
  bool read_exchange(PyObject* array, Tensor& tensor);
  bool read_buffer(PyObject* array, Tensor& tensor);
  bool read_dlpack(PyObject* array, Tensor& tensor);
  bool read_interface(PyObject* array, PyObject* interface, std::int32_t device, Tensor& tensor);

  static constexpr std::size_t kMost = 32;
  std::array<Py_buffer, kMost> buffers_;
  std::size_t buffer_count_ = 0;
  std::vector<PyObject*> held_;
  const void* exchange_ = nullptr;  ///< the table of the framework of what was read last
  PyTypeObject* type_ = nullptr;    ///< and its type
};

}  // namespace hone::python
