// Runs of the control on the devices of a session that has several.

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {

Result<void> SqlStore::add_control(std::int64_t session, const Control& control) {
  constexpr std::string_view kDoing = "record a control";
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<void> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing, Writers::kMany));
    HONE_ASSIGN(
        Statement insert,
        database().prepare("INSERT INTO control (session, device, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, "
                           "sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, throttle_reasons, discarded_samples, factor, "
                           "departure, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    insert.integer(session).text(control.device);
    bind_measurement(insert, control.measurement);
    bind_readings(insert, control.readings);
    insert.real(control.factor).text(control.left).text(utc_now());
    HONE_TRY(insert.run(kDoing));
    return transaction.commit(kDoing);
  });
}

Result<std::vector<Control>> SqlStore::controls(std::int64_t session) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select,
              database().prepare("SELECT device, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, sm_clock_mhz, "
                                 "memory_clock_mhz, temperature_c, power_w, throttle_reasons, discarded_samples, factor, departure "
                                 "FROM control WHERE session = ? ORDER BY id"));
  select.integer(session);
  std::vector<Control> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("read the controls"));
    if (!row) {
      return all;
    }
    Control& control = all.emplace_back();
    control.device = select.read_text();
    control.measurement = read_measurement(select);
    control.readings = read_readings(select);
    control.factor = select.read_real();
    control.left = select.read_text();
  }
}

}  // namespace hone::cache
