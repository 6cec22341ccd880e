#pragma once
// What the tests of the store share: a directory of their own, keys, trials, child processes, raw SQL.

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <string>

#include "engine/base/digest.hpp"
#include "engine/store/store_server.hpp"
#ifdef HONE_TEST_POSTGRES
#include "postgres_server.hpp"
#endif

namespace hone::test {

namespace fs = std::filesystem;

/// Removed with all that is in it.
struct Directory {
  fs::path path;
  Directory() {
    std::string name = (fs::temp_directory_path() / "hone_store_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code failure;
    fs::permissions(path, fs::perms::owner_all, failure);
    fs::remove_all(path, failure);
  }
#ifdef HONE_TEST_POSTGRES
  /// A database of its own on the test's server.
  [[nodiscard]] fs::path store() const { return url_; }
#else
  [[nodiscard]] fs::path store() const { return path / "store.db"; }
#endif
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

#ifdef HONE_TEST_POSTGRES
 private:
  std::string url_ = postgres_server().new_database();
#endif
};

/// An environment variable as it is to be while this lives; null: not there.
struct Environment {
  std::string name;
  std::optional<std::string> before;
  Environment(std::string variable, const char* value) : name(std::move(variable)) {
    if (const char* old = std::getenv(name.c_str()); old != nullptr) {
      before = old;
    }
    value == nullptr ? unsetenv(name.c_str()) : setenv(name.c_str(), value, 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { before ? setenv(name.c_str(), before->c_str(), 1) : unsetenv(name.c_str()); }
};

inline std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

inline std::vector<Parameter> parameters() {
  Parameter block, online;
  block.name = "block";
  block.values = {32, 64, 128, 256};
  block.default_value = 256;
  online.name = "online";
  online.kind = ParameterKind::kBoolean;
  online.values = {false, true};
  online.cpp_type = "bool";
  online.default_value = true;
  return {block, online};
}

inline RecordKey record_key(std::int64_t rows = 4096) {
  RecordKey key;
  key.kernel = "softmax";
  key.source_hash = "0123456789abcdef0123456789abcdef";
  key.problem = {DType::kF16, {{"rows", rows}, {"cols", 1024}}};
  key.device.id = "cuda:0";
  key.device.plugin = "cuda";
  key.device.product = "NVIDIA H200";
  key.device.uuid = "GPU-1";
  key.device.architecture = "sm_90a";
  key.device.properties = {{"multiprocessors", 132}, {"memory", 150'000'000'000}, {"l2_bytes", 52'428'800}};
  key.device.environment = {{"driver", "580.82"}, {"compiler", "NVRTC 13.0"}};
  return key;
}

inline SessionKey session_key(std::int64_t rows = 4096) { return {record_key(rows), "bayes", "batch=8", 0xFFFF'FFFF'FFFF'FFFFULL}; }

inline Trial good_trial(Count position) {
  Trial trial;
  trial.configuration.values = {128, false};
  trial.position = position;
  trial.resources = {.registers = 40, .spill_bytes = 8, .stack_bytes = 16, .shared_bytes = 49'152, .occupancy = 0.75};
  trial.measurement = {.samples_us = {10.5, 10.25, 1.0 / 3.0},
                       .median_us = 10.25,
                       .ci95_low_us = 1.0 / 3.0,
                       .ci95_high_us = 10.5,
                       .raced_out = true,
                       .by_graph = true};
  trial.readings = {.sm_clock_mhz = 1980,
                    .memory_clock_mhz = 3201,
                    .temperature_c = 41,
                    .power_w = 301.5,
                    .throttle_reasons = 1ULL << 63,
                    .discarded_samples = 2};
  trial.seconds = {.compile = 0.125, .validate = 0.0625, .time = 0.5, .overhead = 0.03125};
  trial.input_seed = 0xFEDC'BA98'7654'3210ULL;
  trial.max_error = 0.5;
  trial.artifact = "a1";
  return trial;
}

inline std::unique_ptr<Store> must_open(const fs::path& path, StoreMode mode = StoreMode::kReadWrite) {
  Result<std::unique_ptr<Store>> store = open_store(path, mode);
  REQUIRE_MESSAGE(store.ok(), (store ? "" : store.error().message));
  return std::move(*store);
}

/// The winner `configuration` with a narrow interval around its median.
inline Record record_of(const std::string& configuration, double median_us) {
  Record record;
  record.configuration_text = configuration;
  record.measurement = good_trial(0).measurement;
  record.measurement.median_us = median_us;
  record.measurement.ci95_low_us = 0.99 * median_us;
  record.measurement.ci95_high_us = 1.01 * median_us;
  record.default_us = 20.5;
  record.trials = 17;
  record.artifact = "a1";
  record.symbols = {"_Z7softmax", "reduce"};
  return record;
}

/// Compiled code of so many bytes.
inline std::shared_ptr<Artifact> artifact_of(std::size_t size) {
  Artifact artifact;
  for (std::size_t i = 0; i < size; ++i) {
    artifact.bytes.push_back(static_cast<std::byte>(i * i >> 3));
  }
  artifact.digest = digest(artifact.bytes);
  return std::make_shared<Artifact>(artifact);
}

template <class T>
T must(Result<T> result) {
  REQUIRE_MESSAGE(result.ok(), (result ? "" : result.error().message));
  return std::move(*result);
}
inline void must(Result<void> result) { REQUIRE_MESSAGE(result.ok(), (result ? "" : result.error().message)); }

/// Runs SQL behind the store's back; the first column of the last row.
inline std::string raw_sql(const fs::path& file, const std::string& sql) {
#ifdef HONE_TEST_POSTGRES
  if (is_store_server(file)) {
    // Blobs are written in another way.
    return PostgresServer::sql(file.string(), std::regex_replace(sql, std::regex("x'([0-9a-f]*)'"), R"('\x$1'::bytea)"));
  }
#endif
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  std::string last;
  const auto keep = [](void* to, int columns, char** values, char**) {
    if (columns > 0) {
      *static_cast<std::string*>(to) = values[0] == nullptr ? "" : values[0];
    }
    return 0;
  };
  const int code = sqlite3_exec(database, sql.c_str(), keep, &last, nullptr);
  const std::string message = sqlite3_errmsg(database);
  sqlite3_close(database);
  REQUIRE_MESSAGE(code == SQLITE_OK, message);
  return last;
}

/// Whether the database finds no fault with itself; a server's cannot be asked.
inline bool is_sound(const fs::path& file) {
  return is_store_server(file) || (raw_sql(file, "PRAGMA integrity_check") == "ok" && raw_sql(file, "PRAGMA foreign_key_check").empty());
}

/// A session of `key` that ended with `record`.
inline std::int64_t tuned(Store& store, const RecordKey& key, const std::optional<Record>& record) {
  const std::int64_t session = must(store.begin_session({key, "random", "", 1}, "60s"));
  must(store.finish_session(session, key, record, 1.0));
  return session;
}

/// A child process that runs `body` and ends with what it returns, without running destructors: as a killed process would.
template <class Body>
pid_t spawn(const Body& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
      code = 98;
    }
    _exit(code);
  }
  return child;
}

inline int wait_for(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A pipe between a test and its children.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { REQUIRE(pipe(ends) == 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() { close_end(0); }
  void close_write() { close_end(1); }
  void put(char c) const { static_cast<void>(!write(ends[1], &c, 1)); }
  /// False at the end: every writer has closed.
  bool get(char& c) const { return read(ends[0], &c, 1) == 1; }
  bool wait() const {
    char c = 0;
    return get(c);
  }

 private:
  void close_end(int i) {
    if (ends[i] >= 0) {
      close(ends[i]);
      ends[i] = -1;
    }
  }
};

}  // namespace hone::test
