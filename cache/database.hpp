#pragma once
// SQLite with RAII and Result: a connection, prepared statements, write transactions.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/write_queue.hpp"
#include "hone/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace hone::cache {

class Database;

/// Statements that were prepared and are not in use, by their SQL: preparing one takes as long as running it many times. The connection's.
class IdleStatements {
 public:
  IdleStatements() { all_.reserve(kMost); }
  ~IdleStatements();
  IdleStatements(const IdleStatements&) = delete;
  IdleStatements& operator=(const IdleStatements&) = delete;
  /// Null: there is none.
  sqlite3_stmt* take(std::string_view sql);
  /// Reset: it holds no lock.
  void put(sqlite3_stmt* statement) noexcept;

 private:
  static constexpr std::size_t kMost = 32;  // some SQL is made for the question
  std::vector<sqlite3_stmt*> all_;          ///< the one used longest ago first
};

/// A prepared statement. Values are bound and columns are read in order, each call one further, so that SQL and code list them alike.
class Statement {
 public:
  Statement& text(std::string_view value);
  Statement& integer(std::int64_t value);
  Statement& real(double value);  ///< NaN is stored as NULL, which is all that SQLite can do
  Statement& blob(std::span<const std::byte> value);
  Statement& null();

  /// Runs to the next row; false at the end. Errors carry `doing`: "cannot <doing> in the store ...".
  Result<bool> step(std::string_view doing);
  /// For statements without rows.
  Result<void> run(std::string_view doing);
  /// Ready to be bound and run again.
  void reset();

  [[nodiscard]] std::string read_text();
  [[nodiscard]] std::int64_t read_integer();
  [[nodiscard]] double read_real(double if_null = 0.0);
  [[nodiscard]] std::vector<std::byte> read_blob();
  [[nodiscard]] bool next_is_null() const;

 private:
  friend class Database;
  struct PutBack {
    IdleStatements* idle;
    void operator()(sqlite3_stmt* statement) const noexcept { idle->put(statement); }
  };
  Statement(const Database& database, sqlite3_stmt* statement);

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, PutBack> statement_;
  int bound_ = 0, read_ = 0, bind_error_ = 0;
};

/// How a file is opened. kImmutable: as kRead, and the file is known not to change, so no lock and no side file is needed.
enum class Access { kRead, kImmutable, kWrite };

/// The facts of a database's first 100 bytes, read without a lock and without touching anything.
struct Header {
  bool empty = false;   ///< no bytes at all
  bool sqlite = false;  ///< begins as every SQLite file does
  bool wal = false;     ///< in WAL mode
  std::uint32_t user_version = 0, application_id = 0;
};

/// How long to wait for others who hold the file locked, in milliseconds.
enum class Patience : int {
  kLong = 20'000,  ///< of who came to write: a transaction takes milliseconds, so that only a stopped process can use this up
  kShort = 1'000,  ///< of an application, which can go on without the store
};

/// One connection; used by one thread at a time.
class Database {
 public:
  /// Sets the busy timeout before anything else can fail for want of it. kWrite creates the file.
  static Result<Database> open(const std::filesystem::path& path, Access access, Patience patience = Patience::kLong);

  /// The header through SQLite's own descriptor: closing another one would drop this process's POSIX locks on the file.
  [[nodiscard]] Header header() const;
  [[nodiscard]] bool writable() const;
  [[nodiscard]] Patience patience() const { return patience_; }

  Result<Statement> prepare(std::string_view sql) const;
  /// Runs statements that return nothing of interest.
  Result<void> execute(const std::string& sql, std::string_view doing) const;
  /// The first column of the first row, e.g. of a PRAGMA; 0 if there is none.
  Result<std::int64_t> scalar(std::string_view sql, std::string_view doing) const;
  Result<std::string> scalar_text(std::string_view sql, std::string_view doing) const;
  /// Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] std::int64_t last_row() const;

  /// What SQLite last failed with, in words for people: what, where, what to do.
  [[nodiscard]] Error error(std::string_view doing) const;
  [[nodiscard]] int last_code() const;

 private:
  friend class Statement;
  friend class Transaction;
  /// BEGIN IMMEDIATE; tries for so long. False: another connection writes.
  [[nodiscard]] Result<bool> try_begin(std::string_view doing, double seconds) const;
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  Database(std::filesystem::path path, sqlite3* handle, Patience patience) : path_(std::move(path)), patience_(patience), handle_(handle) {}

  std::filesystem::path path_;
  Patience patience_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<IdleStatements> idle_ = std::make_unique<IdleStatements>();  ///< goes before the connection; no statement outlives it
};

/// A write transaction: rolled back unless committed. It takes the write lock at once, since a transaction that upgrades from
/// reading fails with SQLITE_BUSY whatever the busy timeout. Where others write it waits in line for them.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database, std::string_view doing);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit(std::string_view doing);

 private:
  Transaction(const Database& database, std::optional<QueuePlace> place) : database_(&database), place_(std::move(place)) {}
  const Database* database_;
  std::optional<QueuePlace> place_;
};

}  // namespace hone::cache
