// The main job from the command line: tune, then best from another process.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

std::int64_t sum(const nlohmann::json& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                         [](std::int64_t so_far, const auto& count) { return so_far + count.template get<std::int64_t>(); });
}

}  // namespace

TEST_CASE("tune ends with one JSON object, and best prints its configuration from another process") {
  const TemporaryDirectory directory;
  const Arguments problem{"softmax", "--device",         "cpu",     "--dtype",          "f32",
                          "--shape", "rows=32,cols=256", "--store", directory / "S.db", "--json"};
  Arguments tune{"tune"}, best{"best"};
  tune.insert(tune.end(), problem.begin(), problem.end());
  best.insert(best.end(), problem.begin(), problem.end());
  tune.insert(tune.end(), {"--budget", "12trials", "--seed", "1"});

  const Ended ended = run(tune);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["session"] == 1);
  CHECK(report["kernel"] == "softmax");
  CHECK(report["device"] == "cpu");
  CHECK(report["dtype"] == "f32");
  CHECK(report["shape"] == nlohmann::json{{"rows", 32}, {"cols", 256}});
  CHECK(report["space"]["cartesian"] >= report["space"]["valid"]);
  CHECK(report["trials"] == 12);
  CHECK(sum(report["outcomes"]) == 12);
  CHECK(report["default"]["time_us"] > 0.0);
  CHECK(report["default"]["config"].is_object());
  CHECK(report["best"]["ci95_us"][0] <= report["best"]["time_us"]);
  CHECK(report["best"]["time_us"] <= report["best"]["ci95_us"][1]);
  CHECK(report["best"]["time_us"] <= report["default"]["time_us"]);
  CHECK(report["speedup"] >= 1.0);

  const auto record = run(best).json();
  CHECK(record["config"] == report["best"]["config"]);
  CHECK(record["source"] == "exact");
  CHECK(record["stale"].empty());

  const auto sessions = run({"sessions", "--store", directory / "S.db", "--json"}).json()["sessions"];
  REQUIRE(sessions.size() == 1);
  CHECK(sessions[0]["trials"] == 12);
  CHECK(sessions[0]["state"] == "done");

  // Another shape is answered by the nearest record, and says so.
  Arguments other = best;
  std::replace(other.begin(), other.end(), std::string("rows=32,cols=256"), std::string("rows=48,cols=256"));
  const auto nearest = run(other).json();
  CHECK(nearest["source"] == "nearest");
  CHECK(nearest["tuned_shape"]["rows"] == 32);
}

TEST_CASE("tune --fix searches a part of the space, which space --fix counts, and leaves a faster record in place") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const auto asked = [&](const std::string& verb, const Arguments& more) {
    Arguments all{verb, "copy", "--device", "cpu", "--shape", "n=65536", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const auto part = asked("space", {"--fix", "block=256|64,bytes=16"}).json();
  CHECK(part["value_counts"]["block"] == 2);
  CHECK(part["valid"] < asked("space", {}).json()["valid"]);

  const Ended tuned = asked("tune", {"--fix", "bytes=16", "--fix", "block=256|64", "--budget", "4trials", "--store", store});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  CHECK(tuned.json()["fix"] == "block=64|256,bytes=16");
  CHECK(tuned.json()["space"]["valid"] == part["valid"]);
  CHECK(tuned.json()["best"]["config"]["bytes"] == 16);
  CHECK(tuned.json()["faster_record"].is_null());
  CHECK(run({"sessions", "--store", store, "--json"}).json()["sessions"][0]["fix"] == "block=64|256,bytes=16");
  CHECK(run({"sessions", "1", "--store", store}).out.find("with block=64|256,bytes=16") != std::string::npos);
  const auto best = asked("best", {"--store", store}).json();
  CHECK(best["config"]["bytes"] == 16);
  CHECK(best["fix"] == "block=64|256,bytes=16");

  CHECK(asked("tune", {"--fix", "blok=32", "--store", store}).err.find("did you mean 'block'?") != std::string::npos);
  CHECK(asked("space", {"--fix", "block=33"}).err.find("unknown value of block '33' (known: 64, 128") != std::string::npos);
  CHECK(asked("tune", {"--fix", "block", "--store", store}).err.find("not of the form name=value") != std::string::npos);
}

TEST_CASE("best without a record says how to get one") {
  const TemporaryDirectory directory;
  const Ended ended = run({"best", "softmax", "--device", "cpu", "--store", directory / "S.db"});
  CHECK(ended.exit == 2);
  CHECK(ended.err.find("no store at") != std::string::npos);
}

TEST_CASE("a user's own file is tuned with one command") {
  const TemporaryDirectory directory;
  const std::string file = directory / "bias_gelu.cu";
  std::filesystem::copy_file(HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu", file);
  for (const char* dtype : {"f32", "bf16"}) {
    const Ended ended = run({"tune", file, "--device", "cpu", "--dtype", dtype, "--shape", "rows=9,cols=128", "--budget", "4trials",
                             "--store", directory / "S.db", "--json"});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    CHECK(ended.json()["kernel"] == "bias_gelu");
    CHECK(ended.json()["outcomes"]["ok"] == 4);
  }
}

TEST_CASE("a kernel's expectations: what is read of them, what they leave, and what a session makes of them") {
  const TemporaryDirectory directory;
  const std::string file = directory / "bias_gelu.cu", store = directory / "S.db";
  std::string text = contents(HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu");
  const std::size_t valid = text.find("template <class T> constexpr bool valid");
  REQUIRE(valid != std::string::npos);
  text.insert(valid,
              "constexpr bool likely(Problem p, Config c) {\n  if (c.vec > 1 && p.cols < 4096) return false;  // short rows\n"
              "  return p.rows > 0;\n}\n");
  write(file, text);
  const auto asked = [&](const std::string& verb, const Arguments& more) {
    Arguments all{
        verb, file, "--device", "cpu", "--dtype", "f32", "--shape", "rows=9,cols=128", "--fix", "block=64|256,rows_per_block=1", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const auto expectations = run({"kernels", file, "--json"}).json()["expectations"];
  REQUIRE(expectations.size() == 2);
  CHECK(expectations[0]["condition"] == "c.vec <= 1 || p.cols >= 4096");
  CHECK(expectations[0]["comment"] == "short rows");

  const auto space = asked("space", {}).json();
  CHECK(space["likely_size"] < space["valid"]);
  const auto tune = [&](const std::string& use, const std::string& budget) {
    const Ended ended = asked("tune", {"--likely", use, "--budget", budget, "--store", store, "--no-transfer"});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.json();
  };
  const auto only = tune("only", "100trials");
  CHECK(only["likely"] == "only");
  CHECK(only["space"]["likely_size"] == space["likely_size"]);
  const std::int64_t likely = space["likely_size"], tried = only["trials"];
  CHECK(tried >= likely);
  CHECK(tried <= likely + 1);  // the default, where it is none of them
  const auto ignored = tune("ignore", "3trials");
  CHECK(ignored["session"] == 2);
  CHECK(ignored["best"]["breaks"].is_array());
  CHECK(run({"sessions", "--store", store, "--json"}).json()["sessions"][1]["likely"].is_string());
  const auto explained = asked("space", {"--explain", "--store", store}).json();
  CHECK(explained["likely_size"] == space["likely_size"]);
  REQUIRE(explained["expectations"].size() == 2);
  CHECK(explained["expectations"][0]["evidence"]["problems"] == 1);
  CHECK(explained["expectations"][1]["removes_alone"] == 0);
  CHECK(asked("tune", {"--likely", "onyl"}).err.find("did you mean 'only'?") != std::string::npos);
}

}  // namespace hone::test
