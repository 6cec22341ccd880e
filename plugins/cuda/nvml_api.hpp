#pragma once
// The part of NVIDIA's management library that Hone uses, in our own words: it is opened at run time and optional.

namespace hone::cuda {

struct NvmlDeviceTag;
using NvmlDevice = NvmlDeviceTag*;  ///< nvmlDevice_t

inline constexpr unsigned int kNvmlSmClock = 1, kNvmlMemoryClock = 2;  ///< nvmlClockType_t
inline constexpr unsigned int kNvmlGpuTemperature = 0;                 ///< nvmlTemperatureSensors_t

struct NvmlApi {
  int (*init)();
  int (*system_get_driver_version)(char*, unsigned int length);
  int (*device_by_pci_bus_id)(const char*, NvmlDevice*);
  int (*clock)(NvmlDevice, unsigned int type, unsigned int* mhz);
  int (*temperature)(NvmlDevice, unsigned int sensor, unsigned int* celsius);
  int (*power_usage)(NvmlDevice, unsigned int* milliwatts);
  int (*power_limit)(NvmlDevice, unsigned int* milliwatts);
  int (*throttle_reasons)(NvmlDevice, unsigned long long*);
  int (*total_energy)(NvmlDevice, unsigned long long* millijoules);  ///< since the driver was loaded; null in old libraries
};

}  // namespace hone::cuda
