#pragma once
// SQLite with RAII and Result.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/database.hpp"
#include "cache/write_queue.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace hone::cache {

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

/// How a file is opened. kImmutable: as kRead, and the file is known not to change, so no lock and no side file is needed.
/// kMemory: no file at all.
enum class Access { kRead, kImmutable, kWrite, kMemory };

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

class SqliteDatabase final : public Database {
 public:
  /// Sets the busy timeout before anything else can fail for want of it. kWrite creates the file.
  static Result<SqliteDatabase> open(const std::filesystem::path& path, Access access, Patience patience = Patience::kLong);

  /// The header through SQLite's own descriptor: closing another one would drop this process's POSIX locks on the file.
  [[nodiscard]] Header header() const;
  [[nodiscard]] bool writable() const;
  [[nodiscard]] Patience patience() const { return patience_; }

  Result<Statement> prepare(std::string_view sql) const override;
  Result<void> execute(const std::string& sql, std::string_view doing) const override;
  [[nodiscard]] std::int64_t changes() const override;
  [[nodiscard]] std::string seconds_since(std::string_view column) const override;
  [[nodiscard]] std::string now() const override;

  /// Makes `to` what this one is, in one transaction: who has its file open goes on with the new content.
  Result<void> copy_into(const SqliteDatabase& to) const;

  /// What SQLite last failed with, in words for people: what, where, what to do.
  [[nodiscard]] Error error(std::string_view doing) const;
  [[nodiscard]] int last_code() const;

 private:
  friend class SqliteStatement;
  /// It takes the write lock at once, since a transaction that upgrades from reading fails with SQLITE_BUSY whatever the busy timeout.
  /// Where others write it waits in line for them.
  Result<void> begin(std::string_view doing, Writers writers) const override;
  Result<void> commit(std::string_view doing) const override;
  void roll_back() const override;
  /// BEGIN IMMEDIATE; tries for so long. False: another connection writes.
  [[nodiscard]] Result<bool> try_begin(std::string_view doing, double seconds) const;
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  SqliteDatabase(std::filesystem::path path, sqlite3* handle, Patience patience)
      : path_(std::move(path)), patience_(patience), handle_(handle) {}

  std::filesystem::path path_;
  Patience patience_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<IdleStatements> idle_ = std::make_unique<IdleStatements>();  ///< goes before the connection; no statement outlives it
  mutable std::unique_ptr<QueuePlace> turn_;                                   ///< of the transaction at hand
};

}  // namespace hone::cache
