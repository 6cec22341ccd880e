// hone bench: a suite against its expectations.
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

/// y = 2 x. The environment plants defects: HONE_TEST_WRONG, HONE_TEST_CRASH.
constexpr std::string_view kTwice = R"(// Twice x.
#include <hone/kernel.h>
extern "C" char* getenv(const char*);
struct Problem { long n = 4096; };
struct Config { TUNE(64, 32) int block = 64; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void twice_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL void twice(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i >= p.n) return;
  if (getenv("HONE_TEST_CRASH")) __builtin_trap();
  y[i] = T((getenv("HONE_TEST_WRONG") ? 3.0f : 2.0f) * (float)x[i]);
}
)";

constexpr std::string_view kSuite = R"(processes = 2

[[control]]
name = "machine"
kernel = "twice.cu"

[[case]]
name = "small"
kernel = "twice.cu"
shape = "n=1000"
smoke = true

[[case]]
kernel = "twice.cu"
config = "block=32"
)";

/// A suite in a folder of its own.
class Suite {
 public:
  explicit Suite(std::string_view text = kSuite) {
    write(directory_ / "twice.cu", kTwice);
    write(file(), text);
  }

  [[nodiscard]] std::string file() const { return directory_ / "suite.toml"; }
  [[nodiscard]] std::string other(const std::string& name) const { return directory_ / name; }
  [[nodiscard]] std::string expectations() const { return expectations_; }

  Ended bench(const Arguments& more = {}, const Environment& variables = {}) {
    Arguments all{"bench", file(), "--device", "cpu", "--store", directory_ / "S.db", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    Ended ended = run(all, variables);
    if (ended.exit < 2) {
      expectations_ = ended.json()["expected_file"];
    }
    return ended;
  }

  /// Expects of all cases times that no machine exceeds, or none keeps to: then no verdict depends on how fast this one is.
  void expect(const std::string& relative) {
    std::string text = contents(expectations_);
    REQUIRE_FALSE(text.empty());
    for (std::size_t at = text.find("relative = "); at != std::string::npos; at = text.find("relative = ", at + 1)) {
      const std::size_t begin = at + std::string_view("relative = ").size();
      text.replace(begin, text.find(',', begin) - begin, relative);
    }
    write(expectations_, text);
  }

 private:
  TemporaryDirectory directory_;
  std::string expectations_;
};

}  // namespace

TEST_CASE("a suite that nothing is recorded for says so, and --record makes it expected") {
  Suite suite;
  const Ended first = suite.bench();
  REQUIRE_MESSAGE(first.exit == 0, first.out, first.err);
  CHECK(first.json()["recorded"] == false);
  REQUIRE(first.json()["cases"].size() == 2);
  CHECK(first.json()["cases"][0]["name"] == "small");
  CHECK(first.json()["cases"][0]["verdict"] == "not recorded");
  CHECK(first.json()["cases"][0]["processes_us"].size() == 2);
  CHECK(first.json()["cases"][1]["name"] == "twice.cu block=32");
  CHECK(first.json()["cases"][1]["config"]["block"] == 32);
  CHECK_FALSE(std::filesystem::exists(suite.expectations()));
  CHECK(suite.bench({"--strict"}).exit == 1);

  REQUIRE(suite.bench({"--record"}).exit == 0);
  const std::string text = contents(suite.expectations());
  CHECK(text.find("what = \"twice f32 n=1000 default\"") != std::string::npos);
  CHECK(text.find("control = \"twice f32 n=4096 default (") != std::string::npos);
  suite.expect("1.00000e+09");
  const auto again = suite.bench({"--smoke", "--strict"});
  CHECK(again.exit == 0);
  REQUIRE(again.json()["cases"].size() == 1);
  CHECK(again.json()["cases"][0]["verdict"] == "faster");
  CHECK(again.json()["cases"][0]["allowed"] > 0.02);
}

TEST_CASE("a planted slow, wrong or failing kernel is an alarm, and --update takes what is not wrong") {
  Suite suite;
  REQUIRE(suite.bench({"--record"}).exit == 0);
  const auto verdict = [](const Ended& ended) { return ended.json()["cases"][0]["verdict"].get<std::string>(); };
  suite.expect("1.00000e+09");
  CHECK(suite.bench().exit == 0);

  suite.expect("1.00000e-09");
  const Ended slower = suite.bench();
  CHECK(slower.exit == 1);
  CHECK(slower.json()["alarm"] == true);
  CHECK(verdict(slower) == "slower");
  CHECK(slower.json()["cases"][0]["measured_again"] == true);
  CHECK(slower.json()["cases"][0]["processes_us"].size() == 6);
  const std::string before = contents(suite.expectations());
  CHECK(suite.bench({"--record"}).exit == 1);
  CHECK(contents(suite.expectations()) == before);
  CHECK(suite.bench({"--update"}).exit == 0);
  CHECK(contents(suite.expectations()) != before);
}

TEST_CASE("what became wrong or fails is an alarm") {
  // Without a control, which has the same defect.
  Suite suite("[[case]]\nkernel = \"twice.cu\"\n");
  REQUIRE(suite.bench({"--record", "--processes", "1"}).exit == 0);
  const auto found = [&](const Arguments& arguments, const Environment& variables) {
    const Ended ended = suite.bench(arguments, variables);
    return std::pair(ended.exit, ended.json()["cases"][0]["verdict"].get<std::string>());
  };
  const std::string before = contents(suite.expectations());
  CHECK(found({"--update"}, {{"HONE_TEST_WRONG", "1"}}) == std::pair(1, std::string("wrong")));
  CHECK(contents(suite.expectations()) == before);

  write(suite.other("twice.cu"), std::string(kTwice) + "static_assert(sizeof(int) == 3);\n");
  CHECK(found({}, {}) == std::pair(1, std::string("fails")));
  CHECK(found({"--update"}, {}) == std::pair(0, std::string("fails")));
  CHECK(found({}, {}) == std::pair(0, std::string("still fails")));
  write(suite.other("twice.cu"), kTwice);
  CHECK(found({"--record"}, {}) == std::pair(0, std::string("works again")));
}

TEST_CASE("a control that is not the one that was recorded does not let everything pass") {
  Suite suite;
  REQUIRE(suite.bench({"--record"}).exit == 0);
  write(suite.other("twice.cu"), std::string(kTwice) + "struct Added {};\n");
  const Ended changed = suite.bench();
  CHECK(changed.exit == 1);
  CHECK(changed.json()["changed"].size() == 2);
  REQUIRE(changed.json()["controls"].size() == 1);
  CHECK(changed.json()["controls"][0]["name"] == "machine");
  CHECK(changed.json()["controls"][0]["time_us"] > 0.0);
  CHECK(suite.bench({"--record"}).json()["controls"][0]["change"].is_null());
  CHECK(suite.bench({"--record"}).json()["controls"][0]["change"].is_number());
}

TEST_CASE("a search whose default is wrong is wrong, and never expected") {
  Suite suite("[[case]]\nkernel = \"twice.cu\"\nbudget = \"2trials\"\n");
  const Ended wrong = suite.bench({"--processes", "1", "--update"}, {{"HONE_TEST_WRONG", "1"}});
  CHECK(wrong.exit == 1);
  CHECK(wrong.json()["cases"][0]["verdict"] == "wrong");
  CHECK(wrong.json()["cases"][0]["outcome"] == "wrong_result");
  CHECK(contents(suite.expectations()).find("[[case]]") == std::string::npos);
}

TEST_CASE("what is faster is left out of --record") {
  Suite suite("[[case]]\nkernel = \"twice.cu\"\n");
  REQUIRE(suite.bench({"--record", "--processes", "1"}).exit == 0);
  suite.expect("1.00000e+09");
  const std::string before = contents(suite.expectations());
  CHECK(suite.bench({"--record", "--processes", "1"}).exit == 0);
  CHECK(contents(suite.expectations()) == before);
  CHECK(suite.bench({"--update", "--processes", "1"}).exit == 0);
  CHECK(contents(suite.expectations()).find("1.00000e+09") == std::string::npos);
}

TEST_CASE("a case that the suite defines otherwise than it was recorded is not compared") {
  Suite suite("[[case]]\nname = \"one\"\nkernel = \"twice.cu\"\n");
  REQUIRE(suite.bench({"--record", "--processes", "1"}).exit == 0);
  suite.expect("1.00000e-09");
  write(suite.file(), "[[case]]\nname = \"one\"\nkernel = \"twice.cu\"\nshape = \"n=100\"\n");
  const Ended changed = suite.bench({"--processes", "1"});
  CHECK(changed.exit == 1);
  CHECK(changed.json()["alarm"] == true);
  CHECK(changed.json()["changed"][0] == "one");
  CHECK(changed.json()["cases"][0]["verdict"] == "not recorded");
  CHECK(suite.bench({"--processes", "1", "--record"}).exit == 0);
  CHECK(suite.bench({"--processes", "1"}).json()["changed"].empty());
  const Ended seeded = suite.bench({"--processes", "1", "--seed", "3", "--graph-below", "0"});
  CHECK(seeded.exit == 1);
  CHECK(seeded.json()["cases"][0]["what"] == "twice f32 n=100 default graph below 0 seed 3");
}

TEST_CASE("a case may be what the store has, or what a session finds") {
  Suite suite("[[case]]\nname = \"found\"\nkernel = \"twice.cu\"\nbudget = \"2trials\"\n");
  const Ended tuned = suite.bench({"--processes", "1"});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.out, tuned.err);
  CHECK(tuned.json()["cases"][0]["what"] == "twice f32 n=4096 tuned for 2trials");
  CHECK(tuned.json()["cases"][0]["time_us"] > 0.0);
  write(suite.file(), "[[case]]\nname = \"stored\"\nkernel = \"twice.cu\"\nconfig = \"best\"\n");
  const Ended missing = suite.bench({"--processes", "1"});
  CHECK(missing.exit == 2);
  CHECK(missing.err.find("hone tune first") != std::string::npos);
}

TEST_CASE("what a suite asks for and is not there cannot be expected") {
  Suite suite;
  const auto error = [&](const std::string& one) {
    write(suite.file(), "[[case]]\n" + one);
    const Ended ended = suite.bench({"--update", "--processes", "1"});
    CHECK(ended.exit == 2);
    return ended.err;
  };
  CHECK(error("kernel = \"softmaks\"\n").find("suite.toml:1: unknown built-in kernel 'softmaks'") != std::string::npos);
  CHECK(error("kernel = \"none.cu\"\n").find("none.cu") != std::string::npos);
  CHECK(error("kernel = \"twice.cu\"\nshape = \"m=3\"\n").find("unknown shape name 'm'") != std::string::npos);
  CHECK(error("kernel = \"twice.cu\"\nconfig = \"block=33\"\n").find("33") != std::string::npos);
}

TEST_CASE("each run adds a line to the history, which the trend draws") {
  Suite suite;
  const Arguments files{"--smoke", "--history", suite.other("runs.jsonl"), "--trend", suite.other("trend.svg")};
  REQUIRE(suite.bench(files).exit == 0);
  REQUIRE(suite.bench({"--smoke", "--record"}).exit == 0);
  suite.expect("1.00000e-09");
  CHECK(suite.bench(files).exit == 1);
  const std::string lines = contents(suite.other("runs.jsonl"));
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
  const std::string picture = contents(suite.other("trend.svg"));
  CHECK(picture.find("over 2 runs") != std::string::npos);
  CHECK(picture.find("small slower") != std::string::npos);
  write(suite.other("runs.jsonl"), "{\"date\": 3}\n");
  const Ended broken = suite.bench(files);
  CHECK(broken.exit == 2);
  CHECK(broken.err.find("runs.jsonl:1 is no run of hone bench") != std::string::npos);
}

TEST_CASE("a file that cannot be written does not cost what was measured") {
  Suite suite("[[case]]\nkernel = \"twice.cu\"\n");
  const Ended ended = suite.bench({"--processes", "1", "--trend", suite.other("missing/trend.svg")});
  CHECK(ended.exit == 1);
  CHECK(ended.json()["cases"][0]["verdict"] == "not recorded");
  REQUIRE(ended.json()["failures"].size() == 1);
  CHECK(ended.json()["failures"][0].get<std::string>().find("trend.svg") != std::string::npos);
}

TEST_CASE("what is wrong in a suite or its expectations is said with its line") {
  Suite suite;
  const auto error = [&](std::string_view text) {
    write(suite.file(), text);
    const Ended ended = suite.bench();
    CHECK(ended.exit == 2);
    return ended.err;
  };
  CHECK(error("[[case]\n").find("suite.toml:1:") != std::string::npos);
  CHECK(error("").find("there is no [[case]]") != std::string::npos);
  CHECK(error("[[case]]\nkernal = \"copy\"\n").find("suite.toml:2: unknown setting 'kernal'; did you mean 'kernel'?") != std::string::npos);
  CHECK(error("[[case]]\nkernel = 3\n").find("suite.toml:2: 'kernel' is not a text in quotes") != std::string::npos);
  CHECK(error("[[case]]\nshape = \"n=3\"\n").find("which kernel?") != std::string::npos);
  CHECK(error("[[case]]\nkernel = \"copy\"\n[[case]]\nkernel = \"copy\"\n").find("'copy' is the name of") != std::string::npos);
  CHECK(error("[[case]]\nkernel = \"copy\"\ncontrol = \"clock\"\n").find("no [[control]] with the name 'clock'") != std::string::npos);
  CHECK(error("[[case]]\nkernel = \"copy\"\nbudget = \"5x\"\n").find("suite.toml:3:") != std::string::npos);
  CHECK(error("processes = 0\n[[case]]\nkernel = \"copy\"\n").find("from 1 to 1000") != std::string::npos);
  CHECK(error("case = 3\n").find("'case' is not a list of tables") != std::string::npos);
  CHECK(error("[[case]]\nkernel = \"copy\"\nmax_error = 2.0\n").find("suite.toml:3: 'max_error' is a share") != std::string::npos);
  write(suite.file(), kSuite);
  CHECK(suite.bench({"--processes", "0"}).err.find("from 1 to 1000") != std::string::npos);
  CHECK(run({"bench", "."}).err.find("is a folder") != std::string::npos);
  write(suite.file(), "[[case]]\nkernel = \"twice.cu\"\n");
  CHECK(suite.bench({"--smoke"}).err.find("no case of") != std::string::npos);
}

}  // namespace hone::test
