#include "plugins/cuda/launch_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plugins/cuda/device_info.hpp"
#include "plugins/cuda/loaded_kernel.hpp"
#include "plugins/cuda/side_stream.hpp"

namespace hone::cuda {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::uintptr_t kStreamLegacy = 1, kStreamPerThread = 2;  // handles that the driver defines
constexpr std::uint64_t kOfThread = std::uint64_t{1} << 63;        // no address has this bit

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(std::shared_ptr<PrimaryContext> context, Address address, std::size_t bytes)
      : context_(std::move(context)), address_(address), bytes_(bytes) {}
  ~CudaBuffer() override {
    const ContextScope scope(*context_);
    const BesideCaptures beside(context_->api());
    context_->api().mem_free(address_);
  }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  [[nodiscard]] void* address() const override {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));  // NOLINT(performance-no-int-to-ptr): the driver's are numbers
  }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<PrimaryContext> context_;
  Address address_;
  std::size_t bytes_;
};

}  // namespace

CudaLaunchDevice::CudaLaunchDevice(DeviceInfo info, std::shared_ptr<PrimaryContext> context)
    : info_(std::move(info)), context_(std::move(context)), api_(context_->api()) {}

Result<std::unique_ptr<CudaLaunchDevice>> CudaLaunchDevice::open(const DeviceInfo& info) {
  HONE_ASSIGN(const DeviceOrdinal ordinal, find_device(info));
  HONE_ASSIGN(std::shared_ptr<PrimaryContext> context, PrimaryContext::retain(ordinal));
  std::unique_ptr<CudaLaunchDevice> device(new CudaLaunchDevice(info, std::move(context)));
  const ContextScope scope(*device->context_);
  HONE_TRY(device->check(scope.status(), "the device's context cannot be entered"));
  // A blocking stream: it orders with the null stream, on which validation launches.
  HONE_TRY(device->check(device->api_.stream_create(&device->stream_, 0), "no stream on the device"));
  return device;
}

CudaLaunchDevice::~CudaLaunchDevice() {
  const ContextScope scope(*context_);
  if (stream_ != nullptr) {
    api_.stream_destroy(stream_);
  }
}

Result<void> CudaLaunchDevice::check(Status status, std::string_view what) const {
  if (status != status::kSuccess) {
    return driver_error(api_, status, fmt::format("{}: {}", info_.id, what));
  }
  return {};
}

Result<void> CudaLaunchDevice::finish(Status enqueued, std::string_view what) const {
  HONE_TRY(check(enqueued, what));
  return check(api_.stream_synchronize(stream_), what);
}

Result<std::unique_ptr<Buffer>> CudaLaunchDevice::allocate(std::size_t bytes) {
  const ContextScope scope(*context_);
  const BesideCaptures beside(api_);
  Address address = 0;
  const Status status = api_.mem_alloc(&address, std::max<std::size_t>(bytes, 1));
  if (status == status::kOutOfMemory) {
    std::size_t free = 0, total = 0;
    api_.mem_get_info(&free, &total);
    return Error{ErrorCode::kUnavailable, fmt::format("{}: {} MiB are needed; {} of {} MiB of device memory are free", info_.id,
                                                      (bytes + kMebibyte - 1) / kMebibyte, free / kMebibyte, total / kMebibyte)};
  }
  HONE_TRY(check(status, "allocation"));
  return std::unique_ptr<Buffer>(std::make_unique<CudaBuffer>(context_, address, bytes));
}

Result<void> CudaLaunchDevice::upload(void* destination, std::span<const std::byte> source) {
  const ContextScope scope(*context_);
  return source.empty() ? Result<void>{}
                        : finish(api_.memcpy_htod_async(address_of(destination), source.data(), source.size(), stream_), "upload");
}

Result<void> CudaLaunchDevice::download(std::span<std::byte> destination, const void* source) {
  const ContextScope scope(*context_);
  return destination.empty()
             ? Result<void>{}
             : finish(api_.memcpy_dtoh_async(destination.data(), address_of(source), destination.size(), stream_), "download");
}

Result<void> CudaLaunchDevice::copy(void* destination, const void* source, std::size_t bytes) {
  const ContextScope scope(*context_);
  return bytes == 0 ? Result<void>{} : finish(api_.memcpy_dtod_async(address_of(destination), address_of(source), bytes, stream_), "copy");
}

Result<void> CudaLaunchDevice::fill(void* destination, std::size_t bytes, std::uint8_t pattern) {
  const ContextScope scope(*context_);
  return bytes == 0 ? Result<void>{} : finish(api_.memset_d8_async(address_of(destination), pattern, bytes, stream_), "fill");
}

Result<void> CudaLaunchDevice::fill_on(void* stream, void* destination, std::size_t bytes, std::uint8_t pattern) {
  const ContextScope scope(*context_);
  return bytes == 0 ? Result<void>{}
                    : check(api_.memset_d8_async(address_of(destination), pattern, bytes, static_cast<StreamHandle>(stream)), "fill");
}

/// Two threads may load the same code at once, which costs memory alone: nobody waits for what he did not ask for.
Result<std::shared_ptr<Library>> CudaLaunchDevice::library(const Compiled& compiled) {
  {
    const std::lock_guard lock(libraries_mutex_);
    if (std::shared_ptr<Library> loaded = libraries_[compiled.artifact->digest].lock()) {
      return loaded;
    }
  }
  HONE_ASSIGN(std::shared_ptr<Library> loaded, Library::load(context_, compiled.artifact->bytes.data()));
  const std::lock_guard lock(libraries_mutex_);
  std::erase_if(libraries_, [](const auto& entry) { return entry.second.expired(); });
  libraries_[compiled.artifact->digest] = loaded;
  return loaded;
}

Result<std::unique_ptr<LoadedKernel>> CudaLaunchDevice::load(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                             const Problem& problem) {
  const BesideCaptures beside(api_);
  if (const std::optional<LibraryCode> called = library_code(*compiled.artifact); called && plan.size() == 1) {
    return load_from_library(*called, compiled, plan.front(), problem);
  }
  HONE_ASSIGN(std::shared_ptr<Library> code, library(compiled));
  const CudaKernel::Request request{.compiled = &compiled, .plan = &plan, .problem = &problem, .info = &info_};
  HONE_ASSIGN(std::unique_ptr<CudaKernel> kernel, CudaKernel::create(context_, std::move(code), request));
  return std::unique_ptr<LoadedKernel>(std::move(kernel));
}

Result<std::unique_ptr<LoadedKernel>> CudaLaunchDevice::load_from_library(const LibraryCode& code, const Compiled& compiled,
                                                                          const PassLaunch& pass, const Problem& problem) {
  HONE_ASSIGN(const CudaLibraryKernel* const kernel, find_library(code));
  const std::lock_guard lock(libraries_mutex_);
  std::shared_ptr<LibrarySession>& session = sessions_[kernel];
  if (session == nullptr) {
    HONE_ASSIGN(session, kernel->start(context_));
  }
  return session->load(compiled.symbols.at(pass.symbol), pass, problem);
}

Lane CudaLaunchDevice::lane_of(void* stream) const {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if (handle == kStreamPerThread) {  // the same handle in every thread, and in each another stream
    return {.stream = LaunchDevice::lane_of(stream).stream | kOfThread, .capture = capture_of(stream).id};
  }
  // The legacy stream cannot be captured, and to ask about it while another one is spoils that capture.
  return {.stream = handle, .capture = handle <= kStreamLegacy ? 0 : capture_of(stream).id};
}

CudaLaunchDevice::Capture CudaLaunchDevice::capture_of(void* stream) const {
  constexpr int kActive = 1;
  int state = 0;
  unsigned long long id = 0;
  Capture capture;
  if (api_.stream_get_capture_info == nullptr) {
    return capture;
  }
  const Status status = api_.stream_get_capture_info(static_cast<StreamHandle>(stream), &state, &id, &capture.graph, nullptr, nullptr);
  capture.id = status == status::kSuccess && state == kActive ? id : 0;
  return capture;
}

Result<void> CudaLaunchDevice::keep_with_graph(void* stream, std::shared_ptr<void> object) const {
  constexpr unsigned int kNoDestructorSync = 1, kMove = 1;
  const Capture capture = capture_of(stream);
  if (capture.id == 0 || api_.user_object_create == nullptr || api_.user_object_release == nullptr ||
      api_.graph_retain_user_object == nullptr) {
    return Error{ErrorCode::kUnavailable, fmt::format("{}: nothing can be kept with a graph", info_.id)};
  }
  auto held = std::make_unique<std::shared_ptr<void>>(std::move(object));
  UserObjectHandle handle = nullptr;
  HONE_TRY(check(api_.user_object_create(
                     &handle, held.get(), [](void* last) { delete static_cast<std::shared_ptr<void>*>(last); }, 1, kNoDestructorSync),
                 "nothing can be kept with a graph"));
  held.release();  // NOLINT: the driver destroys it
  const Status status = api_.graph_retain_user_object(capture.graph, handle, 1, kMove);
  if (status != status::kSuccess) {
    api_.user_object_release(handle, 1);
  }
  return check(status, "nothing can be kept with a graph");
}

Result<void> CudaLaunchDevice::copy_on(void* stream, void* destination, const void* source, std::size_t bytes) {
  const auto copy = [&] {
    return api_.memcpy_dtod_async(address_of(destination), address_of(source), bytes, static_cast<StreamHandle>(stream));
  };
  Status status = bytes == 0 ? status::kSuccess : copy();
  if (status == status::kInvalidContext) {  // the thread has none
    const ContextScope scope(*context_);
    status = copy();
  }
  return check(status, "copy");
}

Result<std::unique_ptr<SideStream>> CudaLaunchDevice::side_stream() { return CudaSideStream::open(context_); }

Result<void> CudaLaunchDevice::synchronize() {
  const ContextScope scope(*context_);
  return check(api_.ctx_synchronize(), "the device failed while it ran");
}

}  // namespace hone::cuda
