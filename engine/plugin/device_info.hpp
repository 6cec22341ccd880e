#pragma once
// Conversion between DeviceInfo and the C interface.

#include <vector>

#include "engine/device/device.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

/// Errors (kPlugin): a text is missing, the id is not of this plugin, a property that kernel files may use is missing.
Result<DeviceInfo> from_c(const hone_device& table, const hone_device_info& info);

/// Points into the DeviceInfo from which it was created.
class InfoView {
 public:
  explicit InfoView(const DeviceInfo& info);
  InfoView(const InfoView&) = delete;
  InfoView& operator=(const InfoView&) = delete;
  ~InfoView() = default;

  [[nodiscard]] const hone_device_info* get() const { return &info_; }

 private:
  std::vector<hone_property> properties_;
  std::vector<hone_text> environment_;
  hone_device_info info_{};
};

}  // namespace hone::plugin_host
