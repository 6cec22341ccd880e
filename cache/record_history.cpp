// What the store has served: generations, states of records, roll-backs. Rows are added, and none is changed.

#include <fmt/format.h>

#include <map>

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {
namespace {

std::string with_reason(std::string what, const std::string& reason) { return reason.empty() ? what : std::move(what) + ": " + reason; }

Result<std::vector<std::string>> read_texts(Statement& select, std::string_view doing) {
  std::vector<std::string> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step(doing));
    if (!row) {
      return all;
    }
    all.push_back(select.read_text());
  }
}

}  // namespace

Result<std::int64_t> SqlStore::begin_generation(const std::string& what) {
  constexpr std::string_view kDoing = "begin a generation";
  HONE_ASSIGN(Statement insert, database().prepare("INSERT INTO change (what, created_at) VALUES (?, ?) RETURNING generation"));
  insert.text(what).text(utc_now());
  return insert.run_for_integer(kDoing);
}

Result<void> SqlStore::write_state(std::int64_t record, std::int64_t generation, RecordState state) {
  HONE_ASSIGN(Statement insert, database().prepare("INSERT INTO record_state (record, generation, state) VALUES (?, ?, ?)"));
  insert.integer(record).integer(generation).text(name(state));
  return insert.run("write the state of a record");
}

Result<std::vector<std::string>> SqlStore::read_withdrawn(const RecordKey& key, std::int64_t generation) {
  HONE_ASSIGN(Statement select, database().prepare(fmt::format("WITH {} SELECT configuration FROM stated GROUP BY configuration HAVING "
                                                               "MIN(CASE WHEN state = 'withdrawn' THEN 1 ELSE 0 END) = 1",
                                                               stated_records())));
  bind_key(select, key);
  select.text(text(key.problem.shape)).integer(generation);
  return read_texts(select, "look up what was withdrawn");
}

Result<std::vector<std::string>> SqlStore::withdrawn_configurations(const RecordKey& key) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  return read_withdrawn(key, view_.generation);
}

Result<std::vector<std::string>> SqlStore::pinned_sources(const RecordKey& key) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  // By the states, of which there are few. Of what bind_key binds, the source hash (?2) is left out.
  HONE_ASSIGN(
      Statement select,
      database().prepare(
          "SELECT DISTINCT source_hash FROM record WHERE id IN (SELECT record FROM record_state WHERE state = 'pinned') "
          "AND kernel = ?1 AND dtype = ?3 AND layout = ?4 AND alignment = ?5 AND device = (SELECT id FROM device WHERE digest = ?6) "
          "AND input_profile = ?7 AND objective = ?8 AND accuracy_bound = ?9 AND timing_profile = ?10 AND shape = ?11 "
          "AND generation <= ?12 AND (SELECT s.state FROM record_state s WHERE s.record = record.id AND s.generation <= ?12 "
          "ORDER BY s.generation DESC LIMIT 1) = 'pinned'"));
  bind_key(select, key);
  select.text(text(key.problem.shape)).integer(view_.generation);
  return read_texts(select, "look up pinned records");
}

/// The order of served records is that of SqlStore::read_records.
Result<std::vector<RecordInfo>> SqlStore::read_history(const StoreView& view) {
  HONE_ASSIGN(
      Statement select,
      database().prepare(fmt::format(
          "WITH stated AS (SELECT *, COALESCE((SELECT s.state FROM record_state s WHERE s.record = record.id AND s.generation <= ?1 "
          "ORDER BY s.generation DESC LIMIT 1), 'candidate') AS state FROM record WHERE generation <= ?1), "
          "ranked AS (SELECT *, state <> 'withdrawn' AND (?2 = 0 OR state <> 'candidate') AS servable FROM stated), "
          "placed AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY kernel, source_hash, dtype, shape, input_profile, objective, "
          "accuracy_bound, layout, alignment, device, timing_profile ORDER BY servable DESC, {}) AS place FROM ranked) "
          "SELECT id, generation, state, servable AND place = 1, kernel, source_hash, dtype, shape, accuracy_bound, input_profile, "
          "(SELECT d.product FROM device d WHERE d.id = placed.device), configuration, median_us, default_us, session, created_at "
          "FROM placed ORDER BY generation, id",
          kServedFirst)));
  select.integer(view.generation).integer(view.approved_only ? 1 : 0);
  std::vector<RecordInfo> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("list the records"));
    if (!row) {
      return all;
    }
    RecordInfo info;
    info.id = select.read_integer();
    info.generation = select.read_integer();
    HONE_ASSIGN(info.state, parse_record_state(select.read_text()));
    info.served = select.read_integer() != 0;
    for (std::string* column : {&info.kernel, &info.source_hash, &info.dtypes}) {
      *column = select.read_text();
    }
    HONE_ASSIGN(info.shape, parse_shape(select.read_text()));
    for (std::string* column : {&info.accuracy_bound, &info.input_profile, &info.product, &info.configuration}) {
      *column = select.read_text();
    }
    info.median_us = select.read_real();
    info.default_us = select.read_real();
    info.session = select.read_integer();
    info.created_at = select.read_text();
    all.push_back(std::move(info));
  }
}

Result<std::vector<RecordInfo>> SqlStore::record_history(const StoreView& view) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  return read_history(view);
}

Result<std::vector<Change>> SqlStore::changes() {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select, database().prepare("SELECT generation, what, created_at FROM change ORDER BY generation"));
  std::vector<Change> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("list the generations"));
    if (!row) {
      return all;
    }
    Change change;
    change.generation = select.read_integer();
    change.what = select.read_text();
    change.created_at = select.read_text();
    all.push_back(std::move(change));
  }
}

Result<std::int64_t> SqlStore::generation() {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  return database().scalar("SELECT COALESCE(MAX(generation), 0) FROM change", "read the generation");
}

Result<std::map<std::int64_t, RecordState>> SqlStore::states_beside(std::int64_t record) {
  HONE_ASSIGN(Statement select,
              database().prepare(
                  "SELECT other.id, COALESCE((SELECT s.state FROM record_state s WHERE s.record = other.id ORDER BY s.generation DESC "
                  "LIMIT 1), 'candidate') FROM record JOIN record other USING (kernel, source_hash, dtype, shape, input_profile, "
                  "objective, accuracy_bound, layout, alignment, device, timing_profile, configuration) WHERE record.id = ?"));
  select.integer(record);
  std::map<std::int64_t, RecordState> states;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("look up records of the same configuration"));
    if (!row) {
      return states;
    }
    const std::int64_t id = select.read_integer();
    HONE_ASSIGN(const RecordState state, parse_record_state(select.read_text()));
    states.emplace(id, state);
  }
}

Result<std::int64_t> SqlStore::set_record_state(const std::vector<std::int64_t>& records, RecordState state, const std::string& reason) {
  constexpr std::string_view kDoing = "write the state of a record";
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<std::int64_t> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing));
    std::string listed;
    std::map<std::int64_t, RecordState> states;
    for (const std::int64_t record : records) {
      HONE_ASSIGN(const auto beside, states_beside(record));
      if (beside.empty()) {
        return Error{ErrorCode::kNotFound, fmt::format("the store {} has no record {}; hone records --all lists them", place_, record)};
      }
      for (const auto& [other, now] : beside) {
        if (state == RecordState::kWithdrawn || now == RecordState::kWithdrawn) {
          states.emplace(other, state == RecordState::kWithdrawn ? state : RecordState::kCandidate);
        }
      }
      listed += fmt::format("{}{}", listed.empty() ? "" : ", ", record);
    }
    for (const std::int64_t record : records) {
      states[record] = state;
    }
    HONE_ASSIGN(const std::int64_t generation,
                begin_generation(with_reason(fmt::format("record{} {} {}", records.size() == 1 ? "" : "s", listed, name(state)), reason)));
    for (const auto& [record, given] : states) {
      HONE_TRY(write_state(record, generation, given));
    }
    HONE_TRY(transaction.commit(kDoing));
    return generation;
  });
}

Result<std::int64_t> SqlStore::roll_back(std::int64_t generation, const std::string& reason) {
  constexpr std::string_view kDoing = "roll back";
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<std::int64_t> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing));
    HONE_ASSIGN(const std::int64_t newest, database().scalar("SELECT COALESCE(MAX(generation), 0) FROM change", kDoing));
    if (generation < 0 || generation >= newest) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("the store {} is at generation {}: give an earlier one; hone records --log lists them", place_, newest)};
    }
    HONE_ASSIGN(const std::int64_t now, begin_generation(with_reason(fmt::format("back to generation {}", generation), reason)));
    HONE_ASSIGN(const std::vector<RecordInfo> then, read_history({.generation = generation}));
    HONE_ASSIGN(const std::vector<RecordInfo> today, read_history({}));
    std::map<std::int64_t, RecordState> states;
    for (const RecordInfo& info : then) {
      states.emplace(info.id, info.state);
    }
    for (const RecordInfo& info : today) {
      const auto known = states.find(info.id);
      const RecordState state = known == states.end() ? RecordState::kWithdrawn : known->second;
      if (state != info.state) {
        HONE_TRY(write_state(info.id, now, state));
      }
    }
    // Of each problem of an operation that was decided since: what was known then, or that nothing was.
    HONE_ASSIGN(
        Statement restore,
        database().prepare(
            "WITH problem AS (SELECT DISTINCT operation, dtype, layout, alignment, device, input_profile, objective, accuracy_bound, "
            "timing_profile, shape FROM operation_record WHERE generation > ?1) "
            "INSERT INTO operation_record (operation, dtype, layout, alignment, device, input_profile, objective, accuracy_bound, "
            "timing_profile, shape, kernel, source_hash, session, created_at, generation) "
            "SELECT p.operation, p.dtype, p.layout, p.alignment, p.device, p.input_profile, p.objective, p.accuracy_bound, "
            "p.timing_profile, p.shape, COALESCE(o.kernel, ''), COALESCE(o.source_hash, ''), o.session, COALESCE(o.created_at, ?3), ?2 "
            "FROM problem p LEFT JOIN operation_record o ON o.operation = p.operation AND o.dtype = p.dtype AND o.layout = p.layout "
            "AND o.alignment = p.alignment AND o.device = p.device AND o.input_profile = p.input_profile AND o.objective = "
            "p.objective AND o.accuracy_bound = p.accuracy_bound AND o.timing_profile = p.timing_profile AND o.shape = p.shape AND "
            "o.generation = (SELECT MAX(e.generation) FROM operation_record e WHERE e.operation = p.operation AND e.dtype = p.dtype "
            "AND e.layout = p.layout AND e.alignment = p.alignment AND e.device = p.device AND e.input_profile = p.input_profile AND "
            "e.objective = p.objective AND e.accuracy_bound = p.accuracy_bound AND e.timing_profile = p.timing_profile AND "
            "e.shape = p.shape AND e.generation <= ?1)"));
    restore.integer(generation).integer(now).text(utc_now());
    HONE_TRY(restore.run(kDoing));
    HONE_TRY(restore_portfolios(generation, now));
    HONE_TRY(transaction.commit(kDoing));
    return now;
  });
}

}  // namespace hone::cache
