#pragma once
// A PostgreSQL server of the test's own, on a socket in a temporary directory. Where PostgreSQL is not installed the program ends as
// skipped before its first test.

#include <filesystem>
#include <string>

namespace hone::test {

class PostgresServer {
 public:
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// The URL of a new database; `user` owns it.
  std::string new_database(const std::string& user = "postgres");
  /// Of the same database for another role.
  static std::string as_role(std::string url, const std::string& role);
  /// Runs SQL in the schema of the store; the last line of what it brings.
  static std::string sql(const std::string& url, const std::string& statements);
  /// `mode` as in pg_ctl: "fast" ends connections, "immediate" is as a crash.
  void stop(const std::string& mode);
  void start();

 private:
  [[nodiscard]] std::string as_user() const;
  std::filesystem::path folder_, programs_;
  int databases_ = 0;
};

PostgresServer& postgres_server();

}  // namespace hone::test
