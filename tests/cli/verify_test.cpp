// hone verify: records against today's device.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

/// y = 2 x: kind 0 at once, kind 1 after a lot of work for nothing. On a bad day, which the environment knows, kind 0 is wrong.
constexpr std::string_view kKernel = R"(// Twice x.
#include <hone/kernel.h>
extern "C" char* getenv(const char*);
struct Problem { long n = 64; };
struct Config { TUNE(0, 1) int kind = 0; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {64}}; }
template <class T> REFERENCE(p.n) void twice_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL void twice(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = (long)blockIdx.x * 64 + threadIdx.x;
  if (i >= p.n) return;
  volatile float wasted = 0.0f;
  for (int turn = 0; turn < (c.kind == 1 ? 10000 : 0); ++turn) wasted = wasted + 1.0f;
  y[i] = T((c.kind == 0 && getenv("HONE_TEST_BAD_DAY") ? 3.0f : 2.0f) * (float)x[i]);
}
)";

void execute(const std::string& store, const std::string& statement) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  char* message = nullptr;
  const int status = sqlite3_exec(database, statement.c_str(), nullptr, nullptr, &message);
  CHECK_MESSAGE(status == SQLITE_OK, message);
  CHECK(sqlite3_changes(database) > 0);
  sqlite3_free(message);
  sqlite3_close(database);
}

/// A tuned store, and what verify says of changed copies of it.
class Tuned {
 public:
  Tuned() {
    write(file(), kKernel);
    const Ended tuned = run({"tune", file(), "--device", "cpu", "--budget", "2trials", "--store", store("original"), "--json"});
    REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
    REQUIRE(tuned.json()["best"]["config"]["kind"] == 0);
  }

  [[nodiscard]] std::string file() const { return directory_ / "twice.cu"; }
  [[nodiscard]] std::string folder() const { return directory_ / ""; }
  [[nodiscard]] std::string store(const std::string& name) const { return directory_ / (name + ".db"); }

  [[nodiscard]] std::string changed(const std::string& name, const std::string& statement) const {
    std::filesystem::copy_file(store("original"), store(name));
    execute(store(name), statement);
    return store(name);
  }

  [[nodiscard]] Ended verify(const std::string& store, const Arguments& more = {}, const Environment& variables = {}) const {
    Arguments all{"verify", file(), "--device", "cpu", "--store", store, "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all, variables);
  }

  [[nodiscard]] nlohmann::json best(const std::string& store) const {
    return run({"best", file(), "--device", "cpu", "--store", store, "--json"}).json();
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace

TEST_CASE("verify passes a good store and leaves it as it was") {
  const Tuned tuned;
  const std::string before = contents(tuned.store("original"));
  const Ended ended = tuned.verify(tuned.store("original"));
  REQUIRE_MESSAGE(ended.exit == 0, ended.out, ended.err);
  const auto report = ended.json();
  REQUIRE(report["records"].size() == 1);
  CHECK(report["bad"] == 0);
  CHECK(report["records"][0]["standing"] == "ok");
  CHECK(report["records"][0]["config"]["kind"] == 0);
  CHECK(report["records"][0]["time_us"] > 0.0);
  CHECK(contents(tuned.store("original")) == before);

  const Ended unknown = run({"verify", "--all", "--device", "cpu", "--store", tuned.store("original"), "--json"});
  CHECK(unknown.exit == 0);
  REQUIRE(unknown.json()["records"].size() == 1);
  CHECK(unknown.json()["records"][0]["standing"] == "not checkable");
  CHECK(unknown.json()["records"][0]["detail"].get<std::string>().find("--kernel FILE") != std::string::npos);
  CHECK(run({"verify", "--store", tuned.store("original")}).exit == 2);
}

TEST_CASE("verify refuses a kernel that is not there, and has nothing to say of one without records") {
  const Tuned tuned;
  const Arguments of{"--device", "cpu", "--store", tuned.store("original"), "--json"};
  const auto verify = [&](const std::string& name) {
    Arguments arguments{"verify", name};
    arguments.insert(arguments.end(), of.begin(), of.end());
    return run(arguments);
  };
  const Ended misspelt = verify("softmaxx");
  CHECK(misspelt.exit == 2);
  CHECK_MESSAGE(misspelt.err.find("there is no record of 'softmaxx' (hone records --all lists them)") != std::string::npos, misspelt.err);
  const Ended untuned = verify("softmax");
  CHECK_MESSAGE(untuned.exit == 0, untuned.err);
  CHECK(untuned.json()["records"].empty());
}

TEST_CASE("verify finds a kernel's file in the folder where it runs, and says where the file has changed since") {
  const Tuned tuned;
  const std::string by_name = "$HONE verify twice --device cpu --json --store " + tuned.store("original");
  const std::string there = "cd " + tuned.folder() + " && " + by_name;
  CHECK(run_shell(by_name).json()["records"][0]["detail"].get<std::string>().find("is unknown") != std::string::npos);
  const Ended here = run_shell(there);
  CHECK(here.exit == 0);
  CHECK(here.json()["records"][0]["standing"] == "ok");
  std::string changed(kKernel);
  changed.replace(changed.find("10000 :"), 5, "10001");
  write(tuned.file(), changed);
  const Ended after = run_shell(there);
  CHECK(after.json()["records"][0]["standing"] == "not checkable");
  CHECK(after.json()["records"][0]["detail"].get<std::string>().find("the file has changed since") != std::string::npos);
}

TEST_CASE("verify flags a record that is slower, and --update mends it") {
  const Tuned tuned;
  const std::string slower = tuned.store("slower");
  const Ended tuning =
      run({"tune", tuned.file(), "--device", "cpu", "--budget", "1trials", "--fix", "kind=1", "--store", slower, "--json"});
  REQUIRE_MESSAGE(tuning.exit == 0, tuning.err);
  REQUIRE(tuned.best(slower)["config"]["kind"] == 1);
  const Ended found = tuned.verify(slower);
  CHECK(found.exit == 1);
  const auto record = found.json()["records"][0];
  INFO(record.dump(1));
  CHECK(record["standing"] == "slower");
  CHECK(record["better"]["config"]["kind"] == 0);

  const Ended mended = tuned.verify(slower, {"--update"});
  CHECK(mended.exit == 1);
  CHECK(mended.json()["records"][0]["updated"] == true);
  CHECK(tuned.best(slower)["config"]["kind"] == 0);
  CHECK(tuned.verify(slower).exit == 0);
}

TEST_CASE("verify flags a record whose code is wrong now; --update gives it to one that is right") {
  const Tuned tuned;
  const Environment bad_day{{"HONE_TEST_BAD_DAY", "1"}};
  const Ended wrong = tuned.verify(tuned.store("original"), {"--update"}, bad_day);
  CHECK(wrong.exit == 1);
  const auto record = wrong.json()["records"][0];
  INFO(record.dump(1));
  CHECK(record["standing"] == "wrong");
  CHECK(record["detail"].get<std::string>().find("wrong_result") != std::string::npos);
  CHECK(record["updated"] == true);
  CHECK(tuned.best(tuned.store("original"))["config"]["kind"] == 1);
}

TEST_CASE("verify --update withdraws a record that was right in its trial and wrong in the final round") {
  constexpr std::string_view kLate = R"(// Twice x. Once kind 0 has run after kind 1, kind 1 is wrong; marks in two files tell.
#include <hone/kernel.h>
extern "C" char* getenv(const char*);
extern "C" int creat(const char*, unsigned);
extern "C" int access(const char*, int);
struct Problem { long n = 64; };
struct Config { TUNE(0, 1) int kind = 0; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {64}}; }
template <class T> REFERENCE(p.n) void late_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL void late(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = (long)blockIdx.x * 64 + threadIdx.x;
  if (i >= p.n) return;
  const char* const tried = getenv("HONE_TEST_TRIED");
  const char* const over = getenv("HONE_TEST_OVER");
  if (tried && i == 0 && p.n == 64 && c.kind == 1) creat(tried, 0600);
  if (tried && i == 0 && p.n == 64 && c.kind == 0 && access(tried, 0) == 0) creat(over, 0600);
  volatile float wasted = 0.0f;  // some 20 ms, far more than a busy machine keeps the other one waiting
  for (int turn = 0; turn < (c.kind == 0 && i == 0 ? 10000000 : 0); ++turn) wasted = wasted + 1.0f;
  y[i] = T((c.kind == 1 && tried && access(over, 0) == 0 ? 3.0f : 2.0f) * (float)x[i]);
}
)";
  const TemporaryDirectory directory;
  const std::string file = directory / "late.cu", store = directory / "S.db";
  write(file, kLate);
  const Ended tuned = run({"tune", file, "--device", "cpu", "--budget", "2trials", "--store", store, "--json"});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  REQUIRE(tuned.json()["best"]["config"]["kind"] == 1);
  const Environment marks{{"HONE_TEST_TRIED", directory / "tried"}, {"HONE_TEST_OVER", directory / "over"}};
  const Ended late = run({"verify", file, "--device", "cpu", "--store", store, "--update", "--json"}, marks);
  CHECK(late.exit == 1);
  CHECK(late.json()["records"][0]["standing"] == "wrong");
  const nlohmann::json records = run({"records", "--all", "--store", store, "--json"}).json()["records"];
  INFO(records.dump(1));
  CHECK(records[0]["configuration"] == "kind=1");
  CHECK(records[0]["state"] == "withdrawn");
  CHECK(run({"best", file, "--device", "cpu", "--store", store, "--json"}).json()["config"]["kind"] == 0);
}

TEST_CASE("verify says that a record was changed, and --update writes what the source says") {
  const Tuned tuned;
  const std::string changed = tuned.changed("changed", "UPDATE record SET symbols = '[\"other\"]'");
  const Ended found = tuned.verify(changed, {"--update"});
  CHECK(found.exit == 1);
  const auto record = found.json()["records"][0];
  INFO(record.dump(1));
  CHECK(record["standing"] == "wrong");
  CHECK(record["detail"].get<std::string>().find("was modified after it was written") != std::string::npos);
  CHECK(record["updated"] == true);
  CHECK(tuned.best(changed)["code"] == "trusted");
  CHECK(tuned.verify(changed).exit == 0);
}

TEST_CASE("verify does not launch the code of a store from elsewhere") {
  const Tuned tuned;
  const TemporaryDirectory elsewhere;
  const Ended found = tuned.verify(tuned.store("original"), {}, {{"XDG_DATA_HOME", elsewhere / "data"}});
  CHECK(found.exit == 1);
  const auto record = found.json()["records"][0];
  CHECK(record["standing"] == "untrusted");
  CHECK(record["detail"].get<std::string>().find("hone trust") != std::string::npos);
}

TEST_CASE("verify flags a record from another environment as stale; --update makes it one of today's") {
  const Tuned tuned;
  const std::string store =
      tuned.changed("stale", "UPDATE environment SET digest = 'of then', device = json_set(device, '$.kernel', '1.0')");
  const Ended stale = tuned.verify(store, {"--update"});
  CHECK(stale.exit == 1);
  CHECK(stale.json()["records"][0]["standing"] == "stale");
  CHECK(stale.json()["records"][0]["stale"][0]["then"] == "1.0");
  CHECK(stale.json()["records"][0]["updated"] == true);
  const Ended mended = tuned.verify(store);
  CHECK_MESSAGE(mended.exit == 0, mended.out);
}

}  // namespace hone::test
