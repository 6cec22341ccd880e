// A device in a shared object of its own: its worker processes load it too.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kSham = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sham_device.so";
const std::string kShamOfAbi2 = std::string(HONE_BINARY_DIR) + "/tests/plugin/abi2/abi2_sham_device.so";

}  // namespace

TEST_CASE("a session on a plugin's device ends with a winner that best and run know") {
  std::string file = kSham;
  SUBCASE("built for this ABI") {}
  SUBCASE("built for ABI 2") { file = kShamOfAbi2; }
  const TemporaryDirectory directory;
  const Arguments problem{"copy", "--device", "sham", "--shape", "n=100000", "--plugin", file, "--store", directory / "S.db", "--json"};
  Arguments tune{"tune"}, best{"best"}, again{"run"};
  for (Arguments* verb : {&tune, &best, &again}) {
    verb->insert(verb->end(), problem.begin(), problem.end());
  }
  tune.insert(tune.end(), {"--budget", "8trials", "--strategy", "random", "--seed", "1"});
  const Ended ended = run(tune);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["device"] == "sham:0");
  CHECK(report["outcomes"]["ok"] >= 1);
  CHECK(report["best"]["time_us"] > 0.0);
  const auto record = run(best).json();
  CHECK(record["config"] == report["best"]["config"]);
  CHECK(record["stale"].empty());
  const auto measured = run(again).json();
  CHECK(measured["source"] == "exact");
  CHECK(measured["outcome"] == "ok");
  CHECK(measured["resources"]["registers"] == 16);
}

TEST_CASE("the peaks of a device are measured, kept, and what a run is held against") {
  const TemporaryDirectory directory;
  const Arguments store{"--plugin", kSham, "--store", directory / "S.db", "--json"};
  const auto devices = [&](Arguments arguments) {
    arguments.insert(arguments.end(), store.begin(), store.end());
    const Ended ended = run(arguments);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    const auto listed = ended.json();
    for (const auto& device : listed["devices"]) {
      if (device["id"] == "sham:0") {
        return std::pair(device["peaks"], listed["failures"].size());
      }
    }
    FAIL("sham is not listed");
    return std::pair(nlohmann::json(), std::size_t{0});
  };
  CHECK(devices({"devices"}).first.empty());
  const auto [peaks, failures] = devices({"devices", "--measure", "--device", "sham"});
  REQUIRE(peaks.size() == 1);  // sham knows nothing but copy
  CHECK(failures >= 3);
  CHECK(peaks[0]["name"] == "memory");
  CHECK(peaks[0]["per_second"] > 0.0);
  CHECK(devices({"devices"}).first == peaks);
  Arguments again{"run", "copy", "--device", "sham", "--shape", "n=100000", "--config", "default"};
  again.insert(again.end(), store.begin(), store.end());
  const auto measured = run(again).json();
  CHECK(measured["limit"]["name"] == "memory");
  CHECK(measured["limit"]["share"] > 0.0);
  CHECK(measured["limit"]["peak_per_second"] == peaks[0]["per_second"]);
  CHECK(measured["resident"].is_null());
}

TEST_CASE("what a plugin's device makes of a configuration is reported as of any other") {
  const TemporaryDirectory directory;
  const auto outcome = [&](const char* configuration) {
    const Ended ended = run({"run", "copy", "--device", "sham", "--shape", "n=1000000", "--plugin", kSham, "--store", directory / "S.db",
                             "--json", "--config", configuration});
    CHECK(ended.exit == 2);
    return ended.json();
  };
  const auto rejected = outcome("bytes=4,in_flight=16");
  CHECK(rejected["outcome"] == "compile_error");
  CHECK(rejected["detail"] == "copy.cu: sham has too few registers for 16 accesses in flight");
  const auto unlaunched = outcome("block=64,resident=16");
  CHECK(unlaunched["outcome"] == "launch_failure");
  CHECK(unlaunched["detail"].get<std::string>().find("device sham: launch: sham cannot hold 16 blocks") != std::string::npos);
  const auto lost = outcome("block=64,resident=8");
  CHECK(lost["outcome"] == "illegal_access");
  CHECK(lost["detail"].get<std::string>().find("device sham: launch: sham has lost itself") != std::string::npos);
  const auto crashed = outcome("block=64,resident=4");
  CHECK(crashed["outcome"] == "illegal_access");
  CHECK(crashed["detail"].get<std::string>().find("was killed by signal 6") != std::string::npos);
  CHECK(outcome("bytes=4,in_flight=8")["outcome"] == "wrong_result");
}

TEST_CASE("devices are listed also where the store is damaged") {
  const TemporaryDirectory directory;
  write(directory / "S.db", "no store");
  const Ended ended = run({"devices", "--store", directory / "S.db", "--json"});
  CHECK(ended.exit == 0);
  CHECK_FALSE(ended.json()["devices"].empty());
  REQUIRE(ended.json()["failures"].size() == 1);
  CHECK(ended.json()["failures"][0].get<std::string>().find("S.db") != std::string::npos);
}

TEST_CASE("devices and doctor list a plugin's device, from --plugin and from HONE_PLUGIN_PATH") {
  const TemporaryDirectory directory;
  const auto listed = [](const nlohmann::json& devices) {
    for (const auto& device : devices["devices"]) {
      if (device["id"] == "sham:0") {
        return true;
      }
    }
    return false;
  };
  CHECK(listed(run({"devices", "--plugin", kSham, "--json"}).json()));
  CHECK_FALSE(listed(run({"devices", "--json"}).json()));
  std::filesystem::copy_file(kSham, directory / "sham.so");
  const Environment path{{"HONE_PLUGIN_PATH", directory / ""}};
  CHECK(listed(run({"devices", "--json"}, path).json()));
  CHECK(run({"run", "copy", "--device", "sham", "--shape", "n=4096", "--store", directory / "S.db", "--json"}, path).json()["outcome"] ==
        "ok");
  const auto examined = run({"doctor", "--plugin", kSham, "--json"}).json();
  bool found = false;
  for (const auto& finding : examined["findings"]) {
    found = found || (finding["part"] == "sham compiler" && finding["what"] == "sham compiler 1.0");
  }
  CHECK(found);
}

}  // namespace hone::test
