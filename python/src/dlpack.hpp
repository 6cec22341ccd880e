#pragma once
// The parts of DLPack's ABI that are read here (https://dmlc.github.io/dlpack): DLTensor, the two managed tensors, the exchange table
// of 1.3.

#include <cstdint>

namespace hone::python::dlpack {

enum TypeCode : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6, kFloat8E4M3FN = 10, kFloat8E5M2 = 12 };

struct Device {
  std::int32_t type, id;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t *shape, *strides;  ///< strides in elements; null: packed
  std::uint64_t byte_offset;
};
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};
struct Version {
  std::uint32_t major, minor;
};
struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};
inline constexpr std::uint64_t kReadOnly = 1;

/// The table behind the capsule `__dlpack_c_exchange_api__` of a type.
struct ExchangeTable {
  Version version;
  ExchangeTable* previous;  ///< of an older version, or null
  void *allocate, *managed_from_object, *managed_to_object;
  int (*tensor_from_object)(void* object, Tensor* out);  ///< borrows: valid as long as the object; may be null
  int (*current_stream)(std::int32_t device, std::int32_t index, void** stream);
};
inline constexpr std::uint32_t kMajor = 1;

}  // namespace hone::python::dlpack
