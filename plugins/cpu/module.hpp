#pragma once
// A compiled kernel in this process.

#include <memory>

#include "engine/device/device.hpp"
#include "plugins/cpu/kernel_abi.hpp"

namespace hone::cpu {

class Module {
 public:
  static Result<std::shared_ptr<const Module>> load(const Artifact& artifact);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module();

  [[nodiscard]] HoneCpuBind bind() const { return bind_; }
  /// The address of an exported function; nullptr if there is none of that name.
  [[nodiscard]] void* find(const std::string& symbol) const;

 private:
  Module() = default;
  void* handle_ = nullptr;
  int file_ = -1;
  HoneCpuBind bind_ = nullptr;
};

}  // namespace hone::cpu
