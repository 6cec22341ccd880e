// hone tune --shapes: what it says of trials that were wrong.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

/// Configurations of four items are wrong at 3 x 16, and right elsewhere.
Ended tune_doubled(const std::string& store, const std::string& rows, const Arguments& more) {
  Arguments arguments{"tune",     HONE_SOURCE_DIR "/tests/cli/doubled.cu",
                      "--device", "cpu",
                      "--shapes", "rows=" + rows + ",cols=16",
                      "--store",  store,
                      "--define", "WRONG_ITEMS=4"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

}  // namespace

TEST_CASE("what was wrong at one shape of a range is counted and named, and is no member") {
  const TemporaryDirectory directory;
  const Ended ended = tune_doubled(directory / "S.db", "2..3", {"--budget", "48trials", "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const nlohmann::json report = ended.json();
  std::int64_t counted = 0;
  for (const nlohmann::json& count : report["outcomes"]) {
    counted += count.get<std::int64_t>();
  }
  CHECK(counted == report["trials"]);
  REQUIRE(report["wrong_trials"].size() == 1);
  const nlohmann::json& wrong = report["wrong_trials"][0];
  CHECK(wrong["kernel"] == "doubled");
  CHECK(wrong["outcome"] == "wrong_result");
  CHECK(wrong["count"] == report["outcomes"]["wrong_result"]);
  CHECK(wrong["configuration"].get<std::string>().find("items=4") != std::string::npos);
  CHECK(wrong["shape"]["rows"] == 3);
  CHECK(wrong["detail"].get<std::string>().find("expected") != std::string::npos);
  REQUIRE(report["members"].size() > 0);
  for (const nlohmann::json& member : report["members"]) {
    CHECK(member["configuration"].get<std::string>().find("items=4") == std::string::npos);
  }
}

TEST_CASE("what surveys have timed is no member before it has passed the full gate") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = HONE_SOURCE_DIR "/tests/cli/odd_extents.cu";
  const Ended ended = run(
      {"tune", file, "--device", "cpu", "--shapes", "n=1024..65536", "--budget", "120trials", "--seed", "2", "--store", store, "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const nlohmann::json report = ended.json();
  REQUIRE(report["members"].size() > 0);
  for (const nlohmann::json& member : report["members"]) {
    CHECK(member["configuration"].get<std::string>().find("odd=0") == 0);
  }
  for (const char* shape : {"n=1025", "n=9999", "n=50001"}) {
    const Ended served = run({"best", file, "--device", "cpu", "--shape", shape, "--store", store, "--json"});
    REQUIRE_MESSAGE(served.exit == 0, served.err);
    CHECK(served.json()["config"]["odd"] == 0);
  }
}

TEST_CASE("the text of a range names what was wrong, and nothing of trials where there were none") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended first = tune_doubled(store, "3", {"--budget", "12trials"}), again = tune_doubled(store, "3", {"--budget", "12trials"});
  REQUIRE_MESSAGE(first.exit == 0, first.err);
  CHECK(first.out.find(" trials of doubled: the first, ") != std::string::npos);
  CHECK(first.out.find("trials   ") != std::string::npos);
  REQUIRE_MESSAGE(again.exit == 0, again.err);
  CHECK(again.out.find("trials   ") == std::string::npos);
}

}  // namespace hone::test
