#include "engine/tune/device_shares.hpp"

#include <algorithm>
#include <map>

#include "engine/store/work_queue.hpp"

namespace hone {

std::vector<DeviceShare> device_shares(std::span<const std::string> ids, std::span<const Trial> trials, std::span<const Control> controls) {
  std::vector<DeviceShare> shares;
  for (const std::string& id : ids) {
    shares.push_back({.id = id, .left = {}});
  }
  const auto of = [&shares](const std::string& id) -> DeviceShare& {
    const auto found = std::ranges::find(shares, id, &DeviceShare::id);
    return found != shares.end() ? *found : id.empty() ? shares.front() : shares.emplace_back(DeviceShare{.id = id, .left = {}});
  };
  for (const Trial& trial : trials) {
    // What failed to compile was on none.
    if (trial.device.empty() && shares.empty()) {
      continue;
    }
    const bool compiled = trial.outcome != Outcome::kCompileError && trial.outcome != Outcome::kCompileTimeout;
    if (compiled || shares.size() == 1) {
      ++of(trial.device).trials;
    }
    if (!trial.final_device.empty()) {
      of(trial.final_device).final_round = true;
    }
  }
  std::map<std::string, std::vector<double>> times;
  for (const Control& control : controls) {
    DeviceShare& share = of(control.device);
    share.left = control.left;  // a later run of the session has it back
    if (control.measurement.median_us > 0.0) {
      ++share.controls;
      share.factor = control.factor;
      times[share.id].push_back(control.measurement.median_us);
    }
  }
  for (auto& [id, us] : times) {
    std::ranges::sort(us);
    of(id).control_us = us[us.size() / 2];
    of(id).spread = us.back() / us.front() - 1.0;
  }
  return shares;
}

std::vector<std::string> split_device_ids(const std::string& joined) {
  if (joined == kAttachedDevices) {
    return {};  // each trial, and each control, names its own
  }
  std::vector<std::string> ids(1);
  for (const char c : joined) {
    c == ',' ? static_cast<void>(ids.emplace_back()) : ids.back().push_back(c);
  }
  return ids;
}

}  // namespace hone
