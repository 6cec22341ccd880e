// Trials: written one transaction each, read back in the order in which they were made.

#include <fmt/format.h>

#include <limits>

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {
namespace {

constexpr std::string_view kDoing = "record a trial";

/// trial columns up to the measurement, which is that of the final round where there was one.
Result<Trial> read_trial(Statement& row, const std::vector<Parameter>& parameters) {
  Trial trial;
  HONE_ASSIGN(trial.position, parse_count(row.read_text()));
  HONE_ASSIGN(trial.configuration, parse_configuration(parameters, row.read_text()));
  HONE_ASSIGN(trial.outcome, parse_outcome(row.read_text()));
  trial.detail = row.read_text();
  trial.resources = read_resources(row);
  trial.seconds = read_seconds(row);
  HONE_ASSIGN(const Count seed, parse_count(row.read_text()));
  trial.input_seed = static_cast<std::uint64_t>(seed);
  trial.max_error = row.read_real(std::numeric_limits<double>::quiet_NaN());
  trial.artifact = row.read_text();
  trial.device = row.read_text();
  trial.factor = row.read_real();
  const bool timed = !row.next_is_null();
  const double elapsed_seconds = row.read_real();
  trial.elapsed_seconds = timed ? std::optional(elapsed_seconds) : std::nullopt;
  trial.measurement = read_measurement(row);
  trial.readings = read_readings(row);
  read_energy(row, trial.measurement);
  trial.final_round = !row.next_is_null();
  if (trial.final_round) {
    trial.measurement = read_measurement(row);
    trial.readings = read_readings(row);
    trial.final_device = row.read_text();
    read_energy(row, trial.measurement);
    trial.factor = trial.final_device.empty() ? trial.factor : 1.0;  // the final round is on one device
  }
  if (!has_time(trial.outcome)) {
    trial.measurement = {};
  }
  return trial;
}

}  // namespace

Result<void> SqlStore::add_trial(std::int64_t session, const std::vector<Parameter>& parameters, const Trial& trial,
                                 double elapsed_seconds) {
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<void> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing, Writers::kMany));
    HONE_TRY(touch_session(session, elapsed_seconds));
    HONE_ASSIGN(Statement select, database().prepare("SELECT id FROM trial WHERE session = ? AND position = ?"));
    select.integer(session).text(text(trial.position));
    HONE_ASSIGN(const bool known, select.step(kDoing));
    std::int64_t row = known ? select.read_integer() : 0;
    select.reset();
    if (known && !trial.final_round) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("session {} already has a trial of position {} ({}): a configuration is tried once", session,
                               text(trial.position), text(parameters, trial.configuration))};
    }
    if (!known) {
      HONE_ASSIGN(row, insert_trial(session, parameters, trial, elapsed_seconds));
    }
    if (trial.final_round) {
      HONE_TRY(trial.outcome == Outcome::kOk ? put_final_measurement(row, trial) : fail_trial(row, trial));
    }
    return transaction.commit(kDoing);
  });
}

Result<std::int64_t> SqlStore::insert_trial(std::int64_t session, const std::vector<Parameter>& parameters, const Trial& trial,
                                            double elapsed_seconds) {
  HONE_ASSIGN(Statement insert,
              database().prepare(
                  "INSERT INTO trial (session, position, configuration, outcome, detail, registers, spill_bytes, stack_bytes, "
                  "shared_bytes, occupancy, compile_seconds, validate_seconds, time_seconds, overhead_seconds, input_seed, max_error, "
                  "artifact, device, factor, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, sm_clock_mhz, "
                  "memory_clock_mhz, temperature_c, power_w, throttle_reasons, discarded_samples, created_at, elapsed_seconds, energy_j, "
                  "energy_low_j, energy_high_j) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                  "?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"));
  insert.integer(session)
      .text(text(trial.position))
      .text(text(parameters, trial.configuration))
      .text(name(trial.outcome))
      .text(trial.detail);
  bind_resources(insert, trial.resources);
  bind_seconds(insert, trial.seconds);
  insert.text(std::to_string(trial.input_seed)).real(trial.max_error).text(trial.artifact);
  insert.text(trial.device).real(trial.factor);
  if (has_time(trial.outcome)) {
    bind_measurement(insert, trial.measurement);
  } else {
    insert.blob({}).null().null().null().integer(0).integer(0);
  }
  bind_readings(insert, trial.readings);
  insert.text(utc_now()).real(elapsed_seconds);
  bind_energy(insert, has_time(trial.outcome) ? trial.measurement : Measurement());
  return insert.run_for_integer(kDoing);
}

Result<void> SqlStore::put_final_measurement(std::int64_t trial_row, const Trial& trial) {
  HONE_ASSIGN(Statement insert,
              database().prepare(
                  "INSERT INTO final_measurement (trial, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, "
                  "sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, throttle_reasons, discarded_samples, device, created_at, "
                  "energy_j, energy_low_j, energy_high_j) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT "
                  "(trial) DO UPDATE SET samples = excluded.samples, "
                  "median_us = excluded.median_us, ci95_low_us = excluded.ci95_low_us, ci95_high_us = excluded.ci95_high_us, "
                  "raced_out = excluded.raced_out, by_graph = excluded.by_graph, sm_clock_mhz = excluded.sm_clock_mhz, "
                  "memory_clock_mhz = excluded.memory_clock_mhz, temperature_c = excluded.temperature_c, power_w = excluded.power_w, "
                  "throttle_reasons = excluded.throttle_reasons, discarded_samples = excluded.discarded_samples, "
                  "device = excluded.device, created_at = excluded.created_at, energy_j = excluded.energy_j, "
                  "energy_low_j = excluded.energy_low_j, energy_high_j = excluded.energy_high_j"));
  insert.integer(trial_row);
  bind_measurement(insert, trial.measurement);
  bind_readings(insert, trial.readings);
  insert.text(trial.final_device).text(utc_now());
  bind_energy(insert, trial.measurement);
  return insert.run(kDoing);
}

Result<void> SqlStore::fail_trial(std::int64_t trial_row, const Trial& trial) {
  // Right once and wrong in the final round: no configuration to keep. Its first samples stay for whoever looks into it.
  HONE_ASSIGN(Statement update, database().prepare("UPDATE trial SET outcome = ?, detail = ? WHERE id = ?"));
  update.text(name(trial.outcome)).text(trial.detail).integer(trial_row);
  return update.run(kDoing);
}

Result<std::vector<Trial>> SqlStore::trials(std::int64_t session, const std::vector<Parameter>& parameters) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(
      Statement select,
      database().prepare(
          "SELECT t.position, t.configuration, t.outcome, t.detail, t.registers, t.spill_bytes, t.stack_bytes, "
          "t.shared_bytes, t.occupancy, t.compile_seconds, t.validate_seconds, t.time_seconds, t.overhead_seconds, "
          "t.input_seed, t.max_error, t.artifact, t.device, t.factor, t.elapsed_seconds, t.samples, t.median_us, t.ci95_low_us, "
          "t.ci95_high_us, "
          "t.raced_out, t.by_graph, "
          "t.sm_clock_mhz, t.memory_clock_mhz, t.temperature_c, t.power_w, t.throttle_reasons, t.discarded_samples, "
          "t.energy_j, t.energy_low_j, t.energy_high_j, f.samples, f.median_us, f.ci95_low_us, f.ci95_high_us, f.raced_out, f.by_graph, "
          "f.sm_clock_mhz, f.memory_clock_mhz, "
          "f.temperature_c, f.power_w, f.throttle_reasons, f.discarded_samples, f.device, f.energy_j, f.energy_low_j, f.energy_high_j "
          "FROM trial t LEFT JOIN final_measurement f ON f.trial = t.id WHERE t.session = ? ORDER BY t.id"));
  select.integer(session);
  std::vector<Trial> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("read the trials"));
    if (!row) {
      return all;
    }
    HONE_ASSIGN(Trial trial, read_trial(select, parameters));
    all.push_back(std::move(trial));
  }
}

}  // namespace hone::cache
