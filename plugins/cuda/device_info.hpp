#pragma once
// What a cuda device says about itself, without a context.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "plugins/cuda/driver.hpp"

namespace hone::cuda {

/// All GPUs the driver shows, "cuda:0" first. Errors, kUnavailable: no driver, no GPU.
Result<std::vector<DeviceInfo>> describe_devices();

/// The driver's ordinal of a described device. Errors, kNotFound: it is not there any more, or is another one now.
Result<DeviceOrdinal> find_device(const DeviceInfo& info);

/// The data-centre or workstation GPU that an architecture ("sm_90a") is compiled for where none is at hand. Needs no driver.
/// Errors, kNotFound: an architecture that is not known.
Result<DeviceInfo> typical_device(std::string_view architecture);

/// "sm_90a" of (9, 0): the family with its architecture-specific instructions (wgmma, TMA, ...), which begin with 9.0.
std::string architecture_name(int major, int minor);

/// "0000:4e:00.0"; empty if the driver does not say.
std::string pci_bus_id(const DriverApi& api, DeviceOrdinal device);

/// The host's cores on the GPU's side of the host, as the kernel tells of its PCI address; empty where it does not.
std::vector<int> cores_near(const DeviceInfo& info);

/// Errors: kUnavailable, NVML does not count this GPU's energy, or counts that of all slices of a GPU together.
Result<void> check_energy_counter(const DeviceInfo& info);

/// DeviceInfo::share of a client of MPS: "mps", or "mps:50" with that percentage of the multiprocessors
/// (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE). Empty where no MPS daemon serves `pipe_directory`. The settings are read, and nothing is asked of
/// the daemon.
std::string mps_share(const std::filesystem::path& pipe_directory, const char* percentage);

/// (product, MIG profile) of the driver's name: "NVIDIA H200 MIG 1g.18gb" is a slice of an "NVIDIA H200".
std::pair<std::string, std::string> split_name(const std::string& name);

}  // namespace hone::cuda
