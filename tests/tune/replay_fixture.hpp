#pragma once
// Sessions on a recorded space, in a folder of their own.

#include <doctest/doctest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/replay/recorded_space.hpp"
#include "engine/tune/session.hpp"

namespace hone::replay_test {

/// A recorded space of 6 x 6 configurations: time grows with the distance from (4, 2); a = 6 does not compile.
class Fixture {
 public:
  /// Of all that, (3, 2) was too slow where `slow_us` is given: its time then, by one cold run.
  explicit Fixture(std::optional<double> slow_us = std::nullopt)
      : folder_(std::filesystem::temp_directory_path() / ("hone_replay_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    nlohmann::json cache = nlohmann::json::object();
    for (int a = 1; a <= 6; ++a) {
      for (int b = 1; b <= 6; ++b) {
        nlohmann::json entry{{"a", a}, {"b", b}, {"compile_time", 100.0}, {"verification_time", 10.0}, {"benchmark_time", 20.0}};
        const double time = 1.0 + 0.1 * ((a - 4) * (a - 4) + (b - 2) * (b - 2));
        entry["time"] = a == 6 ? nlohmann::json("CompilationFailedConfig") : nlohmann::json(time);
        entry["times"] = a == 6 ? nlohmann::json::array() : nlohmann::json{time, time, time};
        if (slow_us && a == 3 && b == 2) {
          entry["time"] = "too_slow";
          entry["times"] = nlohmann::json{*slow_us * 1e-3};
        }
        cache[std::to_string(a) + "," + std::to_string(b)] = entry;
      }
    }
    const nlohmann::json values{1, 2, 3, 4, 5, 6};
    const nlohmann::json file{
        {"device_name", "Test"}, {"kernel_name", "toy"}, {"tune_params_keys", {"a", "b"}}, {"tune_params", {{"a", values}, {"b", values}}},
        {"objective", "time"},   {"cache", cache}};
    std::ofstream(folder_ / "toy.json") << file.dump();
    recorded_ = std::make_unique<RecordedSpace>(RecordedSpace::load(folder_ / "toy.json").value());
    store_ = open_store(folder_ / "store.db", StoreMode::kReadWrite).value();
  }
  ~Fixture() {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  TuneRequest request(const std::string& strategy, const std::string& budget) {
    TuneRequest made;
    made.spec.name = "toy";
    made.spec.source_hash = "0";
    made.spec.dtypes = {DType::kF32};
    made.spec.parameters = recorded_->space().parameters();
    made.device = builtin_registry().device("replay").value();
    made.strategy = strategy;
    made.budget = parse_budget(budget).value();
    made.recorded = recorded_.get();
    return made;
  }
  /// A request of its own session that keeps to a part of the space.
  TuneRequest restricted(const Restriction& restriction, const std::string& strategy = "exhaustive") {
    TuneRequest made = request(strategy, "1h");
    made.restriction = restriction;
    return made;
  }
  [[nodiscard]] std::optional<Record> record() {
    const TuneRequest any = request("random", "1trials");
    return store_->find_record(record_key(any.spec, any.problem, any.device.info), any.spec.parameters).value();
  }
  Store& store() { return *store_; }

  /// As when the process that ran its sessions has ended.
  void reopen() {
    store_.reset();
    store_ = open_store(folder_ / "store.db", StoreMode::kReadWrite).value();
  }

  /// From now on the store takes no model: as on a full disk, but for that table alone.
  void refuse_models() {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open((folder_ / "store.db").c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "CREATE TRIGGER refuse BEFORE INSERT ON model BEGIN SELECT RAISE(ABORT, 'no room'); END", nullptr, nullptr,
                       nullptr) == SQLITE_OK);
    sqlite3_close(database);
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<RecordedSpace> recorded_;
  std::unique_ptr<Store> store_;
};

inline std::int64_t total(const TuneReport& report) {
  std::int64_t sum = 0;
  for (const auto& [outcome, count] : report.outcomes) {
    sum += count;
  }
  return sum;
}

}  // namespace hone::replay_test
