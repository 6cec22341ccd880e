// What leaves the command arrives or is missed aloud: full devices, full disks, bytes that are not UTF-8.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

const std::string kLatin = "caf\xe9";

/// A kernel of the examples whose comments, and name of the file's folder, hold a byte that is not UTF-8.
std::string latin_kernel(const TemporaryDirectory& directory) {
  std::filesystem::create_directory(directory / kLatin);
  std::string text = contents(HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu");
  text.insert(0, "// Made in a " + kLatin + ".\n");
  const std::size_t at = text.find("int block = 256;");
  REQUIRE(at != std::string::npos);
  text.insert(at + 16, "  // as in the " + kLatin);
  write(directory / (kLatin + "/bias_gelu.cu"), text);
  return directory / (kLatin + "/bias_gelu.cu");
}

/// Leaves room for so many blocks of 512 bytes in any file; writing more fails instead of ending the process.
std::string limited(int blocks, const std::string& command) {
  return "trap '' XFSZ; ulimit -f " + std::to_string(blocks) + "; exec " + command;
}

}  // namespace

TEST_CASE("output that is lost is an error with exit code 1") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  REQUIRE(run({"tune", "copy", "--device", "cpu", "--shape", "n=64", "--budget", "1trials", "--store", store}).exit == 0);
  const std::string problem = " copy --device cpu --shape n=64 --store " + store;
  for (const std::string& command : {std::string("kernels"), std::string("kernels --json"), std::string("--help"), std::string("--version"),
                                     std::string("tune --help"), std::string("help tune"), std::string("frobnicate --json"),
                                     "best --json" + problem, "sessions --store " + store, "tune --json --budget 1trials" + problem}) {
    CAPTURE(command);
    const Ended ended = run_shell("exec \"$HONE\" " + command + " >/dev/full");
    CHECK(ended.exit == (command.starts_with("frobnicate") ? 2 : 1));
    CHECK(ended.err.find("standard output cannot be written: No space left on device") != std::string::npos);
  }
  CHECK(run_shell("exec \"$HONE\" kernels >&-").exit == 1);
}

TEST_CASE("--json with bytes that are not UTF-8 is JSON") {
  const TemporaryDirectory directory;
  const std::string kernel = latin_kernel(directory), store = directory / (kLatin + ".db");
  CHECK(run({"sessions", "--store", store, "--json"}).json()["error"]["message"].is_string());
  CHECK(run({"doctor", "--store", store, "--json"}).json()["findings"].is_array());
  CHECK(run({"tune", kernel, "--shape", kLatin, "--json"}).json()["error"]["message"].is_string());
  CHECK(run({"kernels", kernel, "--json"}).json()["summary"].get<std::string>().starts_with("Made in a caf"));
  CHECK(run({"tune", kernel, "--device", kLatin, "--json"}).json()["error"]["message"].is_string());
  CHECK(run({kLatin, "--json"}).json()["error"]["message"].is_string());
  const Ended tuned =
      run({"tune", kernel, "--device", "cpu", "--shape", "rows=4,cols=32", "--budget", "2trials", "--store", store, "--json"});
  CHECK(tuned.exit == 0);
  CHECK(tuned.json()["best"].is_object());
  CHECK(run({"sessions", "1", "--store", store, "--json"}).json()["results"].size() == 2);
  CHECK(run({"sessions", "1", "--store", store, "--kernel", kernel, "--record", directory / "r.json", "--json"}).json()["trials"] == 2);
  const Ended exported = run({"export", kernel, "--device", "cpu", "--dtype", "f32", "--shape", "rows=4,cols=32", "--store", store, "--out",
                              directory / kLatin, "--json"});
  CHECK(exported.exit == 0);
  CHECK(exported.json()["file"].is_string());
  CHECK(run({"compare", "--spaces", directory / "r.json", "--strategy", "random", "--budgets", "1", "--repeats", "2", "--traces",
             directory / (kLatin + ".traces"), "--json"})
            .json()["spaces"]
            .is_array());
}

TEST_CASE("a file is written whole or not at all") {
  const TemporaryDirectory directory;
  const std::string spec = directory / "gemm.json", record = directory / "r.json", store = directory / "S.db";
  REQUIRE(run({"tune", "copy", "--device", "cpu", "--shape", "n=64", "--budget", "20trials", "--store", store}).exit == 0);
  const std::vector<std::string> commands{
      "\"$HONE\" kernels gemm --spec " + spec, "\"$HONE\" sessions 1 --store " + store + " --record " + record,
      "\"$HONE\" export copy --device cpu --shape n=64 --store " + store + " --out " + (directory / "")};
  for (const std::string& command : commands) {
    CAPTURE(command);
    const Ended ended = run_shell(limited(4, command));
    CHECK(ended.exit == 1);
    CHECK(ended.err.find("cannot be written") != std::string::npos);
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(directory / "")) {
    ++files;
  }
  CHECK(files == 1);  // the store
  write(spec, "what was there before");
  CHECK(run_shell(limited(4, commands[0])).exit == 1);
  CHECK(contents(spec) == "what was there before");
  CHECK(run_shell("exec " + commands[0]).exit == 0);
  CHECK(nlohmann::json::parse(contents(spec), nullptr, false).is_object());
  // What is no regular file is written as it is.
  const Ended piped = run({"kernels", "gemm", "--spec", "/dev/stdout"});
  CHECK(piped.exit == 0);
  CHECK(piped.out.find("source_hash") != std::string::npos);
}

TEST_CASE("no file is written over a store") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", other = directory / "T.db";
  for (const std::string& one : {store, other}) {
    REQUIRE(run({"tune", "copy", "--device", "cpu", "--shape", "n=64", "--budget", "2trials", "--store", one}).exit == 0);
  }
  const std::string before = contents(other);
  const std::vector<Arguments> commands{{"tune", "copy", "--device", "cpu", "--shapes", "n=64..128", "--budget", "2trials", "--out", other},
                                        {"tune", "copy", "--device", "cpu", "--shape", "n=64", "--budget", "2trials", "--log", other},
                                        {"report", "1", "--out", other},
                                        {"sessions", "1", "--record", other}};
  for (Arguments command : commands) {
    CAPTURE(command[0]);
    command.insert(command.end(), {"--store", store});
    const Ended ended = run(command);
    CHECK(ended.exit == 2);
    CHECK(ended.err.find("is a store, or another SQLite database, and would be lost: name another file") != std::string::npos);
    CHECK(contents(other) == before);
  }
  CHECK(run({"sessions", "--store", store, "--json"}).json()["sessions"].size() == 1);  // nothing was tuned before that was said
  CHECK(run({"kernels", "copy", "--spec", other}).exit == 2);
  CHECK(run({"kernels", "copy", "--spec", other + "-wal"}).exit == 2);
  CHECK(run({"kernels", "copy", "--spec", directory / "notes-wal"}).exit == 0);
}

TEST_CASE("a store on a full disk is a failure of the disk") {
  const TemporaryDirectory directory;
  const Ended ended =
      run_shell(limited(8, "\"$HONE\" tune copy --device cpu --shape n=64 --budget 2trials --store " + (directory / "S.db")));
  CHECK(ended.exit == 1);
  CHECK(ended.err.find("the disk is full") != std::string::npos);
}

TEST_CASE("what is no verb is an error in JSON, too") {
  const Ended ended = run({"frobnicate", "--json"});
  CHECK(ended.exit == 2);
  CHECK(ended.json()["error"]["message"].get<std::string>().find("frobnicate") != std::string::npos);
  CHECK(run({"--json"}).json()["error"]["message"].get<std::string>().find("the verb comes first") != std::string::npos);
}

TEST_CASE("nothing usable is no success") {
  const TemporaryDirectory directory;
  write(directory / "wrong.json", R"({"device_name":"Test","kernel_name":"wrong","tune_params_keys":["a"],"tune_params":{"a":[1,2]},
    "objective":"time","cache":{"1":{"a":1,"time":"RuntimeFailedConfig"},"2":{"a":2,"time":"CompilationFailedConfig"}}})");
  const Ended tuned = run({"tune", directory / "wrong.json", "--budget", "2trials", "--store", directory / "S.db", "--json"});
  CHECK(tuned.exit == 2);
  CHECK(tuned.json()["best"].is_null());
  const Ended best = run({"best", directory / "wrong.json", "--store", directory / "S.db"});
  CHECK(best.exit == 2);
  CHECK(best.err.find("--shape") == std::string::npos);  // it has none
  std::string empty = contents(HONE_SOURCE_DIR "/examples/own_kernel/bias_gelu.cu");
  const std::string condition = "p.cols % c.vec == 0";
  REQUIRE(empty.find(condition) != std::string::npos);
  write(directory / "bias_gelu.cu", empty.replace(empty.find(condition), condition.size(), "c.vec > 8"));
  const Ended explained = run({"space", directory / "bias_gelu.cu", "--device", "cpu", "--dtype", "f32", "--explain"});
  CHECK(explained.exit == 2);
  CHECK(explained.out.find("0 of") != std::string::npos);
}

TEST_CASE("an amount that no memory holds is refused") {
  const std::string space = HONE_SOURCE_DIR "/tests/package/toy.json";
  const Ended ended = run({"compare", "--spaces", space, "--strategy", "random", "--repeats", "1000000000"});
  CHECK(ended.exit == 2);
  CHECK(ended.err.find("--repeats is a number from 1 to 100000; it cannot be 1000000000") != std::string::npos);
}

TEST_CASE("a kernel's summary ends at its full stop") { CHECK(run({"kernels"}).out.find("x[0] + ... + x[i]") != std::string::npos); }

}  // namespace hone::test
