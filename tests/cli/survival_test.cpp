// Candidates that crash, hang, deadlock, scribble or are wrong cost themselves and nothing else.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {

TEST_CASE("a session survives every way a configuration can fail, and counts each as what it was") {
  const TemporaryDirectory directory;
  const Ended ended = run({"tune", HONE_SOURCE_DIR "/tests/cli/hostile.cu", "--device", "cpu", "--strategy", "exhaustive", "--budget",
                           "100trials", "--store", directory / "S.db", "--json"});
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
  const Ended told = run({"sessions", "1", "--kernel", HONE_SOURCE_DIR "/tests/cli/hostile.cu", "--store", directory / "S.db"});
  CHECK(told.out.find("error: static assertion failed: this configuration does not compile") != std::string::npos);
}

TEST_CASE("run reports a failing configuration with its outcome and exit code 2") {
  const Ended ended = run({"run", HONE_SOURCE_DIR "/tests/cli/hostile.cu", "--device", "cpu", "--config", "behaviour=7", "--json"});
  CHECK(ended.exit == 2);
  CHECK(ended.json()["outcome"] == "wrong_result");
  CHECK_FALSE(ended.json()["detail"].get<std::string>().empty());
}

}  // namespace hone::test
