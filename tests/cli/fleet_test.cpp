// One session on several devices of a host: sleeping ones, which count what runs side by side, and shares of the host's cores.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "tests/cli/command.hpp"
#include "tests/cli/store_rows.hpp"

namespace hone::test {
namespace {

const std::string kSleeper = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sleeping_device.so";
const std::string kOtherFamily = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sham_device.so";

Arguments tune_on(const std::string& devices, const std::string& budget, const std::string& store) {
  return {"tune", "copy",       "--device", devices,  "--plugin", kSleeper,  "--shape", "n=1024", "--budget",
          budget, "--strategy", "random",   "--seed", "1",        "--store", store,     "--json"};
}

/// A line of the devices' log.
struct Event {
  std::string what, device;
  int process = 0;
};

std::vector<Event> events(const std::string& log) {
  std::istringstream lines(contents(log));
  std::vector<Event> all;
  for (Event event; lines >> event.what >> event.device >> event.process;) {
    all.push_back(event);
  }
  return all;
}

/// The most devices that timed something at the same moment.
std::size_t most_at_once(const std::vector<Event>& events) {
  std::map<std::string, int> open;
  std::size_t most = 0;
  for (const Event& event : events) {
    open[event.device] += event.what == "begin" ? 1 : -1;
    most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(open, [](const auto& one) { return one.second > 0; })));
  }
  return most;
}

}  // namespace

TEST_CASE("a session on four devices keeps all of them busy, and one tries nothing that another has tried") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", log = directory / "log";
  const Ended ended = run(tune_on("sleeper:*", "32trials", store), {{"SLEEPER_MS", "10"}, {"SLEEPER_LOG", log}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(most_at_once(events(log)) == 4);
  const auto report = ended.json();
  CHECK(report["device"] == "sleeper:0,sleeper:1,sleeper:2,sleeper:3");
  CHECK(report["trials"] == 32);
  REQUIRE(report["devices"].size() == 4);
  std::int64_t trials = 0;
  for (const auto& device : report["devices"]) {
    CHECK(device["trials"] > 0);
    CHECK(device["controls"] >= 1);
    CHECK(device["factor"] == 1.0);
    CHECK(device["left"] == "");
    trials += device["trials"].get<std::int64_t>();
  }
  CHECK(trials == 32);
  CHECK(report["devices"][0]["final_round"] == true);
  CHECK(report["devices"][1]["final_round"] == false);
  CHECK(query(store, "SELECT count(DISTINCT position) FROM trial") == std::vector<std::string>{"32"});
  CHECK(query(store, "SELECT DISTINCT device FROM final_measurement") == std::vector<std::string>{"sleeper:0"});
  // hone sessions tells the same of it.
  const auto told = run({"sessions", "1", "--store", store, "--json"}).json();
  CHECK(told["devices"] == report["devices"]);
  CHECK(run({"sessions", "1", "--store", store}).out.find("device   sleeper:3") != std::string::npos);
}

TEST_CASE("one device's session is what it was: no control, no device named in the store") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended ended = run(tune_on("sleeper:2", "6trials", store));
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["device"] == "sleeper:2");
  CHECK(ended.json()["devices"].size() == 1);
  CHECK(ended.json()["devices"][0]["trials"] == 6);
  CHECK(query(store, "SELECT count(*) FROM control") == std::vector<std::string>{"0"});
  CHECK(query(store, "SELECT DISTINCT device, factor FROM trial") == std::vector<std::string>{"|1.0"});
}

TEST_CASE("devices of a few percent apart are brought together, and raw samples stay as they were taken") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended ended = run(tune_on("sleeper:0,sleeper:1", "24trials", store), {{"SLEEPER_SPEEDS", "1,1.05"}, {"SLEEPER_MS", "2"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto devices = ended.json()["devices"];
  CHECK(devices[1]["factor"].get<double>() == doctest::Approx(1.0 / 1.05));
  CHECK(devices[1]["left"] == "");
  const auto trials = run({"sessions", "1", "--store", store, "--json"}).json()["results"];
  std::size_t compared = 0;
  for (const auto& trial : trials) {
    if (trial["device"] == "sleeper:1" && trial["final_round"] == false && trial["outcome"] == "ok") {
      // The device's times are whole tenths of a microsecond where it is as fast as the other.
      const double time = trial["time_us"].get<double>() * 10.0;
      CHECK(time == doctest::Approx(std::round(time)).epsilon(1e-6));
      CHECK(trial["factor"].get<double>() == doctest::Approx(1.0 / 1.05));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("a device that is too slow for the others leaves, and the session ends with those that fit") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  Environment environment{{"SLEEPER_MS", "1"}};
  std::string slow = "sleeper:1";
  int trials = 60;
  SUBCASE("it was so from the start") { environment["SLEEPER_SPEEDS"] = "1,1.3,1"; }
  SUBCASE("it is the first one") {
    environment["SLEEPER_SPEEDS"] = "1.3,1,1";
    slow = "sleeper:0";
  }
  SUBCASE("it throttles in mid-session") {
    environment["SLEEPER_THROTTLE"] = "1:25";  // between its first control and its second
    trials = 150;
  }
  const Ended ended = run(tune_on("sleeper:0,sleeper:1,sleeper:2", std::to_string(trials) + "trials", store), environment);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["trials"] == trials);
  for (const auto& device : report["devices"]) {
    CAPTURE(device.dump());
    const bool left = !device["left"].get<std::string>().empty();
    CHECK(left == (device["id"] == slow));
    CHECK(device["final_round"] == (device["id"] == (slow == "sleeper:0" ? "sleeper:1" : "sleeper:0")));
  }
  CHECK(query(store, "SELECT device FROM control WHERE departure <> ''") == std::vector<std::string>{slow});
}

TEST_CASE("a device that breaks down costs itself, and the last one goes on alone") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended ended = run(tune_on("sleeper:0,sleeper:1,sleeper:2", "20trials", store), {{"SLEEPER_MS", "2"}, {"SLEEPER_BROKEN", "0,2"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto devices = ended.json()["devices"];
  CHECK(devices[0]["left"].get<std::string>().find("sleeper:0 does not wake up") != std::string::npos);
  CHECK(devices[2]["left"].get<std::string>().find("sleeper:2 does not wake up") != std::string::npos);
  CHECK(devices[1]["trials"] == 20);
  CHECK(devices[1]["final_round"] == true);
  const Ended none = run(tune_on("sleeper:0,sleeper:2", "20trials", directory / "T.db"), {{"SLEEPER_BROKEN", "0,2"}});
  CHECK(none.exit != 0);
  CHECK(none.err.find("does not wake up") != std::string::npos);
}

TEST_CASE("devices that cannot be in one session are refused, by name") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const auto refusal = [&](const std::string& devices) {
    Arguments arguments = tune_on(devices, "4trials", store);
    arguments.insert(arguments.end(), {"--plugin", kOtherFamily});
    const Ended ended = run(arguments);
    CHECK(ended.exit == 2);
    return ended.err;
  };
  CHECK(refusal("sleeper:0,sleeper:0").find("names sleeper:0 twice") != std::string::npos);
  CHECK(refusal("sleeper:0,sham:0").find("sleeper:0 and sham:0 are different devices (Sleeper and Sham 1)") != std::string::npos);
  CHECK(refusal("sleeper:0,sleeper:9").find("no device 'sleeper:9'") != std::string::npos);
  CHECK(refusal("nothing:*").find("no device 'nothing'") != std::string::npos);
  const Ended other = run({"run", "copy", "--device", "sleeper:0,sleeper:1", "--plugin", kSleeper, "--shape", "n=1024", "--store", store});
  CHECK(other.exit == 2);
  CHECK(other.err.find("only hone tune uses several") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(store));
}

TEST_CASE("the host's cores are several devices where they are divided") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Environment divided{{"HONE_CPU_DEVICES", "2"}};
  CHECK(run({"devices", "--json"}, divided).out.find("cpu:1") != std::string::npos);
  const Ended ended =
      run({"tune", "copy", "--device", "cpu:*", "--shape", "n=65536", "--budget", "12trials", "--store", store, "--json"}, divided);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["device"] == "cpu:0,cpu:1");
  CHECK(report["trials"] == 12);
  CHECK(report["best"].is_object());
  CHECK(run({"best", "copy", "--device", "cpu:1", "--shape", "n=65536", "--store", store, "--json"}, divided).json()["config"] ==
        report["best"]["config"]);
}

TEST_CASE("an operation is tuned on several devices") {
  const TemporaryDirectory directory;
  const Ended ended = run({"tune", "matmul", "--device", "cpu:0,cpu:1", "--dtype", "f32", "--shape", "m=32,n=32,k=32", "--budget",
                           "8trials", "--store", directory / "S.db", "--json"},
                          {{"HONE_CPU_DEVICES", "2"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["device"] == "cpu:0,cpu:1");
  CHECK(report["trials"] >= 8);
  CHECK(report["best"].is_object());
}

TEST_CASE("shapes of a range are measured on several devices side by side, each on one, within one budget") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", log = directory / "log";
  const Ended ended = run({"tune", "copy", "--device", "sleeper:*", "--plugin", kSleeper, "--shapes", "n=1..65536", "--budget", "120trials",
                           "--strategy", "random", "--store", store, "--json"},
                          {{"SLEEPER_MS", "20"}, {"SLEEPER_LOG", log}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(most_at_once(events(log)) > 1);
  const auto report = ended.json();
  CHECK(report["device"] == "sleeper:0,sleeper:1,sleeper:2,sleeper:3");
  CHECK(report["trials"] >= 120);
  CHECK(report["trials"] < 132);  // a session also tries what serves its shape
  CHECK(report["failures"].empty());
  CHECK(report["points"] == report["measured_now"]);
  CHECK(query(store, "SELECT DISTINCT device_id FROM session ORDER BY device_id") ==
        std::vector<std::string>{"sleeper:0", "sleeper:1", "sleeper:2", "sleeper:3"});
  // Surveys too: what is tried beside the sessions.
  CHECK(query(store, "SELECT count(DISTINCT device_id) > 1 FROM session WHERE strategy = 'survey'") == std::vector<std::string>{"1"});
}

TEST_CASE("a range of fewer shapes than devices has the devices divided among its shapes") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended ended = run({"tune", "copy", "--device", "sleeper:*", "--plugin", kSleeper, "--shapes", "n=1024|4096", "--budget", "64trials",
                           "--strategy", "random", "--store", store, "--json"},
                          {{"SLEEPER_MS", "2"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["points"] == 2);
  CHECK(query(store, "SELECT DISTINCT device_id FROM session WHERE strategy <> 'survey' ORDER BY device_id") ==
        std::vector<std::string>{"sleeper:0,sleeper:2", "sleeper:1,sleeper:3"});
  // The shapes share the budget.
  CHECK(query(store, "SELECT count(*) FROM trial JOIN session ON trial.session = session.id WHERE strategy <> 'survey' GROUP BY shape") ==
        std::vector<std::string>{"32", "32"});
}

TEST_CASE("a device that fails leaves a range to the others, and its shapes, too") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended ended = run({"tune", "copy", "--device", "sleeper:0,sleeper:1", "--plugin", kSleeper, "--shapes", "n=1024|4096|16384",
                           "--budget", "36trials", "--strategy", "random", "--store", store, "--json"},
                          {{"SLEEPER_MS", "2"}, {"SLEEPER_BROKEN", "1"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["points"] == 3);
  CHECK(says(report["failures"].dump(), "sleeper:1 measures no more"));
}

TEST_CASE("kernels of an operation end on the same device, though it was not the first that began") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", folder = HONE_SOURCE_DIR "/tests/cli/";
  const Ended ended =
      run({"tune", folder + "copied.cu", "--with", folder + "copied_otherwise.cu", "--device", "sleeper:0,sleeper:1,sleeper:2", "--plugin",
           kSleeper, "--strategy", "random", "--budget", "32trials", "--store", store, "--json"},
          {{"SLEEPER_MS", "2"}, {"SLEEPER_SPEEDS", "1.3,1,1"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["best"].is_object());
  REQUIRE(report["implementations"].size() == 2);
  for (const auto& kernel : report["implementations"]) {
    CAPTURE(kernel.dump());
    REQUIRE(kernel["tuned"].is_object());
    CHECK(kernel["tuned"]["devices"][0]["left"] != "");
  }
  CHECK(query(store, "SELECT DISTINCT device FROM final_measurement") == std::vector<std::string>{"sleeper:1"});
  CHECK(query(store, "SELECT count(DISTINCT session) FROM trial") == std::vector<std::string>{"2"});
}

TEST_CASE("a workload is tuned on several devices") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "calls.jsonl";
  write(file,
        "{\"hone_workload\": 1}\n{\"kernel\": \"copy\", \"shape\": {\"n\": 1024}, \"count\": 3}\n"
        "{\"kernel\": \"copy\", \"shape\": {\"n\": 2048}, \"count\": 1}\n");
  const Ended ended = run({"tune", "--workload", file, "--device", "sleeper:*", "--plugin", kSleeper, "--strategy", "random", "--budget",
                           "24trials", "--store", store, "--json"},
                          {{"SLEEPER_MS", "2"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["device"] == "sleeper:0,sleeper:1,sleeper:2,sleeper:3");
  CHECK(query(store, "SELECT count(*) FROM trial WHERE device = ''") == std::vector<std::string>{"0"});
  CHECK(query(store, "SELECT count(*) FROM session WHERE state = 'done'") == std::vector<std::string>{"2"});
}

TEST_CASE("kill -9 of measuring workers and of the coordinator loses no trial and repeats none") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", log = directory / "log";
  const int most = std::getenv("HONE_LONG_TESTS") != nullptr ? 60 : 8;
  constexpr std::size_t kTrials = 100;
  const Environment environment{{"SLEEPER_MS", "6"}, {"SLEEPER_LOG", log}};
  const Arguments command = tune_on("sleeper:0,sleeper:1,sleeper:2", std::to_string(kTrials) + "trials", store);
  std::mt19937 random(5);  // NOLINT: the same moments in every run, as far as the machine allows
  std::vector<std::string> before;
  int workers = 0, coordinators = 0;
  for (int moment = 0; moment < most && query(store, "SELECT state FROM session") != std::vector<std::string>{"done"}; ++moment) {
    Running tuner(command, "/dev/null", "/dev/null", environment);
    const std::size_t until = before.size() + 2 + random() % 8;
    while (tuner.alive() && recorded(store).size() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    for (int kill = 0; kill < 2 && tuner.alive(); ++kill) {
      const std::vector<Event> seen = events(log);
      workers += !seen.empty() && ::kill(seen[seen.size() - 1 - random() % std::min<std::size_t>(seen.size(), 4)].process, SIGKILL) == 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
    }
    coordinators += tuner.alive() ? 1 : 0;
    tuner.kill_and_reap();
    const std::vector<std::string> now = recorded(store);
    REQUIRE(now.size() >= before.size());
    REQUIRE(std::equal(before.begin(), before.end(), now.begin()));
    before = now;
  }
  CHECK(workers > 0);
  CHECK(coordinators > 0);
  if (query(store, "SELECT state FROM session") != std::vector<std::string>{"done"}) {
    const Ended ended = run(command, environment);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    CHECK(ended.json()["resumed_trials"] == before.size());
    CHECK(ended.json()["best"].is_object());
  }
  CHECK(recorded(store).size() == kTrials);
  CHECK(query(store, "SELECT count(*) FROM session") == std::vector<std::string>{"1"});
  CHECK(query(store, "SELECT count(DISTINCT position) FROM trial") == std::vector<std::string>{std::to_string(kTrials)});
  CHECK(query(store, "SELECT count(*) FROM record") == std::vector<std::string>{"1"});
  CHECK(query(store, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
  CHECK(query(store, "PRAGMA foreign_key_check").empty());
  MESSAGE(workers << " measuring workers and " << coordinators << " coordinators killed");
}

TEST_CASE("devices stay where what stands in for the default is wrong for inputs that the default is wrong for, too") {
  const TemporaryDirectory directory;
  const std::string file = directory / "clamping.cu", store = directory / "S.db";
  write(file,
        "#include <hone/kernel.h>\nstruct Problem { long n = 4096; };\nstruct Config { TUNE(0, 1, 2, 3) int mode = 0; };\n"
        "constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {1}}; }\n"
        "REFERENCE(p.n) void clamping_reference(long i, const f32* x, double* y, Problem p) { y[i] = 2.0 * x[i]; }\n"
        "template <Config c> KERNEL void clamping(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {\n"
        "  for (long i = blockIdx.x * 64; i < min_of(p.n, blockIdx.x * 64 + 64L); ++i)\n"
        "    y[i] = 2.0f * (x[i] > 1.0f ? 1.0f : x[i] < -1.0f ? -1.0f : x[i]);\n}\n");
  const Ended ended = run({"tune", file, "--device", "cpu:*", "--fix", "mode=1|2|3", "--budget", "3trials", "--store", store, "--json"},
                          {{"HONE_CPU_DEVICES", "2"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const nlohmann::json report = ended.json();
  CHECK(report["outcomes"]["ok"] == 3);
  CHECK(report["devices"].size() == 2);
  for (const nlohmann::json& device : report["devices"]) {
    CHECK(device["left"] == "");
  }
}

}  // namespace hone::test
