// What a store holds becomes a recorded space that searches are replayed on.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>

#include "tests/cli/command.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

constexpr const char* kTiny = R"cuda(// Tiny.
#include <hone/kernel.h>

struct Problem { long n = 64; };
struct Config {
  TUNE(32, 64) int block = 64;
  TUNE(1, 2, 3) int vec = 1;  // 3 is rejected by the source
  TUNE(false, true) bool other = false;
};
template <class T> constexpr bool valid(Problem, Config c) { return !(c.other && c.block == 64); }
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
template <class T> constexpr Cost cost(Problem p) { return {.bytes = 2.0 * p.n * sizeof(T)}; }
template <class T> REFERENCE(p.n) void tiny_reference(long i, const T* x, double* y, Problem) { y[i] = (double)(float)x[i]; }
template <class T, Config c> KERNEL void tiny(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  static_assert(c.vec < 3, "3 is not supported");
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i < p.n) y[i] = x[i];
}
)cuda";

constexpr int kValid = 9, kRight = 6;

void alter(const std::string& store, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace

TEST_CASE("sessions --record: a space tuned to its end is replayed with the same outcomes and costs") {
  const TemporaryDirectory directory;
  const std::string kernel = directory / "tiny.cu", store = directory / "S.db", file = directory / "tiny.json.gz";
  write(kernel, kTiny);
  const Ended tuned = run({"tune", kernel, "--device", "cpu", "--budget", "100trials", "--strategy", "random", "--store", store, "--json"});
  if (tuned.exit != 0 && tuned.err.find("libclang") != std::string::npos) {
    hone::tests::skip("libclang", tuned.err);
    return;
  }
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  const auto report = tuned.json();
  REQUIRE(report["space"]["valid"] == kValid);
  const std::string session = std::to_string(report["session"].get<int>());

  const auto described = run({"sessions", session, "--kernel", kernel, "--store", store, "--json"}).json();
  CHECK(described["state"] == "done");
  REQUIRE(described["results"].size() == kValid);
  CHECK(std::ranges::count(described["results"], "ok", [](const auto& result) { return result["outcome"]; }) == kRight);
  const Ended told = run({"sessions", session, "--kernel", kernel, "--store", store, "--top", "2"});
  CHECK(told.out.find("\nbest 2 of 6 correct ones\n") != std::string::npos);
  CHECK(told.out.find("\n  3 compile_error: ") != std::string::npos);
  CHECK(run({"sessions", session, "--store", store, "--top", "2"}).out.find("\nbest 2 of 6 correct ones\n") != std::string::npos);
  CHECK(run({"sessions", session, "--store", store, "--record", directory / "none.json"})
            .err.find("hone sessions " + session + " --record FILE --kernel tiny.cu") != std::string::npos);

  std::string changed = kTiny;
  std::filesystem::create_directory(directory / "changed");
  write(directory / "changed/tiny.cu", changed.replace(changed.find("y[i] = x[i]"), 11, "y[i] = T(x[i])"));
  CHECK(run({"sessions", session, "--kernel", directory / "changed/tiny.cu", "--store", store}).err.find("another version") !=
        std::string::npos);

  const auto written = run({"sessions", session, "--record", file, "--kernel", kernel, "--store", store, "--json"}).json();
  CHECK(written["trials"] == kValid);
  CHECK(written["ok"] == kRight);

  const Ended replayed = run({"tune", file, "--budget", "100trials", "--strategy", "random", "--store", directory / "R.db", "--json"});
  REQUIRE_MESSAGE(replayed.exit == 0, replayed.err);
  CHECK(replayed.json()["space"]["valid"] == kValid);
  CHECK(replayed.json()["outcomes"] == report["outcomes"]);
  CHECK(replayed.json()["product"] == report["product"]);
  CHECK(replayed.json()["stages"]["compile"].get<double>() == doctest::Approx(report["stages"]["compile"].get<double>()));
  // The search begins with the kernel's own default, not with some configuration.
  CHECK(replayed.json()["default"]["config"] == report["default"]["config"]);

  // A part of it is replayed as well, and counted; what is wrong with the part is not taken for something wrong with the file.
  const auto part =
      run({"tune", file, "--budget", "100trials", "--strategy", "random", "--fix", "block=64", "--store", directory / "R.db", "--json"});
  REQUIRE_MESSAGE(part.exit == 0, part.err);
  CHECK(part.json()["space"]["valid"] == 3);
  CHECK(part.json()["trials"] == 3);
  CHECK(part.json()["outcomes"]["ok"] == 2);
  CHECK(run({"space", file, "--fix", "block=64", "--json"}).json()["valid"] == 3);
  const std::string plain = directory / "tiny.json";
  REQUIRE(run({"sessions", session, "--record", plain, "--kernel", kernel, "--store", store}).exit == 0);
  CHECK(run({"space", plain, "--fix", "blocks=64"}).err ==
        "hone space: fixed parameters: unknown parameter 'blocks'; did you mean 'block'? (known: block, vec, other)\n");

  const Ended compared = run({"compare", "--spaces", file, "--strategy", "random", "--budgets", "3,9", "--repeats", "3", "--json"});
  CHECK_MESSAGE(compared.exit == 0, compared.err);
}

TEST_CASE("sessions tells of what was too slow apart from failures, with its time, and a replay knows it") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "F.json";
  REQUIRE(run({"tune", "softmax", "--device", "cpu", "--shape", "rows=4,cols=32", "--budget", "5trials", "--store", store}).exit == 0);
  // As a session leaves it that gave one up after its first run. The default stays.
  alter(store, "DELETE FROM final_measurement WHERE trial = 5; UPDATE trial SET outcome = 'too_slow' WHERE id = 5");
  const auto described = run({"sessions", "1", "--store", store, "--json"}).json();
  REQUIRE(described["results"].size() == 5);
  const auto& slow = described["results"][4];
  CHECK(slow["outcome"] == "too_slow");
  CHECK(slow["time_us"] > 0.0);
  CHECK(slow["ci95_us"].is_null());
  const Ended told = run({"sessions", "1", "--store", store});
  CHECK(told.out.find("of 4 correct ones\n") != std::string::npos);
  CHECK(told.out.find("\n1 dropped after one cold run that was far behind the fastest\n") != std::string::npos);
  CHECK(told.out.find("failures") == std::string::npos);
  REQUIRE(run({"sessions", "1", "--record", file, "--store", store}).exit == 0);
  const auto replayed =
      run({"tune", file, "--budget", "5trials", "--strategy", "exhaustive", "--store", directory / "R.db", "--json"}).json();
  CHECK(replayed["outcomes"]["too_slow"] == 1);
  CHECK(replayed["outcomes"]["ok"] == 4);
  CHECK(run({"sessions", "1", "--kernel", file, "--store", directory / "R.db", "--json"}).exit == 0);
}

TEST_CASE("sessions --record: what cannot be written is refused") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", file = directory / "F.json";
  const auto tune = [&](const std::string& shape) {
    REQUIRE(run({"tune", "softmax", "--device", "cpu", "--shape", shape, "--budget", "1trials", "--store", store}).exit == 0);
  };
  tune("rows=4,cols=32");
  tune("rows=8,cols=32");
  const auto refused = [&](const Arguments& arguments) {
    Arguments all{"sessions", "--store", store};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Ended ended = run(all);
    CHECK(ended.exit != 0);
    CHECK_FALSE(std::filesystem::exists(file));
    return ended.err;
  };
  CHECK(refused({"7", "--record", file}).find("no session 7") != std::string::npos);
  CHECK(refused({"1,2", "--record", file}).find("different") != std::string::npos);
  CHECK(refused({"--record", file}).find("hone sessions ID") != std::string::npos);
  CHECK(refused({"1", "--kernel", "copy", "--record", file}).find("is of softmax, not of copy") != std::string::npos);
  CHECK(refused({"1", "--record", directory / "nowhere/F.json"}).find("cannot be written") != std::string::npos);
  CHECK(run({"sessions", "1", "--record", file, "--store", store}).exit == 0);
  CHECK(nlohmann::json::parse(contents(file))["cache"].size() == 1);
}

}  // namespace hone::test
