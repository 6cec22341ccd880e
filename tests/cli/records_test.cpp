// What hone records lists and changes.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"
#include "tests/twice_kernel.hpp"

namespace hone::test {
namespace {

const std::vector<std::string> kWonProblem = {"softmax", "--device", "cpu", "--dtype", "f32", "--shape", "rows=4,cols=32"};

Ended of_problem(const std::string& verb, const std::string& store, const std::vector<std::string>& more = {}) {
  Arguments arguments = {verb};
  arguments.insert(arguments.end(), kWonProblem.begin(), kWonProblem.end());
  arguments.insert(arguments.end(), {"--store", store, "--json"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

}  // namespace

TEST_CASE("a record is listed, withdrawn, rolled back to and pinned") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(of_problem("tune", store, {"--budget", "2trials", "--strategy", "random"}).exit == 0);
  const auto records = [&](const Arguments& more) {
    Arguments arguments = {"records", "--store", store, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = run(arguments);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.json();
  };
  const auto listed = records({});
  REQUIRE(listed["records"].size() == 1);
  CHECK(listed["records"][0]["kernel"] == "softmax");
  CHECK(listed["records"][0]["state"] == "candidate");
  CHECK(listed["records"][0]["served"] == true);
  CHECK(listed["records"][0]["time_us"] > 0.0);
  const std::string id = std::to_string(listed["records"][0]["record"].get<int>()), then = std::to_string(listed["generation"].get<int>());
  CHECK(of_problem("best", store).json()["record"] == listed["records"][0]["record"]);

  const int withdrawn = records({id, "--set", "withdrawn", "--reason", "slow in production"})["generation"];
  const Ended none = of_problem("best", store);
  CHECK(none.exit == 2);
  CHECK_MESSAGE(none.err.find("what was one is withdrawn: hone records softmax --all") != std::string::npos, none.err);
  CHECK(records({})["records"].empty());
  CHECK(records({"softmax", "--all"})["records"][0]["state"] == "withdrawn");
  CHECK(records({"gemm", "--all"})["records"].empty());
  CHECK(records({"matmul", "--all"})["records"].empty());  // of any kernel of it
  CHECK(records({"--at", then})["records"].size() == 1);
  const auto log = records({"--log"})["changes"];
  CHECK(log.back()["generation"] == withdrawn);
  CHECK(log.back()["what"] == "record " + id + " withdrawn: slow in production");

  records({"--roll-back", then});
  CHECK(of_problem("best", store).exit == 0);
  records({id, "--set", "pinned"});
  CHECK(of_problem("best", store).json()["state"] == "pinned");
  CHECK(records({"--approved"})["records"].size() == 1);
}

TEST_CASE("the name of an operation stands for its built-in kernels") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const Ended tuned = run({"tune", "gemm", "--device", "cpu", "--dtype", "f32", "--shape", "m=8,n=8,k=8", "--budget", "2trials",
                           "--strategy", "random", "--store", store});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  const auto listed = run({"records", "matmul", "--store", store, "--json"}).json()["records"];
  REQUIRE(listed.size() == 1);
  CHECK(listed[0]["kernel"] == "gemm");
  CHECK(run({"records", "softmax", "--store", store, "--json"}).json()["records"].empty());
  CHECK(run({"records", "matmull", "--store", store}).exit == 2);
}

TEST_CASE("changes that cannot be made are refused, and no store is made for them") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  CHECK(run({"records", "1", "--set", "pinned", "--store", store}).exit == 2);
  CHECK_FALSE(std::filesystem::exists(store));
  REQUIRE(of_problem("tune", store, {"--budget", "2trials", "--strategy", "random"}).exit == 0);
  const auto refused = [&](Arguments arguments, const std::string& message) {
    arguments.insert(arguments.begin(), "records");
    arguments.insert(arguments.end(), {"--store", store});
    const Ended ended = run(arguments);
    CHECK(ended.exit == 2);
    CHECK_MESSAGE(ended.err.find(message) != std::string::npos, ended.err);
  };
  refused({"99", "--set", "pinned"}, "has no record 99");
  refused({"softmax", "--set", "pinned"}, "--set takes their numbers");
  refused({"--set", "pinned"}, "--set takes their numbers");
  refused({"1", "--set", "pined"}, "did you mean 'pinned'");
  refused({"--roll-back", "99"}, "give an earlier one");
  refused({"1", "--set", "pinned", "--roll-back", "0"}, "two changes");
  refused({"1", "--roll-back", "0"}, "takes no records");
  refused({"softmax", "--log"}, "takes no records");
  refused({"--at", "99"}, "no generation 99");
  refused({"--at", "-1"}, "no generation -1");
  refused({"99"}, "no record 99");
  refused({"softmx"}, "no record of 'softmx'");
  refused({"--reason", "because"}, "--reason belongs to");
}

TEST_CASE("the best of the others becomes the record where the fastest was withdrawn, and a pinned one is said to serve") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const std::vector<std::string> two = {"--budget", "20trials", "--fix",
                                        "block=256,bytes=16,in_flight=8,resident=0,stages=0,stream_load=true,stream_store=false|true"};
  const auto tune = [&](const std::vector<std::string>& more) {
    Arguments arguments = {"tune", "copy", "--device", "cpu", "--dtype", "f32", "--shape", "n=4096", "--store", store, "--json"};
    arguments.insert(arguments.end(), two.begin(), two.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = run(arguments);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.json();
  };
  const Arguments best = {"best", "copy", "--device", "cpu", "--dtype", "f32", "--shape", "n=4096", "--store", store, "--json"};
  const auto first = tune({})["best"]["config"];
  REQUIRE(run({"records", "1", "--set", "withdrawn", "--store", store}).exit == 0);
  const auto again = tune({"--fresh"});
  CHECK(again["best"]["config"] != first);
  CHECK(again["notes"].dump().find("withdrawn") != std::string::npos);
  const Ended served = run(best);
  REQUIRE_MESSAGE(served.exit == 0, served.err);
  CHECK(served.json()["config"] == again["best"]["config"]);

  REQUIRE(run({"records", "1", "--set", "pinned", "--store", store}).exit == 0);
  CHECK(run(best).json()["config"] == first);
}

TEST_CASE("a winner that was withdrawn from its problem is not said to be stored") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "twice.cu";
  write(file, kTwice);
  const Arguments tune{"tune", file, "--device", "cpu", "--fix", "block=64,items=1", "--budget", "1trials", "--store", store, "--fresh"};
  const Ended first = run(tune);
  REQUIRE_MESSAGE(first.exit == 0, first.err);
  CHECK(first.out.find("stored in " + store + " (session 1)") != std::string::npos);
  REQUIRE(run({"records", "1", "--set", "withdrawn", "--store", store}).exit == 0);
  const Ended again = run(tune);
  REQUIRE_MESSAGE(again.exit == 0, again.err);
  CHECK_MESSAGE(again.out.find("stored in") == std::string::npos, again.out);
  CHECK(again.out.find("in " + store + " as session 2\nrecord   not the winner: it was withdrawn from this problem") != std::string::npos);
}

}  // namespace hone::test
