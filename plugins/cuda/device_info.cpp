#include "plugins/cuda/device_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include "engine/base/cores.hpp"
#include "plugins/cuda/driver.hpp"
#include "plugins/cuda/nvml.hpp"

namespace hone::cuda {
namespace {

std::string uuid_text(const Uuid& uuid, bool slice) {
  std::string text = slice ? "MIG-" : "GPU-";
  for (std::size_t i = 0; i < 16; ++i) {
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid.bytes[i]);
  }
  return text;
}

std::map<std::string, std::string, std::less<>> environment_of(const DriverApi& api, DeviceOrdinal device, bool ecc) {
  std::map<std::string, std::string, std::less<>> environment;
  int version = 0;
  api.driver_get_version(&version);
  environment["cuda"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  const std::string driver_version = Nvml::driver_version();
  environment["driver"] = driver_version.empty() ? "CUDA " + environment["cuda"] : driver_version;
  if (const auto limit = Nvml(pci_bus_id(api, device)).power_limit_w()) {
    environment["power_limit_w"] = std::to_string(*limit);
  }
  environment["ecc"] = ecc ? "on" : "off";
  return environment;
}

/// Of this process: where an MPS daemon runs, its processes are the daemon's clients.
std::string own_share() {
  const char* const directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return mps_share(directory != nullptr && *directory != '\0' ? directory : "/tmp/nvidia-mps",
                   std::getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
}

Result<DeviceInfo> describe(const DriverApi& api, int index) {
  Status status = status::kSuccess;
  const auto keep = [&](Status now) { status = status == status::kSuccess ? now : status; };
  DeviceOrdinal device = 0;
  std::array<char, 256> name{};
  Uuid uuid{};
  std::size_t memory = 0;
  keep(api.device_get(&device, index));
  keep(api.device_get_name(name.data(), static_cast<int>(name.size()), device));
  keep(api.device_get_uuid(&uuid, device));
  keep(api.device_total_mem(&memory, device));
  const auto attribute = [&](Attribute which) {
    int value = 0;
    keep(api.device_get_attribute(&value, static_cast<int>(which), device));
    return value;
  };
  const int major = attribute(Attribute::kMajor), minor = attribute(Attribute::kMinor);
  DeviceInfo info;
  info.id = fmt::format("cuda:{}", index);
  info.plugin = "cuda";
  std::tie(info.product, info.mig_profile) = split_name(name.data());
  info.uuid = uuid_text(uuid, !info.mig_profile.empty());
  info.share = own_share();
  info.architecture = architecture_name(major, minor);
  info.properties = {
      {"compute_capability", major * 10 + minor},
      {"l2_bytes", attribute(Attribute::kL2Bytes)},
      {"memory", static_cast<std::int64_t>(memory)},
      {"multiprocessors", attribute(Attribute::kMultiprocessors)},
      {"registers_per_multiprocessor", attribute(Attribute::kRegistersPerMultiprocessor)},
      {"shared_memory_per_block", attribute(Attribute::kSharedPerBlockOptIn)},
      {"shared_memory_per_multiprocessor", attribute(Attribute::kSharedPerMultiprocessor)},
      {"threads_per_block", attribute(Attribute::kThreadsPerBlock)},
      {"threads_per_multiprocessor", attribute(Attribute::kThreadsPerMultiprocessor)},
      {"warp_size", attribute(Attribute::kWarpSize)},
  };
  const bool ecc = attribute(Attribute::kEccEnabled) != 0;
  if (status != status::kSuccess) {
    return driver_error(api, status, fmt::format("cuda:{} cannot be described", index), ErrorCode::kUnavailable);
  }
  info.environment = environment_of(api, device, ecc);
  return info;
}

}  // namespace

std::string architecture_name(int major, int minor) { return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : ""); }

std::string mps_share(const std::filesystem::path& pipe_directory, const char* percentage) {
  constexpr double kWhole = 100.0;
  std::error_code ignored;
  if (!std::filesystem::exists(pipe_directory / "control", ignored)) {
    return "";
  }
  const double share = percentage == nullptr ? 0.0 : std::atof(percentage);
  return share > 0.0 && share < kWhole ? fmt::format("mps:{:g}", share) : "mps";
}

Result<void> check_energy_counter(const DeviceInfo& info) {
  const auto without = [&info](std::string_view why) {
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("the energy of {} cannot be measured: {}; --objective time and percentiles of time (p99) need none", info.id, why)};
  };
  if (!info.mig_profile.empty()) {
    return without("NVML counts that of the whole GPU, and others may use its other slices");
  }
  HONE_ASSIGN(const DeviceOrdinal device, find_device(info));
  return Nvml(pci_bus_id(**driver(), device)).energy() ? Result<void>() : without("NVML is missing (libnvidia-ml.so.1), or has no counter");
}

std::vector<int> cores_near(const DeviceInfo& info) {
  const Result<DeviceOrdinal> device = find_device(info);
  if (!device) {
    return {};
  }
  std::string address = pci_bus_id(**driver(), *device);
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file("/sys/bus/pci/devices/" + address + "/local_cpulist");
  std::string list;
  std::getline(file, list);
  return parse_cores(list);
}

std::pair<std::string, std::string> split_name(const std::string& name) {
  constexpr std::string_view kMark = " MIG ";
  const std::size_t at = name.find(kMark);
  return at == std::string::npos ? std::pair(name, std::string()) : std::pair(name.substr(0, at), name.substr(at + kMark.size()));
}

std::string pci_bus_id(const DriverApi& api, DeviceOrdinal device) {
  std::array<char, 32> text{};
  return api.device_get_pci_bus_id(text.data(), static_cast<int>(text.size()), device) == status::kSuccess ? text.data() : "";
}

Result<std::vector<DeviceInfo>> describe_devices() {
  HONE_ASSIGN(const DriverApi* api, driver());
  int count = 0;
  if (const Status status = api->device_get_count(&count); status != status::kSuccess) {
    return driver_error(*api, status, "the NVIDIA driver does not list its GPUs", ErrorCode::kUnavailable);
  }
  if (count == 0) {
    return Error{ErrorCode::kUnavailable, "the NVIDIA driver is installed but shows no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES"};
  }
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < count; ++index) {
    HONE_ASSIGN(DeviceInfo info, describe(*api, index));
    devices.push_back(std::move(info));
  }
  return devices;
}

Result<DeviceOrdinal> find_device(const DeviceInfo& info) {
  HONE_ASSIGN(const DriverApi* api, driver());
  HONE_ASSIGN(const std::vector<DeviceInfo> devices, describe_devices());
  for (std::size_t index = 0; index < devices.size(); ++index) {
    if (devices[index].uuid == info.uuid) {
      DeviceOrdinal device = 0;
      if (const Status status = api->device_get(&device, static_cast<int>(index)); status != status::kSuccess) {
        return driver_error(*api, status, info.id, ErrorCode::kUnavailable);
      }
      return device;
    }
  }
  return Error{ErrorCode::kNotFound, fmt::format("{} ({}, {}) is no longer on this machine", info.id, info.product, info.uuid)};
}

}  // namespace hone::cuda
