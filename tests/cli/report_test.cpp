// hone report, as its users run it.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kTunedFile = HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu";
const std::string kReplayedSpace = HONE_SOURCE_DIR "/bench/spaces/copy.NVIDIA_H200.json.gz";

Ended tune_for_report(const std::string& store, const std::string& shape, const std::string& trials = "6trials",
                      const std::string& file = kTunedFile) {
  return run(
      {"tune", file, "--device", "cpu", "--dtype", "f32", "--shape", shape, "--budget", trials, "--strategy", "random", "--store", store});
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

/// What a page must not have, and must have.
void check_page(const std::string& page) {
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.size() < 1'000'000);
  CHECK(page.find("<script") == std::string::npos);
  for (const char* const outside : {"src=", "@import", "url(", "http://", "https://"}) {
    CHECK_MESSAGE(page.find(outside) == std::string::npos, outside);
  }
  CHECK(occurrences(page, "<svg ") == occurrences(page, "role=\"img\" aria-label=\""));
  CHECK(occurrences(page, "<table>") == occurrences(page, "<caption>"));
  CHECK(occurrences(page, "<h1>") == 1);
}

}  // namespace

TEST_CASE("a session on the cpu device becomes one page that needs nothing else") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", page = directory / "report.html";
  REQUIRE(tune_for_report(store, "rows=4,cols=32").exit == 0);
  const Ended reported = run({"report", "1", "--store", store, "--kernel", kTunedFile, "--out", page});
  REQUIRE_MESSAGE(reported.exit == 0, reported.err);
  CHECK(reported.out.find("bias_gelu f32 rows=4,cols=32 (session 1)") != std::string::npos);
  CHECK(reported.out.find(page) != std::string::npos);
  const std::string text = contents(page);
  check_page(text);
  for (const char* const section : {"What changed from the default", "How the search went", "What matters", "What each value can reach",
                                    "What failed", "Where the seconds went", "Noise and the device", "Use it, and repeat it"}) {
    CHECK_MESSAGE(text.find(section) != std::string::npos, section);
  }
  CHECK(text.find("seconds into the session") != std::string::npos);
  CHECK(text.find("GFLOP/s") != std::string::npos);  // by the file's cost
}

TEST_CASE("the same session is reported without the kernel's file, as far as that goes") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(tune_for_report(store, "rows=4,cols=32").exit == 0);
  const auto with = run({"report", "1", "--store", store, "--kernel", kTunedFile, "--json"}).json()["sessions"][0];
  const auto without = run({"report", "1", "--store", store, "--json"}).json()["sessions"][0];
  CHECK(without["best"] == with["best"]);
  CHECK(without["default"] == with["default"]);
  CHECK(without["speedup"] == with["speedup"]);
  CHECK(without["gflops"] == 0.0);
  CHECK(with["gflops"] > 0.0);
}

TEST_CASE("a replayed session is compared with random search over the whole recorded space") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", page = directory / "report.html";
  REQUIRE(run({"tune", kReplayedSpace, "--budget", "60trials", "--store", store}).exit == 0);
  const auto session = run({"report", "1", "--store", store, "--kernel", kReplayedSpace, "--out", page, "--json"}).json()["sessions"][0];
  CHECK(session["search"]["random"]["whole_space"] == true);
  CHECK(session["search"]["random"]["configurations"] > 60);
  CHECK(session["search"]["random"]["best_us"] <= session["best"]["time_us"]);
  CHECK(session["importance"]["whole_space"] == true);
  CHECK(session["importance"]["parameters"].size() > 1);
  CHECK(session["search"]["improvements"].back()["seconds"].is_number());
  check_page(contents(page));
}

TEST_CASE("several sessions stand beside each other, with what one's winner takes in the other") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", page = directory / "report.html";
  REQUIRE(tune_for_report(store, "rows=4,cols=32").exit == 0);
  REQUIRE(tune_for_report(store, "rows=8,cols=64").exit == 0);
  const Ended reported = run({"report", "1", "2", "--store", store, "--out", page});
  REQUIRE_MESSAGE(reported.exit == 0, reported.err);
  const std::string text = contents(page);
  check_page(text);
  CHECK(text.find("2 tuning sessions") != std::string::npos);
  CHECK(text.find("Side by side") != std::string::npos);
  CHECK(text.find("what one session&#39;s winner takes in another") != std::string::npos);
  CHECK(run({"report", "1,2", "--store", store, "--json"}).json()["sessions"].size() == 2);
}

TEST_CASE("many sessions of many trials stay below a megabyte") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", page = directory / "report.html";
  const std::string space = HONE_SOURCE_DIR "/bench/spaces/gemm.NVIDIA_H200.json.gz";
  Arguments report{"report", "--store", store, "--out", page};
  for (const char* const seed : {"1", "2", "3", "4"}) {
    REQUIRE(run({"tune", space, "--strategy", "random", "--seed", seed, "--budget", "400trials", "--store", store}).exit == 0);
    report.emplace_back(seed);
  }
  REQUIRE(run(report).exit == 0);
  check_page(contents(page));
}

TEST_CASE("a session that an older Hone recorded is drawn over trials alone") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", page = directory / "report.html";
  REQUIRE(tune_for_report(store, "rows=4,cols=32").exit == 0);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, "UPDATE trial SET elapsed_seconds = NULL", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  const auto session = run({"report", "1", "--store", store, "--out", page, "--json"}).json()["sessions"][0];
  CHECK(session["search"]["improvements"][0]["seconds"].is_null());
  const std::string text = contents(page);
  check_page(text);
  CHECK(text.find("seconds into the session") == std::string::npos);
}

TEST_CASE("every trial is a row of a table, and every picture a file") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", table = directory / "t.csv", folder = directory / "pictures";
  REQUIRE(tune_for_report(store, "rows=4,cols=32").exit == 0);
  const auto report = run({"report", "1", "--store", store, "--csv", table, "--svg", folder, "--json"}).json();
  const std::string rows = contents(table);
  CHECK(occurrences(rows, "\r\n") == 7);
  CHECK(rows.starts_with("session,kernel,dtype,shape,product,trial,seconds,c."));
  CHECK(rows.find("\"rows=4,cols=32\"") != std::string::npos);
  CHECK(report["files"].size() > 4);
  for (const auto& file : report["files"]) {
    CHECK(std::filesystem::exists(file.get<std::string>()));
  }
  CHECK(contents(folder + "/session1-trials.svg").starts_with("<svg xmlns="));
}

TEST_CASE("a session in which nothing was right is reported with its failures") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", page = directory / "report.html", space = directory / "bad.json";
  write(space, R"({"device_name": "D", "kernel_name": "<b>bad</b>", "objective": "time", "tune_params_keys": ["<i>a"],
    "tune_params": {"<i>a": [1, 2]}, "cache": {"1": {"<i>a": 1, "time": "CompilationFailedConfig"}, "2": {"<i>a": 2, "time": "RuntimeFailedConfig"}}})");
  run({"tune", space, "--budget", "2trials", "--store", store});
  const Ended reported = run({"report", "1", "--store", store, "--out", page});
  REQUIRE_MESSAGE(reported.exit == 0, reported.err);
  CHECK(reported.out.find("No configuration was right") != std::string::npos);
  const std::string text = contents(page);
  check_page(text);
  CHECK(text.find("compile_error") != std::string::npos);
  CHECK(text.find("<b>bad") == std::string::npos);
  CHECK(text.find("<i>a") == std::string::npos);
}

TEST_CASE("what a report cannot be made of is said") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(tune_for_report(store, "rows=4,cols=32", "2trials").exit == 0);
  const auto fails = [&](const Arguments& arguments, const std::string& message) {
    const Ended ended = run(arguments);
    CHECK(ended.exit == 2);
    CHECK_MESSAGE(ended.err.find(message) != std::string::npos, ended.err);
  };
  fails({"report", "--store", store}, "which sessions?");
  fails({"report", "7", "--store", store}, "no session 7");
  fails({"report", "1", "--store", store, "--kernel", kReplayedSpace}, "none of the sessions is of this kernel");
  fails({"report", "1", "--store", directory / "none.db"}, "none.db");
  const Ended unwritable = run({"report", "1", "--store", store, "--out", directory / "no/such/folder/r.html"});
  CHECK(unwritable.exit == 1);
  CHECK(unwritable.err.find("cannot be written") != std::string::npos);
}

}  // namespace hone::test
