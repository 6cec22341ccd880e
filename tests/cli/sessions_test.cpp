// What hone sessions tells of kernels whose file is not at hand.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kSource = HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu";

Ended tune(const std::string& file, const std::string& store) {
  return run({"tune", file, "--device", "cpu", "--dtype", "f32", "--shape", "rows=4,cols=32", "--budget", "6trials", "--strategy", "random",
              "--store", store, "--json"});
}

}  // namespace

TEST_CASE("the session of a kernel of one's own is shown without its file, and after it was edited") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "bias_gelu.cu";
  std::string text = contents(kSource);
  write(file, text);
  const Ended tuned = tune(file, store);
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  const auto with_file = run({"sessions", "1", "--store", store, "--kernel", file, "--json"}).json();
  const auto without = run({"sessions", "1", "--store", store, "--json"}).json();
  CHECK(without == with_file);
  CHECK(without["results"].size() == 6);
  CHECK(without["results"][0]["config"]["fast_exp"].is_boolean());
  CHECK(without["results"][0]["config"]["block"].is_number_integer());
  const std::string told = run({"sessions", "1", "--store", store}).out;
  CHECK(told.find("block=") != std::string::npos);
  CHECK(told.find("rows_per_block") != std::string::npos);
  // Another version of the file: its session is still there to be seen.
  const std::string values = "TUNE(64, 128, 256, 512) int block";
  REQUIRE(text.find(values) != std::string::npos);
  write(file, text.replace(text.find(values), values.size(), "TUNE(32, 256) int width_of_block = 256; TUNE(256) int block"));
  CHECK(run({"sessions", "1", "--store", store, "--json"}).json() == with_file);
  // A recorded space has all values of the parameters, which are in the file alone.
  const Ended recorded = run({"sessions", "1", "--store", store, "--record", directory / "r.json"});
  CHECK(recorded.exit == 2);
  CHECK(recorded.err.find("give the file that was tuned") != std::string::npos);
}

TEST_CASE("what lost its race after few samples does not rank above what was measured to the end") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(tune(kSource, store).exit == 0);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database,
                     "UPDATE trial SET raced_out = 1, median_us = 0.001 WHERE id = (SELECT max(id) FROM trial WHERE outcome = 'ok' AND "
                     "id NOT IN (SELECT trial FROM final_measurement))",
                     nullptr, nullptr, nullptr) == SQLITE_OK);
  CHECK(sqlite3_changes(database) == 1);
  sqlite3_close(database);
  const std::string told = run({"sessions", "1", "--store", store}).out;
  const std::size_t raced = told.find("raced"), final_round = told.find("final");
  REQUIRE(raced != std::string::npos);
  REQUIRE(final_round != std::string::npos);
  CHECK(final_round < raced);
}

}  // namespace hone::test
