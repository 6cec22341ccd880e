#include "engine/tune/controls.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

// Seconds of trials to a second of controls, which take a twentieth of a device; after the first one fewer, as a device warms up then.
constexpr double kTrialsPerControl = 20.0, kTrialsAfterFirst = 5.0;
constexpr std::size_t kLatest = 3;  // controls whose median is the device's: one alone is as uncertain as any measurement
constexpr int kMostOff = 2, kMostFailures = 2;

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace

Controls::Controls(std::size_t devices, double bound) : devices_(devices), bound_(bound) {}

void Controls::ran(std::size_t device, double us, double seconds) {
  Device& one = devices_.at(device);
  one.latest_us.push_back(us);
  if (one.latest_us.size() > kLatest) {
    one.latest_us.erase(one.latest_us.begin());
  }
  one.seconds_since = 0.0;
  one.control_seconds = one.latest_us.size() == 1 ? seconds : std::min(one.control_seconds, seconds);  // the first starts a process
  one.ran_at = ++runs_;
  one.failures = 0;
  one.off = is_off(device) ? one.off + 1 : 0;
  one.off_since = one.off == 0 ? 0 : one.off_since == 0 ? one.ran_at : one.off_since;
}

void Controls::failed(std::size_t device, const std::string& why) {
  Device& one = devices_.at(device);
  ++one.failures;
  one.why = why;
}

bool Controls::due(std::size_t device) const {
  const Device& one = devices_.at(device);
  const double interval = one.latest_us.size() < 2 ? kTrialsAfterFirst : kTrialsPerControl;
  if (is_new(device) || one.failures > 0 || is_off(device) || one.seconds_since >= interval * one.control_seconds) {
    return true;
  }
  return std::ranges::any_of(devices_, [&](const Device& other) { return !other.gone && other.off_since > one.ran_at; });
}

double Controls::factor(std::size_t device) const {
  return is_new(device) || reference_us_ <= 0.0 ? 1.0 : reference_us_ / middle(devices_.at(device).latest_us);
}

bool Controls::fails(std::size_t device) const { return devices_.at(device).failures >= kMostFailures; }

std::optional<std::string> Controls::verdict(std::size_t device) const {
  const Device& one = devices_.at(device);
  if (fails(device)) {
    return fmt::format("the default configuration failed on it {} times running: {}", one.failures, one.why);
  }
  if (one.off < kMostOff || !is_off(device) || !is_compared(device)) {
    return std::nullopt;
  }
  const double slower = 100.0 * (one.latest_us.back() / *fastest_beside(device) - 1.0);
  return fmt::format("the default configuration takes {:.0f} % longer on it than on the fastest device; {:.0f} % is the most", slower,
                     100.0 * bound_);
}

std::optional<double> Controls::fastest_beside(std::size_t device) const {
  std::optional<double> fastest;
  for (std::size_t other = 0; other < devices_.size(); ++other) {
    if (other != device && !devices_[other].gone && !is_new(other)) {
      fastest = std::min(fastest.value_or(devices_[other].latest_us.back()), devices_[other].latest_us.back());
    }
  }
  return fastest;
}

bool Controls::is_off(std::size_t device) const {
  const std::optional<double> fastest = fastest_beside(device);
  return !is_new(device) && fastest && devices_[device].latest_us.back() > (1.0 + bound_) * *fastest;
}

bool Controls::is_compared(std::size_t device) const {
  for (std::size_t other = 0; other < devices_.size(); ++other) {
    if (other != device && !devices_[other].gone && !is_new(other) && devices_[other].ran_at < devices_[device].off_since) {
      return false;
    }
  }
  return true;
}

}  // namespace hone
