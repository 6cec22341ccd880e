#pragma once
// The store in a database. Its methods are spread by concern: sessions.cpp, devices.cpp, trials.cpp, records.cpp, record_history.cpp,
// operations.cpp, portfolios.cpp, compiled.cpp. How a file is opened is in sqlite_open.cpp, how a server in postgres/open.cpp.

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "cache/code.hpp"
#include "cache/database.hpp"
#include "engine/store/store.hpp"

namespace hone::cache {

/// The connection of a store.
class StoreConnection {
 public:
  virtual ~StoreConnection() = default;
  [[nodiscard]] virtual const Database& database() const = 0;
  /// The file, or the URL without its passwords: for people, and what is_trusted() asks for.
  [[nodiscard]] virtual std::string place() const = 0;
  /// How long a session counts as alive after its owner, which cannot be seen, last wrote.
  [[nodiscard]] virtual double lease_seconds() const = 0;
  /// Whether owners write now and then to say that they are there.
  [[nodiscard]] virtual bool has_heartbeats() const { return false; }
  /// Before a read by who does not write: follows a file that was replaced or has to be recovered.
  virtual Result<void> prepare_read() = 0;
};

/// Of a store that is a file; a kAsItIs becomes what it can be. Errors: as open_store.
Result<std::unique_ptr<StoreConnection>> connect_file(const std::filesystem::path& path, StoreMode& mode);

/// Thread-safe: one call at a time.
class SqlStore final : public Store {
 public:
  SqlStore(std::unique_ptr<StoreConnection> connection, StoreMode mode, bool trusted, const StoreView& view);
  /// Gives up the sessions that this store runs, so that they can be resumed.
  ~SqlStore() override;
  SqlStore(const SqlStore&) = delete;
  SqlStore& operator=(const SqlStore&) = delete;

  Result<std::optional<SessionInfo>> resume_session(const SessionKey& key) override;
  Result<std::int64_t> begin_session(const SessionKey& key, const std::string& budget) override;
  Result<void> add_trial(std::int64_t session, const std::vector<Parameter>& parameters, const Trial& trial,
                         double elapsed_seconds) override;
  Result<void> add_control(std::int64_t session, const Control& control) override;
  Result<std::vector<Control>> controls(std::int64_t session) override;
  Result<std::vector<Trial>> trials(std::int64_t session, const std::vector<Parameter>& parameters) override;
  Result<bool> finish_session(std::int64_t session, const RecordKey& key, const std::optional<Record>& record, double elapsed_seconds,
                              std::optional<std::int64_t> compared_with) override;
  Result<bool> keep_record(std::int64_t session, const RecordKey& key, const Record& record) override;
  Result<void> release_session(std::int64_t session, double elapsed_seconds) override;
  Result<std::vector<SessionInfo>> sessions() override;
  Result<std::vector<Parameter>> parameters_of(std::int64_t session) override;
  Result<std::vector<DeviceInfo>> devices() override;
  Result<std::vector<History>> histories(const std::string& kernel, const std::vector<Parameter>& parameters, std::int64_t session,
                                         std::size_t most) override;
  Result<std::string> find_model(const std::string& kernel, const std::string& strategy) override;
  Result<void> put_model(const std::string& kernel, const std::string& strategy, const std::string& model) override;
  Result<std::optional<Record>> find_record(const RecordKey& key, const std::vector<Parameter>& parameters) override;
  Result<std::vector<Record>> records_of(const RecordKey& key, const std::vector<Parameter>& parameters) override;
  Result<std::vector<std::string>> withdrawn_configurations(const RecordKey& key) override;
  Result<std::vector<std::string>> pinned_sources(const RecordKey& key) override;
  Result<std::vector<RecordInfo>> record_history(const StoreView& view) override;
  Result<std::vector<Change>> changes() override;
  Result<std::int64_t> generation() override;
  Result<std::int64_t> set_record_state(const std::vector<std::int64_t>& records, RecordState state, const std::string& reason) override;
  Result<std::int64_t> roll_back(std::int64_t generation, const std::string& reason) override;
  Result<std::optional<OperationRecord>> find_operation_record(const RecordKey& key) override;
  Result<std::vector<OperationRecord>> operation_records_of(const RecordKey& key) override;
  Result<void> put_operation_record(const RecordKey& key, const OperationRecord& record) override;
  Result<std::vector<StoredPortfolio>> find_portfolios(const PortfolioKey& key) override;
  Result<std::vector<StoredPortfolio>> portfolios() override;
  Result<std::int64_t> put_portfolio(const PortfolioKey& key, const std::string& text) override;
  Result<void> put_compiled(const CompiledKey& key, const Compiled& compiled) override;
  Result<std::optional<Compiled>> find_compiled(const CompiledKey& key) override;
  Result<Compiled> load_code(const Record& record) override;
  [[nodiscard]] Error refusal(const Record& record) const override;

 private:
  const Database& database() const { return connection_->database(); }
  Result<void> prepare_read() { return mode_ == StoreMode::kReadWrite ? Result<void>() : connection_->prepare_read(); }
  /// Before a write: the lock, or why there is none.
  Result<Transaction> begin_write(std::string_view doing, Writers writers = Writers::kOne);
  /// What `write` brings, which is one transaction. Where the server rolled it back (was_cut_off), it is made again.
  template <class Write>
  auto written(const Write& write) -> decltype(write()) {
    for (int tries = 1;; ++tries) {
      auto result = write();
      if (result || !database().was_cut_off() || tries == kMostTries) {
        return result;
      }
    }
  }

  /// Ids of the rows for a device and its environment, made where they are missing. Within a transaction.
  Result<std::int64_t> device_row(const DeviceInfo& info);
  Result<std::int64_t> environment_row(const DeviceInfo& info);

  Result<std::vector<SessionInfo>> read_sessions(std::optional<std::int64_t> only);
  /// Errors also: another process has taken the session over.
  Result<void> touch_session(std::int64_t session, double elapsed_seconds);
  /// This store runs the session, until it is erased from running_.
  void runs(std::int64_t session);
  void keep_leases(const std::stop_token& stop);
  Result<std::int64_t> insert_trial(std::int64_t session, const std::vector<Parameter>& parameters, const Trial& trial,
                                    double elapsed_seconds);
  Result<void> put_final_measurement(std::int64_t trial_row, const Trial& trial);
  Result<void> fail_trial(std::int64_t trial_row, const Trial& trial);
  /// Whether a winner takes the place of the record that stands. Within a transaction.
  Result<bool> takes_over(const RecordKey& key, const Record& winner, std::optional<std::int64_t> compared_with);
  Result<void> put_record(std::int64_t session, const RecordKey& key, const Record& record);
  /// The number of a new generation. Within a transaction.
  Result<std::int64_t> begin_generation(const std::string& what);
  Result<void> write_state(std::int64_t record, std::int64_t generation, RecordState state);
  Result<std::vector<std::string>> read_withdrawn(const RecordKey& key, std::int64_t generation);
  /// The records of the same problem and configuration, itself included, and their states. Nothing where there is no such record.
  Result<std::map<std::int64_t, RecordState>> states_beside(std::int64_t record);
  Result<std::vector<RecordInfo>> read_history(const StoreView& view);
  Result<Record> read_record(Statement& row, const RecordKey& key, const std::vector<Parameter>& parameters);
  Result<std::vector<Record>> read_records(const RecordKey& key, const std::vector<Parameter>& parameters, bool any_shape);
  Result<std::vector<OperationRecord>> read_operation_records(const RecordKey& key, bool any_shape);
  Result<std::vector<StoredPortfolio>> read_portfolios(const PortfolioKey* only);
  /// What stood at `generation` stands again from `now` on. Within a transaction.
  Result<void> restore_portfolios(std::int64_t generation, std::int64_t now);
  /// Of a row of find_compiled; nothing where its code is not to be launched, or is damaged.
  Result<std::optional<Compiled>> read_compiled(Statement& row, const CompiledKey& key);
  Result<std::shared_ptr<const Artifact>> read_artifact(const std::string& digest);

  /// What a row keeps to tie its code to the rest of it.
  struct Sealed {
    CodeIdentity identity;
    std::string digest, seal;
  };
  static Sealed read_sealed(Statement& row);
  Result<CodeState> state_of(const Sealed& code);
  /// Of a row from before code was sealed: that is what was compiled for the configuration, as far as the store knows.
  Result<bool> was_compiled(const CodeIdentity& identity);
  /// This user's; with `make` it is made where there is none. Null where it cannot be had.
  const SealKey* seal_key(bool make);
  /// The last two columns of a row that is written: code_digest, seal.
  void bind_seal(Statement& statement, const CodeIdentity& identity);

  static constexpr int kMostTries = 20;  // each after the server has come back

  std::mutex mutex_;
  std::unique_ptr<StoreConnection> connection_;
  std::string place_;
  StoreMode mode_;
  StoreView view_;  ///< of records that are looked up
  bool trusted_;    ///< all code counts as the user's own
  std::optional<SealKey> key_;
  std::string no_key_;              ///< what is wrong with it; empty where there just is none yet
  int process_;                     ///< a forked child must leave the connection alone
  std::set<std::int64_t> running_;  ///< sessions that this store runs
  std::condition_variable_any wake_;
  std::jthread heartbeat_;  ///< on a server: says that they are run
};

}  // namespace hone::cache
