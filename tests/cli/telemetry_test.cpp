// --metrics and --log of the built command.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/cli/exposition.hpp"

namespace hone::test {
namespace {

using nlohmann::json;

const std::string kWatchedDevice = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sleeping_device.so";

Arguments watched_tune(const std::string& devices, const std::string& store, const Arguments& more,
                       const std::string& budget = "20trials") {
  Arguments all{"tune", "copy",       "--device", devices,  "--plugin", kWatchedDevice, "--shape", "n=1024", "--budget",
                budget, "--strategy", "random",   "--seed", "1",        "--store",      store,     "--json"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<json> log_lines(const std::string& file) {
  std::istringstream text(contents(file));
  std::vector<json> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

std::map<std::string, int> event_counts(const std::vector<json>& lines) {
  std::map<std::string, int> events;
  for (const json& line : lines) {
    ++events[line["event"]];
  }
  return events;
}

}  // namespace

TEST_CASE("metrics and log say the same as the report") {
  const TemporaryDirectory directory;
  const std::string metrics = directory / "hone.prom", log = directory / "log";
  const Ended ended =
      run(watched_tune("sleeper:0,sleeper:1", directory / "S.db", {"--metrics", metrics, "--log", log}), {{"SLEEPER_MS", "1"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const json report = ended.json();
  CHECK(report["not_written"] == json::array());
  const Exposition told(contents(metrics));
  for (const auto& [outcome, count] : report["outcomes"].items()) {
    CHECK(told.value("hone_trials_total", {{"outcome", outcome}}) == count.get<double>());
  }
  for (const auto& device : report["devices"]) {
    const Labels label{{"device", device["id"]}};
    CHECK(told.value("hone_device_trials_total", label) == device["trials"].get<double>());
    CHECK(told.value("hone_device_controls_total", label) == device["controls"].get<double>());
    CHECK(told.value("hone_device_active", label) == 1.0);
  }
  for (const auto& [stage, seconds] : report["stages"].items()) {
    CHECK(told.value("hone_trial_stage_seconds_total", {{"stage", stage}}) == doctest::Approx(seconds.get<double>()));
  }
  const Labels problem{{"kernel", "copy"}, {"dtype", report["dtype"]}, {"shape", "n=1024"}};
  CHECK(told.value("hone_best_time_seconds", problem) == doctest::Approx(report["best"]["time_us"].get<double>() * 1e-6));
  CHECK(told.value("hone_budget_trials") == 20.0);
  CHECK(told.value("hone_budget_left_trials") == 0.0);
  CHECK(told.value("hone_run_state", {{"state", "done"}}) == 1.0);
  CHECK(told.value("hone_sessions_running") == 0.0);
  CHECK(told.value("hone_sessions_ended_total") == 1.0);
  CHECK(told.value("hone_devices_busy_seconds_total") > 0.0);
  const double idle = told.value("hone_devices_idle_ratio");
  CHECK(idle >= 0.0);
  CHECK(idle <= 1.0);

  const std::vector<json> lines = log_lines(log);
  std::map<std::string, int> events = event_counts(lines);
  CHECK(events["trial"] == report["trials"]);
  CHECK(events["run_began"] == 1);
  CHECK(events["session_began"] == 1);
  CHECK(events["final_round"] == 1);
  CHECK(events["session_ended"] == 1);
  CHECK(events["run_ended"] == 1);
  CHECK(events["finalist"] >= 1);
  CHECK(lines.front()["event"] == "run_began");
  CHECK(lines.back()["event"] == "run_ended");
  CHECK(lines.back()["exit_code"] == 0);
  const auto winner = std::ranges::find(lines, json("session_ended"), [](const json& line) { return line["event"]; });
  CHECK((*winner)["config"] == report["best"]["config"]);
  CHECK((*winner)["best_us"] == report["best"]["time_us"]);
}

TEST_CASE("a session that goes on counts from 0 again and knows what is spent") {
  const TemporaryDirectory directory;
  const std::string metrics = directory / "hone.prom", log = directory / "log", store = directory / "S.db";
  {
    Running killed(watched_tune("sleeper:0", store, {"--metrics", metrics, "--log", log}), "/dev/null", "/dev/null",
                   {{"SLEEPER_MS", "50"}});
    while (killed.alive() && contents(log).find("\"trial\"") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    killed.kill_and_reap();
  }
  const auto before = event_counts(log_lines(log))["trial"];
  REQUIRE(before > 0);
  REQUIRE(before < 20);
  const Ended ended = run(watched_tune("sleeper:0", store, {"--metrics", metrics, "--log", log}), {{"SLEEPER_MS", "1"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const Exposition told(contents(metrics));
  const auto resumed = ended.json()["resumed_trials"].get<int>();
  CHECK(told.value("hone_device_trials_total", {{"device", "sleeper:0"}}) == 20.0 - resumed);
  CHECK(told.value("hone_budget_left_trials") == 0.0);
  const std::vector<json> lines = log_lines(log);
  const auto last = std::find_if(lines.rbegin(), lines.rend(), [](const json& line) { return line["event"] == "session_began"; });
  CHECK((*last)["resumed_trials"] == resumed);
}

TEST_CASE("what fails is told: a run that ends early, a device that left") {
  const TemporaryDirectory directory;
  const std::string metrics = directory / "hone.prom", log = directory / "log";
  SUBCASE("no such kernel") {
    const Ended ended = run({"tune", "nonsense", "--metrics", metrics, "--log", log, "--store", directory / "S.db"});
    CHECK(ended.exit == 2);
    const std::vector<json> lines = log_lines(log);
    CHECK(lines.back()["event"] == "run_failed");
    CHECK(lines.back()["level"] == "error");
    CHECK(lines.back()["detail"].get<std::string>().find("nonsense") != std::string::npos);
    CHECK(Exposition(contents(metrics)).value("hone_run_state", {{"state", "failed"}}) == 1.0);
  }
  SUBCASE("a slow device") {
    const Ended ended =
        run(watched_tune("sleeper:0,sleeper:1,sleeper:2", directory / "S.db", {"--metrics", metrics, "--log", log}, "60trials"),
            {{"SLEEPER_MS", "1"}, {"SLEEPER_SPEEDS", "1,1.3,1"}});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    CHECK(Exposition(contents(metrics)).value("hone_device_active", {{"device", "sleeper:1"}}) == 0.0);
    const std::vector<json> lines = log_lines(log);
    const auto left = std::ranges::find(lines, json("device_left"), [](const json& line) { return line["event"]; });
    REQUIRE(left != lines.end());
    CHECK((*left)["device"] == "sleeper:1");
    CHECK(!(*left)["reason"].get<std::string>().empty());
  }
}

TEST_CASE("a metrics file and a log that cannot be written are errors before anything runs") {
  const TemporaryDirectory directory;
  for (const std::string option : {"--metrics", "--log"}) {
    const Ended ended = run(watched_tune("sleeper:0", directory / "S.db", {option, directory / "missing/file"}));
    CHECK(ended.exit == 1);
    CHECK(ended.err.find(option) != std::string::npos);
    CHECK(ended.err.find("missing/file") != std::string::npos);
  }
  const Ended ended = run(watched_tune("sleeper:0", directory / "S.db", {"--metrics", "192.0.2.1:9400"}));
  CHECK(ended.exit == 1);
  CHECK(ended.err.find("192.0.2.1:9400") != std::string::npos);
  CHECK(contents(directory / "S.db").empty());
}

TEST_CASE("a log that fills the disk costs its lines, not the session") {
  const TemporaryDirectory directory;
  const Ended ended = run(watched_tune("sleeper:0", directory / "S.db", {"--log", "/dev/full"}), {{"SLEEPER_MS", "1"}});
  CHECK(ended.exit == 0);
  REQUIRE(ended.json()["not_written"].size() == 1);
  CHECK(ended.json()["not_written"][0].get<std::string>().find("/dev/full") != std::string::npos);
}

TEST_CASE("neither log nor metrics show a password") {
  const TemporaryDirectory directory;
  const std::string metrics = directory / "hone.prom", log = directory / "log";
  const Ended ended = run({"tune", "copy", "--device", "cpu", "--shape", "n=1024", "--store",
                           "postgres://tuner:s3cret@127.0.0.1:1/hone?password=s3cret", "--metrics", metrics, "--log", log});
  CHECK(ended.exit != 0);
  CHECK(contents(log).find("run_failed") != std::string::npos);
  CHECK(contents(log).find("s3cret") == std::string::npos);
  CHECK(contents(metrics).find("s3cret") == std::string::npos);
  CHECK(ended.err.find("s3cret") == std::string::npos);
}

TEST_CASE("an operation's kernels and a workload's problems have their own series") {
  const TemporaryDirectory directory;
  const std::string metrics = directory / "hone.prom", log = directory / "log", workload = directory / "W";
  write(workload,
        "{\"hone_workload\": 1}\n"
        "{\"kernel\": \"copy\", \"dtype\": \"f32\", \"shape\": {\"n\": 1024}, \"count\": 3}\n"
        "{\"kernel\": \"row_sum\", \"dtype\": \"f32\", \"shape\": {\"rows\": 4, \"cols\": 64}, \"count\": 1}\n");
  const Ended ended = run({"tune", "--workload", workload, "--device", "sleeper:0", "--plugin", kWatchedDevice, "--budget", "6trials",
                           "--store", directory / "S.db", "--metrics", metrics, "--log", log, "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const Exposition told(contents(metrics));
  CHECK(told.family("hone_best_time_seconds").samples.size() == 2);
  const json report = ended.json();
  std::int64_t trials = 0;
  for (const auto& item : report["items"]) {
    trials += item["trials"].get<std::int64_t>();
  }
  CHECK(told.value("hone_trials_total", {{"outcome", "ok"}}) + told.value("hone_trials_total", {{"outcome", "too_slow"}}) == trials);
  CHECK(event_counts(log_lines(log))["trial"] == trials);
  CHECK(told.value("hone_budget_left_trials") == 0.0);
}

TEST_CASE("bench logs what it measures, the sessions that choose its configurations, and what it found of each case") {
  const TemporaryDirectory directory;
  const std::string log = directory / "log", suite = directory / "suite.toml";
  write(suite,
        "processes = 1\n[[case]]\nname = \"plain\"\nkernel = \"copy\"\nshape = \"n=1024\"\n"
        "[[case]]\nname = \"tuned\"\nkernel = \"copy\"\nshape = \"n=2048\"\nbudget = \"2trials\"\n");
  const Ended ended =
      run({"bench", suite, "--device", "sleeper:0", "--plugin", kWatchedDevice, "--log", log, "--json"}, {{"SLEEPER_MS", "1"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["not_written"] == json::array());
  const std::vector<json> lines = log_lines(log);
  std::map<std::string, int> events = event_counts(lines);
  CHECK(events["measuring"] >= 2);
  CHECK(events["trial"] == 2);
  CHECK(events["session_ended"] == 1);
  REQUIRE(events["case"] == 2);
  const auto found = std::ranges::find(lines, json("case"), [](const json& line) { return line["event"]; });
  CHECK((*found)["verb"] == "bench");
  CHECK((*found)["name"] == "plain");
  CHECK((*found)["verdict"] == ended.json()["cases"][0]["verdict"]);
}

}  // namespace hone::test
