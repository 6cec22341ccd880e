// Records: the winner for a key.

#include <fmt/format.h>

#include <algorithm>

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

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

/// As read_sealed reads them.
constexpr std::string_view kCodeColumns =
    "kernel, source_hash, dtype, shape, configuration, (SELECT d.architecture FROM device d WHERE d.id = record.device), "
    "(SELECT e.device FROM environment e WHERE e.id = record.environment), symbols, artifact, content, code_digest, seal";

std::string compiler_in(const TextMap& environment) {
  const auto found = environment.find("compiler");
  return found == environment.end() ? std::string() : found->second;
}

std::string subject(const Record& record) { return fmt::format("{} ({})", text(record.problem.shape), record.configuration_text); }

}  // namespace

Result<Record> SqlStore::read_record(Statement& row, const RecordKey& key, const std::vector<Parameter>& parameters) {
  Record record;
  record.id = row.read_integer();
  record.problem.dtype = key.problem.dtype;
  HONE_ASSIGN(record.problem.shape, parse_shape(row.read_text()));
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
  HONE_ASSIGN(record.state, parse_record_state(row.read_text()));
  record.generation = row.read_integer();
  read_energy(row, record.measurement);
  HONE_ASSIGN(record.code, state_of(read_sealed(row)));
  return record;
}

SqlStore::Sealed SqlStore::read_sealed(Statement& row) {
  Sealed code;
  for (std::string* column : {&code.identity.kernel, &code.identity.source_hash, &code.identity.dtype, &code.identity.shape,
                              &code.identity.configuration, &code.identity.architecture}) {
    *column = row.read_text();
  }
  code.identity.compiler = compiler_in(read_json_map(row.read_text()));
  for (std::string* column : {&code.identity.symbols, &code.identity.artifact, &code.identity.content, &code.digest, &code.seal}) {
    *column = row.read_text();
  }
  return code;
}

Result<bool> SqlStore::takes_over(const RecordKey& key, const Record& winner, std::optional<std::int64_t> compared_with) {
  HONE_ASSIGN(const std::vector<std::string> withdrawn, read_withdrawn(key, StoreView::kNewest));
  if (std::ranges::find(withdrawn, winner.configuration_text) != withdrawn.end()) {
    return false;
  }
  HONE_ASSIGN(Statement select, database().prepare(fmt::format(
                                    "WITH {} SELECT id, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, energy_j, "
                                    "energy_low_j, energy_high_j, {} FROM stated AS record "
                                    "WHERE state <> 'withdrawn' ORDER BY generation DESC, id DESC LIMIT 1",
                                    stated_records(), kCodeColumns)));
  bind_key(select, key);
  select.text(text(key.problem.shape)).integer(StoreView::kNewest);
  HONE_ASSIGN(const bool row, select.step("look up the record that stands"));
  if (!row) {
    return true;
  }
  Record standing;
  standing.id = select.read_integer();
  standing.measurement = read_measurement(select);
  read_energy(select, standing.measurement);
  HONE_ASSIGN(standing.code, state_of(read_sealed(select)));
  // Whoever changed a row may have changed its times, and nobody can launch it.
  return standing.code == CodeState::kBroken || compared_with == standing.id || replaces(winner, standing, objective_of(key.purpose));
}

Result<void> SqlStore::put_record(std::int64_t session, const RecordKey& key, const Record& record) {
  HONE_ASSIGN(const std::int64_t device, device_row(key.device));
  HONE_ASSIGN(const std::int64_t environment, environment_row(key.device));
  HONE_ASSIGN(const std::int64_t generation, begin_generation(fmt::format("record of {} {} {}: {}", key.kernel, dtypes_text(key),
                                                                          text(key.problem.shape), record.configuration_text)));
  HONE_ASSIGN(
      Statement insert,
      database().prepare("INSERT INTO record (kernel, source_hash, dtype, layout, alignment, device, "
                         "input_profile, objective, accuracy_bound, timing_profile, shape, configuration, samples, median_us, "
                         "ci95_low_us, ci95_high_us, raced_out, by_graph, default_us, session, trials, artifact, symbols, "
                         "environment, created_at, generation, content, code_digest, seal, energy_j, energy_low_j, energy_high_j) "
                         "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  CodeIdentity code{.kernel = key.kernel,
                    .source_hash = key.source_hash,
                    .dtype = dtypes_text(key),
                    .shape = text(key.problem.shape),
                    .configuration = record.configuration_text,
                    .architecture = key.device.architecture,
                    .compiler = compiler_in(key.device.environment),
                    .symbols = json_text(record.symbols),
                    .artifact = record.artifact,
                    .content = {}};
  HONE_ASSIGN(const std::shared_ptr<const Artifact> artifact, read_artifact(record.artifact));
  code.content = artifact == nullptr ? "" : fingerprint(artifact->bytes);
  insert.text(key.kernel).text(key.source_hash).text(code.dtype).text(key.layout).integer(key.alignment).integer(device);
  bind_purpose(insert, key.purpose);
  insert.text(code.shape).text(record.configuration_text);
  bind_measurement(insert, record.measurement);
  insert.real(record.default_us).integer(session).integer(record.trials).text(record.artifact).text(code.symbols);
  insert.integer(environment).text(record.created_at.empty() ? utc_now() : record.created_at).integer(generation);
  bind_seal(insert, code);
  bind_energy(insert, record.measurement);
  return insert.run("write the record");
}

Result<std::vector<Record>> SqlStore::read_records(const RecordKey& key, const std::vector<Parameter>& parameters, bool any_shape) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  constexpr std::string_view kServed = "state <> 'withdrawn' AND (?13 = 0 OR state <> 'candidate')";
  const std::string columns = fmt::format(
      "id, shape, configuration, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, default_us, session, trials, "
      "artifact, symbols, created_at, (SELECT e.device FROM environment e WHERE e.id = record.environment), state, generation, "
      "energy_j, energy_low_j, energy_high_j, {}",
      kCodeColumns);
  // Ranking takes longer to prepare than all the rest, and a lookup waits for it: one shape needs none.
  const std::string sql =
      any_shape ? fmt::format(
                      "WITH {}, ranked AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY shape ORDER BY {}) AS place FROM stated WHERE {}) "
                      "SELECT {} FROM ranked AS record WHERE place = 1 ORDER BY id",
                      stated_records(), kServedFirst, kServed, columns)
                : fmt::format("WITH {} SELECT {} FROM stated AS record WHERE {} ORDER BY {} LIMIT 1", stated_records(), columns, kServed,
                              kServedFirst);
  HONE_ASSIGN(Statement select, database().prepare(sql));
  bind_key(select, key);
  any_shape ? select.null() : select.text(text(key.problem.shape));
  select.integer(view_.generation).integer(view_.approved_only ? 1 : 0);
  std::vector<Record> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("look up a record"));
    if (!row) {
      return all;
    }
    HONE_ASSIGN(Record record, read_record(select, key, parameters));
    all.push_back(std::move(record));
  }
}

Result<std::optional<Record>> SqlStore::find_record(const RecordKey& key, const std::vector<Parameter>& parameters) {
  HONE_ASSIGN(std::vector<Record> found, read_records(key, parameters, false));
  return found.empty() ? std::optional<Record>() : std::optional(std::move(found.front()));
}

Result<std::vector<Record>> SqlStore::records_of(const RecordKey& key, const std::vector<Parameter>& parameters) {
  return read_records(key, parameters, true);
}

Result<Compiled> SqlStore::load_code(const Record& record) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select, database().prepare(fmt::format("SELECT {} FROM record WHERE id = ?", kCodeColumns)));
  select.integer(record.id);
  HONE_ASSIGN(const bool row, select.step("look up a record's code"));
  const Sealed code = row ? read_sealed(select) : Sealed{};
  if (code.identity.artifact.empty() || code.identity.configuration != record.configuration_text) {
    return Error{ErrorCode::kNotFound, fmt::format("the store {} no longer has code of {}", place_, subject(record))};
  }
  HONE_ASSIGN(const CodeState state, state_of(code));
  if (state != CodeState::kTrusted) {
    Record refused = record;
    refused.code = state;
    return refusal(refused);
  }
  Compiled compiled;
  HONE_ASSIGN(compiled.artifact, read_artifact(code.identity.artifact));
  if (compiled.artifact == nullptr || (!code.identity.content.empty() && fingerprint(compiled.artifact->bytes) != code.identity.content)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("the store {} has no compiled code {}, or it is damaged: compile the configuration again", place_,
                             code.identity.artifact)};
  }
  compiled.symbols = read_json_list(code.identity.symbols);
  return compiled;
}

Error SqlStore::refusal(const Record& record) const {
  if (record.code == CodeState::kBroken) {
    return {ErrorCode::kStore, fmt::format("the record of {} in the store {} was modified after it was written: its configuration, source "
                                           "and code do not match, so it is not launched. Tune the problem again",
                                           subject(record), place_)};
  }
  return {ErrorCode::kStore, fmt::format("the compiled code in the store {0} is not yours{1}, and is not launched until you trust it: hone "
                                         "trust {0}, or EngineOptions::trust_store in a program (docs/trust.md)",
                                         place_, no_key_.empty() ? "" : " as far as can be told (" + no_key_ + ")")};
}

}  // namespace cache
}  // namespace hone
