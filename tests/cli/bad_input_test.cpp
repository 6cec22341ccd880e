// Bad input: exit code 2, a message that names the cause, and the store as it was.
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string& tuned_store() {
  static const TemporaryDirectory directory;
  static const std::string store = [] {
    const std::string path = directory / "tuned.db";
    const Ended ended = run({"tune", "softmax", "--device", "cpu", "--shape", "rows=4,cols=32", "--budget", "1trials", "--store", path});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return path;
  }();
  return store;
}

/// hone tune with these arguments is refused for `cause`: with a store, which keeps every byte, and without one, which is not made.
void refused(Arguments arguments, const std::vector<std::string>& causes, const Environment& environment = {}) {
  arguments.insert(arguments.begin(), "tune");
  if (std::find(arguments.begin(), arguments.end(), "--device") == arguments.end()) {
    arguments.insert(arguments.end(), {"--device", "cpu"});
  }
  const TemporaryDirectory directory;
  const std::string present = directory / "present.db";
  std::filesystem::copy_file(tuned_store(), present);
  for (const std::string& store : {present, directory / "absent.db"}) {
    const std::string before = contents(store);
    Arguments command = arguments;
    command.insert(command.end(), {"--budget", "2trials", "--store", store});
    const Ended ended = run(command, environment);
    CAPTURE(store);
    CAPTURE(ended.err);
    CHECK(ended.exit == 2);
    CHECK(ended.out.empty());
    for (const std::string& cause : causes) {
      CHECK_MESSAGE(ended.err.find(cause) != std::string::npos, "the message lacks '", cause, "'");
    }
    CHECK(contents(store) == before);
    CHECK(std::filesystem::exists(store) == (store == present));
    CHECK_FALSE(std::filesystem::exists(store + "-wal"));
    CHECK_FALSE(std::filesystem::exists(store + "-journal"));
  }
}

/// The own-kernel example with `from` replaced by `to`.
std::string edited(const std::string& file, const std::string& from, const std::string& to) {
  std::string text = contents(HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu");
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  write(file, text.replace(at, from.size(), to));
  return file;
}

/// A store that cannot be tuned into: exit code 2, the cause, and not a byte changed.
void store_refused(const std::string& store, const std::string& cause) {
  const std::string before = contents(store);
  for (const Arguments& command :
       {Arguments{"tune", "softmax", "--device", "cpu", "--shape", "rows=4,cols=32", "--budget", "1trials", "--store", store}}) {
    const Ended ended = run(command);
    CAPTURE(ended.err);
    CHECK(ended.exit == 2);
    CHECK(ended.err.find(cause) != std::string::npos);
    CHECK(ended.err.find(store) != std::string::npos);
  }
  CHECK(contents(store) == before);
}

void execute(const std::string& store, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace

TEST_CASE("a syntax error in a kernel file comes back as clang's message and position") {
  const TemporaryDirectory directory;
  refused({edited(directory / "bias_gelu.cu", "int block = 256;", "int block = ;")}, {"bias_gelu.cu:9:", "expected expression"});
}

TEST_CASE("an unknown parameter in valid is an error before anything runs") {
  const TemporaryDirectory directory;
  refused({edited(directory / "bias_gelu.cu", "p.cols % c.vec == 0", "p.cols % c.vecs == 0")}, {"bias_gelu.cu:16:", "vecs"});
}

TEST_CASE("constraints that no configuration meets") {
  const TemporaryDirectory directory;
  refused({edited(directory / "bias_gelu.cu", "p.cols % c.vec == 0", "c.vec > 8")}, {"no configuration"});
}

TEST_CASE("a deprecated name in a kernel file is warned of on standard error, and the file is read") {
  const TemporaryDirectory directory;
  const std::string early = "if (column >= p.cols) return;";
  const std::string file = edited(directory / "bias_gelu.cu", early, "await_pass_before();\n  " + early);
  const Ended ended = run({"kernels", file});
  CHECK(ended.exit == 0);
  CHECK(ended.err.find("warning: 'await_pass_before' is deprecated: use grid_dependency_wait()") != std::string::npos);
  CHECK(ended.out.find("deprecated") == std::string::npos);
}

TEST_CASE("a kernel file that is not there") { refused({"/nonexistent/kernel.cu"}, {"/nonexistent/kernel.cu"}); }
TEST_CASE("what is no regular file, or a huge one, is no kernel file") {
  const TemporaryDirectory directory;
  refused({"/dev/zero"}, {"/dev/zero", "a device or a pipe"});
  REQUIRE(::mkfifo((directory / "pipe.cu").c_str(), 0600) == 0);
  refused({directory / "pipe.cu"}, {"pipe.cu", "a device or a pipe"});
  refused({directory / ""}, {"a directory"});
  write(directory / "huge.cu", std::string((4 << 20) + 1, ' '));
  refused({directory / "huge.cu"}, {"huge.cu", "4 MiB"});
}
TEST_CASE("a folder that bears a file's name is called one") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "kernel.cu");
  refused({directory / "kernel.cu"}, {"kernel.cu", "a directory"});
  std::filesystem::create_directory(directory / "space.json");
  for (const char* verb : {"tune", "space"}) {
    const Ended ended = run({verb, directory / "space.json"});
    CHECK(ended.exit == 2);
    CHECK(ended.err.find("space.json': it is a directory") != std::string::npos);
    CHECK(ended.err.find("parse error") == std::string::npos);
  }
}
TEST_CASE("a kernel file that includes itself comes back as clang's message") {
  const TemporaryDirectory directory;
  write(directory / "self.cu", "#include \"self.cu\"\n");
  refused({directory / "self.cu"}, {"self.cu", "nested too deeply"});
}
TEST_CASE("a kernel file that never ends, or takes all memory, costs its reader alone") {
  const TemporaryDirectory directory;
  write(directory / "zeros.cu", "#include \"/dev/zero\"\n");
  refused({directory / "zeros.cu"}, {"zeros.cu"});
}
TEST_CASE("an option that takes one value and is given two") {
  refused({"softmax", "--shape", "rows=64", "--shape", "cols=32"}, {"--shape is given twice, as 'rows=64' and as 'cols=32'", "commas"});
  CHECK(run({"best", "softmax", "--device", "cpu", "--device", "cpu", "--config", "default"}).err.find("given twice") == std::string::npos);
}
TEST_CASE("an unknown kernel") { refused({"sofmax"}, {"sofmax", "softmax"}); }
TEST_CASE("an unknown dtype") { refused({"softmax", "--dtype", "float32"}, {"'float32' is 'f32' here", "(known: f32, f16, bf16)"}); }
TEST_CASE("a number that cannot be read, or makes no sense") {
  refused({"softmax", "--seed", "-1"}, {"--seed takes a whole number, at least 0; it cannot be -1"});
  refused({"softmax", "--compile-workers=many"}, {"--compile-workers does not take 'many'"});
  refused({"softmax", "--graph-below", "-3"}, {"--graph-below", "-3"});
  refused({"softmax", "--max-error", "0.1%"}, {"--max-error does not take '0.1%'"});
  refused({"softmax", "--timing-seconds", "5ms"}, {"--timing-seconds does not take '5ms'"});
  refused({"softmax", "--timing-seconds=0.2,3"}, {"--timing-seconds does not take '0.2,3'"});
  refused({"softmax", "--timing-seconds", "0"}, {"--timing-seconds", "above 0", "cannot be 0"});
  refused({"softmax", "--timing-seconds", "nan"}, {"--timing-seconds", "nan"});
  const Ended top = run({"sessions", "1", "--top", "-1"});
  CHECK(top.exit == 2);
  CHECK(top.err.find("--top takes a whole number, at least 0; it cannot be -1") != std::string::npos);
}
TEST_CASE("a dtype that exists and that the kernel does not take") { refused({"softmax", "--dtype", "i32"}, {"i32"}); }
TEST_CASE("an unknown extent") { refused({"softmax", "--shape", "row=32"}, {"row", "rows"}); }
TEST_CASE("a shape that cannot be read") { refused({"softmax", "--shape", "rows=many"}, {"many"}); }
TEST_CASE("an extent that no number holds") {
  refused({"softmax", "--shape", "rows=9223372036854775808"}, {"is too large: an extent is at most"});
}
TEST_CASE("an extent of zero") { refused({"softmax", "--shape", "rows=0"}, {"rows", "at least 1"}); }
TEST_CASE("a negative extent") { refused({"softmax", "--shape", "rows=-4"}, {"rows", "-4"}); }
TEST_CASE("an unknown strategy") { refused({"softmax", "--strategy", "randon"}, {"randon", "random"}); }
TEST_CASE("an option that only the help of another one names") {
  const Ended ended = run({"portfolios", "--shapes", "m=1"});
  CHECK(ended.exit == 2);
  CHECK(ended.err.find("unknown option '--shapes' (known: --dtype, --product,") != std::string::npos);
}
TEST_CASE("an option with one dash, and an unknown one where numbers are expected") {
  const Ended one = run({"tune", "softmax", "-shape", "rows=4"});
  CHECK(one.exit == 2);
  CHECK(one.err.find("options have two dashes: --shape") != std::string::npos);
  const Ended unknown = run({"report", "--otu", "x"});
  CHECK(unknown.exit == 2);
  CHECK(unknown.err.find("unknown option '--otu'; did you mean '--out'?") != std::string::npos);
}
TEST_CASE("an unknown parameter of a strategy") { refused({"softmax", "--set", "warmth=3"}, {"warmth"}); }
TEST_CASE("an unknown device") { refused({"softmax", "--device", "abacus"}, {"abacus", "available: ", "cpu", "hone doctor"}); }
TEST_CASE("an unknown option") { refused({"softmax", "--budgets", "3s"}, {"budgets", "--help"}); }
TEST_CASE("no kernel at all") { refused({}, {"which kernel"}); }

TEST_CASE("no GPU where one was asked for") {
  refused({"softmax", "--device", "cuda:0"}, {"cuda", "hone doctor"}, {{"CUDA_VISIBLE_DEVICES", ""}});
}

TEST_CASE("a budget that cannot be read, has a part twice or is too large") {
  for (const auto& [budget, cause] : {std::pair("soon", "'soon'"), {"2trials,3trials", "'3trials'"}, {"99999999999999999999s", "10^9"}}) {
    const Ended ended = run({"tune", "softmax", "--device", "cpu", "--budget", budget});
    CHECK(ended.exit == 2);
    CHECK(ended.err.find(cause) != std::string::npos);
  }
}

TEST_CASE("--json reports an error as JSON too") {
  const Ended ended = run({"tune", "sofmax", "--json"});
  CHECK(ended.exit == 2);
  CHECK(ended.json()["error"]["message"].get<std::string>().find("sofmax") != std::string::npos);
}

TEST_CASE("a store that is no database") {
  const TemporaryDirectory directory;
  write(directory / "letter.db", "Dear store,\n");
  store_refused(directory / "letter.db", "not a Hone");
}

TEST_CASE("a store that is a database of another program") {
  const TemporaryDirectory directory;
  execute(directory / "other.db", "CREATE TABLE bookmark (id INTEGER)");
  store_refused(directory / "other.db", "not a Hone");
}

TEST_CASE("a store of a newer Hone") {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(tuned_store(), directory / "newer.db");
  execute(directory / "newer.db", "PRAGMA user_version = 999");
  store_refused(directory / "newer.db", "newer");
}

TEST_CASE("a store without tables is empty to verbs that read, which leave it as it is, and is filled by who writes it") {
  const TemporaryDirectory directory;
  const std::string store = directory / "older.db";
  std::filesystem::copy_file(tuned_store(), store);
  // What an upgrade begins with: a store of no version.
  execute(store, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema; PRAGMA writable_schema = OFF; PRAGMA user_version = 0; VACUUM");
  for (const mode_t mode : {mode_t{0444}, mode_t{0644}}) {
    REQUIRE(chmod(store.c_str(), mode) == 0);
    const auto before = std::filesystem::last_write_time(store);
    CHECK(run({"sessions", "--store", store}).err.find("is empty: nothing was recorded there yet") != std::string::npos);
    CHECK(std::filesystem::last_write_time(store) == before);
  }
  const Ended tuned =
      run({"tune", "copy", "--device", "cpu", "--dtype", "f32", "--shape", "n=100", "--budget", "1trials", "--store", store});
  CHECK(tuned.exit == 0);
  CHECK(run({"sessions", "--store", store}).exit == 0);
}

TEST_CASE("a read-only store") {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(tuned_store(), directory / "kept.db");
  REQUIRE(chmod((directory / "kept.db").c_str(), 0444) == 0);
  store_refused(directory / "kept.db", "read-only");
  CHECK(run({"doctor", "--store", directory / "kept.db"}).out.find("read-only") != std::string::npos);
}

}  // namespace hone::test
