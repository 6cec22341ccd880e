#include "plugins/cuda/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plugins/cuda/shared_library.hpp"

namespace hone::cuda {
namespace {

constexpr int kOldestDriver = 12000;  // context-independent libraries and cluster launches

Error unavailable(std::string message) { return Error{ErrorCode::kUnavailable, std::move(message)}; }

void bind_devices(SharedLibrary& library, DriverApi& api) {
  library.bind(api.init, "cuInit");
  library.bind(api.driver_get_version, "cuDriverGetVersion");
  library.bind(api.get_error_name, "cuGetErrorName");
  library.bind(api.get_error_string, "cuGetErrorString");
  library.bind(api.device_get_count, "cuDeviceGetCount");
  library.bind(api.device_get, "cuDeviceGet");
  library.bind(api.device_get_name, "cuDeviceGetName");
  library.bind(api.device_get_uuid, "cuDeviceGetUuid_v2");
  library.bind(api.device_total_mem, "cuDeviceTotalMem_v2");
  library.bind(api.device_get_attribute, "cuDeviceGetAttribute");
  library.bind(api.device_get_pci_bus_id, "cuDeviceGetPCIBusId");
  library.bind(api.primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  library.bind(api.primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  library.bind(api.ctx_push_current, "cuCtxPushCurrent_v2");
  library.bind(api.ctx_pop_current, "cuCtxPopCurrent_v2");
  library.bind(api.ctx_synchronize, "cuCtxSynchronize");
}

// The exports without the suffixes _ptsz and _ptds: the null stream is the legacy one, which orders with ours.
void bind_memory_and_streams(SharedLibrary& library, DriverApi& api) {
  library.bind(api.mem_get_info, "cuMemGetInfo_v2");
  library.bind(api.mem_alloc, "cuMemAlloc_v2");
  library.bind(api.mem_free, "cuMemFree_v2");
  library.bind(api.memcpy_htod_async, "cuMemcpyHtoDAsync_v2");
  library.bind(api.memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2");
  library.bind(api.memcpy_dtod_async, "cuMemcpyDtoDAsync_v2");
  library.bind(api.memset_d8_async, "cuMemsetD8Async");
  library.bind(api.stream_create, "cuStreamCreate");
  library.bind(api.stream_destroy, "cuStreamDestroy_v2");
  library.bind(api.stream_synchronize, "cuStreamSynchronize");
  library.bind(api.stream_wait_event, "cuStreamWaitEvent");
  library.bind(api.stream_begin_capture, "cuStreamBeginCapture_v2");
  library.bind(api.stream_end_capture, "cuStreamEndCapture");
  library.bind(api.graph_instantiate, "cuGraphInstantiateWithFlags");
  library.bind(api.graph_launch, "cuGraphLaunch");
  library.bind(api.graph_exec_destroy, "cuGraphExecDestroy");
  library.bind(api.graph_destroy, "cuGraphDestroy");
  library.bind(api.event_create, "cuEventCreate");
  library.bind(api.event_destroy, "cuEventDestroy_v2");
  library.bind(api.event_record, "cuEventRecord");
  library.bind(api.event_elapsed_time, "cuEventElapsedTime");
}

// Without these, captures are not told from other launches.
void bind_captures(SharedLibrary& library, DriverApi& api) {
  library.bind_if_there(api.stream_get_capture_info, "cuStreamGetCaptureInfo_v2");
  library.bind_if_there(api.thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode");
  library.bind_if_there(api.user_object_create, "cuUserObjectCreate");
  library.bind_if_there(api.user_object_release, "cuUserObjectRelease");
  library.bind_if_there(api.graph_retain_user_object, "cuGraphRetainUserObject");
}

void bind_kernels(SharedLibrary& library, DriverApi& api) {
  library.bind(api.library_load_data, "cuLibraryLoadData");
  library.bind(api.library_unload, "cuLibraryUnload");
  library.bind(api.library_get_kernel, "cuLibraryGetKernel");
  library.bind(api.library_get_global, "cuLibraryGetGlobal");
  library.bind(api.kernel_get_function, "cuKernelGetFunction");
  library.bind(api.kernel_get_attribute, "cuKernelGetAttribute");
  library.bind(api.kernel_set_attribute, "cuKernelSetAttribute");
  library.bind(api.func_set_attribute, "cuFuncSetAttribute");
  library.bind(api.occupancy_max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library.bind(api.launch_kernel, "cuLaunchKernel");
  library.bind(api.launch_kernel_ex, "cuLaunchKernelEx");
  library.bind(api.tensor_map_encode_tiled, "cuTensorMapEncodeTiled");
}

Error too_old(int version) {
  return unavailable(fmt::format("the NVIDIA driver supports CUDA {}.{}; Hone needs a driver for CUDA 12.0 or later: update it",
                                 version / 1000, version % 1000 / 10));
}

Result<DriverApi> open_driver() {
  SharedLibrary library({"libcuda.so.1"});
  if (!library.opened()) {
    return unavailable(fmt::format("no NVIDIA driver: {}. Install the driver of the GPU to use cuda devices", library.reason()));
  }
  DriverApi api{};
  bind_devices(library, api);
  bind_memory_and_streams(library, api);
  bind_captures(library, api);
  bind_kernels(library, api);
  int version = 0;
  if (api.driver_get_version == nullptr || api.driver_get_version(&version) != status::kSuccess || version < kOldestDriver) {
    return too_old(version);
  }
  if (!library.missing().empty()) {
    return unavailable(fmt::format("the NVIDIA driver ({}) has no {}: update it", library.name(), library.missing()));
  }
  const Status started = api.init(0);
  if (started == status::kNoDevice) {
    return unavailable("the NVIDIA driver is installed but sees no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES");
  }
  if (started != status::kSuccess) {
    return unavailable(fmt::format("the NVIDIA driver cannot be initialized: {}; check nvidia-smi", status_text(api, started)));
  }
  return api;
}

}  // namespace

Result<const DriverApi*> driver() {
  static const Result<DriverApi> opened = open_driver();
  if (!opened) {
    return opened.error();
  }
  return &opened.value();
}

std::string status_text(const DriverApi& api, Status status) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.get_error_name(status, &name) != status::kSuccess || name == nullptr) {
    return fmt::format("driver error {}", status);
  }
  if (api.get_error_string(status, &text) != status::kSuccess || text == nullptr) {
    text = "no description";
  }
  return fmt::format("{} ({}): {}", name, status, text);
}

bool is_sticky(Status status) {
  constexpr std::array kSticky{status::kEccUncorrectable, status::kNvlinkUncorrectable, status::kContained,
                               status::kIllegalAddress,   status::kLaunchTimeout,       status::kContextDestroyed,
                               status::kAssert,           status::kHardwareStack,       status::kIllegalInstruction,
                               status::kMisaligned,       status::kInvalidAddressSpace, status::kInvalidProgramCounter,
                               status::kLaunchFailed,     status::kTensorMemoryLeak,    status::kUnknown};
  return std::find(kSticky.begin(), kSticky.end(), status) != kSticky.end();
}

Error driver_error(const DriverApi& api, Status status, std::string_view what, ErrorCode otherwise) {
  return Error{is_sticky(status) ? ErrorCode::kDevice : otherwise, fmt::format("{}: {}", what, status_text(api, status))};
}

Result<std::shared_ptr<PrimaryContext>> PrimaryContext::retain(DeviceOrdinal device) {
  HONE_ASSIGN(const DriverApi* api, driver());
  ContextHandle handle = nullptr;
  if (const Status status = api->primary_ctx_retain(&handle, device); status != status::kSuccess) {
    return driver_error(*api, status, fmt::format("cuda:{}: no context on the device", device));
  }
  return std::shared_ptr<PrimaryContext>(new PrimaryContext(api, device, handle));
}

PrimaryContext::~PrimaryContext() { api_->primary_ctx_release(device_); }

ContextScope::ContextScope(const PrimaryContext& context) : api_(context.api()), status_(api_.ctx_push_current(context.handle())) {}

ContextScope::~ContextScope() {
  if (status_ == status::kSuccess) {
    ContextHandle popped = nullptr;
    api_.ctx_pop_current(&popped);
  }
}

Result<std::shared_ptr<Library>> Library::load(std::shared_ptr<PrimaryContext> context, const void* cubin) {
  const DriverApi& api = context->api();
  const ContextScope scope(*context);
  LibraryHandle handle = nullptr;
  const Status status = api.library_load_data(&handle, cubin, nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (status == status::kSuccess) {
    return std::shared_ptr<Library>(new Library(std::move(context), handle));
  }
  Error error = driver_error(api, status, "compiled code cannot be loaded", ErrorCode::kLaunch);
  if (status == status::kInvalidImage || status == status::kNoBinary || status == status::kInvalidPtx ||
      status == status::kUnsupportedPtx) {
    int version = 0;
    api.driver_get_version(&version);
    error.message += fmt::format(
        "; the driver supports CUDA {}.{}, and code of a newer NVRTC needs a newer driver (set HONE_NVRTC to use another NVRTC)",
        version / 1000, version % 1000 / 10);
  }
  return error;
}

Library::~Library() {
  const ContextScope scope(*context_);
  const BesideCaptures beside(context_->api());
  context_->api().library_unload(handle_);
}

Result<KernelHandle> Library::kernel(const std::string& symbol) const {
  KernelHandle found = nullptr;
  if (const Status status = context_->api().library_get_kernel(&found, handle_, symbol.c_str()); status != status::kSuccess) {
    return driver_error(context_->api(), status, fmt::format("no kernel '{}' in the compiled code", symbol), ErrorCode::kLaunch);
  }
  return found;
}

Result<Address> Library::variable(const std::string& symbol, std::size_t bytes) const {
  Address found{};
  std::size_t size = 0;
  if (const Status status = context_->api().library_get_global(&found, &size, handle_, symbol.c_str()); status != status::kSuccess) {
    return driver_error(context_->api(), status, fmt::format("no variable '{}' in the compiled code", symbol), ErrorCode::kLaunch);
  }
  if (size < bytes) {
    return Error{ErrorCode::kLaunch,
                 fmt::format("variable '{}' of the compiled code has {} bytes; {} are to be copied there", symbol, size, bytes)};
  }
  return found;
}

}  // namespace hone::cuda
