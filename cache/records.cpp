// Records: the winner for a key.

#include <fmt/format.h>

#include "cache/rows.hpp"
#include "cache/sqlite_store.hpp"

namespace hone {

std::vector<Staleness> staleness(const Record& record, const DeviceInfo& today) {
  std::vector<Staleness> differences;
  for (const auto& [what, then] : record.environment) {
    const auto now = today.environment.find(what);
    if (now != today.environment.end() && now->second != then) {
      differences.push_back({what, then, now->second});
    }
  }
  return differences;
}

namespace cache {
namespace {

Result<Record> read_record(Statement& row, const std::vector<Parameter>& parameters) {
  Record record;
  record.id = row.read_integer();
  HONE_ASSIGN(record.problem, read_problem(row));
  record.configuration_text = row.read_text();
  HONE_ASSIGN(record.configuration, parse_configuration(parameters, record.configuration_text));
  record.measurement = read_measurement(row);
  record.default_us = row.read_real();
  record.session = row.read_integer();
  record.trials = row.read_integer();
  record.artifact = row.read_text();
  record.symbols = read_json_list(row.read_text());
  record.created_at = row.read_text();
  record.environment = read_json_map(row.read_text());
  return record;
}

}  // namespace

Result<void> SqliteStore::put_record(std::int64_t session, const RecordKey& key, const Record& record) {
  HONE_ASSIGN(const std::int64_t device, device_row(key.device));
  HONE_ASSIGN(const std::int64_t environment, environment_row(key.device));
  HONE_ASSIGN(Statement insert,
              database().prepare("INSERT OR REPLACE INTO record (kernel, source_hash, dtype, layout, alignment, device, "
                                 "timing_profile, shape, configuration, samples, median_us, ci95_low_us, ci95_high_us, raced_out, "
                                 "by_graph, default_us, session, trials, artifact, symbols, environment, created_at) "
                                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.text(key.kernel).text(key.source_hash).text(name(key.problem.dtype)).text(key.layout).integer(key.alignment).integer(device);
  insert.text(key.timing_profile).text(text(key.problem.shape)).text(record.configuration_text);
  bind_measurement(insert, record.measurement);
  insert.real(record.default_us).integer(session).integer(record.trials).text(record.artifact).text(json_text(record.symbols));
  insert.integer(environment).text(record.created_at.empty() ? utc_now() : record.created_at);
  return insert.run("write the record");
}

Result<std::vector<Record>> SqliteStore::read_records(const RecordKey& key, const std::vector<Parameter>& parameters, bool any_shape) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select, database().prepare(fmt::format(
                                    "SELECT id, dtype, shape, configuration, samples, median_us, ci95_low_us, ci95_high_us, raced_out, "
                                    "by_graph, default_us, session, trials, artifact, symbols, created_at, "
                                    "(SELECT e.device FROM environment e WHERE e.id = record.environment) "
                                    "FROM record WHERE {} AND (?8 IS NULL OR shape = ?8) ORDER BY id",
                                    kKeyCondition)));
  bind_key(select, key);
  any_shape ? select.null() : select.text(text(key.problem.shape));
  std::vector<Record> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("look up a record"));
    if (!row) {
      return all;
    }
    HONE_ASSIGN(Record record, read_record(select, parameters));
    all.push_back(std::move(record));
  }
}

Result<std::optional<Record>> SqliteStore::find_record(const RecordKey& key, const std::vector<Parameter>& parameters) {
  HONE_ASSIGN(std::vector<Record> found, read_records(key, parameters, false));
  return found.empty() ? std::optional<Record>() : std::optional(std::move(found.front()));
}

Result<std::vector<Record>> SqliteStore::records_of(const RecordKey& key, const std::vector<Parameter>& parameters) {
  return read_records(key, parameters, true);
}

}  // namespace cache
}  // namespace hone
