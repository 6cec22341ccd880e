// Candidates that crash, hang, deadlock, scribble or are wrong cost themselves and nothing else.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kHostile = HONE_SOURCE_DIR "/tests/cli/hostile.cu";

}  // namespace

TEST_CASE("a session survives every way a configuration can fail, and counts each as what it was") {
  const TemporaryDirectory directory;
  const Ended ended = run(
      {"tune", kHostile, "--device", "cpu", "--strategy", "exhaustive", "--budget", "100trials", "--store", directory / "S.db", "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  const auto& trials = report["outcomes"];
  CAPTURE(trials.dump());
  CHECK(trials["ok"] == 1);
  CHECK(trials["compile_error"] == 1);
  CHECK(trials["illegal_access"] == 2);  // the crash and the write past the end
  CHECK(trials["timeout"] == 1);
  CHECK(trials["deadlock"] == 1);
  CHECK(trials["wrong_result"] == 2);  // a wrong factor and an element left out
  CHECK(report["best"]["config"]["behaviour"] == 0);
  // What the compiler minds is told, not the line before it that says where.
  const Ended told = run({"sessions", "1", "--kernel", kHostile, "--store", directory / "S.db"});
  CHECK(told.out.find("error: static assertion failed: this configuration does not compile") != std::string::npos);
}

TEST_CASE("finalists that crash and hang are named and dropped, and the next best wins") {
  const TemporaryDirectory directory;
  const std::string file = HONE_SOURCE_DIR "/tests/cli/false_finalist.cu";
  const Ended ended = run({"tune", file, "--device", "cpu", "--strategy", "exhaustive", "--compile-workers", "1", "--budget", "100trials",
                           "--store", directory / "S.db", "--json"},
                          {{"HONE_TEST_MARK", directory / "search_is_over"}});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["outcomes"]["ok"] == 5);  // in their trials they do well
  CHECK(report["best"]["config"]["behaviour"] == 1);
  REQUIRE(report["default"].is_object());
  CHECK(report["speedup"].get<double>() > 1.5);
  std::map<int, std::string> outcomes;
  const auto session = run({"sessions", "1", "--kernel", file, "--store", directory / "S.db", "--json"}).json();
  for (const auto& trial : session["results"]) {
    outcomes[trial["config"]["behaviour"].get<int>()] = trial["outcome"].get<std::string>();
  }
  CHECK(outcomes.size() == 5);
  for (const int honest : {0, 1, 4}) {
    CHECK(outcomes[honest] == "ok");
  }
  // On a busy host one of them may seem slow in its trial, and then it is no finalist.
  CHECK((outcomes[2] == "illegal_access" || outcomes[2] == "ok"));
  CHECK((outcomes[3] == "timeout" || outcomes[3] == "ok"));
  const bool is_any_dropped = outcomes[2] != "ok" || outcomes[3] != "ok";
  CHECK((report["notes"].dump().find("failed in the final round") != std::string::npos) == is_any_dropped);
}

TEST_CASE("run reports a failing configuration with its outcome and exit code 2") {
  const Ended ended = run({"run", kHostile, "--device", "cpu", "--config", "behaviour=7", "--json"});
  CHECK(ended.exit == 2);
  CHECK(ended.json()["outcome"] == "wrong_result");
  CHECK_FALSE(ended.json()["detail"].get<std::string>().empty());
}

}  // namespace hone::test
