#include "cli/device_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/present.hpp"

namespace hone::cli {

Json json(const std::vector<DeviceShare>& devices) {
  Json list = Json::array();
  for (const DeviceShare& device : devices) {
    list.push_back({{"id", device.id},
                    {"trials", device.trials},
                    {"controls", device.controls},
                    {"control_us", device.control_us > 0.0 ? Json(device.control_us) : Json()},
                    {"control_spread", device.spread},
                    {"factor", device.factor},
                    {"final_round", device.final_round},
                    {"left", device.left}});
  }
  return list;
}

std::string devices_text(const std::vector<DeviceShare>& devices) {
  constexpr double kPercent = 100.0;
  if (devices.size() < 2) {
    return "";
  }
  std::int64_t trials = 0;
  for (const DeviceShare& device : devices) {
    trials += device.trials;
  }
  std::vector<std::vector<std::string>> rows;
  for (const DeviceShare& device : devices) {
    const double share = trials > 0 ? kPercent * static_cast<double>(device.trials) / static_cast<double>(trials) : 0.0;
    rows.push_back({"device ", device.id, fmt::format("{} trials ({:.0f} %)", device.trials, share),
                    device.controls == 0
                        ? "no control"
                        : fmt::format("{} control{}, {}, within {:.1f} %, factor {:.3f}", device.controls, device.controls == 1 ? "" : "s",
                                      duration(device.control_us), kPercent * device.spread, device.factor),
                    !device.left.empty() ? "left: " + device.left.substr(0, device.left.find('\n'))
                    : device.final_round ? "final round"
                                         : ""});
  }
  return table(rows);
}

}  // namespace hone::cli
