// Devices: what sessions ran on.

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {

Result<std::vector<DeviceInfo>> SqlStore::devices() {
  constexpr std::string_view kDoing = "list the devices";
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select,
              database().prepare("SELECT d.product, d.architecture, d.mig_profile, d.share, d.properties, s.device_id, e.device "
                                 "FROM device d JOIN session s ON s.id = (SELECT max(id) FROM session WHERE device = d.id) "
                                 "JOIN environment e ON e.id = s.environment ORDER BY d.id"));
  std::vector<DeviceInfo> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step(kDoing));
    if (!row) {
      return all;
    }
    DeviceInfo& info = all.emplace_back();
    info.product = select.read_text();
    info.architecture = select.read_text();
    info.mig_profile = select.read_text();
    info.share = select.read_text();
    info.properties = read_device_properties(select.read_text());
    const std::string ids = select.read_text();
    info.id = ids.substr(0, ids.find(','));  // of a session on several, the first
    info.plugin = info.id.substr(0, info.id.find(':'));
    info.environment = read_json_map(select.read_text());
  }
}

}  // namespace hone::cache
