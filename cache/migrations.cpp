#include "cache/migrations.hpp"

#include <fmt/format.h>

#include <array>

namespace hone::cache {
namespace {

// Version 1. Times are microseconds unless the name says seconds; samples are little-endian float64; 64-bit unsigned and 128-bit numbers
// are decimal text, since SQLite's integers are signed and of 64 bits; a REAL that is NULL was not a number.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE device (
  id           INTEGER PRIMARY KEY,
  digest       TEXT NOT NULL UNIQUE,  -- over the columns below
  product      TEXT NOT NULL,
  architecture TEXT NOT NULL,
  mig_profile  TEXT NOT NULL,
  properties   TEXT NOT NULL          -- JSON object; memory in whole GiB
) STRICT;

CREATE TABLE environment (
  id             INTEGER PRIMARY KEY,
  digest         TEXT NOT NULL UNIQUE,  -- over the columns below
  device         TEXT NOT NULL,         -- JSON object: driver, compiler, clocks, ...
  host           TEXT NOT NULL,
  kernel_release TEXT NOT NULL,
  hone_version   TEXT NOT NULL
) STRICT;

CREATE TABLE session (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  kernel              TEXT NOT NULL,
  source_hash         TEXT NOT NULL,
  dtype               TEXT NOT NULL CHECK (dtype IN ('f32', 'f16', 'bf16', 'f64', 'i32')),
  shape               TEXT NOT NULL,
  layout              TEXT NOT NULL,
  alignment           INTEGER NOT NULL CHECK (alignment > 0),
  device              INTEGER NOT NULL REFERENCES device (id),
  timing_profile      TEXT NOT NULL,
  strategy            TEXT NOT NULL,
  strategy_parameters TEXT NOT NULL,
  seed                TEXT NOT NULL,
  budget              TEXT NOT NULL,
  device_id           TEXT NOT NULL,
  device_uuid         TEXT NOT NULL,
  environment         INTEGER NOT NULL REFERENCES environment (id),
  state               TEXT NOT NULL CHECK (state IN ('running', 'done')),
  elapsed_seconds     REAL NOT NULL DEFAULT 0 CHECK (elapsed_seconds >= 0),
  owner               TEXT NOT NULL,  -- the process that runs it; empty if none does
  created_at          TEXT NOT NULL,
  updated_at          TEXT NOT NULL
) STRICT;
CREATE INDEX session_unfinished ON session (kernel, source_hash, dtype, shape) WHERE state = 'running';

CREATE TABLE trial (
  id                INTEGER PRIMARY KEY,
  session           INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  position          TEXT NOT NULL,  -- in the search space
  configuration     TEXT NOT NULL,
  outcome           TEXT NOT NULL CHECK (outcome IN ('ok', 'compile_error', 'compile_timeout', 'static_reject', 'launch_failure',
                                                     'illegal_access', 'timeout', 'deadlock', 'wrong_result', 'race')),
  detail            TEXT NOT NULL,
  registers         INTEGER NOT NULL,
  spill_bytes       INTEGER NOT NULL,
  stack_bytes       INTEGER NOT NULL,
  shared_bytes      INTEGER NOT NULL,
  occupancy         REAL,
  samples           BLOB NOT NULL CHECK (length(samples) % 8 = 0),
  median_us         REAL,
  ci95_low_us       REAL,
  ci95_high_us      REAL,
  raced_out         INTEGER NOT NULL CHECK (raced_out IN (0, 1)),
  sm_clock_mhz      REAL,
  memory_clock_mhz  REAL,
  temperature_c     REAL,
  power_w           REAL,
  throttle_reasons  INTEGER NOT NULL,
  discarded_samples INTEGER NOT NULL,
  compile_seconds   REAL,
  validate_seconds  REAL,
  time_seconds      REAL,
  overhead_seconds  REAL,
  input_seed        TEXT NOT NULL,
  max_error         REAL,
  artifact          TEXT NOT NULL,  -- digest; empty if none
  created_at        TEXT NOT NULL,
  UNIQUE (session, position)
) STRICT;
CREATE INDEX trial_best ON trial (session, median_us) WHERE outcome = 'ok';

CREATE TABLE final_measurement (
  trial             INTEGER PRIMARY KEY REFERENCES trial (id) ON DELETE CASCADE,
  samples           BLOB NOT NULL CHECK (length(samples) % 8 = 0),
  median_us         REAL,
  ci95_low_us       REAL,
  ci95_high_us      REAL,
  raced_out         INTEGER NOT NULL CHECK (raced_out IN (0, 1)),
  sm_clock_mhz      REAL,
  memory_clock_mhz  REAL,
  temperature_c     REAL,
  power_w           REAL,
  throttle_reasons  INTEGER NOT NULL,
  discarded_samples INTEGER NOT NULL,
  created_at        TEXT NOT NULL
) STRICT;

CREATE TABLE record (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  kernel         TEXT NOT NULL,
  source_hash    TEXT NOT NULL,
  dtype          TEXT NOT NULL CHECK (dtype IN ('f32', 'f16', 'bf16', 'f64', 'i32')),
  layout         TEXT NOT NULL,
  alignment      INTEGER NOT NULL CHECK (alignment > 0),
  device         INTEGER NOT NULL REFERENCES device (id),
  timing_profile TEXT NOT NULL,
  shape          TEXT NOT NULL,
  configuration  TEXT NOT NULL,
  samples        BLOB NOT NULL CHECK (length(samples) % 8 = 0),
  median_us      REAL,
  ci95_low_us    REAL,
  ci95_high_us   REAL,
  raced_out      INTEGER NOT NULL CHECK (raced_out IN (0, 1)),
  default_us     REAL,
  session        INTEGER NOT NULL REFERENCES session (id),
  trials         INTEGER NOT NULL,
  artifact       TEXT NOT NULL,  -- digest; empty if none
  symbols        TEXT NOT NULL,  -- JSON array
  environment    INTEGER NOT NULL REFERENCES environment (id),
  created_at     TEXT NOT NULL,
  UNIQUE (kernel, source_hash, dtype, layout, alignment, device, timing_profile, shape)
) STRICT;

CREATE TABLE artifact (
  digest TEXT PRIMARY KEY NOT NULL,  -- over the bytes before compression
  size   INTEGER NOT NULL CHECK (size >= 0),
  bytes  BLOB NOT NULL               -- zlib
) STRICT;

CREATE TABLE compiled (
  source_hash   TEXT NOT NULL,
  dtype         TEXT NOT NULL CHECK (dtype IN ('f32', 'f16', 'bf16', 'f64', 'i32')),
  architecture  TEXT NOT NULL,
  compiler      TEXT NOT NULL,
  configuration TEXT NOT NULL,
  artifact      TEXT NOT NULL REFERENCES artifact (digest),
  symbols       TEXT NOT NULL,  -- JSON array
  registers     INTEGER NOT NULL,
  spill_bytes   INTEGER NOT NULL,
  stack_bytes   INTEGER NOT NULL,
  shared_bytes  INTEGER NOT NULL,
  occupancy     REAL,
  created_at    TEXT NOT NULL,
  PRIMARY KEY (source_hash, dtype, architecture, compiler, configuration)
) STRICT, WITHOUT ROWID;
)sql";

// Version 2: what strategies keep from session to session.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE model (
  kernel     TEXT NOT NULL,
  strategy   TEXT NOT NULL,
  bytes      BLOB NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (kernel, strategy)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_of_kernel ON session (kernel);
)sql";

// Version 3: how a measurement's samples were taken.
constexpr const char* kVersion3 = R"sql(
ALTER TABLE trial ADD COLUMN by_graph INTEGER NOT NULL DEFAULT 0 CHECK (by_graph IN (0, 1));
ALTER TABLE final_measurement ADD COLUMN by_graph INTEGER NOT NULL DEFAULT 0 CHECK (by_graph IN (0, 1));
ALTER TABLE record ADD COLUMN by_graph INTEGER NOT NULL DEFAULT 0 CHECK (by_graph IN (0, 1));
)sql";

/// Entry i makes version i + 1 of version i. Released entries never change; a new schema is a new entry.
constexpr std::array kMigrations{kVersion1, kVersion2, kVersion3};

}  // namespace

std::uint32_t schema_version() { return static_cast<std::uint32_t>(kMigrations.size()); }

Result<void> migrate(const Database& database) {
  for (;;) {
    HONE_ASSIGN(Transaction transaction, Transaction::begin(database, "upgrade the schema"));
    // Read under the lock: another process may have done this step meanwhile.
    HONE_ASSIGN(const std::int64_t version, database.scalar("PRAGMA user_version", "read the schema version"));
    if (version < 0 || version >= static_cast<std::int64_t>(kMigrations.size())) {
      return {};
    }
    HONE_TRY(database.execute(kMigrations.at(static_cast<std::size_t>(version)), "upgrade the schema"));
    HONE_TRY(database.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, version + 1),
                              "upgrade the schema"));
    HONE_TRY(transaction.commit("upgrade the schema"));
  }
}

}  // namespace hone::cache
