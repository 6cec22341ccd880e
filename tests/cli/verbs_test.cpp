// Every verb answers --help and --json.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "engine/kernel/kernel_spec.hpp"
#include "tests/cli/command.hpp"

namespace hone::test {

TEST_CASE("hone alone, --help and --version") {
  CHECK(run({}).exit == 2);
  const Ended help = run({"--help"});
  CHECK(help.exit == 0);
  for (const char* verb : {"tune", "best", "run", "export", "kernels", "space", "devices", "sessions", "doctor", "compare", "strategies"}) {
    CHECK(help.out.find(verb) != std::string::npos);
    CHECK(run({verb, "--help"}).out.find("--json") != std::string::npos);
  }
  CHECK(run({"--version"}).out.starts_with("hone 0."));
  CHECK(run({"version"}).out == run({"--version"}).out);
  CHECK(run({"help", "tune"}).out == run({"tune", "--help"}).out);
  CHECK(run({"help", "tuen"}).err.find("did you mean 'tune'?") != std::string::npos);
}

TEST_CASE("options before the verb are told their place") {
  const Ended ended = run({"--store", "S.db", "tune", "softmax"});
  CHECK(ended.exit == 2);
  CHECK(ended.err.find("the verb comes first, options after it: hone VERB --store") != std::string::npos);
}

TEST_CASE("lists may have blanks") {
  const Arguments compact{"space", "softmax", "--device", "cpu", "--shape", "rows=32,cols=256", "--fix", "block=64|128"};
  const Arguments spread{"space", "softmax", "--device", "cpu", "--shape", "rows=32, cols = 256", "--fix", "block = 64 | 128"};
  CHECK(run(spread).out == run(compact).out);
  CHECK(run(spread).out.find(" are valid") != std::string::npos);
}

TEST_CASE("an unknown verb is answered with the nearest") {
  const Ended ended = run({"tuen"});
  CHECK(ended.exit == 2);
  CHECK(ended.err.find("tune") != std::string::npos);
}

TEST_CASE("devices: the cpu is always there") {
  const auto devices = run({"devices", "--json"}).json()["devices"];
  const auto cpu = std::find_if(devices.begin(), devices.end(), [](const auto& device) { return device["id"] == "cpu"; });
  REQUIRE(cpu != devices.end());
  CHECK((*cpu)["properties"].contains("shared_memory_per_block"));
}

TEST_CASE("kernels: the built-in ones, and one described") {
  const auto kernels = run({"kernels", "--json"}).json()["kernels"];
  CHECK(std::any_of(kernels.begin(), kernels.end(), [](const auto& kernel) { return kernel["name"] == "softmax"; }));
  CHECK(run({"kernels"}).out.find("Copy: y[i] = x[i]\n") != std::string::npos);  // the first sentence of many
  const auto softmax = run({"kernels", "softmax", "--json"}).json();
  CHECK(softmax["shape"].contains("rows"));
  CHECK(softmax["parameters"].size() >= 3);
  CHECK(softmax["arguments"][0]["direction"] == "in");
  CHECK(run({"kernels", "softmax"}).out.find("constraints") != std::string::npos);
  CHECK(run({"kernels", "gemm"}).out.find("  // whole warps along m\n") != std::string::npos);
}

TEST_CASE("kernels: constraints are told in the names of the source") {
  const std::string described = run({"kernels", "transpose"}).out;
  CHECK(described.find("c.path != tma || d.compute_capability == 90") != std::string::npos);
}

TEST_CASE("kernels --spec: what was read is there to be read again without libclang") {
  const TemporaryDirectory directory;
  CHECK(run({"kernels", "copy", "--spec", directory / "copy.json"}).exit == 0);
  const Result<KernelSpec> spec = parse_kernel_spec(contents(directory / "copy.json"));
  REQUIRE(spec.ok());
  CHECK(spec->name == "copy");
  CHECK(spec->source_hash == run({"kernels", "copy", "--json"}).json()["source_hash"].get<std::string>());
  CHECK(run({"kernels", "copy", "--spec", directory / "nowhere/copy.json"}).err.find("cannot be written") != std::string::npos);
}

TEST_CASE("a kernel that is not built in is named by its file") {
  const Ended ended = run({"kernels", "mine"});
  CHECK(ended.exit == 2);
  CHECK(ended.err.find("give your own kernel by its file: mine.cu") != std::string::npos);
}

TEST_CASE("space --arch counts for a device that is not here") {
  const TemporaryDirectory directory;
  const auto count = [&](const char* architecture) {
    return run({"space", "gemm_wgmma", "--dtype", "bf16", "--arch", architecture, "--store", directory / "none.db", "--json"});
  };
  CHECK(count("sm_90a").json()["likely_size"] > 0);
  CHECK(count("sm_80").err.find("'d.compute_capability == 90'") != std::string::npos);
  CHECK(count("sm_1").err.find("did you mean") != std::string::npos);
  CHECK(run({"space", "copy", "--arch", "sm_80", "--device", "cpu"}).err.find("not both") != std::string::npos);
}

TEST_CASE("space: counts, and samples that are valid") {
  const auto space = run({"space", "softmax", "--device", "cpu", "--shape", "rows=32,cols=256", "--sample", "3", "--json"}).json();
  CHECK(space["valid"] > 0);
  CHECK(space["cartesian"] >= space["valid"]);
  CHECK(space["sample"].size() == 3);
}

TEST_CASE("space: a file of descriptions is counted and compared with what it says of itself") {
  const TemporaryDirectory directory;
  std::ofstream(directory / "spaces.json")
      << R"([{"name": "half", "parameters": {"x": [1, 2], "y": [1, 2]}, "constraints": ["x < y or x == 2"], "valid": 3},
    {"name": "wrong", "parameters": {"x": [1, 2]}, "constraints": [], "valid": 3}])";
  const Ended ended = run({"space", directory / "spaces.json", "--count", "--json"});
  CHECK(ended.exit == 1);
  const auto spaces = ended.json()["spaces"];
  REQUIRE(spaces.size() == 2);
  CHECK(spaces[0]["size"] == 3);
  CHECK(spaces[0]["cartesian"] == 4);
  CHECK(spaces[0]["equal"] == true);
  CHECK(spaces[0]["construction_ms"] > 0.0);
  CHECK(spaces[0]["bytes"] > 0);
  CHECK(spaces[1]["equal"] == false);
}

TEST_CASE("space: constraints are explained, those of an empty space by a smallest contradiction") {
  const auto softmax = run({"space", "softmax", "--device", "cpu", "--explain", "--json"}).json();
  REQUIRE_FALSE(softmax["constraints"].empty());
  CHECK(softmax["constraints"][0]["line"] > 0);
  CHECK(softmax["constraints"][0].contains("removes_alone"));
  const TemporaryDirectory directory;
  std::ofstream(directory / "empty.json") << R"({"name": "empty", "parameters": {"x": [1, 2], "y": [1, 2]}, "constraints": ["x < y",
    "y < 3", "y < x"]})";
  const auto space = run({"space", directory / "empty.json", "--explain", "--json"}).json()["spaces"][0];
  CHECK(space["valid"] == 0);
  CHECK(space["contradiction"]["smallest"] == true);
  REQUIRE(space["contradiction"]["constraints"].size() == 2);
  CHECK(space["contradiction"]["constraints"][1]["line"] == 2);
  const Ended counted = run({"space", directory / "empty.json"});
  CHECK(counted.exit == 1);
  CHECK(counted.out.find("empty: 0 of 4 combinations") == 0);
  CHECK(counted.out.find("'x < y' (line 1) and 'y < x' (line 2)") != std::string::npos);
  std::ofstream(directory / "broken.json") << R"({"name": "broken", "parameters": {"x": [1, 2)})";
  CHECK(run({"space", directory / "broken.json"}).err.find("this is not JSON") != std::string::npos);
}

TEST_CASE("run: the default is right and timed") {
  const TemporaryDirectory directory;
  const Ended ended = run(
      {"run", "softmax", "--device", "cpu", "--shape", "rows=7,cols=64", "--config", "default", "--store", directory / "S.db", "--json"});
  CHECK(ended.exit == 0);
  const auto report = ended.json();
  CHECK(report["outcome"] == "ok");
  CHECK(report["max_error"] <= 1.0);
  CHECK(report["time_us"] > 0.0);
  CHECK_FALSE(std::filesystem::exists(directory / "S.db"));
}

TEST_CASE("run: the best is asked for by name, and has to be there") {
  const TemporaryDirectory directory;
  const Arguments best{"run", "softmax", "--device", "cpu", "--shape", "rows=7,cols=64", "--config", "best", "--store", directory / "S.db"};
  const Ended ended = run(best);
  CHECK(ended.exit == 2);
  CHECK(ended.err.find("run hone tune softmax --device cpu --dtype f32 --shape rows=7,cols=64") != std::string::npos);
  REQUIRE(
      run({"tune", "softmax", "--device", "cpu", "--shape", "rows=7,cols=64", "--budget", "1trials", "--store", directory / "S.db"}).exit ==
      0);
  CHECK(run(best).out.find("(exact)") != std::string::npos);
}

TEST_CASE("doctor: says what is missing and what that costs") {
  const TemporaryDirectory directory;
  const auto findings = run({"doctor", "--store", directory / "S.db", "--json"}).json()["findings"];
  for (const auto& finding : findings) {
    CAPTURE(finding.dump());
    CHECK(finding["found"].get<bool>() == finding["cost"].get<std::string>().empty());
    CHECK_FALSE(finding["what"].get<std::string>().empty());
  }
  CHECK_FALSE(std::filesystem::exists(directory / "S.db"));
}

}  // namespace hone::test
