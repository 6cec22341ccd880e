// Sessions on the workers of several hosts, end to end: a PostgreSQL that the test starts, a coordinator, and workers that are processes of
// this host. Devices sleep, or are replayed, so that none of this depends on the machine.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "tests/cache/postgres_server.hpp"
#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kSleeper = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sleeping_device.so";
// Short leases, so that what is lost is missed soon.
const Environment kUsual{{"SLEEPER_MS", "4"}, {"HONE_LEASE_SECONDS", "2"}};

Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) {
    environment[name] = value;
  }
  return environment;
}

Arguments serve(const std::string& url, const std::string& device, const Arguments& more = {}) {
  Arguments arguments{"serve-trials", "--store", url, "--device", device, "--plugin", kSleeper, "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Arguments tune_with_workers(const std::string& url, const std::string& budget, const Arguments& more = {}) {
  Arguments arguments{"tune",       "copy",   "--workers", "--plugin", kSleeper,  "--shape", "n=1024", "--budget",
                      budget, "--strategy", "random", "--seed",    "1",        "--store", url,       "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string sql(const std::string& url, const std::string& statement) { return PostgresServer::sql(url, statement); }

int count(const std::string& url, const std::string& statement) {
  const std::string text = sql(url, "SELECT count(*) FROM " + statement);
  return std::atoi(text.c_str());
}

/// Whether it came to be, in a time that no machine takes.
template <class Condition>
bool eventually(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

/// Made by a first session's opening of the store, so that SQL can look at its tables.
std::string new_store() {
  const std::string url = postgres_server().new_database();
  const Ended ended = run({"serve-trials", "--store", url, "--device", "sleeper:0", "--plugin", kSleeper, "--idle", "0.01", "--json"}, kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  return url;
}

/// A worker beside the test, with what it prints.
struct Worker {
  TemporaryDirectory directory;
  std::unique_ptr<Running> process;
  Worker(const std::string& url, const std::string& device, const Environment& more = {}, const Arguments& options = {}) {
    process = std::make_unique<Running>(serve(url, device, options), directory / "out", directory / "err", with(kUsual, more));
  }
  std::string err() const { return contents(directory / "err"); }
  nlohmann::json out() const { return nlohmann::json::parse(contents(directory / "out"), nullptr, false); }
};

/// Every position was tried once, and what a worker measured for nothing is marked.
void check_whole(const std::string& url, int trials) {
  CHECK(count(url, "trial") == trials);
  CHECK(sql(url, "SELECT count(DISTINCT position) FROM trial") == std::to_string(trials));
  CHECK(count(url, "session WHERE state = 'done'") == 1);
  CHECK(count(url, "record") == 1);
  CHECK(count(url, "(SELECT label FROM work WHERE label <> '' AND state = 'done' GROUP BY label HAVING count(*) > 1) twice") == 0);
}

}  // namespace

TEST_CASE("a session has no device of its own: two workers measure, and the report names them") {
  const std::string url = new_store();
  Worker first(url, "sleeper:0"), second(url, "sleeper:1");
  const Ended ended = run(tune_with_workers(url, "24trials"), kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["trials"] == 24);
  CHECK(report["device"] == "workers");
  CHECK(report["product"] == "Sleeper");
  CHECK(report["best"].is_object());
  REQUIRE(report["devices"].size() == 2);
  int trials = 0, finals = 0;
  for (const auto& device : report["devices"]) {
    CAPTURE(device.dump());
    CHECK(device["id"].get<std::string>().find("/sleeper:") != std::string::npos);
    CHECK(device["trials"] > 0);
    CHECK(device["controls"] >= 1);
    CHECK(device["factor"] == 1.0);
    trials += device["trials"].get<int>();
    finals += device["final_round"].get<bool>() ? 1 : 0;
  }
  CHECK(trials == 24);
  CHECK(finals == 1);
  check_whole(url, 24);
  CHECK(count(url, "work WHERE request IS NOT NULL OR reply IS NOT NULL") == 0);
  const auto told = run({"sessions", "1", "--store", url, "--json"}).json();
  CHECK(told["devices"] == report["devices"]);
  // Asked to stop, a worker leaves; its word is one JSON object.
  CHECK(first.process->signalled({SIGTERM}) == 0);
  CHECK(first.out()["trials"].get<int>() + second.out().value("trials", 0) > 0);
  CHECK(sql(url, "SELECT state FROM worker WHERE reason LIKE '%asked to stop%'") == "left");
}

TEST_CASE("a worker's device that is slower by a few percent is brought together with the others") {
  const std::string url = new_store();
  const Worker first(url, "sleeper:0", {{"SLEEPER_SPEEDS", "1,1.05"}}), second(url, "sleeper:1", {{"SLEEPER_SPEEDS", "1,1.05"}});
  const Ended ended = run(tune_with_workers(url, "20trials"), kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto devices = ended.json()["devices"];
  REQUIRE(devices.size() == 2);
  const double slower = devices[0]["factor"].get<double>(), other = devices[1]["factor"].get<double>();
  CHECK(std::max(slower, other) / std::min(slower, other) == doctest::Approx(1.05));
}

TEST_CASE("devices of the coordinator and of workers measure side by side") {
  const std::string url = new_store();
  const Worker worker(url, "sleeper:1");
  REQUIRE(eventually([&] { return count(url, "worker WHERE state = 'idle'") == 1; }));
  const Ended ended = run(tune_with_workers(url, "24trials", {"--device", "sleeper:0"}), kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["device"] == "sleeper:0");
  REQUIRE(report["devices"].size() == 2);
  CHECK(report["devices"][0]["trials"] > 0);
  CHECK(report["devices"][1]["trials"] > 0);
  CHECK(report["devices"][0]["final_round"] == true);
}

TEST_CASE("a worker that is killed costs no trial, nor does one that is stopped") {
  const std::string url = new_store();
  Worker first(url, "sleeper:0"), second(url, "sleeper:1");
  const TemporaryDirectory directory;
  Running tuner(tune_with_workers(url, "60trials"), directory / "out", directory / "err", kUsual);
  REQUIRE(eventually([&] { return count(url, "trial") >= 5; }));
  SUBCASE("kill -9 in the middle of a trial") {
    REQUIRE(eventually([&] {
      const bool at_it = count(url, "work w JOIN worker k ON k.id = w.claimed_by WHERE w.state = 'claimed' AND k.name LIKE '%sleeper:0'") > 0;
      if (at_it) {
        first.process->kill_and_reap();
      }
      return at_it;
    }));
  }
  SUBCASE("SIGTERM") { CHECK(first.process->signalled({SIGTERM}) == 0); }
  REQUIRE(eventually([&] { return !tuner.alive(); }));
  const auto report = nlohmann::json::parse(contents(directory / "out"), nullptr, false);
  REQUIRE_MESSAGE(report.is_object(), contents(directory / "err"));
  CHECK(report["trials"] == 60);
  check_whole(url, 60);
  bool left = false;
  for (const auto& device : report["devices"]) {
    left = left || device["left"] != "";
  }
  CHECK(left);
}

TEST_CASE("a worker that comes late takes part, and one that comes back") {
  const std::string url = new_store();
  auto first = std::make_unique<Worker>(url, "sleeper:0");
  const TemporaryDirectory directory;
  Running tuner(tune_with_workers(url, "80trials"), directory / "out", directory / "err", kUsual);
  REQUIRE(eventually([&] { return count(url, "trial") >= 5; }));
  first->process->kill_and_reap();  // the only one
  REQUIRE(eventually([&] { return count(url, "work WHERE state = 'lost'") > 0 || count(url, "work WHERE state = 'claimed'") == 0; }));
  const Worker second(url, "sleeper:1"), again(url, "sleeper:0");
  REQUIRE(eventually([&] { return !tuner.alive(); }));
  const auto report = nlohmann::json::parse(contents(directory / "out"), nullptr, false);
  REQUIRE_MESSAGE(report.is_object(), contents(directory / "err"));
  check_whole(url, 80);
}

TEST_CASE("a coordinator that is killed is followed by the same command, which loses and repeats nothing") {
  const std::string url = new_store();
  const Worker first(url, "sleeper:0"), second(url, "sleeper:1");
  for (int kills = 0; kills < 3; ++kills) {
    Running tuner(tune_with_workers(url, "60trials"), "/dev/null", "/dev/null", kUsual);
    const int until = 8 + 12 * kills;
    REQUIRE(eventually([&] { return count(url, "trial") >= until || !tuner.alive(); }));
    tuner.kill_and_reap();
  }
  const int before = count(url, "trial");
  const Ended ended = run(tune_with_workers(url, "60trials"), kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["resumed_trials"].get<int>() >= before);
  CHECK(count(url, "session") == 1);
  check_whole(url, 60);
}

TEST_CASE("a session whose coordinator cannot be seen is taken over as soon as its lease is over, and the coordinator stops") {
  const std::string url = new_store();
  const Worker worker(url, "sleeper:0");
  const TemporaryDirectory directory;
  Running first(tune_with_workers(url, "100000trials"), directory / "out", directory / "err", kUsual);
  REQUIRE(eventually([&] { return count(url, "trial") >= 3; }));
  // As if it were on another host, and had stopped.
  CHECK(count(url, "session WHERE owner <> ''") == 1);
  sql(url, "UPDATE session SET owner = '1 1 boot names elsewhere machine', updated_at = '2020-01-01T00:00:00.000Z'");
  REQUIRE(eventually([&] { return !first.alive(); }));
  CHECK(contents(directory / "err").find("was taken over by another process") != std::string::npos);
  const Ended ended = run(tune_with_workers(url, "10trials"), kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(count(url, "session") == 1);
}

TEST_CASE("the server is restarted in the middle of a session") {
  const std::string url = new_store();
  const Worker first(url, "sleeper:0"), second(url, "sleeper:1");
  const TemporaryDirectory directory;
  Running tuner(tune_with_workers(url, "80trials"), directory / "out", directory / "err", kUsual);
  REQUIRE(eventually([&] { return count(url, "trial") >= 10; }));
  postgres_server().stop("immediate");
  postgres_server().start();
  REQUIRE(eventually([&] { return !tuner.alive(); }));
  const auto report = nlohmann::json::parse(contents(directory / "out"), nullptr, false);
  REQUIRE_MESSAGE(report.is_object(), contents(directory / "err"));
  check_whole(url, 80);
}

TEST_CASE("a configuration that ends two workers is charged with it, and ends no third") {
  const std::string url = new_store();
  const Environment poison{{"SLEEPER_POISON", "bytes=4"}};
  Worker first(url, "sleeper:0", poison), second(url, "sleeper:1", poison), third(url, "sleeper:2", poison);
  REQUIRE(eventually([&] { return count(url, "worker WHERE state = 'idle'") == 3; }));
  const Ended ended = run(tune_with_workers(url, "4trials", {"--fix", "bytes=4|16,block=128|256,in_flight=1,resident=0,stages=0,stream_load=false,stream_store=false"}), kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(first.process->alive() + second.process->alive() + third.process->alive() == 1);
  CHECK(ended.json()["best"]["config"]["bytes"] == 16);
  CHECK(sql(url, "SELECT outcome FROM trial WHERE detail LIKE 'it ended the workers that tried it: %sleeper:%, %sleeper:%'") ==
        "illegal_access");
  CHECK(count(url, "work WHERE state = 'lost' AND label <> ''") == 2);
}

TEST_CASE("a worker of another product takes no part, and the session says so") {
  const std::string url = new_store();
  const Worker other(url, "cpu"), worker(url, "sleeper:0");
  REQUIRE(eventually([&] { return count(url, "worker WHERE state = 'idle'") == 2; }));
  const Ended unclear = run(tune_with_workers(url, "6trials"), kUsual);
  CHECK(unclear.exit == 2);
  CHECK(unclear.err.find("different products") != std::string::npos);
  Arguments command = tune_with_workers(url, "6trials");
  command[2] = "--workers=Sleep";
  const Ended ended = run(command, kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["devices"].size() == 1);
  bool said = false;
  for (const auto& note : ended.json()["notes"]) {
    said = said || note.get<std::string>().find("cpu takes no part: its product is") != std::string::npos;
  }
  CHECK(said);
}

TEST_CASE("a worker on which the control fails that is right elsewhere has to go") {
  const std::string url = new_store();
  Worker right(url, "sleeper:0");
  REQUIRE(eventually([&] { return count(url, "worker WHERE state = 'idle'") == 1; }));
  const TemporaryDirectory directory;
  Running tuner(tune_with_workers(url, "100000trials"), directory / "out", directory / "err", kUsual);
  REQUIRE(eventually([&] { return count(url, "trial") >= 3; }));
  Worker wrong(url, "sleeper:1", {{"SLEEPER_WRONG", "1"}});
  REQUIRE(eventually([&] { return !wrong.process->alive(); }));
  CHECK(wrong.err().find("has to go: the default configuration failed on it") != std::string::npos);
  CHECK(tuner.alive());
  CHECK(right.process->alive());
  CHECK(count(url, "trial WHERE device LIKE '%sleeper:1'") == 0);
}

TEST_CASE("workers that compile need no device") {
  const std::string url = new_store();
  const Worker measuring(url, "sleeper:0");
  const TemporaryDirectory directory;
  const Running compiling({"serve-trials", "--store", url, "--kinds", "compile", "--compile-workers", "2", "--plugin", kSleeper},
                          directory / "out", directory / "err", kUsual);
  REQUIRE(eventually([&] { return count(url, "worker WHERE state = 'idle'") == 3; }));
  const Ended ended = run(tune_with_workers(url, "40trials", {"--compile-workers", "1"}), kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(count(url, "work WHERE kind = 'compile' AND state = 'done'") > 0);
  check_whole(url, 40);
}

TEST_CASE("a kernel of one's own reaches the workers, with what it includes") {
  const std::string url = new_store();
  const Worker worker(url, "sleeper:0");
  const Ended ended = run({"tune", HONE_SOURCE_DIR "/tests/cli/copied.cu", "--workers", "--plugin", kSleeper, "--strategy", "random", "--budget",
                           "6trials", "--store", url, "--json"},
                          kUsual);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["best"].is_object());
}

TEST_CASE("an operation and a workload are tuned on workers") {
  const std::string url = new_store(), folder = HONE_SOURCE_DIR "/tests/cli/";
  const Worker first(url, "sleeper:0"), second(url, "sleeper:1");
  const Ended operation = run({"tune", folder + "copied.cu", "--with", folder + "copied_otherwise.cu", "--workers", "--plugin", kSleeper,
                               "--strategy", "random", "--budget", "24trials", "--store", url, "--json"},
                              kUsual);
  REQUIRE_MESSAGE(operation.exit == 0, operation.err);
  CHECK(operation.json()["best"].is_object());
  const TemporaryDirectory directory;
  const std::string file = directory / "calls.jsonl";
  write(file,
        "{\"hone_workload\": 1}\n{\"kernel\": \"copy\", \"shape\": {\"n\": 1024}, \"count\": 3}\n"
        "{\"kernel\": \"copy\", \"shape\": {\"n\": 2048}, \"count\": 1}\n");
  const Ended workload = run({"tune", "--workload", file, "--workers", "--plugin", kSleeper, "--strategy", "random", "--budget", "24trials",
                              "--store", url, "--json"},
                             kUsual);
  REQUIRE_MESSAGE(workload.exit == 0, workload.err);
  CHECK(workload.json()["device"] == "workers");
}

TEST_CASE("a worker that has nothing to do leaves after a while, and what it cannot have is said") {
  const std::string url = new_store();
  const Ended idle = run(serve(url, "sleeper:0", {"--idle", "0.1"}), kUsual);
  CHECK(idle.exit == 0);
  CHECK(idle.json()["reason"].get<std::string>().find("nothing to do") != std::string::npos);
  CHECK(run({"serve-trials", "--store", "/tmp/S.db", "--device", "cpu"}).exit == 2);
  CHECK(run({"serve-trials", "--store", url, "--kinds", "all"}).exit == 2);
  CHECK(run({"serve-trials", "--store", url, "--kinds", "compile", "--device", "cpu"}).exit == 2);
  const Ended file = run({"tune", "copy", "--workers", "--shape", "n=1024", "--store", "/tmp/S.db"});
  CHECK(file.exit == 2);
  CHECK(file.err.find("postgres://") != std::string::npos);
}

TEST_CASE("a recorded space is replayed by workers, and has the winner that one process finds") {
  const std::string url = new_store(), space = HONE_SOURCE_DIR "/bench/spaces/softmax.NVIDIA_H200.json.gz";
  const Environment environment{{"HONE_LEASE_SECONDS", "2"}};
  const Arguments replay{"serve-trials", "--store", url, "--replay", space, "--pace", "0.001"};
  const Running first(replay, "/dev/null", "/dev/null", environment), second(replay, "/dev/null", "/dev/null", environment);
  const Ended ended = run({"tune", space, "--workers", "--store", url, "--budget", "60trials", "--seed", "3", "--json"}, environment);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["trials"] == 60);
  CHECK(ended.json()["best"].is_object());
}

}  // namespace hone::test
