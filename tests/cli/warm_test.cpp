// hone warm of kernels in files.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "tests/cli/command.hpp"
#include "tests/twice_kernel.hpp"

namespace hone::test {
namespace {

struct Warmed {
  TemporaryDirectory directory;
  std::string store = directory / "S.db";

  /// A kernel file of the folder.
  [[nodiscard]] std::string file(const std::string& name, std::string source = kTwice) const {
    write(directory / name, source);
    return directory / name;
  }
  /// The portfolio of a kernel, in a store that has no code any more.
  void make(const std::string& kernel, const std::string& range, const Arguments& more = {}) const {
    Arguments arguments{"tune", kernel, "--device", "cpu", "--dtype", "f32", "--shapes", range, "--budget", "12trials", "--store", store};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended made = run(arguments);
    REQUIRE_MESSAGE(made.exit == 0, made.err);
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "DELETE FROM compiled", nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK(sqlite3_changes(database) > 0);
    sqlite3_close(database);
  }
  [[nodiscard]] Ended warm(const Arguments& more) const {
    Arguments arguments{"warm", "--device", "cpu", "--store", store, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

}  // namespace

TEST_CASE("warm compiles the members of a kernel in a file, once") {
  const Warmed warmed;
  const std::string file = warmed.file("twice.cu");
  warmed.make(file, "n=1..4096");
  const nlohmann::json skipped = warmed.warm({}).json();
  CHECK(skipped["portfolios"].empty());
  CHECK(skipped["skipped"][0].get<std::string>().find("hone warm FILE") != std::string::npos);
  const Ended first = warmed.warm({file});
  REQUIRE_MESSAGE(first.exit == 0, first.err);
  REQUIRE(first.json()["portfolios"].size() == 1);
  const nlohmann::json one = first.json()["portfolios"][0];
  CHECK(one["operation"] == "twice");
  CHECK(one["member_count"] >= 1);
  CHECK(one["compiled"] == one["member_count"]);
  CHECK(first.json()["skipped"].empty());
  CHECK(warmed.warm({file}).json()["portfolios"][0]["compiled"] == 0);
  const Ended with_shape = warmed.warm({file, "--dtype", "f32", "--shape", "n=100"});
  REQUIRE_MESSAGE(with_shape.exit == 0, with_shape.err);
  CHECK(with_shape.json()["portfolios"][0]["compiled"] == 0);
}

TEST_CASE("warm says which members were made of another version of a file") {
  const Warmed warmed;
  const std::string file = warmed.file("twice.cu");
  warmed.make(file, "n=1..4096");
  std::string changed = kTwice;
  changed.replace(changed.find("T(2.0f * "), 9, "T(1.0f * 2.0f * ");
  const Ended ended = warmed.warm({warmed.file("twice.cu", changed)});
  CHECK(ended.exit == 1);
  CHECK(ended.json()["portfolios"][0]["compiled"] == 0);
  CHECK(ended.json()["portfolios"][0]["failures"][0].get<std::string>().find("another version of the kernel") != std::string::npos);
}

TEST_CASE("warm compiles a file's kernel beside those of its operation, and names what it leaves") {
  const Warmed warmed;
  const std::string own = HONE_SOURCE_DIR "/examples/own_kernel/narrow_matmul.cu";
  Arguments alone{"--with", own};
  for (const char* const other : {"gemm", "gemv"}) {
    alone.insert(alone.end(), {"--without", other});
  }
  warmed.make("matmul", "m=8|16,n=16,k=16", alone);
  const nlohmann::json without = warmed.warm({"matmul", "--dtype", "f32"}).json();
  CHECK(without["portfolios"][0]["member_count"] == 0);
  CHECK(without["skipped"][0].get<std::string>().find("narrow_matmul") != std::string::npos);
  for (const Arguments& asked : {Arguments{"matmul", "--dtype", "f32", "--with", own}, Arguments{own, "--dtype", "f32"}}) {
    const Ended ended = warmed.warm(asked);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    const nlohmann::json one = ended.json()["portfolios"][0];
    CHECK(one["operation"] == "matmul");
    CHECK(one["member_count"] >= 1);
    CHECK(one["compiled"] == (asked.front() == "matmul" ? one["member_count"] : nlohmann::json(0)));
    CHECK(ended.json()["skipped"].empty());
  }
  const Ended refused = warmed.warm({"matmul", "--with", warmed.file("twice.cu")});
  CHECK(refused.exit == 2);
  CHECK(refused.err.find("implements no operation") != std::string::npos);
}

TEST_CASE("warm refuses a file that is not there, and one whose kernel has no portfolio") {
  const Warmed warmed;
  const Ended missing = warmed.warm({warmed.directory / "none.cu"});
  CHECK(missing.exit == 2);
  CHECK(missing.err.find("none.cu") != std::string::npos);
  const Ended none = warmed.warm({warmed.file("twice.cu")});
  CHECK(none.exit == 2);
  CHECK(none.err.find("no such portfolio: none is of twice") != std::string::npos);
}

}  // namespace hone::test
