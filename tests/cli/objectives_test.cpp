// What a session minimizes besides time: energy, its product with time, a percentile.
#include <doctest/doctest.h>

#include <fstream>
#include <set>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kMetered = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sham_device.so";
// By the block's size alone.
const char* const kFixedButBlock = "bytes=16,in_flight=1,resident=0,stages=0,stream_load=false,stream_store=false";

Ended tune_for(const std::string& objective, const std::string& store, const std::string& device = "sham_meter",
               const std::string& budget = "5trials", const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"tune",       "copy",    "--device",    device,    "--shape",      "n=1000",   "--plugin",
                                 kMetered,     "--store", store,         "--fix",   kFixedButBlock, "--budget", budget,
                                 "--strategy", "random",  "--objective", objective, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

/// Those that a session tried.
std::set<int> blocks_of(const std::string& session, const std::string& store) {
  std::set<int> blocks;
  const auto shown = run({"sessions", session, "--store", store, "--json"}).json();
  for (const auto& trial : shown["results"]) {
    blocks.insert(trial["config"]["block"].get<int>());
  }
  return blocks;
}

}  // namespace

TEST_CASE("the winner by energy is another than that by time, and each objective has a record of its own") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  for (const auto& [objective, block] : {std::pair("time", 256), {"energy", 64}, {"edp", 512}, {"p99", 512}}) {
    CAPTURE(objective);
    const Ended ended = tune_for(objective, store);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    const auto report = ended.json();
    CHECK(report["objective"] == objective);
    CHECK(report["best"]["config"]["block"] == block);
    CHECK(report["tied"].empty());
    const std::string name = objective;
    CHECK(report["best"].contains("energy_j") == (name == "energy" || name == "edp"));
    CHECK(report["best"].contains("objective_value") == (name != "time"));
    const auto best = run({"best", "copy", "--device", "sham_meter", "--shape", "n=1000", "--plugin", kMetered, "--store", store,
                           "--objective", objective, "--json"})
                          .json();
    CHECK(best["config"]["block"] == block);
    CHECK(best["objective"] == objective);
  }
  const auto energy = run({"best", "copy", "--device", "sham_meter", "--shape", "n=1000", "--plugin", kMetered, "--store", store,
                           "--objective", "energy", "--json"})
                          .json();
  CHECK(energy["energy_j"].get<double>() == doctest::Approx(100e-6 * 300.0).epsilon(0.02));
  CHECK(energy["energy_ci95_j"][0] <= energy["energy_j"]);
  CHECK(energy["energy_ci95_j"][1] >= energy["energy_j"]);
  CHECK(energy["objective_value"].get<double>() == doctest::Approx(1e6 * energy["energy_j"].get<double>()));
  // Nothing was tuned for this one.
  CHECK(run({"best", "copy", "--device", "sham_meter", "--shape", "n=1000", "--plugin", kMetered, "--store", store, "--objective", "p90"})
            .exit == 2);
  const auto sessions = run({"sessions", "--store", store, "--json"}).json()["sessions"];
  REQUIRE(sessions.size() == 4);
  CHECK(sessions[1]["objective"] == "energy");
}

TEST_CASE("a session by energy begins with what is fastest as far as the store knows") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(tune_for("time", store).json()["best"]["config"]["block"] == 256);
  const Ended ended = tune_for("energy", store, "sham_meter", "3trials");
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(blocks_of("2", store) == std::set<int>{128, 256, 512});  // the default, and the two that were fastest
  REQUIRE(tune_for("edp", store, "sham_meter", "2trials", {"--no-transfer", "--seed", "1"}).exit == 0);
  CHECK(blocks_of("3", store) != std::set<int>{128, 256});
}

TEST_CASE("a report shows the front of time against energy") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", page = directory / "page.html";
  REQUIRE(tune_for("energy", store).exit == 0);
  const auto report = run({"report", "1", "--store", store, "--json"}).json()["sessions"][0];
  REQUIRE(report["front"].size() >= 2);
  CHECK(report["front"].front()["time_us"] < report["front"].back()["time_us"]);
  CHECK(report["front"].front()["energy_j"] > report["front"].back()["energy_j"]);
  CHECK(report["best"]["config"]["block"] == 64);
  REQUIRE(run({"report", "1", "--store", store, "--out", page}).exit == 0);
  const std::string shown = contents(page), before = "energy of a run: ", after = " mJ (95 % confidence";
  CHECK(shown.find("Time against energy") != std::string::npos);
  const std::size_t end = shown.find(after), begin = shown.rfind(before, end) + before.size();
  REQUIRE(end != std::string::npos);
  CHECK(std::stod(shown.substr(begin, end - begin)) == doctest::Approx(100e-3 * 300.0).epsilon(0.005));  // 100 us at 300 W, in mJ
}

TEST_CASE("one configuration's energy and percentile are measured without a session") {
  const TemporaryDirectory directory;
  const auto measured = [&](const char* objective) {
    const Ended ended = run({"run", "copy", "--device", "sham_meter", "--shape", "n=1000", "--plugin", kMetered, "--store",
                             directory / "S.db", "--config", std::string("block=256,") + kFixedButBlock, "--objective", objective});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.out;
  };
  CHECK(measured("energy").find("energy         4") != std::string::npos);
  CHECK(measured("p99").find("p99            12") != std::string::npos);  // one run of 25 takes twice as long
}

TEST_CASE("a device without an energy counter is refused before anything runs") {
  const TemporaryDirectory directory;
  for (const char* const device : {"sham", "cpu"}) {
    const std::string store = directory / device;
    const Ended ended =
        run({"tune", "copy", "--device", device, "--shape", "n=1000", "--plugin", kMetered, "--store", store, "--objective", "energy"});
    CHECK(ended.exit == 2);
    CHECK(ended.err.find("has no energy counter") != std::string::npos);
    CHECK(ended.err.find("--objective time") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(store));
  }
}

TEST_CASE("what is tuned for time alone says so, and a name that is none lists the others") {
  const TemporaryDirectory directory;
  const Ended operation = run({"tune", "matmul", "--device", "cpu", "--store", directory / "S.db", "--objective", "p99"});
  CHECK(operation.exit == 2);
  CHECK(operation.err.find("operations are tuned for time alone") != std::string::npos);
  const Ended range =
      run({"tune", "copy", "--device", "cpu", "--shapes", "n=1..1000", "--store", directory / "S.db", "--objective", "p99"});
  CHECK(range.exit == 2);
  CHECK(range.err.find("for time alone") != std::string::npos);
  const Ended unknown = run({"tune", "copy", "--device", "cpu", "--store", directory / "S.db", "--objective", "watts"});
  CHECK(unknown.exit == 2);
  CHECK(unknown.err.find("energy, edp") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(directory / "S.db"));
}

TEST_CASE("a recorded space with energies is replayed by them, and one without is refused") {
  const TemporaryDirectory directory;
  const auto space = [&](const std::string& name, bool energies) {
    std::ofstream file(directory / name);
    const auto energy = [&](const char* joules) { return energies ? std::string(",\"energy\":") + joules : std::string(); };
    file
        << R"({"device_name":"D","kernel_name":"k","objective":"time","tune_params_keys":["a"],"tune_params":{"a":[1,2,3]},"defaults":{"a":1},"cache":{)"
        << R"("1":{"a":1,"time":3.0)" << energy("2.0") << R"(},"2":{"a":2,"time":1.0)" << energy("1.5") << R"(},"3":{"a":3,"time":2.0)"
        << energy("1.0") << "}}}";
  };
  space("with.json", true);
  space("without.json", false);
  const auto best = [&](const char* objective) {
    const Ended ended =
        run({"tune", directory / "with.json", "--budget", "3trials", "--objective", objective, "--store", directory / "S.db", "--json"});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.json()["best"]["config"]["a"].get<int>();
  };
  CHECK(best("time") == 2);
  CHECK(best("energy") == 3);
  CHECK(best("edp") == 2);
  const Ended without = run({"tune", directory / "without.json", "--objective", "energy", "--store", directory / "S.db"});
  CHECK(without.exit == 2);
  CHECK(without.err.find("holds no energies") != std::string::npos);
  const Ended few = run({"tune", directory / "with.json", "--objective", "p99", "--store", directory / "S.db"});
  CHECK(few.exit == 2);
  CHECK(few.err.find("368 are needed") != std::string::npos);
}

}  // namespace hone::test
