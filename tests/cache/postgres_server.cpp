#include "postgres_server.hpp"

#include <doctest/doctest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace hone::test {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command, int& status) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::string output;
  if (pipe == nullptr) {
    status = -1;
    return output;
  }
  for (char buffer[4096]; const std::size_t bytes = fread(buffer, 1, sizeof buffer, pipe);) {
    output.append(buffer, bytes);
  }
  status = pclose(pipe);
  return output;
}

/// The newest that Debian's package has, else that of the path; Debian keeps several versions beside each other, out of the path.
fs::path find_programs() {
  int status = 0;
  std::string found = output_of("(command -v initdb; ls -v -d /usr/lib/postgresql/*/bin/initdb) 2> /dev/null | tail -n 1", status);
  found.erase(found.find_last_not_of('\n') + 1);
  return fs::path(found).parent_path();
}

void must_run(const std::string& command) {
  int status = 0;
  const std::string output = output_of(command, status);
  if (status != 0) {
    std::fprintf(stderr, "%s: %s\n", command.c_str(), output.c_str());
    std::_Exit(1);
  }
}

std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

// Before main(): a program that cannot run at all says so by its exit code.
PostgresServer server;

}  // namespace

PostgresServer& postgres_server() { return server; }

PostgresServer::PostgresServer() : programs_(find_programs()) {
  if (std::getenv("HONE_TESTS_COUNTED") != nullptr) {
    return;  // none of them runs
  }
  if (programs_.empty()) {
    const char* const need = std::getenv("HONE_TESTS_NEED");
    std::puts("skipped: PostgreSQL is not installed (apt install postgresql)");
    std::fflush(stdout);
    std::_Exit(need != nullptr && std::string_view(need).find("postgres") != std::string_view::npos ? 1 : 77);
  }
  std::string name = (fs::temp_directory_path() / "hone_pg_XXXXXX").string();
  folder_ = mkdtemp(name.data());
  if (const passwd* const user = geteuid() == 0 ? getpwnam("postgres") : nullptr) {
    if (chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) {
      std::_Exit(1);
    }
  }
  must_run(as_user() + (programs_ / "initdb").string() + " -A trust -U postgres --no-sync -E UTF8 --locale=C.UTF-8 -D " +
           (folder_ / "data").string());
  // All are let in but those who have to show a password.
  const fs::path rules = folder_ / "data" / "pg_hba.conf";
  std::ofstream(rules) << "local all secured scram-sha-256\nlocal all all trust\n";
  start();
}

PostgresServer::~PostgresServer() {
  if (folder_.empty()) {
    return;
  }
  stop("immediate");
  std::error_code failure;
  fs::remove_all(folder_, failure);
}

/// initdb and the server do not run as root.
std::string PostgresServer::as_user() const {
  return "cd " + folder_.string() + " && " + (geteuid() == 0 ? "setpriv --reuid postgres --regid postgres --clear-groups " : "");
}

void PostgresServer::start() {
  must_run(as_user() + (programs_ / "pg_ctl").string() + " -w -s -D " + (folder_ / "data").string() + " -l " + (folder_ / "log").string() +
           " -o '-k " + folder_.string() + " -c listen_addresses= -c max_connections=200 -c checkpoint_timeout=1h' start > /dev/null");
}

void PostgresServer::stop(const std::string& mode) {
  int status = 0;
  output_of(as_user() + (programs_ / "pg_ctl").string() + " -w -s -m " + mode + " -D " + (folder_ / "data").string() + " stop", status);
}

std::string PostgresServer::new_database(const std::string& user) {
  const std::string name = "test" + std::to_string(databases_++);
  const std::string host = "?host=" + folder_.string();
  sql("postgres://postgres@/postgres" + host, "CREATE DATABASE " + name + " OWNER " + user);
  return "postgres://" + user + "@/" + name + host;
}

std::string PostgresServer::as_role(std::string url, const std::string& role) {
  const std::size_t user = url.find("://") + 3;
  return url.replace(user, url.find('@') - user, role);
}

std::string PostgresServer::sql(const std::string& url, const std::string& statements) {
  int status = 0;
  const fs::path file = fs::temp_directory_path() / ("hone_pg_" + std::to_string(getpid()) + ".sql");
  std::ofstream(file) << statements;
  std::string output =
      output_of("PGOPTIONS='-c search_path=hone' psql -X -q -A -t -v ON_ERROR_STOP=1 -f " + file.string() + " " + shell_word(url), status);
  fs::remove(file);
  REQUIRE_MESSAGE(status == 0, output);
  while (!output.empty() && output.back() == '\n') {
    output.pop_back();
  }
  return output.substr(output.rfind('\n') + 1);
}

}  // namespace hone::test
