#pragma once
// A database behind the store: prepared statements and write transactions. The store's SQL is the same on SQLite and on PostgreSQL.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/error.hpp"

namespace hone::cache {

/// A statement of one database. Parameters count from 1, columns from 0.
class StatementDriver {
 public:
  virtual ~StatementDriver() = default;
  virtual void bind_text(int at, std::string_view value) = 0;
  virtual void bind_integer(int at, std::int64_t value) = 0;
  virtual void bind_real(int at, double value) = 0;
  virtual void bind_blob(int at, std::span<const std::byte> value) = 0;
  virtual void bind_null(int at) = 0;
  virtual Result<bool> step(std::string_view doing) = 0;
  virtual void reset() = 0;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
  [[nodiscard]] virtual std::string_view bytes(int column) const = 0;  ///< of a text or a blob; until the next call
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual double real(int column) const = 0;
};

/// A prepared statement. Values are bound and columns are read in order, each call one further, so that SQL and code list them alike.
class Statement {
 public:
  explicit Statement(std::unique_ptr<StatementDriver> driver) : driver_(std::move(driver)) {}

  Statement& text(std::string_view value);
  Statement& integer(std::int64_t value);
  Statement& real(double value);  ///< NaN is stored as NULL
  Statement& blob(std::span<const std::byte> value);
  Statement& null();

  /// Runs to the next row; false at the end. Errors carry `doing`: "cannot <doing> in the store ...".
  Result<bool> step(std::string_view doing);
  /// For statements without rows.
  Result<void> run(std::string_view doing);
  /// For statements with one row, e.g. INSERT ... RETURNING id: its first column; 0 if there is none.
  Result<std::int64_t> run_for_integer(std::string_view doing);
  /// Ready to be bound and run again.
  void reset();

  [[nodiscard]] std::string read_text();
  [[nodiscard]] std::int64_t read_integer();
  [[nodiscard]] double read_real(double if_null = 0.0);
  [[nodiscard]] std::vector<std::byte> read_blob();
  [[nodiscard]] bool next_is_null() const;

 private:
  std::unique_ptr<StatementDriver> driver_;
  int bound_ = 0, read_ = 0;
};

/// Who else may write while a transaction does. SQLite has one writer in any case.
enum class Writers {
  kOne,   ///< nobody else who asks for this: for what decides by what it has read, and for generations, which others see in their order
  kMany,  ///< anybody: rows are added
  kRead,  ///< this transaction writes nothing: all that it reads is as it was at one moment
};

/// One connection; used by one thread at a time.
class Database {
 public:
  virtual ~Database() = default;

  virtual Result<Statement> prepare(std::string_view sql) const = 0;
  /// Runs statements that return nothing of interest.
  virtual Result<void> execute(const std::string& sql, std::string_view doing) const = 0;
  /// Rows that the last statement changed.
  [[nodiscard]] virtual std::int64_t changes() const = 0;
  /// SQL for how long ago a column's time was, in seconds.
  [[nodiscard]] virtual std::string seconds_since(std::string_view column) const = 0;

  /// The same without the time in which the database was not there: nobody could have written then.
  [[nodiscard]] virtual std::string seconds_unseen(std::string_view column) const { return seconds_since(column); }

  /// SQL for the time, as utc_now() writes it, by the clock that seconds_since() goes by.
  [[nodiscard]] virtual std::string now() const = 0;

  /// Whether the last transaction was rolled back since its connection was lost, or others' locks were in its way.
  [[nodiscard]] virtual bool was_cut_off() const { return false; }

  /// The first column of the first row, e.g. of a PRAGMA; 0 if there is none.
  Result<std::int64_t> scalar(std::string_view sql, std::string_view doing) const;
  Result<std::string> scalar_text(std::string_view sql, std::string_view doing) const;

 private:
  friend class Transaction;
  virtual Result<void> begin(std::string_view doing, Writers writers) const = 0;
  virtual Result<void> commit(std::string_view doing) const = 0;
  virtual void roll_back() const = 0;
};

/// A write transaction: rolled back unless committed.
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database, std::string_view doing, Writers writers = Writers::kOne);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit(std::string_view doing);

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;
};

}  // namespace hone::cache
