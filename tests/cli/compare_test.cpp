// hone compare and hone strategies, end to end.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

/// 5 x 4 configurations whose time grows with block / vec; one fails.
std::string cache(const std::string& device) {
  std::string text = R"({"device_name": ")" + device + R"(", "kernel_name": "k", "tune_params_keys": ["block", "vec"],
    "tune_params": {"block": [16, 32, 64, 128, 256], "vec": [1, 2, 4, 8]}, "cache": {)";
  for (int i = 0; i < 20; ++i) {
    const int block = 16 << (i / 4), vec = 1 << (i % 4);
    const std::string values = std::to_string(block) + R"(, "vec": )" + std::to_string(vec);
    text += (i == 0 ? "\"" : ", \"") + std::to_string(i) + R"(": {"block": )" + values + R"(, "time": )" +
            (i == 7 ? "\"CompilationFailedConfig\"" : std::to_string(1.0 + 0.1 * block / vec)) + R"(, "compile_time": 1000})";
  }
  return text + "}}";
}

}  // namespace

TEST_CASE("compare: table, JSON, page and traces") {
  const TemporaryDirectory directory;
  write(directory / "k.A.json", cache("A"));
  write(directory / "k.B.json", cache("B"));
  const Arguments arguments{"compare",
                            "--spaces",
                            directory / "k.A.json",
                            "--spaces",
                            directory / "k.B.json",
                            "--strategy",
                            "random",
                            "--strategy",
                            "exhaustive",
                            "--budgets",
                            "3,10",
                            "--repeats",
                            "5"};
  const Ended text = run(arguments);
  CHECK_MESSAGE(text.exit == 0, text.err);
  CHECK(text.out.find("calculated random") != std::string::npos);

  Arguments with_json = arguments;
  with_json.insert(with_json.end(), {"--json", "--report", directory / "page.html", "--traces", directory / "traces.json"});
  const Ended ended = run(with_json);
  CHECK_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["spaces"].size() == 2);
  CHECK(report["budgets"] == nlohmann::json{3, 10});
  CHECK(report["unit"] == "evaluations");
  REQUIRE(report["strategies"].size() == 2);
  for (const auto& strategy : report["strategies"]) {
    CHECK(strategy["fractions"].size() == 2);
    CHECK(strategy["fractions"][1]["ci95"][0] <= strategy["fractions"][1]["mean"]);
    CHECK(strategy["per_space"][1]["space"] == "k.B");
    CHECK(strategy["ask_us"]["p99"] >= 0.0);
  }
  CHECK(report["wins"]["10"]["spaces"].size() == 2);

  const std::string page = contents(directory / "page.html");
  CHECK(page.find("<svg") != std::string::npos);
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("http") == std::string::npos);
  const auto traces = nlohmann::json::parse(contents(directory / "traces.json"));
  CHECK(traces["runs"].size() == 2 * 2 * 5);
  CHECK(traces["runs"][0]["time_us"].size() == 10);
}

TEST_CASE("compare: bad input is refused with exit code 2 and a message that names it") {
  const TemporaryDirectory directory;
  write(directory / "k.A.json", cache("A"));
  write(directory / "none.json", "{}");
  const std::string good = directory / "k.A.json";
  const auto refused = [&](const std::string& spaces, Arguments more, const std::string& named) {
    Arguments arguments{"compare", "--spaces", spaces, "--repeats", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = run(arguments);
    CAPTURE(ended.err);
    CHECK(ended.exit == 2);
    CHECK(ended.err.find(named) != std::string::npos);
  };
  refused(directory / "none.json", {"--strategy", "random"}, "none.json");
  refused(directory / "missing", {"--strategy", "random"}, "missing");
  refused(good, {}, "--strategy");
  refused(good, {"--strategy", "randon"}, "random");
  refused(good, {"--strategy", "random:warmth=3"}, "warmth");
  refused(good, {"--strategy", "random", "--budgets", "0"}, "budget 0");
  refused(good, {"--strategy", "random", "--repeats", "0"}, "repeats");
  refused(good, {"--strategy", "random", "--unit", "hours"}, "hours");
  refused(good, {"--strategy", "random", "--transfer", "some"}, "some");
  refused(good, {"--strategy", "random", "--report", directory / "no/such/folder.html"}, "folder.html");
  refused(good, {"--strategy", "./no_such_plugin.so"}, "no_such_plugin.so");
  refused(good, {"--strategy", "random", "--plugin", "no_such_plugin.so"}, "no_such_plugin.so");
}

TEST_CASE("compare: a strategy in a shared object, with a setting, beside itself without one") {
  const TemporaryDirectory directory;
  write(directory / "k.A.json", cache("A"));
  const std::string plugin = HONE_BINARY_DIR "/tests/plugin/good_plugin.so";
  const Ended ended = run({"compare", "--spaces", directory / "k.A.json", "--strategy", plugin, "--strategy", plugin + ":step=2",
                           "--strategy", "random", "--budgets", "3", "--repeats", "2", "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  std::vector<std::string> names;
  for (const auto& strategy : report["strategies"]) {
    names.push_back(strategy["name"]);
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"from_the_end", "from_the_end:step=2", "random"});
  const Ended listed = run({"strategies", "from_the_end", "--plugin", plugin});
  CHECK(listed.out.find("step") != std::string::npos);
}

TEST_CASE("a strategy that was built against ABI 2 is compared and tunes, also where the record says too_slow") {
  const std::string walker = std::string(HONE_BINARY_DIR) + "/tests/plugin/abi2/walker.so";
  const TemporaryDirectory directory;
  std::string record = cache("A");
  const std::size_t slow = record.find(R"("time": )", record.find(R"("11": )"));
  record.replace(slow, record.find(',', slow) - slow, R"("time": "too_slow", "times": [0.001])");  // faster than all, if it were right
  write(directory / "k.A.json", record);
  const Ended compared = run({"compare", "--spaces", directory / "k.A.json", "--strategy", walker + ":step=1", "--strategy", "auto",
                              "--budgets", "5,20", "--repeats", "4", "--json"});
  REQUIRE_MESSAGE(compared.exit == 0, compared.err);
  const auto report = compared.json();
  CHECK(report["spaces"][0]["failed"] == 1);
  for (const auto& strategy : report["strategies"]) {
    CAPTURE(strategy["label"]);
    CHECK(strategy["faults"]["failed"] == 0);
    CHECK(strategy["fractions"][1]["mean"] == 1.0);
  }
  const Ended tuned = run({"tune", directory / "k.A.json", "--strategy", "walker", "--plugin", walker, "--budget", "20trials", "--store",
                           directory / "S.db", "--json"});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  const auto session = tuned.json();
  CHECK(session["strategy_faults"]["failed"] == 0);
  CHECK(session["outcomes"]["too_slow"] == 1);
  CHECK(session["outcomes"]["ok"] == 18);
  CHECK(session["best"]["time_us"] == doctest::Approx(1200.0));  // block 16, vec 8
  CHECK(session["best"]["config"]["block"] == 16);
}

TEST_CASE("strategies: all, and one with its parameters") {
  const auto all = run({"strategies", "--json"}).json()["strategies"];
  CHECK(std::any_of(all.begin(), all.end(), [](const auto& strategy) { return strategy["name"] == "random"; }));
  const auto one = run({"strategies", "random", "--json"}).json();
  CHECK(one["name"] == "random");
  CHECK(one.contains("parameters"));
  CHECK(run({"strategies", "randon"}).exit == 2);
  CHECK(run({"strategies", "random"}).out.find("random") != std::string::npos);
}

TEST_CASE("A plugin in a folder of HONE_PLUGIN_PATH that cannot be loaded is named and stops nothing") {
  const TemporaryDirectory directory;
  write(directory / "broken.so", "not a shared object");
  const Ended ended = run({"strategies", "--json"}, {{"HONE_PLUGIN_PATH", directory / ""}});
  CHECK(ended.exit == 0);
  CHECK(ended.err.find("broken.so") != std::string::npos);
}

}  // namespace hone::test
