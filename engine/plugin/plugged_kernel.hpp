#pragma once
// Memory and code on a plugin's device.

#include <memory>

#include "engine/plugin/device_table.hpp"
#include "hone/device.hpp"

namespace hone::plugin_host {

class PluggedBuffer final : public Buffer {
 public:
  static Result<std::unique_ptr<Buffer>> create(std::shared_ptr<const OpenDevice> device, std::size_t bytes);
  PluggedBuffer(std::shared_ptr<const OpenDevice> device, void* address, std::size_t bytes)
      : device_(std::move(device)), address_(address), bytes_(bytes) {}
  PluggedBuffer(const PluggedBuffer&) = delete;
  PluggedBuffer& operator=(const PluggedBuffer&) = delete;
  ~PluggedBuffer() override;

  [[nodiscard]] void* address() const override { return address_; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<const OpenDevice> device_;
  void* address_;
  std::size_t bytes_;
};

class PluggedKernel final : public LoadedKernel {
 public:
  static Result<std::unique_ptr<LoadedKernel>> load(std::shared_ptr<const OpenDevice> device, const Compiled& compiled,
                                                    std::span<const PassLaunch> plan, const Problem& problem);
  PluggedKernel(std::shared_ptr<const OpenDevice> device, void* handle, Resources compiled)
      : device_(std::move(device)), handle_(handle), compiled_(compiled) {}
  PluggedKernel(const PluggedKernel&) = delete;
  PluggedKernel& operator=(const PluggedKernel&) = delete;
  ~PluggedKernel() override;

  Result<void> launch(void* stream, std::span<void* const> arguments) const override;
  [[nodiscard]] Resources resources() const override;
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  std::shared_ptr<const OpenDevice> device_;
  void* handle_;
  Resources compiled_;
};

}  // namespace hone::plugin_host
