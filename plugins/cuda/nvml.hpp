#pragma once
// Clocks, temperature, power and energy by NVIDIA's management library. Optional: without it readings are 0, and there is no energy.
// Nothing is ever set.

#include <optional>
#include <string>

#include "engine/device/device.hpp"
#include "plugins/cuda/nvml_api.hpp"

namespace hone::cuda {

/// One GPU in the management library; default-constructed: none.
class Nvml {
 public:
  Nvml() = default;
  /// Finds the GPU by its PCI address; a MIG slice reads its whole GPU.
  explicit Nvml(const std::string& pci_bus_id);

  [[nodiscard]] Readings readings() const;
  /// The whole GPU's counter; nothing where there is none (before Volta), or without the library.
  [[nodiscard]] std::optional<EnergyReading> energy() const;
  [[nodiscard]] std::optional<unsigned int> power_limit_w() const;
  /// "580.159.04"; empty without the library.
  static std::string driver_version();

 private:
  NvmlDevice device_ = nullptr;
};

}  // namespace hone::cuda
