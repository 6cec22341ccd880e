// The SQL that makes each version of the schema of the one before.

#include <array>

#include "cache/migrations.hpp"

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

// Version 4: keys say all that a winner was chosen by, dtypes are names that the engine knows rather than the schema, and code is sealed
// (cache/code.hpp; an empty code_digest: written before). No part of a unique key may be NULL, which equals nothing.
constexpr const char* kVersion4 = R"sql(
ALTER TABLE device ADD COLUMN share TEXT NOT NULL DEFAULT '';  -- in the digest unless it is empty

CREATE TABLE session_4 (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  kernel              TEXT NOT NULL,
  source_hash         TEXT NOT NULL,
  dtype               TEXT NOT NULL CHECK (dtype <> ''),
  shape               TEXT NOT NULL,
  layout              TEXT NOT NULL,
  alignment           INTEGER NOT NULL CHECK (alignment > 0),
  device              INTEGER NOT NULL REFERENCES device (id),
  timing_profile      TEXT NOT NULL CHECK (timing_profile <> ''),
  input_profile       TEXT NOT NULL DEFAULT 'default' CHECK (input_profile <> ''),
  objective           TEXT NOT NULL DEFAULT 'time' CHECK (objective <> ''),
  accuracy_bound      TEXT NOT NULL DEFAULT 'none' CHECK (accuracy_bound <> ''),
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
INSERT INTO session_4 (id, kernel, source_hash, dtype, shape, layout, alignment, device, timing_profile, strategy, strategy_parameters,
                       seed, budget, device_id, device_uuid, environment, state, elapsed_seconds, owner, created_at, updated_at)
  SELECT id, kernel, source_hash, dtype, shape, layout, alignment, device, timing_profile, strategy, strategy_parameters,
         seed, budget, device_id, device_uuid, environment, state, elapsed_seconds, owner, created_at, updated_at FROM session;

CREATE TABLE record_4 (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  kernel         TEXT NOT NULL,
  source_hash    TEXT NOT NULL,
  dtype          TEXT NOT NULL CHECK (dtype <> ''),
  layout         TEXT NOT NULL,
  alignment      INTEGER NOT NULL CHECK (alignment > 0),
  device         INTEGER NOT NULL REFERENCES device (id),
  timing_profile TEXT NOT NULL CHECK (timing_profile <> ''),
  input_profile  TEXT NOT NULL DEFAULT 'default' CHECK (input_profile <> ''),
  objective      TEXT NOT NULL DEFAULT 'time' CHECK (objective <> ''),
  accuracy_bound TEXT NOT NULL DEFAULT 'none' CHECK (accuracy_bound <> ''),
  shape          TEXT NOT NULL,
  configuration  TEXT NOT NULL,
  samples        BLOB NOT NULL CHECK (length(samples) % 8 = 0),
  median_us      REAL,
  ci95_low_us    REAL,
  ci95_high_us   REAL,
  raced_out      INTEGER NOT NULL CHECK (raced_out IN (0, 1)),
  by_graph       INTEGER NOT NULL DEFAULT 0 CHECK (by_graph IN (0, 1)),
  default_us     REAL,
  session        INTEGER NOT NULL REFERENCES session (id),
  trials         INTEGER NOT NULL,
  artifact       TEXT NOT NULL,  -- digest; empty if none
  symbols        TEXT NOT NULL,  -- JSON array
  content        TEXT NOT NULL DEFAULT '',  -- fingerprint of the artifact's bytes
  code_digest    TEXT NOT NULL DEFAULT '',
  seal           TEXT NOT NULL DEFAULT '',
  environment    INTEGER NOT NULL REFERENCES environment (id),
  created_at     TEXT NOT NULL,
  UNIQUE (kernel, source_hash, dtype, shape, input_profile, objective, accuracy_bound, layout, alignment, device, timing_profile)
) STRICT;
INSERT INTO record_4 (id, kernel, source_hash, dtype, layout, alignment, device, timing_profile, shape, configuration, samples, median_us,
                      ci95_low_us, ci95_high_us, raced_out, by_graph, default_us, session, trials, artifact, symbols, environment,
                      created_at)
  SELECT id, kernel, source_hash, dtype, layout, alignment, device, timing_profile, shape, configuration, samples, median_us,
         ci95_low_us, ci95_high_us, raced_out, by_graph, default_us, session, trials, artifact, symbols, environment,
         created_at FROM record;

CREATE TABLE compiled_4 (
  source_hash   TEXT NOT NULL,
  dtype         TEXT NOT NULL CHECK (dtype <> ''),
  architecture  TEXT NOT NULL,
  compiler      TEXT NOT NULL,
  configuration TEXT NOT NULL,
  artifact      TEXT NOT NULL REFERENCES artifact (digest),
  symbols       TEXT NOT NULL,  -- JSON array
  content       TEXT NOT NULL DEFAULT '',
  code_digest   TEXT NOT NULL DEFAULT '',
  seal          TEXT NOT NULL DEFAULT '',
  registers     INTEGER NOT NULL,
  spill_bytes   INTEGER NOT NULL,
  stack_bytes   INTEGER NOT NULL,
  shared_bytes  INTEGER NOT NULL,
  occupancy     REAL,
  created_at    TEXT NOT NULL,
  PRIMARY KEY (source_hash, dtype, architecture, compiler, configuration)
) STRICT, WITHOUT ROWID;
INSERT INTO compiled_4 (source_hash, dtype, architecture, compiler, configuration, artifact, symbols, registers, spill_bytes, stack_bytes,
                        shared_bytes, occupancy, created_at)
  SELECT source_hash, dtype, architecture, compiler, configuration, artifact, symbols, registers, spill_bytes, stack_bytes,
         shared_bytes, occupancy, created_at FROM compiled;

-- A number that was given to a row is never given again.
DELETE FROM sqlite_sequence WHERE name IN ('session_4', 'record_4');
INSERT INTO sqlite_sequence (name, seq) SELECT name || '_4', seq FROM sqlite_sequence WHERE name IN ('session', 'record');
DROP TABLE record;
DROP TABLE session;
DROP TABLE compiled;
ALTER TABLE session_4 RENAME TO session;
ALTER TABLE record_4 RENAME TO record;
ALTER TABLE compiled_4 RENAME TO compiled;
CREATE INDEX session_unfinished ON session (kernel, source_hash, dtype, shape) WHERE state = 'running';
CREATE INDEX session_of_kernel ON session (kernel);
)sql";

// Version 5: outcomes are names that the engine knows rather than the schema. A new one would else cost every store a copy of all samples.
constexpr const char* kVersion5 = R"sql(
CREATE TABLE trial_5 (
  id                INTEGER PRIMARY KEY,
  session           INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  position          TEXT NOT NULL,  -- in the search space
  configuration     TEXT NOT NULL,
  outcome           TEXT NOT NULL CHECK (outcome <> ''),
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
  by_graph          INTEGER NOT NULL DEFAULT 0 CHECK (by_graph IN (0, 1)),
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
INSERT INTO trial_5 (id, session, position, configuration, outcome, detail, registers, spill_bytes, stack_bytes, shared_bytes, occupancy,
                     samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, sm_clock_mhz, memory_clock_mhz, temperature_c,
                     power_w, throttle_reasons, discarded_samples, compile_seconds, validate_seconds, time_seconds, overhead_seconds,
                     input_seed, max_error, artifact, created_at)
  SELECT id, session, position, configuration, outcome, detail, registers, spill_bytes, stack_bytes, shared_bytes, occupancy,
         samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, sm_clock_mhz, memory_clock_mhz, temperature_c,
         power_w, throttle_reasons, discarded_samples, compile_seconds, validate_seconds, time_seconds, overhead_seconds,
         input_seed, max_error, artifact, created_at FROM trial;
DROP TABLE trial;
ALTER TABLE trial_5 RENAME TO trial;
CREATE INDEX trial_best ON trial (session, median_us) WHERE outcome = 'ok';
)sql";

// Version 6: which kernel's record serves a problem of an operation.
constexpr const char* kVersion6 = R"sql(
CREATE TABLE operation_record (
  operation      TEXT NOT NULL CHECK (operation <> ''),
  dtype          TEXT NOT NULL CHECK (dtype <> ''),
  layout         TEXT NOT NULL,
  alignment      INTEGER NOT NULL CHECK (alignment > 0),
  device         INTEGER NOT NULL REFERENCES device (id),
  input_profile  TEXT NOT NULL CHECK (input_profile <> ''),
  objective      TEXT NOT NULL CHECK (objective <> ''),
  accuracy_bound TEXT NOT NULL CHECK (accuracy_bound <> ''),
  timing_profile TEXT NOT NULL CHECK (timing_profile <> ''),
  shape          TEXT NOT NULL,
  kernel         TEXT NOT NULL,
  source_hash    TEXT NOT NULL,
  session        INTEGER NOT NULL REFERENCES session (id),  -- of the kernel
  created_at     TEXT NOT NULL,
  PRIMARY KEY (operation, dtype, shape, input_profile, objective, accuracy_bound, layout, alignment, device, timing_profile)
) STRICT, WITHOUT ROWID;
)sql";

// Version 7: what was served is kept. A change of it is a generation, a record that takes another's place leaves it where it is, and people
// can give records a state.
constexpr const char* kVersion7 = R"sql(
CREATE TABLE change (
  generation INTEGER PRIMARY KEY AUTOINCREMENT,
  what       TEXT NOT NULL,  -- for people
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE record_7 (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  kernel         TEXT NOT NULL,
  source_hash    TEXT NOT NULL,
  dtype          TEXT NOT NULL CHECK (dtype <> ''),
  layout         TEXT NOT NULL,
  alignment      INTEGER NOT NULL CHECK (alignment > 0),
  device         INTEGER NOT NULL REFERENCES device (id),
  timing_profile TEXT NOT NULL CHECK (timing_profile <> ''),
  input_profile  TEXT NOT NULL DEFAULT 'default' CHECK (input_profile <> ''),
  objective      TEXT NOT NULL DEFAULT 'time' CHECK (objective <> ''),
  accuracy_bound TEXT NOT NULL DEFAULT 'none' CHECK (accuracy_bound <> ''),
  shape          TEXT NOT NULL,
  configuration  TEXT NOT NULL,
  samples        BLOB NOT NULL CHECK (length(samples) % 8 = 0),
  median_us      REAL,
  ci95_low_us    REAL,
  ci95_high_us   REAL,
  raced_out      INTEGER NOT NULL CHECK (raced_out IN (0, 1)),
  by_graph       INTEGER NOT NULL DEFAULT 0 CHECK (by_graph IN (0, 1)),
  default_us     REAL,
  session        INTEGER NOT NULL REFERENCES session (id),
  trials         INTEGER NOT NULL,
  artifact       TEXT NOT NULL,  -- digest; empty if none
  symbols        TEXT NOT NULL,  -- JSON array
  content        TEXT NOT NULL DEFAULT '',  -- fingerprint of the artifact's bytes
  code_digest    TEXT NOT NULL DEFAULT '',
  seal           TEXT NOT NULL DEFAULT '',
  environment    INTEGER NOT NULL REFERENCES environment (id),
  created_at     TEXT NOT NULL,
  generation     INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
  UNIQUE (kernel, source_hash, dtype, shape, input_profile, objective, accuracy_bound, layout, alignment, device, timing_profile, generation)
) STRICT;
INSERT INTO record_7 (id, kernel, source_hash, dtype, layout, alignment, device, timing_profile, input_profile, objective, accuracy_bound,
                      shape, configuration, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, default_us, session,
                      trials, artifact, symbols, content, code_digest, seal, environment, created_at)
  SELECT id, kernel, source_hash, dtype, layout, alignment, device, timing_profile, input_profile, objective, accuracy_bound,
         shape, configuration, samples, median_us, ci95_low_us, ci95_high_us, raced_out, by_graph, default_us, session,
         trials, artifact, symbols, content, code_digest, seal, environment, created_at FROM record;

CREATE TABLE operation_record_7 (  -- the primary key's columns first, in its order: else SQLite 3.40 finds fault with the rows
  operation      TEXT NOT NULL CHECK (operation <> ''),
  dtype          TEXT NOT NULL CHECK (dtype <> ''),
  shape          TEXT NOT NULL,
  input_profile  TEXT NOT NULL CHECK (input_profile <> ''),
  objective      TEXT NOT NULL CHECK (objective <> ''),
  accuracy_bound TEXT NOT NULL CHECK (accuracy_bound <> ''),
  layout         TEXT NOT NULL,
  alignment      INTEGER NOT NULL CHECK (alignment > 0),
  device         INTEGER NOT NULL REFERENCES device (id),
  timing_profile TEXT NOT NULL CHECK (timing_profile <> ''),
  generation     INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
  kernel         TEXT NOT NULL,  -- empty: none is known from this generation on
  source_hash    TEXT NOT NULL,
  session        INTEGER REFERENCES session (id),  -- of the kernel
  created_at     TEXT NOT NULL,
  PRIMARY KEY (operation, dtype, shape, input_profile, objective, accuracy_bound, layout, alignment, device, timing_profile, generation)
) STRICT, WITHOUT ROWID;
INSERT INTO operation_record_7 (operation, dtype, layout, alignment, device, input_profile, objective, accuracy_bound, timing_profile,
                                shape, kernel, source_hash, session, created_at)
  SELECT operation, dtype, layout, alignment, device, input_profile, objective, accuracy_bound, timing_profile,
         shape, kernel, source_hash, session, created_at FROM operation_record;

-- A number that was given to a row is never given again.
DELETE FROM sqlite_sequence WHERE name = 'record_7';
INSERT INTO sqlite_sequence (name, seq) SELECT 'record_7', seq FROM sqlite_sequence WHERE name = 'record';
DROP TABLE record;
DROP TABLE operation_record;
ALTER TABLE record_7 RENAME TO record;
ALTER TABLE operation_record_7 RENAME TO operation_record;

CREATE TABLE record_state (
  record     INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
  generation INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state <> ''),
  PRIMARY KEY (record, generation)
) STRICT, WITHOUT ROWID;
)sql";

// Portfolios: configurations that cover a range of shapes, and the rule that chooses among them, as one text.
constexpr const char* kVersion8 = R"sql(
CREATE TABLE portfolio (
  operation      TEXT NOT NULL,
  dtype          TEXT NOT NULL,
  device         TEXT NOT NULL,  -- the product, with its partition
  statics        TEXT NOT NULL,  -- "layout=1,terms=1"
  shapes         TEXT NOT NULL,  -- the range: "m=1..4096,n=4096,k=4096"
  input_profile  TEXT NOT NULL CHECK (input_profile <> ''),
  objective      TEXT NOT NULL CHECK (objective <> ''),
  accuracy_bound TEXT NOT NULL CHECK (accuracy_bound <> ''),
  timing_profile TEXT NOT NULL CHECK (timing_profile <> ''),
  generation     INTEGER NOT NULL CHECK (generation > 0),
  text           TEXT NOT NULL,  -- JSON; empty: there is none from this generation on
  created_at     TEXT NOT NULL,
  PRIMARY KEY (operation, dtype, device, statics, shapes, input_profile, objective, accuracy_bound, timing_profile, generation)
) STRICT, WITHOUT ROWID;
)sql";

// Version 9: when in its session a trial was recorded (NULL: an older Hone did not say), and sessions on several devices of one product.
// Samples stay as they were taken; a trial's median and interval are `factor` times theirs.
constexpr const char* kVersion9 = R"sql(
ALTER TABLE trial ADD COLUMN elapsed_seconds REAL;
ALTER TABLE trial ADD COLUMN device TEXT NOT NULL DEFAULT '';  -- its id; empty: the session's only one
ALTER TABLE trial ADD COLUMN factor REAL NOT NULL DEFAULT 1;
ALTER TABLE final_measurement ADD COLUMN device TEXT NOT NULL DEFAULT '';
CREATE TABLE control (
  id                INTEGER PRIMARY KEY,
  session           INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  device            TEXT NOT NULL CHECK (device <> ''),
  samples           BLOB NOT NULL CHECK (length(samples) % 8 = 0),
  median_us         REAL,
  ci95_low_us       REAL,
  ci95_high_us      REAL,
  raced_out         INTEGER NOT NULL CHECK (raced_out IN (0, 1)),
  by_graph          INTEGER NOT NULL CHECK (by_graph IN (0, 1)),
  sm_clock_mhz      REAL,
  memory_clock_mhz  REAL,
  temperature_c     REAL,
  power_w           REAL,
  throttle_reasons  INTEGER NOT NULL,
  discarded_samples INTEGER NOT NULL,
  factor            REAL NOT NULL,
  departure         TEXT NOT NULL,  -- why the device left the session with this; empty: it did not
  created_at        TEXT NOT NULL
) STRICT;
CREATE INDEX control_session ON control (session);
)sql";

// Version 10: the energy of a run, where it was measured.
constexpr const char* kVersion10 = R"sql(
ALTER TABLE trial ADD COLUMN energy_j REAL;
ALTER TABLE trial ADD COLUMN energy_low_j REAL;
ALTER TABLE trial ADD COLUMN energy_high_j REAL;
ALTER TABLE final_measurement ADD COLUMN energy_j REAL;
ALTER TABLE final_measurement ADD COLUMN energy_low_j REAL;
ALTER TABLE final_measurement ADD COLUMN energy_high_j REAL;
ALTER TABLE record ADD COLUMN energy_j REAL;
ALTER TABLE record ADD COLUMN energy_low_j REAL;
ALTER TABLE record ADD COLUMN energy_high_j REAL;
)sql";

// Version 11: the queue of sessions on the workers of several hosts (engine/store/work_queue.hpp), used on servers alone. Rows stay when
// what they were for is over, without their contents: they say what was measured more than once, and why.
constexpr const char* kVersion11 = R"sql(
CREATE TABLE worker (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL CHECK (name <> ''),   -- "host/cuda:0": the device's id in the sessions that it takes part in
  version    TEXT NOT NULL,                      -- of Hone
  measures   INTEGER NOT NULL CHECK (measures IN (0, 1)),
  targets    TEXT NOT NULL,                      -- what it compiles for: "|cuda|"; empty: nothing
  product    TEXT NOT NULL,                      -- of the device that it measures on
  device     BLOB NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('idle', 'working', 'left', 'dismissed')),
  reason     TEXT NOT NULL,                      -- why it left, or has to
  answers    INTEGER NOT NULL,                   -- that it gave
  created_at TEXT NOT NULL,
  seen_at    TEXT NOT NULL                       -- its lease counts from here
) STRICT;

CREATE TABLE assignment (
  id         INTEGER PRIMARY KEY,
  session    INTEGER NOT NULL,
  setup      BLOB,                               -- kernel, problem, settings; NULL: it is over
  reference  BLOB,                               -- compiled; NULL until it is
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX assignment_session ON assignment (session);

CREATE TABLE work (
  id         INTEGER PRIMARY KEY,
  assignment INTEGER NOT NULL REFERENCES assignment (id) ON DELETE CASCADE,
  token      TEXT NOT NULL UNIQUE,               -- who writes a row twice, as a connection was lost, writes one
  kind       TEXT NOT NULL CHECK (kind IN ('measure', 'compile')),
  worker     INTEGER,                            -- who shall do it; NULL: whoever compiles for `target`
  target     TEXT NOT NULL,
  label      TEXT NOT NULL,                      -- the configuration that is tried; empty: it is no trial
  request    BLOB,
  reply      BLOB,
  state      TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'done', 'lost', 'returned', 'withdrawn', 'abandoned')),
  taken      INTEGER NOT NULL CHECK (taken IN (0, 1)),  -- what came of it is in the session
  claimed_by INTEGER,
  claimed    TEXT NOT NULL,                      -- the names of those who claimed it
  ended      TEXT NOT NULL,                      -- of those, who were lost with it
  created_at TEXT NOT NULL,
  claimed_at TEXT NOT NULL,                      -- the last time; empty: never
  updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX work_live ON work (worker, id) WHERE state IN ('open', 'claimed');
CREATE INDEX work_news ON work (assignment) WHERE taken = 0;
CREATE INDEX work_label ON work (assignment, label) WHERE state = 'lost';
)sql";

/// Entry i makes version i + 1 of version i. Released entries never change; a new schema is a new entry.
constexpr std::array kMigrations{kVersion1, kVersion2, kVersion3, kVersion4,  kVersion5, kVersion6,
                                 kVersion7, kVersion8, kVersion9, kVersion10, kVersion11};

}  // namespace

std::uint32_t schema_version() { return static_cast<std::uint32_t>(kMigrations.size()); }

std::span<const char* const> migrations() { return kMigrations; }

}  // namespace hone::cache
