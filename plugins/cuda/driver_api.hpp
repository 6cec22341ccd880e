#pragma once
// The part of NVIDIA's driver interface that Hone uses, in our own words: Hone builds without any CUDA header and opens the driver at run
// time. Names in comments are those of the driver's exports; the layouts and numbers are part of its stable binary interface.

#include <cstddef>
#include <cstdint>

namespace hone::cuda {

using Status = int;  ///< CUresult

namespace status {
inline constexpr Status kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200, kInvalidContext = 201,
                        kNoBinary = 209, kEccUncorrectable = 214, kInvalidPtx = 218, kNvlinkUncorrectable = 220, kUnsupportedPtx = 222,
                        kContained = 226, kInvalidHandle = 400, kIllegalAddress = 700, kOutOfResources = 701, kLaunchTimeout = 702,
                        kContextDestroyed = 709, kAssert = 710, kHardwareStack = 714, kIllegalInstruction = 715, kMisaligned = 716,
                        kInvalidAddressSpace = 717, kInvalidProgramCounter = 718, kLaunchFailed = 719, kCooperativeTooLarge = 720,
                        kTensorMemoryLeak = 721, kInvalidClusterSize = 912, kUnknown = 999;
}  // namespace status

using DeviceOrdinal = int;           ///< CUdevice
using Address = unsigned long long;  ///< CUdeviceptr
struct ContextTag;
struct StreamTag;
struct EventTag;
struct LibraryTag;
struct KernelTag;
struct FunctionTag;
struct GraphTag;
struct GraphExecTag;
struct UserObjectTag;
using ContextHandle = ContextTag*;        ///< CUcontext
using StreamHandle = StreamTag*;          ///< CUstream
using EventHandle = EventTag*;            ///< CUevent
using LibraryHandle = LibraryTag*;        ///< CUlibrary
using KernelHandle = KernelTag*;          ///< CUkernel: belongs to no context
using FunctionHandle = FunctionTag*;      ///< CUfunction: a kernel in one context
using GraphHandle = GraphTag*;            ///< CUgraph
using GraphExecHandle = GraphExecTag*;    ///< CUgraphExec
using UserObjectHandle = UserObjectTag*;  ///< CUuserObject

/// CUdevice_attribute
enum class Attribute : int {
  kThreadsPerBlock = 1,
  kWarpSize = 10,
  kMultiprocessors = 16,
  kEccEnabled = 32,
  kL2Bytes = 38,
  kThreadsPerMultiprocessor = 39,
  kMajor = 75,
  kMinor = 76,
  kSharedPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kSharedPerBlockOptIn = 97,
};

/// CUfunction_attribute
enum class FunctionAttribute : int {
  kStaticSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kDynamicSharedLimit = 8,
  kNonPortableClusters = 14,
};

struct Uuid {
  unsigned char bytes[16];
};

/// CUlaunchAttribute: a number, padding to 8 bytes, and a union of 64 bytes.
struct LaunchAttribute {
  enum Id : int { kCooperative = 2, kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };
  int id = 0;
  int padding = 0;
  union Value {
    unsigned char bytes[64];
    unsigned int cluster[3];
    int cooperative;
    int programmatic_stream_serialization_allowed;
    void* alignment;
  } value{};
};
static_assert(sizeof(LaunchAttribute) == 72 && offsetof(LaunchAttribute, value) == 8);

/// CUlaunchConfig
struct LaunchConfig {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned int attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

/// CUtensorMap, which the driver writes and the hardware reads.
struct alignas(64) EncodedTensorMap {
  std::uint64_t opaque[16];
};

/// The driver's functions. Members are named after the exports, less the prefix.
struct DriverApi {
  Status (*init)(unsigned int flags);
  Status (*driver_get_version)(int* version);
  Status (*get_error_name)(Status, const char**);
  Status (*get_error_string)(Status, const char**);
  Status (*device_get_count)(int*);
  Status (*device_get)(DeviceOrdinal*, int index);
  Status (*device_get_name)(char*, int length, DeviceOrdinal);
  Status (*device_get_uuid)(Uuid*, DeviceOrdinal);
  Status (*device_total_mem)(std::size_t*, DeviceOrdinal);
  Status (*device_get_attribute)(int*, int attribute, DeviceOrdinal);
  Status (*device_get_pci_bus_id)(char*, int length, DeviceOrdinal);
  Status (*primary_ctx_retain)(ContextHandle*, DeviceOrdinal);
  Status (*primary_ctx_release)(DeviceOrdinal);
  Status (*ctx_push_current)(ContextHandle);
  Status (*ctx_pop_current)(ContextHandle*);
  Status (*mem_get_info)(std::size_t* free, std::size_t* total);
  Status (*mem_alloc)(Address*, std::size_t);
  Status (*mem_free)(Address);
  Status (*memcpy_htod_async)(Address, const void*, std::size_t, StreamHandle);
  Status (*memcpy_dtoh_async)(void*, Address, std::size_t, StreamHandle);
  Status (*memcpy_dtod_async)(Address, Address, std::size_t, StreamHandle);
  Status (*memset_d8_async)(Address, unsigned char, std::size_t, StreamHandle);
  Status (*stream_create)(StreamHandle*, unsigned int flags);
  Status (*stream_destroy)(StreamHandle);
  Status (*stream_synchronize)(StreamHandle);
  Status (*stream_wait_event)(StreamHandle, EventHandle, unsigned int flags);
  Status (*stream_begin_capture)(StreamHandle, int mode);
  Status (*stream_end_capture)(StreamHandle, GraphHandle*);
  // Up to graph_retain_user_object: null in a driver that lacks them.
  Status (*stream_get_capture_info)(StreamHandle, int* status, unsigned long long* id, GraphHandle*, const void** dependencies,
                                    std::size_t* count);
  Status (*thread_exchange_stream_capture_mode)(int* mode);
  Status (*user_object_create)(UserObjectHandle*, void* object, void (*destroy)(void*), unsigned int references, unsigned int flags);
  Status (*user_object_release)(UserObjectHandle, unsigned int count);
  Status (*graph_retain_user_object)(GraphHandle, UserObjectHandle, unsigned int count, unsigned int flags);
  Status (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long flags);
  Status (*graph_launch)(GraphExecHandle, StreamHandle);
  Status (*graph_exec_destroy)(GraphExecHandle);
  Status (*graph_destroy)(GraphHandle);
  Status (*ctx_synchronize)();
  Status (*event_create)(EventHandle*, unsigned int flags);
  Status (*event_destroy)(EventHandle);
  Status (*event_record)(EventHandle, StreamHandle);
  Status (*event_elapsed_time)(float* milliseconds, EventHandle, EventHandle);
  Status (*library_load_data)(LibraryHandle*, const void* code, int* jit_options, void** jit_values, unsigned int jit_count, int* options,
                              void** values, unsigned int count);
  Status (*library_unload)(LibraryHandle);
  Status (*library_get_kernel)(KernelHandle*, LibraryHandle, const char* name);
  Status (*library_get_global)(Address*, std::size_t* bytes, LibraryHandle, const char* name);
  Status (*kernel_get_function)(FunctionHandle*, KernelHandle);
  Status (*kernel_get_attribute)(int*, int attribute, KernelHandle, DeviceOrdinal);
  Status (*kernel_set_attribute)(int attribute, int value, KernelHandle, DeviceOrdinal);
  Status (*func_set_attribute)(FunctionHandle, int attribute, int value);
  Status (*occupancy_max_active_blocks)(int*, FunctionHandle, int threads, std::size_t dynamic_shared);
  Status (*launch_kernel)(FunctionHandle, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                          StreamHandle, void** parameters, void** extra);
  Status (*launch_kernel_ex)(const LaunchConfig*, FunctionHandle, void** parameters, void** extra);
  Status (*tensor_map_encode_tiled)(EncodedTensorMap*, int element, std::uint32_t axes, void* base, const std::uint64_t* size,
                                    const std::uint64_t* stride_bytes, const std::uint32_t* box, const std::uint32_t* element_strides,
                                    int interleave, int swizzle, int l2, int fill);
};

}  // namespace hone::cuda
