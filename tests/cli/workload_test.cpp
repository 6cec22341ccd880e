// hone tune --workload: from what an application launches to records of all of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kFirstLine = "{\"hone_workload\": 1}\n";
const std::string kDoubledRows = HONE_SOURCE_DIR "/tests/cli/doubled.cu";
const std::string kWideRows = R"({"kernel": ")" + kDoubledRows +
                              R"(", "dtype": "f32", "shape": {"rows": 64, "cols": 512}, "count": 900})"
                              "\n";
const std::string kFewRows = R"({"kernel": ")" + kDoubledRows +
                             R"(", "dtype": "f32", "shape": {"rows": 8, "cols": 16}, "count": 2})"
                             "\n";
const std::string kSmallProduct = R"({"kernel": "matmul", "dtype": "f32", "shape": {"m": 8, "n": 16, "k": 32}, "count": 3})"
                                  "\n";

Arguments tune_workload(const std::string& file, const std::string& store, const Arguments& more = {}) {
  Arguments all{"tune", "--workload", file, "--device", "cpu", "--store", store, "--json"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool tells_why(const Ended& ended, const std::string& what) {
  CAPTURE(ended.err);
  return ended.err.find(what) != std::string::npos;
}

std::size_t sessions_in(const std::string& store) {
  const Ended listed = run({"sessions", "--store", store, "--json"});
  return listed.exit == 0 ? listed.json()["sessions"].size() : 0;
}

}  // namespace

TEST_CASE("the problems of a workload share a budget, and each has a record afterwards") {
  const TemporaryDirectory directory;
  const std::string file = directory / "calls.jsonl";
  write(file, kFirstLine + kWideRows + kFewRows + kSmallProduct);
  for (const std::string split : {"gain", "even"}) {
    CAPTURE(split);
    const Ended ended = run(tune_workload(file, directory / (split + ".db"), {"--budget", "20trials", "--split", split}));
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    const nlohmann::json report = ended.json();
    CHECK(report["split"] == split);
    CHECK(report["interrupted"] == false);
    REQUIRE(report["items"].size() == 3);
    double before = 0.0, after = 0.0, shares = 0.0;
    std::int64_t trials = 0;
    for (const nlohmann::json& problem : report["items"]) {
      CHECK(problem["state"] == "tuned");
      CHECK(problem["before"]["source"] == "default");
      CHECK(problem["after"]["source"] == "exact");
      before += problem["count"].get<double>() * problem["before"]["time_us"].get<double>();
      after += problem["count"].get<double>() * problem["after"]["time_us"].get<double>();
      shares += problem["share"].get<double>();
      trials += problem["trials"].get<std::int64_t>();
    }
    CHECK(report["weighted_before_us"].get<double>() == doctest::Approx(before));
    CHECK(report["weighted_after_us"].get<double>() == doctest::Approx(after));
    CHECK(report["gain"].get<double>() == doctest::Approx(before / after));
    CHECK(shares == doctest::Approx(1.0));
    CHECK(trials <= 20);
    const Ended best = run({"best", kDoubledRows, "--dtype", "f32", "--shape", "rows=64,cols=512", "--device", "cpu", "--store",
                            directory / (split + ".db"), "--json"});
    CHECK(best.json()["source"] == "exact");
  }
  const Ended skipped = run(tune_workload(file, directory / "gain.db", {"--budget", "36trials", "--skip-tuned"}));
  REQUIRE_MESSAGE(skipped.exit == 0, skipped.err);
  const nlohmann::json untouched = skipped.json()["items"];
  for (const nlohmann::json& problem : untouched) {
    CHECK(problem["state"] == "skipped");
    CHECK(problem["before"] == problem["after"]);
  }
}

TEST_CASE("a first slice is no whole session: it stays among the likely configurations") {
  const TemporaryDirectory directory;
  const std::string kernel = directory / "twice.cu", file = directory / "calls.jsonl", store = directory / "S.db";
  write(kernel, R"cuda(#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(32, 64, 96, 128, 160, 192, 224, 256) int block = 128; TUNE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) int items = 1; };
template <class T> constexpr bool likely(Problem p, Config c, Device d) { return c.block >= 128; }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block * c.items)}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void twice_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL void twice(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  for (int k = 0; k < c.items; ++k) {
    const long i = ((long)blockIdx.x * c.items + k) * c.block + threadIdx.x;
    if (i < p.n) y[i] = T(2.0f * (float)x[i]);
  }
}
)cuda");
  write(file, kFirstLine + R"({"kernel": ")" + kernel + R"(", "dtype": "f32", "shape": {"n": 640}, "count": 1})" + "\n");
  const Ended ended = run(tune_workload(file, store, {"--budget", "180trials", "--strategy", "exhaustive"}));
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const std::string table = directory / "trials.csv";
  REQUIRE(run({"report", "1", "--store", store, "--kernel", kernel, "--csv", table}).exit == 0);
  std::istringstream rows(contents(table));
  std::string row;
  std::getline(rows, row);
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) {
      cells.push_back(cell);
    }
    return cells;
  };
  const std::vector<std::string> names = cells_of(row);
  const auto block = static_cast<std::size_t>(std::ranges::find(names, "c.block") - names.begin());
  REQUIRE(block < names.size());
  for (int trial = 0; trial < 60 && std::getline(rows, row); ++trial) {  // a third of what the problem would have evenly
    CAPTURE(row);
    CHECK(std::stoi(cells_of(row).at(block)) >= 128);
  }
}

TEST_CASE("a problem that cannot be tuned is reported, and the others go on") {
  const TemporaryDirectory directory;
  const std::string file = directory / "calls.jsonl";
  const std::string unknown = "{\"kernel\": \"row_sun\", \"shape\": {}, \"count\": 5}\n";
  const std::string illegal = "{\"kernel\": \"row_sum\", \"dtype\": \"f32\", \"shape\": {\"rows\": 0, \"cols\": 16}, \"count\": 5}\n";
  write(directory / "own.cu", contents(HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu"));
  const std::string own = "{\"kernel\": \"./own.cu\", \"dtype\": \"f32\", \"shape\": {\"rows\": 8, \"cols\": 64}, \"count\": 1}\n";
  write(file, kFirstLine + unknown + kFewRows + illegal + own);
  const Ended ended = run(tune_workload(file, directory / "S.db", {"--budget", "8trials"}));
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const nlohmann::json problems = ended.json()["items"];
  CHECK(problems[0]["state"] == "failed");
  CHECK(problems[0]["reason"].get<std::string>().find("row_sum") != std::string::npos);
  CHECK(problems[0]["before"].is_null());
  CHECK(problems[1]["state"] == "tuned");
  CHECK(problems[2]["state"] == "failed");
  CHECK(problems[2]["reason"].get<std::string>().find("rows") != std::string::npos);
  write(file, kFirstLine + unknown + illegal);
  CHECK(run(tune_workload(file, directory / "S.db", {"--budget", "8trials"})).exit == 2);
}

TEST_CASE("Ctrl-C keeps the best of a workload, and the same command goes on with its sessions") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "calls.jsonl", out = directory / "out.json";
  write(file, kFirstLine + kWideRows + kFewRows);
  const Arguments first = tune_workload(file, store, {"--budget", "90trials"});
  {
    Running tuner(first, out);
    while (tuner.alive() && sessions_in(store) < 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    CHECK(tuner.interrupt() == 130);
  }
  const nlohmann::json interrupted = nlohmann::json::parse(contents(out));
  CHECK(interrupted["interrupted"] == true);
  const std::size_t sessions = sessions_in(store);
  const Ended again = run(tune_workload(file, store, {"--budget", "10trials"}));  // spent by now: what is left are the final rounds
  REQUIRE_MESSAGE(again.exit == 0, again.err);
  CHECK(sessions_in(store) == sessions);
  const nlohmann::json problems = again.json()["items"];
  for (const nlohmann::json& problem : problems) {
    CHECK((problem["state"] == "tuned" || problem["state"] == "not reached"));
    CHECK((problem["before"].is_null() || problem["before"]["source"] == "default"));  // not what the first run has kept
  }
}

TEST_CASE("bad workloads and options of one problem beside them are refused") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "calls.jsonl";
  CHECK(tells_why(run(tune_workload(file, store)), "calls.jsonl is not there"));
  write(file, kFirstLine + kWideRows + "{\"kernel\": \"row_sum\", \"shape\": {}}\n");
  const Ended missing = run(tune_workload(file, store));
  CHECK(missing.exit == 2);
  CHECK(tells_why(missing, "calls.jsonl:3: count is missing"));
  write(file, kFirstLine + kWideRows + "{\"kernel\": \"row_sum\", \"count\": 2}\n");
  CHECK(tells_why(run(tune_workload(file, store)), "calls.jsonl:3: shape is missing"));
  write(file, kFirstLine);
  CHECK(tells_why(run(tune_workload(file, store)), "names no problem"));
  write(file, kFirstLine + kWideRows);
  CHECK(tells_why(run(tune_workload(file, store, {"softmax"})), "softmax is for one kernel"));
  CHECK(tells_why(run(tune_workload(file, store, {"--shape", "rows=3"})), "--shape is for one kernel"));
  CHECK(tells_why(run(tune_workload(file, store, {"--split", "gian"})), "gain"));
  CHECK_FALSE(std::filesystem::exists(store));
}

}  // namespace hone::test
