#include "engine/device/device_key.hpp"

#include <fmt/format.h>

namespace hone {
namespace {

constexpr std::int64_t kKeyGiB = std::int64_t{1} << 30;

}  // namespace

std::map<std::string, std::int64_t, std::less<>> keyed_properties(const DeviceInfo& info) {
  auto properties = info.properties;
  if (const auto memory = properties.find("memory"); memory != properties.end()) {
    memory->second = memory->second / kKeyGiB + (memory->second % kKeyGiB >= kKeyGiB / 2 ? 1 : 0);
  }
  return properties;
}

std::string difference(const DeviceInfo& one, const DeviceInfo& other) {
  const auto whole = [](const std::string& part) { return part.empty() ? "the whole device" : part; };
  if (one.product != other.product) {
    return fmt::format("{} and {}", one.product, other.product);
  }
  if (one.architecture != other.architecture) {
    return fmt::format("{} and {}", one.architecture, other.architecture);
  }
  if (one.mig_profile != other.mig_profile) {
    return fmt::format("{} and {}", whole(one.mig_profile), whole(other.mig_profile));
  }
  if (one.share != other.share) {
    return fmt::format("{} and {}", whole(one.share), whole(other.share));
  }
  const auto have = keyed_properties(one), has = keyed_properties(other);
  for (const auto& [name, value] : have) {
    const auto found = has.find(name);
    if (found == has.end() || found->second != value) {
      return fmt::format("{} {} and {}", name, value, found == has.end() ? "none" : std::to_string(found->second));
    }
  }
  for (const auto& [name, value] : has) {
    if (!have.contains(name)) {
      return fmt::format("{} none and {}", name, value);
    }
  }
  return "";
}

}  // namespace hone
