#pragma once
// A stream that waits for no other one, not even for the null stream.

#include <memory>

#include "engine/device/launch_device.hpp"
#include "plugins/cuda/driver.hpp"

namespace hone::cuda {

class CudaSideStream final : public SideStream {
 public:
  static Result<std::unique_ptr<SideStream>> open(std::shared_ptr<PrimaryContext> context);
  ~CudaSideStream() override;
  CudaSideStream(const CudaSideStream&) = delete;
  CudaSideStream& operator=(const CudaSideStream&) = delete;

  [[nodiscard]] void* handle() const override { return stream_; }
  Result<void> follow(void* stream) override;
  Result<void> copy(void* destination, const void* source, std::size_t bytes) override;
  Result<void> fill(void* destination, std::size_t bytes, std::uint8_t pattern) override;
  Result<void> upload(void* destination, std::span<const std::byte> source) override;
  Result<void> download(std::span<std::byte> destination, const void* source) override;

 private:
  explicit CudaSideStream(std::shared_ptr<PrimaryContext> context) : context_(std::move(context)), api_(context_->api()) {}
  [[nodiscard]] Result<void> check(Status status, std::string_view what) const;

  std::shared_ptr<PrimaryContext> context_;
  const DriverApi& api_;
  StreamHandle stream_ = nullptr;
  EventHandle event_ = nullptr;  ///< what the stream that is followed has come to
};

}  // namespace hone::cuda
