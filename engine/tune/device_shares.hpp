#pragma once
// Which part of a session each of its devices had.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/trial.hpp"

namespace hone {

struct DeviceShare {
  std::string id;
  std::int64_t trials = 0;
  std::int64_t controls = 0;  ///< times that it ran the control; on the first device, the default's trial is one
  double control_us = 0.0;    ///< median over these; 0 without any
  double spread = 0.0;        ///< slowest / fastest of these - 1
  double factor = 1.0;        ///< the latest (Control::factor)
  bool final_round = false;   ///< it was there
  std::string left;           ///< why it left the session; empty: it did not
};

/// In the order of `ids`, which is that of the session. Trials that name no device ran on the first.
std::vector<DeviceShare> device_shares(std::span<const std::string> ids, std::span<const Trial> trials, std::span<const Control> controls);
/// The ids in SessionInfo::device_id.
std::vector<std::string> split_device_ids(const std::string& joined);

}  // namespace hone
