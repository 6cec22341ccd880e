// kill -9 in mid-session: the same command goes on, and the store is whole.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "tests/cli/command.hpp"
#include "tests/cli/store_rows.hpp"

namespace hone::test {
namespace {

constexpr int kBudget = 12;

std::size_t count(const std::string& store) {
  const std::vector<std::string> rows = query(store, "SELECT count(*) FROM trial");
  return rows.empty() ? 0 : std::stoul(rows.front());
}

/// Starts the tuner, waits until it has recorded `trials` in all and `delay` has passed, and kills it. False if it ended before.
bool kill_at(const Arguments& command, const std::string& store, std::size_t trials, std::chrono::milliseconds delay) {
  Running tuner(command);
  while (tuner.alive() && count(store) < trials) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(delay);
  const bool killed = tuner.alive();
  tuner.kill_and_reap();
  return killed;
}

}  // namespace

TEST_CASE("a killed session goes on where it was: no trial is lost or repeated") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Arguments command{"tune",     "softmax",  "--device", "cpu", "--dtype", "f32", "--shape", "rows=32,cols=256",
                          "--budget", "12trials", "--seed",   "1",   "--store", store, "--json"};
  const int moments = std::getenv("HONE_LONG_TESTS") != nullptr ? 10 : 4;
  std::vector<std::string> before;
  int kills = 0;
  for (int moment = 0; moment < moments; ++moment) {
    // From before the first trial to the last, each at another point of the work on the next one.
    const auto trials = static_cast<std::size_t>(moment * (kBudget - 1) / (moments - 1));
    kills += kill_at(command, store, trials, std::chrono::milliseconds(moment * 37 % 100)) ? 1 : 0;
    const std::vector<std::string> now = recorded(store);
    REQUIRE(now.size() >= before.size());
    CHECK(std::equal(before.begin(), before.end(), now.begin()));
    before = now;
    if (!now.empty()) {
      CHECK(query(store, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
      CHECK(query(store, "PRAGMA foreign_key_check").empty());
    }
  }
  CHECK(kills >= moments - 1);  // the last one may find it finished
  const bool finished = query(store, "SELECT state FROM session") == std::vector<std::string>{"done"};
  if (!finished) {
    const Ended ended = run(command);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    CHECK(ended.json()["resumed_trials"] == before.size());
    CHECK(ended.json()["session"] == 1);
  }
  const std::vector<std::string> all = recorded(store);
  CHECK(all.size() == kBudget);
  CHECK(std::equal(before.begin(), before.end(), all.begin()));
  const auto configurations = query(store, "SELECT configuration FROM trial");
  CHECK(std::set<std::string>(configurations.begin(), configurations.end()).size() == kBudget);
  CHECK(query(store, "SELECT id, state FROM session") == std::vector<std::string>{"1|done"});
  CHECK(query(store, "SELECT count(*) FROM record") == std::vector<std::string>{"1"});
  CHECK(query(store, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
}

TEST_CASE("kill -9 at random moments loses no trial and repeats none") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const int kills = std::getenv("HONE_LONG_TESTS") != nullptr ? 200 : 8;
  constexpr int kTrials = 300;
  const std::string space = HONE_SOURCE_DIR "/bench/spaces/copy.NVIDIA_H200.json.gz";
  const auto command = [&](int seed) {
    return Arguments{
        "tune",    space, "--strategy", "random", "--budget", std::to_string(kTrials) + "trials", "--seed", std::to_string(seed),
        "--store", store, "--json"};
  };
  const auto done = [&](int seed) {
    return query(store, "SELECT state FROM session WHERE seed = '" + std::to_string(seed) + "'") == std::vector<std::string>{"done"};
  };
  std::mt19937 random(11);  // NOLINT: the same moments in every run, as far as the machine allows
  std::vector<std::string> before;
  int killed = 0, seed = 1;
  while (killed < kills) {
    seed += done(seed) ? 1 : 0;
    // At once, while it opens the store, or some trials further on.
    const std::size_t trials = before.size() + random() % 40;
    killed += kill_at(command(seed), store, trials, std::chrono::milliseconds(random() % 20)) ? 1 : 0;
    const std::vector<std::string> now = recorded(store);
    REQUIRE(now.size() >= before.size());
    REQUIRE(std::equal(before.begin(), before.end(), now.begin()));
    before = now;
  }
  CAPTURE(seed);
  if (!done(seed)) {
    const Ended ended = run(command(seed));
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  }
  const std::vector<std::string> all = recorded(store);
  CHECK(std::equal(before.begin(), before.end(), all.begin()));
  CHECK(all.size() == static_cast<std::size_t>(seed * kTrials));
  CHECK(query(store, "SELECT count(*) FROM session") == std::vector<std::string>{std::to_string(seed)});
  CHECK(query(store, "SELECT 1 FROM trial GROUP BY session, configuration HAVING count(*) > 1").empty());
  CHECK(query(store, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
  CHECK(query(store, "PRAGMA foreign_key_check").empty());
  MESSAGE(killed << " kills, " << all.size() << " trials in " << seed << " sessions, none lost or repeated");
}

TEST_CASE("an interrupted session says so, and a budget that is used up ends it with what it has") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const auto command = [&](const char* budget) {
    return Arguments{"tune", "copy", "--device", "cpu", "--shape", "n=4096", "--budget", budget, "--store", store, "--json"};
  };
  Running tuner(command("1h"), directory / "out");
  while (tuner.alive() && recorded(store).size() < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(tuner.interrupt() == 130);
  // The best so far is printed, and is the record.
  const auto printed = nlohmann::json::parse(contents(directory / "out"), nullptr, false);
  REQUIRE(printed.is_object());
  CHECK(printed["interrupted"] == true);
  REQUIRE(printed["best"].is_object());
  const auto record = run({"best", "copy", "--device", "cpu", "--shape", "n=4096", "--store", store, "--json"}).json();
  CHECK(record["config"] == printed["best"]["config"]);
  CHECK(record["time_us"] == printed["best"]["time_us"]);
  CHECK(run({"sessions", "--store", store, "--json"}).json()["sessions"][0]["state"] == "interrupted");
  const std::size_t trials = recorded(store).size();
  const auto ended = run(command("1trials")).json();
  CHECK(ended["session"] == 1);
  CHECK(ended["trials"] == trials);
  CHECK(ended["best"].is_object());
  CHECK(run({"records", "--store", store, "--json"}).json()["records"].size() == 1);
}

TEST_CASE("two signals end a session at once, and it says so") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  Running tuner({"tune", "copy", "--device", "cpu", "--shape", "n=4096", "--budget", "1h", "--store", store}, directory / "out",
                directory / "err");
  while (tuner.alive() && recorded(store).size() < 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(tuner.signalled({SIGINT, SIGTERM}) < 0);
  CHECK(contents(directory / "err").find("stopped at once by a second signal") != std::string::npos);
  CHECK(query(store, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
}

}  // namespace hone::test
