#include "plugins/cuda/side_stream.hpp"

#include "plugins/cuda/launch_device.hpp"

namespace hone::cuda {
namespace {

constexpr unsigned int kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING
constexpr unsigned int kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

}  // namespace

Result<std::unique_ptr<SideStream>> CudaSideStream::open(std::shared_ptr<PrimaryContext> context) {
  std::unique_ptr<CudaSideStream> side(new CudaSideStream(std::move(context)));
  const ContextScope scope(*side->context_);
  HONE_TRY(side->check(scope.status(), "the device's context cannot be entered"));
  HONE_TRY(side->check(side->api_.stream_create(&side->stream_, kNonBlocking), "no stream on the device"));
  HONE_TRY(side->check(side->api_.event_create(&side->event_, kDisableTiming), "no event on the device"));
  return std::unique_ptr<SideStream>(std::move(side));
}

CudaSideStream::~CudaSideStream() {
  const ContextScope scope(*context_);
  if (event_ != nullptr) {
    api_.event_destroy(event_);
  }
  if (stream_ != nullptr) {
    api_.stream_destroy(stream_);
  }
}

Result<void> CudaSideStream::check(Status status, std::string_view what) const {
  return status == status::kSuccess ? Result<void>() : driver_error(api_, status, what);
}

/// The null stream is that of the thread's own context where it has one, as it is for launches.
Result<void> CudaSideStream::follow(void* stream) {
  const auto record = [&] { return api_.event_record(event_, static_cast<StreamHandle>(stream)); };
  Status recorded = record();
  const ContextScope scope(*context_);
  if (recorded == status::kInvalidContext) {
    recorded = record();
  }
  HONE_TRY(check(recorded, "the stream cannot be followed"));
  return check(api_.stream_wait_event(stream_, event_, 0), "the stream cannot be followed");
}

Result<void> CudaSideStream::copy(void* destination, const void* source, std::size_t bytes) {
  const ContextScope scope(*context_);
  return bytes == 0 ? Result<void>() : check(api_.memcpy_dtod_async(address_of(destination), address_of(source), bytes, stream_), "copy");
}

Result<void> CudaSideStream::fill(void* destination, std::size_t bytes, std::uint8_t pattern) {
  const ContextScope scope(*context_);
  return bytes == 0 ? Result<void>() : check(api_.memset_d8_async(address_of(destination), pattern, bytes, stream_), "fill");
}

Result<void> CudaSideStream::upload(void* destination, std::span<const std::byte> source) {
  const ContextScope scope(*context_);
  const BesideCaptures beside(api_);
  HONE_TRY(check(source.empty() ? status::kSuccess : api_.memcpy_htod_async(address_of(destination), source.data(), source.size(), stream_),
                 "upload"));
  return check(api_.stream_synchronize(stream_), "upload");
}

Result<void> CudaSideStream::download(std::span<std::byte> destination, const void* source) {
  const ContextScope scope(*context_);
  const BesideCaptures beside(api_);
  HONE_TRY(check(
      destination.empty() ? status::kSuccess : api_.memcpy_dtoh_async(destination.data(), address_of(source), destination.size(), stream_),
      "download"));
  return check(api_.stream_synchronize(stream_), "download");
}

}  // namespace hone::cuda
