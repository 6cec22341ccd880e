// Sessions: begun, taken over where their process has died, finished, listed.

#include <fmt/format.h>
#include <sys/utsname.h>

#include "cache/owner.hpp"
#include "cache/rows.hpp"
#include "cache/sql_store.hpp"
#include "engine/base/digest.hpp"
#include "engine/store/work_queue.hpp"
#include "hone/version.h"

namespace hone::cache {
namespace {

/// An owner that cannot be seen (on another host, in another container) counts as alive for `lease` seconds after it last wrote.
bool owner_alive(std::string_view owner, double seconds_since_update, double lease) {
  switch (liveness(owner)) {
    case Liveness::kGone:
      return false;
    case Liveness::kAlive:
      return true;
    case Liveness::kUnseen:
      return seconds_since_update < lease;
  }
  return false;
}

Result<std::uint64_t> read_seed(Statement& row) {
  HONE_ASSIGN(const Count seed, parse_count(row.read_text()));
  return static_cast<std::uint64_t>(seed);
}

Result<SessionInfo> read_session(Statement& row, double lease) {
  SessionInfo info;
  info.id = row.read_integer();
  info.kernel = row.read_text();
  info.source_hash = row.read_text();
  HONE_ASSIGN(info.problem, read_problem(row, info.dtypes));
  info.purpose = read_purpose(row);
  info.device_id = row.read_text();
  info.product = row.read_text();
  info.mig_profile = row.read_text();
  info.share = row.read_text();
  info.strategy = row.read_text();
  info.strategy_parameters = row.read_text();
  HONE_ASSIGN(info.seed, read_seed(row));
  info.budget = row.read_text();
  info.state = row.read_text() == "done" ? SessionState::kDone : SessionState::kRunning;
  info.elapsed_seconds = row.read_real();
  info.created_at = row.read_text();
  info.updated_at = row.read_text();
  info.trials = row.read_integer();
  const bool measured = !row.next_is_null();
  const double best_us = row.read_real();
  info.best_us = measured ? std::optional(best_us) : std::nullopt;
  const std::string owner = row.read_text();
  info.owner_alive = info.state == SessionState::kRunning && owner_alive(owner, row.read_real(), lease);
  return info;
}

}  // namespace

Result<std::int64_t> SqlStore::device_row(const DeviceInfo& info) {
  const DeviceKey key = device_key(info);
  HONE_ASSIGN(Statement insert, database().prepare("INSERT INTO device (digest, product, architecture, mig_profile, share, properties) "
                                                   "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"));
  insert.text(key.digest).text(info.product).text(info.architecture).text(info.mig_profile).text(info.share).text(key.properties);
  HONE_TRY(insert.run("record the device"));
  HONE_ASSIGN(Statement select, database().prepare("SELECT id FROM device WHERE digest = ?"));
  select.text(key.digest);
  HONE_TRY(select.step("read the device"));
  return select.read_integer();
}

Result<std::int64_t> SqlStore::environment_row(const DeviceInfo& info) {
  utsname host{};
  uname(&host);
  const std::string environment = json_text(info.environment);
  const std::string key = digest(json_text(std::vector<std::string>{environment, host.nodename, host.release, HONE_VERSION}));
  HONE_ASSIGN(Statement insert, database().prepare("INSERT INTO environment (digest, device, host, kernel_release, hone_version) "
                                                   "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"));
  insert.text(key).text(environment).text(host.nodename).text(host.release).text(HONE_VERSION);
  HONE_TRY(insert.run("record the environment"));
  HONE_ASSIGN(Statement select, database().prepare("SELECT id FROM environment WHERE digest = ?"));
  select.text(key);
  HONE_TRY(select.step("read the environment"));
  return select.read_integer();
}

Result<std::int64_t> SqlStore::begin_session(const SessionKey& key, const std::string& budget) {
  constexpr std::string_view kDoing = "begin a session";
  HONE_TRY(check_key(key.record));
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<std::int64_t> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing, Writers::kMany));
    HONE_ASSIGN(const std::int64_t device, device_row(key.record.device));
    HONE_ASSIGN(const std::int64_t environment, environment_row(key.record.device));
    HONE_ASSIGN(Statement insert, database().prepare("INSERT INTO session (kernel, source_hash, dtype, shape, layout, alignment, device, "
                                                     "input_profile, objective, accuracy_bound, timing_profile, strategy, "
                                                     "strategy_parameters, seed, budget, device_id, device_uuid, environment, owner, "
                                                     "created_at, updated_at, state) "
                                                     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, " +
                                                     database().now() + ", 'running') RETURNING id"));
    const RecordKey& record = key.record;
    insert.text(record.kernel).text(record.source_hash).text(dtypes_text(record)).text(text(record.problem.shape));
    insert.text(record.layout).integer(record.alignment).integer(device);
    bind_purpose(insert, record.purpose);
    insert.text(key.strategy).text(key.strategy_parameters).text(std::to_string(key.seed)).text(budget);
    insert.text(record.device.id).text(record.device.uuid).integer(environment).text(this_owner()).text(utc_now());
    HONE_ASSIGN(const std::int64_t id, insert.run_for_integer(kDoing));
    HONE_TRY(transaction.commit(kDoing));
    runs(id);
    return id;
  });
}

Result<std::optional<SessionInfo>> SqlStore::resume_session(const SessionKey& key) {
  constexpr std::string_view kDoing = "resume a session";
  const std::lock_guard lock(mutex_);
  // Under the write lock from the first look on, so that two processes cannot both see the owner gone.
  return written([&]() -> Result<std::optional<SessionInfo>> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing));
    HONE_ASSIGN(Statement select, database().prepare(fmt::format(
                                      "SELECT id, device_id, owner, {} FROM session WHERE {} AND shape = ? "
                                      "AND strategy = ? AND strategy_parameters = ? AND seed = ? AND state = 'running' ORDER BY id DESC",
                                      database().seconds_unseen("updated_at"), kKeyCondition)));
    bind_key(select, key.record);
    select.text(text(key.record.problem.shape)).text(key.strategy).text(key.strategy_parameters).text(std::to_string(key.seed));
    std::int64_t id = 0;
    std::string device_id;
    for (;;) {
      HONE_ASSIGN(const bool row, select.step(kDoing));
      if (!row) {
        return std::optional<SessionInfo>();
      }
      id = select.read_integer();
      device_id = select.read_text();
      const std::string owner = select.read_text();
      if (!owner_alive(owner, select.read_real(), connection_->lease_seconds())) {
        break;
      }
    }
    select.reset();
    if (device_id != key.record.device.id && device_id.find(',') == std::string::npos && device_id != kAttachedDevices) {
      // An empty device is the session's only one, which it is no longer.
      HONE_ASSIGN(Statement keep, database().prepare("UPDATE trial SET device = ? WHERE session = ? AND device = ''"));
      keep.text(device_id).integer(id);
      HONE_TRY(keep.run(kDoing));
    }
    HONE_ASSIGN(Statement update, database().prepare("UPDATE session SET owner = ?, updated_at = " + database().now() +
                                                     ", device_id = ?, device_uuid = ? WHERE id = ?"));
    update.text(this_owner()).text(key.record.device.id).text(key.record.device.uuid).integer(id);
    HONE_TRY(update.run(kDoing));
    HONE_ASSIGN(const std::vector<SessionInfo> found, read_sessions(id));
    if (found.empty()) {
      return Error{
          ErrorCode::kStore,
          fmt::format("the store is damaged: session {} can be found by its key but not by its number; see `PRAGMA integrity_check`", id)};
    }
    HONE_TRY(transaction.commit(kDoing));
    runs(id);
    return std::optional(found.front());
  });
}

Result<void> SqlStore::touch_session(std::int64_t session, double elapsed_seconds) {
  HONE_ASSIGN(Statement update, database().prepare("UPDATE session SET elapsed_seconds = ?, updated_at = " + database().now() +
                                                   " WHERE id = ? AND (owner = ? OR (owner = '' AND state = 'running'))"));
  update.real(elapsed_seconds).integer(session).text(this_owner());
  HONE_TRY(update.run("update the session"));
  if (database().changes() == 0) {
    HONE_ASSIGN(const std::int64_t there,
                database().scalar(fmt::format("SELECT count(*) FROM session WHERE id = {}", session), "update the session"));
    if (there > 0) {
      return Error{ErrorCode::kStore,
                   fmt::format("session {} of the store {} was taken over by another process, as this one was not heard of; "
                               "that one goes on with it",
                               session, place_)};
    }
    return Error{ErrorCode::kNotFound, fmt::format("the store {} has no session {}", place_, session)};
  }
  return {};
}

Result<bool> SqlStore::finish_session(std::int64_t session, const RecordKey& key, const std::optional<Record>& record,
                                      double elapsed_seconds, std::optional<std::int64_t> compared_with) {
  constexpr std::string_view kDoing = "finish the session";
  HONE_TRY(check_key(key));
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<bool> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing));
    HONE_TRY(touch_session(session, elapsed_seconds));
    HONE_ASSIGN(Statement update, database().prepare("UPDATE session SET state = 'done', owner = '' WHERE id = ?"));
    update.integer(session);
    HONE_TRY(update.run(kDoing));
    bool wins = false;
    if (record) {
      // Another session may have written one since this one looked.
      HONE_ASSIGN(wins, takes_over(key, *record, compared_with));
      if (wins) {
        HONE_TRY(put_record(session, key, *record));
      }
    }
    HONE_TRY(transaction.commit(kDoing));
    running_.erase(session);
    return wins;
  });
}

Result<bool> SqlStore::keep_record(std::int64_t session, const RecordKey& key, const Record& record) {
  constexpr std::string_view kDoing = "keep the best so far";
  HONE_TRY(check_key(key));
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<bool> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing));
    HONE_ASSIGN(const bool wins, takes_over(key, record, std::nullopt));
    if (wins) {
      HONE_TRY(put_record(session, key, record));
    }
    HONE_TRY(transaction.commit(kDoing));
    return wins;
  });
}

Result<void> SqlStore::release_session(std::int64_t session, double elapsed_seconds) {
  constexpr std::string_view kDoing = "release the session";
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<void> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing, Writers::kMany));
    HONE_TRY(touch_session(session, elapsed_seconds));
    HONE_ASSIGN(Statement update, database().prepare("UPDATE session SET owner = '' WHERE id = ? AND owner = ? AND state = 'running'"));
    update.integer(session).text(this_owner());
    HONE_TRY(update.run(kDoing));
    HONE_TRY(transaction.commit(kDoing));
    running_.erase(session);
    return {};
  });
}

Result<std::vector<SessionInfo>> SqlStore::sessions() {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  return read_sessions(std::nullopt);
}

Result<std::vector<SessionInfo>> SqlStore::read_sessions(std::optional<std::int64_t> only) {
  // The best of the final round where there was one: its times alone decide. Else of what was measured to the end: a few samples of what
  // lost a race may be faster than its time is.
  HONE_ASSIGN(
      Statement select,
      database().prepare(
          "SELECT s.id, s.kernel, s.source_hash, s.dtype, s.shape, s.input_profile, s.objective, s.accuracy_bound, s.timing_profile, "
          "s.device_id, d.product, d.mig_profile, d.share, s.strategy, s.strategy_parameters, "
          "s.seed, s.budget, s.state, s.elapsed_seconds, s.created_at, s.updated_at, "
          "(SELECT count(*) FROM trial WHERE session = s.id), "
          "coalesce((SELECT min(f.median_us) FROM trial t JOIN final_measurement f ON f.trial = t.id "
          "WHERE t.session = s.id AND t.outcome = 'ok'), "
          "(SELECT min(median_us) FROM trial WHERE session = s.id AND outcome = 'ok' AND raced_out = 0), "
          "(SELECT min(median_us) FROM trial WHERE session = s.id AND outcome = 'ok')), "
          "s.owner, " +
          database().seconds_unseen("s.updated_at") +
          " FROM session s JOIN device d ON d.id = s.device WHERE CAST(?1 AS BIGINT) IS NULL OR s.id = CAST(?1 AS BIGINT) ORDER BY s.id"));
  only ? select.integer(*only) : select.null();
  std::vector<SessionInfo> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("list the sessions"));
    if (!row) {
      return all;
    }
    HONE_ASSIGN(SessionInfo info, read_session(select, connection_->lease_seconds()));
    all.push_back(std::move(info));
  }
}

}  // namespace hone::cache
