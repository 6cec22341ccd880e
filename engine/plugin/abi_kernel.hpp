#pragma once
// Memory and code on a plugin's device.

#include <memory>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/plugin/device_table.hpp"

namespace hone::plugin_host {

class AbiBuffer final : public Buffer {
 public:
  static Result<std::unique_ptr<Buffer>> create(std::shared_ptr<const OpenDevice> device, std::size_t bytes);
  AbiBuffer(std::shared_ptr<const OpenDevice> device, void* address, std::size_t bytes)
      : device_(std::move(device)), address_(address), bytes_(bytes) {}
  AbiBuffer(const AbiBuffer&) = delete;
  AbiBuffer& operator=(const AbiBuffer&) = delete;
  ~AbiBuffer() override;

  [[nodiscard]] void* address() const override { return address_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<const OpenDevice> device_;
  void* address_;
  std::size_t bytes_;
};

class AbiKernel final : public LoadedKernel {
 public:
  static Result<std::unique_ptr<LoadedKernel>> load(std::shared_ptr<const OpenDevice> device, const Compiled& compiled,
                                                    std::span<const PassLaunch> plan, const Problem& problem);
  /// `overlaps`: whether each pass does.
  AbiKernel(std::shared_ptr<const OpenDevice> device, void* handle, Resources compiled, std::vector<bool> overlaps)
      : device_(std::move(device)), handle_(handle), compiled_(compiled), overlaps_(std::move(overlaps)) {}
  AbiKernel(const AbiKernel&) = delete;
  AbiKernel& operator=(const AbiKernel&) = delete;
  ~AbiKernel() override;

  Result<void> launch(void* stream, std::span<void* const> arguments) const override;
  [[nodiscard]] Resources resources() const override;
  [[nodiscard]] std::size_t passes() const override { return overlaps_.size(); }
  [[nodiscard]] bool overlaps(std::size_t pass) const override { return overlaps_.at(pass); }
  Result<void> launch_passes(void* stream, std::span<void* const> arguments, std::size_t first, std::size_t count) const override;
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  std::shared_ptr<const OpenDevice> device_;
  void* handle_;
  Resources compiled_;
  std::vector<bool> overlaps_;
};

}  // namespace hone::plugin_host
