#pragma once
// The interface of the store: sessions, trials, records, compiled code, devices. The SQLite implementation lives in cache/.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/objective.hpp"
#include "engine/device/trial.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/store/record_history.hpp"
#include "hone/source.hpp"

namespace hone {

/// What a winner was chosen by. Every text is canonical and never empty, since it is part of a unique key. A lookup finds records of its
/// own purpose only: one that names no bound never gets a record that was tuned under one.
struct Purpose {
  std::string input_profile = "default";   ///< what the inputs were like
  std::string objective = "time";          ///< what was minimized: name(Objective)
  std::string accuracy_bound = "none";     ///< how far results might be off, beyond what the kernel file allows
  std::string timing_profile = "cold-l2";  ///< how times were taken
  friend bool operator==(const Purpose&, const Purpose&) = default;
};

/// The purpose with an accuracy bound (MeasureSettings::max_error), 0 for none, on given arrays (Given::digest), empty for drawn ones, and
/// with an objective.
Purpose purpose_within(double max_error, std::string_view given = {}, const Objective& objective = {});

/// What a record is for. `alignment` is the largest power of two (at most 16) that divides every pointer; `layout` names the kernel's
/// layout class.
struct RecordKey {
  std::string kernel, source_hash;
  Problem problem;
  std::string dtypes;  ///< by name ("bf16", "In=e4m3,Out=bf16"); empty: the problem's
  Purpose purpose;
  std::string layout = "contiguous";
  int alignment = 16;
  DeviceInfo device;  ///< keyed by product, architecture, mig_profile, share and the resource properties
};

/// RecordKey::dtypes, or the name of the problem's.
std::string dtypes_text(const RecordKey& key);

/// How far the code of a record can be relied on (docs/trust.md).
enum class CodeState {
  kNone,     ///< there is none: a recorded space has only times
  kTrusted,  ///< it belongs to the record's configuration and source, and this user's Hone made it, or this user trusts the store
  kForeign,  ///< someone else made it, or a Hone that did not seal it yet: not launched
  kBroken,   ///< it does not belong to the record's configuration and source: the row was changed. Never launched
};
std::string_view name(CodeState state);

/// The winner for a key.
struct Record {
  std::int64_t id = 0;
  Configuration configuration;
  std::string configuration_text;  ///< "block=256,vec=4"
  Measurement measurement;
  double default_us = 0.0;  ///< of the default configuration in the same final round
  std::int64_t session = 0, trials = 0;
  std::string artifact;  ///< digest
  std::vector<std::string> symbols;
  std::string created_at;                                       ///< UTC, ISO 8601
  std::map<std::string, std::string, std::less<>> environment;  ///< of the device when it was tuned
  Problem problem;                                              ///< of its key: what `records_of` looks shapes up by
  RecordState state = RecordState::kCandidate;
  std::int64_t generation = 0;        ///< in which it was written
  CodeState code = CodeState::kNone;  ///< as the store that it was read from sees it
};

/// Which kernel's record serves a problem of an operation: what a session of the operation came to.
struct OperationRecord {
  std::string kernel, source_hash;
  std::int64_t session = 0;     ///< of that kernel
  std::string created_at;       ///< UTC, ISO 8601
  Problem problem;              ///< of its key
  std::int64_t generation = 0;  ///< in which it was written
};

/// What a portfolio is for. `device` is the product, with the partition where there is one.
struct PortfolioKey {
  std::string operation, dtypes, device;
  std::string statics;  ///< "layout=1,terms=1": the fields of the Problem that have one value each for compiled code
  Purpose purpose;
  std::string range = {};  ///< of shapes: portfolios of several ranges stand side by side
};
PortfolioKey portfolio_key(const std::string& operation, const DTypes& dtypes, const DeviceInfo& device, const Purpose& purpose = {});

struct StoredPortfolio {
  PortfolioKey key;
  std::int64_t generation = 0;  ///< grows with every portfolio that a store gets
  std::string text;             ///< parse_portfolio() of engine/store/portfolio.hpp
  std::string created_at;       ///< UTC, ISO 8601
};

/// Whether a newly measured winner takes the place of a record that it was not measured beside: where the objective's intervals part, and
/// it is better. Times taken in different ways (calls, graphs) say nothing about each other.
bool replaces(const Record& candidate, const Record& standing, const Objective& objective = {});
/// The objective of a purpose; time where this Hone does not know its name.
Objective objective_of(const Purpose& purpose);

/// What has changed since the record was made.
std::vector<Staleness> staleness(const Record& record, const DeviceInfo& today);

/// Trials of a kernel for one problem on one device, gathered from sessions.
struct History {
  std::string product;  ///< of the device
  Problem problem;
  Purpose purpose;
  std::vector<Trial>
      trials;  ///< the latest of each configuration; with outcome, resources, seconds and median, without samples and position
};

enum class SessionState { kRunning, kDone };

/// What makes two invocations the same session.
struct SessionKey {
  RecordKey record;
  std::string strategy;
  std::string strategy_parameters;  ///< canonical text
  std::uint64_t seed = 0;
};

struct SessionInfo {
  std::int64_t id = 0;
  std::string kernel, source_hash, product, strategy, strategy_parameters, budget;
  std::string device_id;           ///< of several: their ids, joined by commas
  std::string mig_profile, share;  ///< of the device
  Problem problem;                 ///< its dtype only where `dtypes` are ones that this Hone knows
  std::string dtypes;
  Purpose purpose;
  std::uint64_t seed = 0;
  SessionState state = SessionState::kRunning;
  double elapsed_seconds = 0.0;  ///< summed over its runs
  std::int64_t trials = 0;
  std::optional<double> best_us;
  std::string created_at, updated_at;
  bool owner_alive = false;  ///< a process is running it now
};

/// Cached compilation of one configuration.
struct CompiledKey {
  std::string source_hash;  ///< code_hash() of engine/kernel/static_fields.hpp
  DTypes dtype;
  std::string configuration;  ///< canonical text; "reference" for the reference
  std::string architecture;
  std::string compiler;  ///< empty, to look up: whichever made it
};

/// The key under which the winner for a problem on a device is recorded.
RecordKey record_key(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, const Purpose& purpose = {});
/// The key under which is recorded which kernel serves a problem of an operation.
RecordKey operation_key(const std::string& operation, const Problem& problem, const DeviceInfo& device, const Purpose& purpose = {});
/// The key of the code compiled for a problem: of a configuration's text, or "reference". Code of other STATIC fields has another.
CompiledKey compiled_key(const KernelSpec& spec, const Problem& problem, std::string configuration, const DeviceInfo& device);

class Store {
 public:
  virtual ~Store() = default;

  /// The newest unfinished session of this key whose owner is gone, taken over by this process; or nothing.
  virtual Result<std::optional<SessionInfo>> resume_session(const SessionKey& key) = 0;
  virtual Result<std::int64_t> begin_session(const SessionKey& key, const std::string& budget) = 0;
  /// One transaction: the trial with all samples, and `elapsed_seconds` summed over the session's runs. A second trial of a position is an
  /// error, except with `final_round`: that one adds its measurement to the trial, or, where it failed, its outcome.
  virtual Result<void> add_trial(std::int64_t session, const std::vector<Parameter>& parameters, const Trial& trial,
                                 double elapsed_seconds) = 0;
  /// One per position, in the order recorded; a finalist with the measurement of the final round.
  virtual Result<std::vector<Trial>> trials(std::int64_t session, const std::vector<Parameter>& parameters) = 0;
  /// A run of the control on one of the session's devices, or that one of them left.
  virtual Result<void> add_control(std::int64_t session, const Control& control) = 0;
  /// In the order recorded.
  virtual Result<std::vector<Control>> controls(std::int64_t session) = 0;
  /// Marks the session done and, where there is a winner, writes the record: one transaction. Where a record of the key stands by then, the
  /// winner takes its place if the session measured it beside this very one (`compared_with` is Record::id of what stands) and so decided
  /// itself, else by `replaces`. Records are kept: what stood is found in record_history. A configuration that was withdrawn from the
  /// problem is not written. Returns whether the record was written.
  virtual Result<bool> finish_session(std::int64_t session, const RecordKey& key, const std::optional<Record>& record,
                                      double elapsed_seconds, std::optional<std::int64_t> compared_with = std::nullopt) = 0;
  /// Writes the best so far of a session that was stopped, which can still be resumed: where no record stands, or by `replaces`. Returns
  /// whether.
  virtual Result<bool> keep_record(std::int64_t session, const RecordKey& key, const Record& record) = 0;
  /// Leaves an unfinished session to whoever resumes it next, this process included.
  virtual Result<void> release_session(std::int64_t session, double elapsed_seconds) = 0;
  virtual Result<std::vector<SessionInfo>> sessions() = 0;
  /// The parameters of a session as its trials had them, with those values alone: of a kernel whose file is not at hand, or has changed
  /// since.
  virtual Result<std::vector<Parameter>> parameters_of(std::int64_t session) = 0;
  /// The devices that sessions ran on, with the id and the environment of the latest; memory is rounded to GiB, the uuid is left out.
  virtual Result<std::vector<DeviceInfo>> devices() = 0;

  /// What other sessions than `session` learnt of a kernel, the latest problems first, at most `most` trials of each. Configurations that
  /// `parameters` cannot express (the file has changed) are left out.
  virtual Result<std::vector<History>> histories(const std::string& kernel, const std::vector<Parameter>& parameters, std::int64_t session,
                                                 std::size_t most) = 0;
  /// What a strategy keeps from session to session of a kernel; empty if there is nothing.
  virtual Result<std::string> find_model(const std::string& kernel, const std::string& strategy) = 0;
  virtual Result<void> put_model(const std::string& kernel, const std::string& strategy, const std::string& model) = 0;

  virtual Result<std::optional<Record>> find_record(const RecordKey& key, const std::vector<Parameter>& parameters) = 0;
  /// The records of `key` with any shape, its own included.
  virtual Result<std::vector<Record>> records_of(const RecordKey& key, const std::vector<Parameter>& parameters) = 0;

  /// The configurations that were withdrawn from the problem of `key`, as their texts: none of them is served there.
  virtual Result<std::vector<std::string>> withdrawn_configurations(const RecordKey& key) = 0;
  /// The source hashes of which the kernel of `key` has a pinned record of its problem, whichever `key` names.
  virtual Result<std::vector<std::string>> pinned_sources(const RecordKey& key) = 0;

  /// The records in the store, also those that are not served: earlier ones, withdrawn ones. In the order of their generations. `view`
  /// decides which count as served.
  virtual Result<std::vector<RecordInfo>> record_history(const StoreView& view) = 0;
  /// What changed, from the first generation on.
  virtual Result<std::vector<Change>> changes() = 0;
  /// The newest generation; 0 in a new store.
  virtual Result<std::int64_t> generation() = 0;
  /// Gives all these records a state, in one generation, which is returned. `reason` is for people. A configuration is withdrawn from a
  /// problem or not: other records of both follow, which become candidates where that ends. Errors, kNotFound: there is no such record.
  virtual Result<std::int64_t> set_record_state(const std::vector<std::int64_t>& records, RecordState state, const std::string& reason) = 0;
  /// Has the store serve what it served in an earlier generation: withdraws what was written since and restores the states. Nothing is
  /// deleted. Returns the new generation. Errors, kInvalidArgument: no earlier generation.
  virtual Result<std::int64_t> roll_back(std::int64_t generation, const std::string& reason) = 0;

  /// What is known of an operation: of the problem of `key`, or of any shape. A key of an operation has its name in place of a kernel's,
  /// and no source hash.
  virtual Result<std::optional<OperationRecord>> find_operation_record(const RecordKey& key) = 0;
  virtual Result<std::vector<OperationRecord>> operation_records_of(const RecordKey& key) = 0;
  /// Takes the place of what stands.
  virtual Result<void> put_operation_record(const RecordKey& key, const OperationRecord& record) = 0;

  /// Those of the key, whatever its STATIC fields and its range, the newest first. Without dtypes: those of all dtypes, one after another.
  virtual Result<std::vector<StoredPortfolio>> find_portfolios(const PortfolioKey& key) = 0;
  virtual Result<std::vector<StoredPortfolio>> portfolios() = 0;
  /// Takes the place of what stands. Returns its generation: no new one where it is the newest of the key's ranges already.
  virtual Result<std::int64_t> put_portfolio(const PortfolioKey& key, const std::string& text) = 0;

  virtual Result<void> put_compiled(const CompiledKey& key, const Compiled& compiled) = 0;
  /// Nothing also where the code is not this user's (and the store is not trusted), or is damaged.
  virtual Result<std::optional<Compiled>> find_compiled(const CompiledKey& key) = 0;
  /// The code of a record that this store gave out, to be launched. Errors, kStore: it is foreign, or broken; kNotFound: it is not there,
  /// or damaged.
  virtual Result<Compiled> load_code(const Record& record) = 0;
  /// What load_code says of a record whose code is foreign or broken.
  [[nodiscard]] virtual Error refusal(const Record& record) const = 0;
};

enum class StoreMode {
  kReadWrite,  ///< makes the file, and upgrades one of an older Hone, which that Hone cannot read any more
  kReadOnly,   ///< changes nothing: an older store is read as it is
  kAsItIs,     ///< writes where the file allows it without an upgrade, else reads; waits a second for who holds it locked
};

/// Whose code is handed out for launching: a store holds executable code.
enum class Trust {
  kOwn,  ///< that of this user, and of stores that this user trusts (trust_store)
  kAll,  ///< also what came from elsewhere: for stores that ship with an application
};

/// Opens the SQLite store. Errors, kStore: not a Hone store, made by a newer Hone, corrupt, read-only; kIo: the disk is full or fails.
Result<std::unique_ptr<Store>> open_store(const std::filesystem::path& path, StoreMode mode, Trust trust = Trust::kOwn,
                                          const StoreView& view = {});

/// Has all code in the store at `path` launched for this user from now on, or (`trusted` false) only this user's own. Kept in the user's
/// data directory; the store is not changed.
Result<void> trust_store(const std::filesystem::path& path, bool trusted = true);
/// The stores that this user trusts.
Result<std::vector<std::filesystem::path>> trusted_stores();

/// Whether a store can be written there, or made; changes nothing. Errors, kStore: the file or the directory cannot be written.
Result<void> check_store_writable(const std::filesystem::path& path);

/// $HONE_STORE, else $XDG_DATA_HOME/hone/store.db, else ~/.local/share/hone/store.db.
std::filesystem::path default_store_path();

}  // namespace hone
