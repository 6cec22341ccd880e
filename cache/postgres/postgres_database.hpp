#pragma once
// PostgreSQL behind the store: one connection, which comes back after the server was restarted.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cache/database.hpp"
#include "cache/postgres/libpq.hpp"

namespace hone::cache {

/// The SQL with $1, $2, ... in place of ?, ?1, ..., which count as SQLite counts them. What is in quotes stays.
std::string numbered_parameters(std::string_view sql);

/// A result of libpq's.
struct ClearResult {
  const Libpq* pq;
  void operator()(PGresult* result) const noexcept { pq->clear(result); }
};
using PostgresResult = std::unique_ptr<PGresult, ClearResult>;

/// In a PostgreSQL database the store is the schema `hone`.
class PostgresDatabase final : public Database {
 public:
  /// Passwords and TLS are libpq's: in the URL, PGPASSWORD, ~/.pgpass, PGSSLMODE. Errors, kUnavailable: no libpq, no server, or it does not
  /// let this user in.
  static Result<std::unique_ptr<PostgresDatabase>> open(const std::string& url);
  ~PostgresDatabase() override;
  /// From now on each transaction leaves its number in the store, so that one whose end was not heard is known to be committed or not. (Its
  /// number on the server does not tell: after a crash another one may get it.)
  Result<void> mark_commits();
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  Result<Statement> prepare(std::string_view sql) const override;
  Result<void> execute(const std::string& sql, std::string_view doing) const override;
  [[nodiscard]] std::int64_t changes() const override { return changed_; }
  [[nodiscard]] std::string seconds_since(std::string_view column) const override;
  [[nodiscard]] std::string seconds_unseen(std::string_view column) const override;
  [[nodiscard]] std::string now() const override;
  [[nodiscard]] bool was_cut_off() const override { return cut_; }

  /// From now on notices on the channel, whose name is an identifier, come in; also over a connection that was made anew.
  Result<void> listen(const std::string& channel);
  /// Readable when notices may have come; -1: there is no connection now.
  [[nodiscard]] int descriptor() const;
  /// Whether notices have come since the last call, or the connection was made anew and some may have been missed.
  bool heard();

 private:
  friend class PostgresStatement;
  PostgresDatabase(const Libpq* pq, PGconn* handle, std::string place);

  /// One writer at a time with Writers::kOne, by an advisory lock that ends with the transaction or its connection.
  Result<void> begin(std::string_view doing, Writers writers) const override;
  /// A connection that is lost while it commits has committed or not: the server is asked, once it is back.
  Result<void> commit(std::string_view doing) const override;
  void roll_back() const override;

  /// Settings of a new connection.
  Result<void> configure() const;
  /// Connects again, for as long as a server takes to restart.
  Result<void> reconnect(std::string_view doing) const;
  /// What `send` brings. Outside of a transaction a connection that was lost is made anew and it is sent again.
  template <class Send>
  Result<PostgresResult> run(std::string_view doing, const Send& send) const;
  Result<PostgresResult> run(const std::string& sql, std::string_view doing) const;
  [[nodiscard]] bool lost() const;
  /// Whether a failure is the connection's.
  [[nodiscard]] bool cut_off(const PGresult* result) const;
  /// SQLSTATE of a failure; empty: no server has answered.
  [[nodiscard]] std::string_view state_of(const PGresult* result) const;
  [[nodiscard]] std::string message() const;
  [[nodiscard]] Error error(std::string_view doing, const PGresult* result) const;

  const Libpq* pq_;
  PGconn* handle_;
  std::string place_;                ///< without a password
  pid_t process_;                    ///< whose connection it is: closed by a forked child, it would end for the parent
  std::string mark_;                 ///< this connection's row of `writer`; empty: none
  mutable std::int64_t writes_ = 0;  ///< the number of the latest transaction
  mutable bool in_transaction_ = false;
  mutable bool cut_ = false;  ///< was_cut_off()
  mutable std::int64_t changed_ = 0;
  std::vector<std::string> channels_;
  mutable bool missed_ = false;  ///< notices, maybe
};

}  // namespace hone::cache
