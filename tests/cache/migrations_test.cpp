// Stores of every earlier schema: brought up to date without a loss, and read as they are.

#include "cache/migrations.hpp"

#include <sys/stat.h>

#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

constexpr int kOldTrials = 40;
const auto kReleased = static_cast<std::uint32_t>(cache::migrations().size());

/// The rows that a Hone of `version` left: two sessions, trials with samples, a final round, a record, code, and from version 2 on a model.
std::string rows_of(std::uint32_t version) {
  std::string sql = R"sql(
INSERT INTO device (id, digest, product, architecture, mig_profile, properties) VALUES (1, 'DEVICE', 'NVIDIA H200', 'sm_90a', '', 'PROPERTIES');
INSERT INTO environment VALUES (1, 'e', '{"compiler":"NVRTC 13.0","driver":"580.82"}', 'host', '6.1', '0.1.0');
INSERT INTO session (SESSION) VALUES (1, 'softmax', '0123456789abcdef0123456789abcdef', 'f16', 'rows=4096,cols=1024', 'contiguous', 16, 1, 'cold-l2',
  'bayes', 'batch=8', '18446744073709551615', '60s', 'cuda:0', 'GPU-1', 1, 'running', 2.5, '', 'then', 'later');
INSERT INTO session (SESSION) VALUES (2, 'softmax', '0123456789abcdef0123456789abcdef', 'f16', 'rows=4096,cols=1024', 'contiguous', 16, 1, 'cold-l2',
  'random', '', '1', '9s', 'cuda:0', 'GPU-1', 1, 'done', 9.0, '', 'then', 'later');
INSERT INTO session (SESSION) VALUES (7, 'gemm', 'x', 'i32', 'm=1', 'contiguous', 16, 1, 'cold-l2', 's', '', '1', '9s', 'cuda:0', '', 1, 'done', 0, '', '', '');
DELETE FROM session WHERE id = 7;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < TRIALS)
INSERT INTO trial (session, position, configuration, outcome, detail, registers, spill_bytes, stack_bytes, shared_bytes, occupancy, samples,
  median_us, ci95_low_us, ci95_high_us, raced_out, sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, throttle_reasons,
  discarded_samples, compile_seconds, validate_seconds, time_seconds, overhead_seconds, input_seed, max_error, artifact, created_at)
  SELECT 1 + i % 2, i, 'block=128,online=false', CASE i % 5 WHEN 0 THEN 'wrong_result' ELSE 'ok' END, 'detail', 40, 0, 0, 0, 0.5,
         randomblob(8 * i), i, i, i, 0, 1980, NULL, NULL, NULL, 0, 0, 1, 1, 1, 1, '5', NULL, 'A', 'then' FROM n;
INSERT INTO final_measurement (trial, samples, median_us, ci95_low_us, ci95_high_us, raced_out, throttle_reasons, discarded_samples, created_at)
  VALUES (1, x'0000000000002440', 10, 9, 11, 0, 0, 0, 'then');
INSERT INTO record (id, kernel, source_hash, dtype, layout, alignment, device, timing_profile, shape, configuration, samples, median_us,
  ci95_low_us, ci95_high_us, raced_out, default_us, session, trials, artifact, symbols, environment, created_at)
  VALUES (5, 'softmax', '0123456789abcdef0123456789abcdef', 'f16', 'contiguous', 16, 1, 'cold-l2', 'rows=4096,cols=1024',
          'block=128,online=false', x'0000000000002440', 10, 9, 11, 0, 20, 2, 20, 'A', '["k"]', 1, 'then');
INSERT INTO artifact VALUES ('A', 0, x'7801030000000001');  -- no bytes, as zlib packs them
INSERT INTO compiled (source_hash, dtype, architecture, compiler, configuration, artifact, symbols, registers, spill_bytes, stack_bytes,
  shared_bytes, occupancy, created_at) VALUES ('0123456789abcdef0123456789abcdef', 'f16', 'sm_90a', 'NVRTC 13.0', 'block=128,online=false', 'A', '["k"]', 1, 2, 3,
  4, 0.5, 'then');
)sql";
  if (version >= 2) {
    sql += "INSERT INTO model VALUES ('softmax', 'auto', x'6d6f64656c', 'then');";
  }
  if (version >= 6) {
    sql +=
        "INSERT INTO operation_record (operation, dtype, layout, alignment, device, input_profile, objective, accuracy_bound, "
        "timing_profile, shape, kernel, source_hash, session, created_at) VALUES ('matmul', 'f16', 'contiguous', 16, 1, 'default', 'time', "
        "'none', 'cold-l2', 'm=1', 'gemm', "
        "'s', "
        "2, 'then');";
  }
  if (version >= 4) {
    sql += "UPDATE compiled SET content = 'c', code_digest = 'd', seal = 's';";
  }
  if (version >= 3) {
    sql += "UPDATE trial SET by_graph = id % 2; UPDATE final_measurement SET by_graph = 1; UPDATE record SET by_graph = 1;";
  }
  return sql;
}

constexpr const char* kSessionColumns =
    "id, kernel, source_hash, dtype, shape, layout, alignment, device, timing_profile, strategy, strategy_parameters, seed, budget, "
    "device_id, device_uuid, environment, state, elapsed_seconds, owner, created_at, updated_at";

void replace(std::string& in, const std::string& what, const std::string& with) {
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + with.size())) {
    in.replace(at, what.size(), with);
  }
}

/// The device's row as this Hone writes it: its digest has not changed since the first schema.
std::pair<std::string, std::string> device_of_key() {
  Directory directory;
  must(must_open(directory.store())->begin_session(session_key(), "1s"));
  return {raw_sql(directory.store(), "SELECT digest FROM device"), raw_sql(directory.store(), "SELECT properties FROM device")};
}

void make_old_store(const fs::path& file, std::uint32_t version) {
  std::string sql;
  for (std::uint32_t i = 0; i < version; ++i) {
    sql += cache::migrations()[i];
  }
  sql += rows_of(version);
  const auto [device_digest, properties] = device_of_key();
  const Artifact code = *artifact_of(0);
  replace(sql, "'DEVICE'", "'" + device_digest + "'");
  replace(sql, "PROPERTIES", properties);
  replace(sql, "(SESSION)", std::string("(") + kSessionColumns + ")");
  replace(sql, "TRIALS", std::to_string(kOldTrials));
  replace(sql, "'A'", "'" + code.digest + "'");
  sql += "PRAGMA application_id = " + std::to_string(cache::kApplicationId) + "; PRAGMA user_version = " + std::to_string(version);
  raw_sql(file, "PRAGMA foreign_keys = ON; BEGIN;" + sql + "; COMMIT");
}

/// All that the columns of an older version hold, as text.
std::string contents(const fs::path& file, const fs::path& columns_of) {
  std::string all;
  for (const char* table :
       {"device", "environment", "session", "trial", "final_measurement", "record", "artifact", "compiled", "model", "operation_record"}) {
    const std::string list = raw_sql(
        columns_of, std::string("SELECT group_concat('quote(\"' || name || '\")', '||''|''||') FROM pragma_table_info('") + table + "')");
    if (!list.empty()) {
      all += std::string(table) + ": " +
             raw_sql(file, "SELECT group_concat(row, char(10)) FROM (SELECT " + list + " AS row FROM " + table + " ORDER BY 1)") + "\n";
    }
  }
  return all;
}

/// What an old store gives through the interface of today's.
void check_readable(Store& store, std::uint32_t version) {
  const auto sessions = must(store.sessions());
  REQUIRE(sessions.size() == 2);
  CHECK(sessions[0].trials == kOldTrials / 2);
  CHECK(sessions[0].purpose == Purpose());
  CHECK(must(store.trials(1, parameters())).size() == kOldTrials / 2);
  const auto finalists = must(store.trials(2, parameters()));
  REQUIRE(finalists.size() == kOldTrials / 2);
  CHECK(finalists.front().final_round);
  CHECK(finalists.front().measurement.samples_us == std::vector<double>{10.0});
  CHECK(finalists.front().measurement.by_graph == (version >= 3));
  CHECK(finalists.front().device.empty());
  CHECK(finalists.front().factor == 1.0);
  CHECK(must(store.controls(2)).empty());
  const auto record = must(store.find_record(record_key(), parameters()));
  REQUIRE(record.has_value());
  CHECK(record->id == 5);
  CHECK(record->measurement.ci95_high_us == 11.0);
  CHECK(record->measurement.by_graph == (version >= 3));
  CHECK(must(store.histories("softmax", parameters(), 0, 100)).size() == 1);
  CHECK(must(store.find_model("softmax", "auto")) == (version >= 2 ? "model" : ""));
  CHECK(must(store.devices()).at(0).product == "NVIDIA H200");
}

}  // namespace

TEST_CASE("a populated store of every earlier schema is brought up to date without a loss") {
  for (std::uint32_t version = 1; version < kReleased; ++version) {
    CAPTURE(version);
    Directory directory;
    const fs::path old = directory.path / "old.db";
    make_old_store(old, version);
    fs::copy_file(old, directory.store());
    const std::string before = contents(old, old);
    {
      auto store = must_open(directory.store());
      check_readable(*store, version);
    }
    CHECK(contents(directory.store(), old) == before);
    CHECK(raw_sql(directory.store(), "PRAGMA user_version") == std::to_string(kReleased));
    CHECK(raw_sql(directory.store(), "PRAGMA integrity_check") == "ok");
    CHECK(raw_sql(directory.store(), "PRAGMA foreign_key_check") == "");
    CHECK(raw_sql(directory.store(),
                  "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%' AND strict = 0") == "0");
  }
}

TEST_CASE("an upgraded store takes the outcomes that its schema did not know") {
  for (std::uint32_t version = 1; version < kReleased; ++version) {
    CAPTURE(version);
    Directory directory;
    make_old_store(directory.store(), version);
    auto store = must_open(directory.store());
    Trial slow = good_trial(1000);
    slow.outcome = Outcome::kTooSlow;
    must(store->add_trial(1, parameters(), slow, 1.0));
    CHECK(must(store->trials(1, parameters())).back().outcome == Outcome::kTooSlow);
  }
}

TEST_CASE("an upgraded store is like a new one") {
  Directory directory;
  make_old_store(directory.store(), 1);
  must_open(directory.store());
  const fs::path fresh = directory.path / "fresh.db";
  must_open(fresh);
  const char* const schema = "SELECT group_concat(name || ' ' || tbl_name, char(10)) FROM (SELECT * FROM sqlite_schema ORDER BY name)";
  CHECK(raw_sql(directory.store(), schema) == raw_sql(fresh, schema));
  // References are enforced again, and a number that was given once is not given again.
  auto store = must_open(directory.store());
  CHECK_FALSE(store->add_trial(99, parameters(), good_trial(1), 1.0).ok());
  CHECK(must(store->begin_session(session_key(), "1s")) == 8);
  CHECK(must(store->resume_session({record_key(), "bayes", "batch=8", 0xFFFF'FFFF'FFFF'FFFFULL}))->id == 1);
}

TEST_CASE("the trials of a session that is deleted go with it, also after an upgrade") {
  Directory directory;
  make_old_store(directory.store(), kReleased - 1);
  must_open(directory.store());
  raw_sql(directory.store(), "PRAGMA foreign_keys = ON; DELETE FROM session WHERE id = 1");
  CHECK(raw_sql(directory.store(), "SELECT count(*) FROM trial") == std::to_string(kOldTrials / 2));
}

TEST_CASE("a process that dies in the middle of an upgrade leaves the old store") {
  for (std::uint32_t version = 1; version < kReleased; ++version) {
    CAPTURE(version);
    Directory directory;
    const fs::path old = directory.path / "old.db";
    make_old_store(old, version);
    fs::copy_file(old, directory.store());
    const pid_t child = spawn([&] {
      sqlite3* database = nullptr;
      sqlite3_open(directory.store().c_str(), &database);
      // Pages go into the file at once, as they do in the upgrade of a large store.
      std::string sql = "PRAGMA cache_size = 1; PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE;";
      for (std::uint32_t i = version; i < kReleased; ++i) {
        sql += cache::migrations()[i];
      }
      return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK ? 0 : 1;
    });
    REQUIRE(wait_for(child) == 0);
    REQUIRE(directory.files().contains("store.db-journal"));
    const std::string before = contents(old, old);
    check_readable(*must_open(directory.store(), StoreMode::kReadOnly), version);
    CHECK(raw_sql(directory.store(), "PRAGMA user_version") == std::to_string(version));
    CHECK(contents(directory.store(), old) == before);
    must_open(directory.store());
    CHECK(contents(directory.store(), old) == before);
    CHECK(raw_sql(directory.store(), "PRAGMA user_version") == std::to_string(kReleased));
  }
}

TEST_CASE("processes that upgrade one store at once all succeed") {
  Directory directory;
  make_old_store(directory.store(), 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(spawn([&] { return open_store(directory.store(), StoreMode::kReadWrite).ok() ? 0 : 1; }));
  }
  for (const pid_t child : children) {
    CHECK(wait_for(child) == 0);
  }
  check_readable(*must_open(directory.store()), 1);
}

TEST_CASE("an upgrade that would leave rows without what they refer to is refused, and the store left as it was") {
  Directory directory;
  make_old_store(directory.store(), kReleased - 1);
  raw_sql(directory.store(), "PRAGMA foreign_keys = OFF; UPDATE trial SET session = 99 WHERE id = 3");
  const std::string before = bytes_of(directory.store());
  const auto store = open_store(directory.store(), StoreMode::kReadWrite);
  REQUIRE_FALSE(store.ok());
  CHECK(store.error().message.find("table trial of the store refers to missing rows") != std::string::npos);
  CHECK(bytes_of(directory.store()) == before);
}

TEST_CASE("a store of any earlier schema is read as it is, also where nothing can be written") {
  for (std::uint32_t version = 1; version < kReleased; ++version) {
    CAPTURE(version);
    Directory directory;
    make_old_store(directory.store(), version);
    const std::string before = bytes_of(directory.store());
    check_readable(*must_open(directory.store(), StoreMode::kReadOnly), version);
    chmod(directory.store().c_str(), 0444);
    chmod(directory.path.c_str(), 0555);
    check_readable(*must_open(directory.store(), StoreMode::kReadOnly), version);
    check_readable(*must_open(directory.store(), StoreMode::kAsItIs), version);
    CHECK(bytes_of(directory.store()) == before);
    CHECK(directory.files() == std::set<std::string>{"store.db"});
  }
}

TEST_CASE("opened as it is, an older store is read and today's is written") {
  Directory directory;
  make_old_store(directory.store(), kReleased - 1);
  const std::string before = bytes_of(directory.store());
  CHECK_FALSE(must_open(directory.store(), StoreMode::kAsItIs)->begin_session(session_key(), "1s").ok());
  CHECK(bytes_of(directory.store()) == before);
  must_open(directory.store());
  CHECK(must_open(directory.store(), StoreMode::kAsItIs)->begin_session(session_key(), "1s").ok());
  CHECK(open_store(directory.path / "none.db", StoreMode::kAsItIs).error().code == ErrorCode::kNotFound);
}

TEST_CASE("a reader of an older store goes on when it is upgraded") {
  Directory directory;
  make_old_store(directory.store(), 1);
  auto reader = must_open(directory.store(), StoreMode::kReadOnly);
  check_readable(*reader, 1);
  {
    auto store = must_open(directory.store());
    RecordKey loose = record_key();
    loose.purpose.accuracy_bound = "1e-2";
    tuned(*store, loose, record_of("block=64", 1.0));
  }
  CHECK(must(reader->sessions()).size() == 3);
  CHECK(must(reader->find_record(record_key(), parameters()))->id == 5);
}

TEST_CASE("a reader of an older store sees what is written into tables and columns that an upgrade adds") {
  for (std::uint32_t version = 1; version < kReleased; ++version) {
    CAPTURE(version);
    Directory directory;
    make_old_store(directory.store(), version);
    auto reader = must_open(directory.store(), StoreMode::kReadOnly);
    check_readable(*reader, version);
    const auto store = must_open(directory.store());
    tuned(*store, record_key(7), record_of("block=64", 1.0));
    PortfolioKey key{.operation = "softmax", .dtypes = "f16", .device = "NVIDIA H200", .statics = "", .purpose = {}, .range = "rows=1..8"};
    must(store->put_portfolio(key, "{}"));
    CHECK(must(reader->generation()) == 2);
    CHECK(must(reader->find_record(record_key(7), parameters()))->configuration_text == "block=64");
    CHECK(must(reader->find_portfolios(key)).size() == 1);
  }
}
