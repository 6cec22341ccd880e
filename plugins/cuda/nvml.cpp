#include "plugins/cuda/nvml.hpp"

#include <array>
#include <chrono>

#include "plugins/cuda/shared_library.hpp"

namespace hone::cuda {
namespace {

std::optional<NvmlApi> open_nvml() {
  SharedLibrary library({"libnvidia-ml.so.1"});
  if (!library.opened()) {
    return std::nullopt;
  }
  NvmlApi api{};
  library.bind(api.init, "nvmlInit_v2");
  library.bind(api.system_get_driver_version, "nvmlSystemGetDriverVersion");
  library.bind(api.device_by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  library.bind(api.clock, "nvmlDeviceGetClockInfo");
  library.bind(api.temperature, "nvmlDeviceGetTemperature");
  library.bind(api.power_usage, "nvmlDeviceGetPowerUsage");
  library.bind(api.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  library.bind(api.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  library.bind_if_there(api.total_energy, "nvmlDeviceGetTotalEnergyConsumption");
  if (!library.missing().empty() || api.init() != 0) {
    return std::nullopt;
  }
  return api;
}

const std::optional<NvmlApi>& nvml() {
  static const std::optional<NvmlApi> opened = open_nvml();
  return opened;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) {
  if (nvml() && nvml()->device_by_pci_bus_id(pci_bus_id.c_str(), &device_) != 0) {
    device_ = nullptr;
  }
}

Readings Nvml::readings() const {
  Readings readings;
  if (device_ == nullptr) {
    return readings;
  }
  unsigned int value = 0;
  if (nvml()->clock(device_, kNvmlSmClock, &value) == 0) {
    readings.sm_clock_mhz = value;
  }
  if (nvml()->clock(device_, kNvmlMemoryClock, &value) == 0) {
    readings.memory_clock_mhz = value;
  }
  if (nvml()->temperature(device_, kNvmlGpuTemperature, &value) == 0) {
    readings.temperature_c = value;
  }
  if (nvml()->power_usage(device_, &value) == 0) {
    readings.power_w = value / 1000.0;
  }
  unsigned long long reasons = 0;
  if (nvml()->throttle_reasons(device_, &reasons) == 0) {
    readings.throttle_reasons = reasons;
  }
  return readings;
}

std::optional<EnergyReading> Nvml::energy() const {
  constexpr double kMillijoule = 1e-3;
  unsigned long long millijoules = 0;
  if (device_ == nullptr || nvml()->total_energy == nullptr || nvml()->total_energy(device_, &millijoules) != 0) {
    return std::nullopt;
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return EnergyReading{kMillijoule * static_cast<double>(millijoules), std::chrono::duration<double>(now).count(), kMillijoule};
}

std::optional<unsigned int> Nvml::power_limit_w() const {
  unsigned int milliwatts = 0;
  if (device_ == nullptr || nvml()->power_limit(device_, &milliwatts) != 0) {
    return std::nullopt;
  }
  return (milliwatts + 500) / 1000;
}

std::string Nvml::driver_version() {
  std::array<char, 96> text{};
  if (!nvml() || nvml()->system_get_driver_version(text.data(), text.size()) != 0) {
    return "";
  }
  return text.data();
}

}  // namespace hone::cuda
