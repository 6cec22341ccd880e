#pragma once
// Clocks, temperature and power by NVIDIA's management library. Optional: without it readings are 0.

#include <optional>
#include <string>

#include "engine/device/trial.hpp"
#include "plugins/cuda/nvml_api.hpp"

namespace hone::cuda {

/// One GPU in the management library; default-constructed: none.
class Nvml {
 public:
  Nvml() = default;
  /// Finds the GPU by its PCI address; a MIG slice reads its whole GPU.
  explicit Nvml(const std::string& pci_bus_id);

  [[nodiscard]] Readings readings() const;
  [[nodiscard]] std::optional<unsigned int> power_limit_w() const;
  /// "580.159.04"; empty without the library.
  static std::string driver_version();

 private:
  NvmlDevice device_ = nullptr;
};

}  // namespace hone::cuda
