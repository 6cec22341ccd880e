// Kernel files whose inputs mean something, or whose outputs may be right in several ways: the examples, and what is wrong in ways that
// only such inputs and judgements show.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

struct Example {
  std::string name, shape;
};
const std::vector<Example> kExamples{{"histogram", "n=5000,bins=300"},
                                     {"embedding", "n=50,cols=64,rows=3000"},
                                     {"segmented_sum", "n=5000,segments=300"},
                                     {"scatter", "n=1000,places=3000"},
                                     {"top_k", "rows=8,cols=100,k=5"},
                                     {"adamw", "n=5000"},
                                     {"partial_sums", "n=5000"},
                                     {"partial_sums", "n=0"},
                                     {"strided_gemm", "m=20,n=30,k=40,gap=5,accumulate=true,layout=kTransposed"},
                                     {"hotspot", "rows=40,cols=50,steps=7"}};

std::string source(const std::string& name) { return contents(HONE_SOURCE_DIR "/examples/kernels/" + name + ".cu"); }

Ended tune(const TemporaryDirectory& directory, const std::string& name, const std::string& text, const std::string& shape) {
  const std::string file = directory / (name + ".cu");
  write(file, text);
  return run({"tune", file, "--device", "cpu", "--dtype", run({"kernels", file, "--json"}).json()["dtypes"][0], "--shape", shape,
              "--budget", "2trials", "--store", directory / "S.db", "--json"});
}

/// The error of tuning an example after a change that makes it wrong.
std::string error_after(const std::string& name, const std::string& shape, const std::string& from, const std::string& to) {
  std::string text = source(name);
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  text.replace(at, from.size(), to);
  const TemporaryDirectory directory;
  const Ended ended = tune(directory, name, text, shape);
  CHECK(ended.exit != 0);
  return ended.err;
}

}  // namespace

TEST_CASE("every example is tuned on the cpu device") {
  for (const Example& example : kExamples) {
    CAPTURE(example.name);
    const TemporaryDirectory directory;
    const Ended ended = tune(directory, example.name, source(example.name), example.shape);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    CHECK(ended.json()["outcomes"]["ok"] == 2);
  }
}

TEST_CASE("kernels on CUDA's own headers are read without them, and run on cuda devices alone") {
  for (const std::string name : {"wmma_gemm", "grid_norm", "block_scan", "cute_gemm"}) {
    CAPTURE(name);
    const std::string file = HONE_SOURCE_DIR "/examples/kernels/" + name + ".cu";
    const auto read = run({"kernels", file, "--json"}).json();
    CHECK(read["runs_on"] == nlohmann::json({"cuda"}));
    const TemporaryDirectory directory;
    const Ended tuned = run({"tune", file, "--device", "cpu", "--budget", "1trials", "--store", directory / "S.db"});
    CHECK(tuned.exit != 0);
    CHECK(tuned.err.find("d.compute_capability = 0") != std::string::npos);
  }
}

TEST_CASE("an index that is cut to 8 bits is found by indices that mean something") {
  const std::string error = error_after("embedding", "n=50,cols=64,rows=3000", "index[row] * p.cols", "(unsigned char)index[row] * p.cols");
  CHECK(error.find("argument 'y'") != std::string::npos);
  CHECK(error.find("index: in [0, p.rows)") != std::string::npos);
}

TEST_CASE("a choice among equal ones is free, a wrong one is refused by the author's function") {
  const std::string shape = "rows=8,cols=100,k=5";
  // Takes the same element twice.
  CHECK(error_after("top_k", shape, "taken[place[0]] = 1;", "taken[place[0]] = j % 2;").find("top_k_accept rejects") != std::string::npos);
  // Leaves out a larger one.
  CHECK(error_after("top_k", shape, "long at = -1;", "long at = -1;\n    if (threadIdx.x == 3) largest = 1000;")
            .find("top_k_accept rejects") != std::string::npos);
  // Takes the last of equal ones: as right as the first.
  std::string text = source("top_k");
  text.replace(text.find("line[col] > largest"), 19, "line[col] >= largest");
  const TemporaryDirectory directory;
  CHECK(tune(directory, "top_k", text, shape).exit == 0);
}

TEST_CASE("an output that has a tolerance and a function that judges it is held to both") {
  const TemporaryDirectory directory;
  const auto ran = [&](const std::string& off) {
    write(directory / "held.cu", R"cuda(
#include <hone/kernel.h>
struct Problem { long rows = 20, cols = 50; };
struct Config { TUNE(64) int block = 64; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.rows * p.cols, (long)c.block)}, .block = {c.block}}; }
REFERENCE(p.rows * p.cols) TOLERANCE(y, .absolute = 0.5) void held_reference(long i, const float* x, double* y) { y[i] = x[i]; }
ACCEPT(p.rows) bool held_accept(long row, const float* y, const double* expected_y, Problem p) {
  double off = 0;
  for (long i = row * p.cols; i < (row + 1) * p.cols; ++i) off += y[i] - expected_y[i];
  return fabs(off) < 1.0;
}
template <Config c> KERNEL void held(IN(p.rows * p.cols) const float* x, OUT(p.rows * p.cols) float* y, Problem p) {
  const long i = blockIdx.x * (long)c.block + threadIdx.x;
  if (i < p.rows * p.cols) y[i] = x[i] + )cuda" +
                                     off + ";\n}\n");
    return run({"run", directory / "held.cu", "--device", "cpu", "--timing-seconds", "0.001", "--store", directory / "S.db", "--json"})
        .json();
  };
  CHECK(ran("(i % 2 ? 0.4f : -0.4f)")["outcome"] == "ok");
  const nlohmann::json in_sum = ran("0.1f"), alone = ran("(i % 2 ? 0.6f : -0.6f)");
  CHECK(in_sum["outcome"] == "wrong_result");
  CHECK(in_sum["detail"].get<std::string>().find("held_accept rejects") != std::string::npos);
  CHECK(alone["outcome"] == "wrong_result");
  CHECK(alone["detail"].get<std::string>().find("argument 'y'") != std::string::npos);
}

TEST_CASE("a place that nothing belongs to must keep what it holds") {
  const std::string error =
      error_after("scatter", "n=1000,places=3000", "y[to[i]] = x[i];", "{ y[to[i]] = x[i]; y[(to[i] + 1) % p.places] = T(0.0f); }");
  CHECK(error.find("argument 'y'") != std::string::npos);
  CHECK(error.find("to: in [0, p.places), distinct") != std::string::npos);
}

TEST_CASE("a sum in f16 is found, and TOLERANCE lets it pass where its author allows that") {
  std::string text = source("segmented_sum");
  const auto in_f16 = [](std::string changed) {
    for (const auto& [a, b] :
         {std::pair<std::string, std::string>{"float sum = 0;", "f16 sum = 0;"},
          {"sum += (float)x[i]", "sum = (float)sum + (float)x[i]"},
          {"sum += __shfl_xor_sync(0xffffffff, sum, step)", "sum = (float)sum + __shfl_xor_sync(0xffffffff, (float)sum, step)"},
          {"T(sum)", "T((float)sum)"}}) {
      changed.replace(changed.find(a), a.size(), b);
    }
    return changed;
  };
  const std::string shape = "n=5000,segments=300";
  const TemporaryDirectory directory;
  const Ended refused = tune(directory, "segmented_sum", in_f16(text), shape);
  CHECK(refused.exit != 0);
  CHECK(refused.err.find("offsets: by offsets_input") != std::string::npos);

  const std::string mark = "REFERENCE(p.segments) ";
  text.replace(text.find(mark), mark.size(), mark + "TOLERANCE(y, .absolute = 0.3, .relative = 0.05) ");
  CHECK(tune(directory, "segmented_sum", in_f16(text), shape).exit == 0);
}

TEST_CASE("what lies between the rows of a strided output must stay as it is") {
  const std::string shape = "m=20,n=30,k=40,gap=5,accumulate=false,layout=kNormal";
  CHECK(error_after("strided_gemm", shape, "if (row < p.m && col < p.n) out[at]", "if (row < p.m && col < p.n + p.gap) out[at]")
            .find("argument 'out'") != std::string::npos);
}

TEST_CASE("a pass that repeats on the wrong one of its buffers, or does not know its last run, is refused") {
  const std::string shape = "rows=40,cols=50,steps=7";
  CHECK(error_after("hotspot", shape, ", .then = y", "").find("argument 'y'") != std::string::npos);
  // Two steps in each of four launches are eight.
  std::string text = source("hotspot");
  text.replace(text.find("int fused = 1;"), 14, "int fused = 2;");
  const TemporaryDirectory directory;
  CHECK(tune(directory, "hotspot", text, shape).exit == 0);
  const std::string rest = "(int)min_of(p.steps - (long)run * c.fused, (long)c.fused)";
  text.replace(text.find(rest), rest.size(), "c.fused");
  const Ended refused = tune(directory, "hotspot", text, shape);
  CHECK(refused.exit != 0);
  CHECK(refused.err.find("argument 'y'") != std::string::npos);
}

TEST_CASE("where the configuration defines the result, each is held against its own answer, in the final round and again later") {
  // The default would be right for 16 parts whatever the configuration: the others must not be.
  const std::string shape = "n=5000";
  std::string text = source("partial_sums");
  const std::string from = "const long size = ceil_div(p.n, (long)c.parts), part";
  text.replace(text.find(from), from.size(), "const long size = ceil_div(p.n, 16L), part");
  TemporaryDirectory directory;
  const std::string file = directory / "partial_sums.cu";
  write(file, text);
  const auto asked = [&](const std::string& verb, const std::string& kernel, const Arguments& more) {
    Arguments all{verb, kernel, "--device", "cpu", "--shape", shape, "--store", directory / "S.db", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const auto wrong = asked("tune", file, {"--budget", "4trials", "--fix", "block=128"});
  REQUIRE_MESSAGE(wrong.exit == 0, wrong.err);
  CHECK(wrong.json()["outcomes"]["ok"] == 1);
  CHECK(wrong.json()["outcomes"]["wrong_result"] == 3);
  const std::string right = HONE_SOURCE_DIR "/examples/kernels/partial_sums.cu";
  const auto tuned = asked("tune", right, {"--budget", "4trials", "--fix", "block=128"});
  REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
  CHECK(tuned.json()["outcomes"]["ok"] == 4);
  const auto verified = run({"verify", right, "--device", "cpu", "--store", directory / "S.db", "--json"});
  CHECK_MESSAGE(verified.exit == 0, verified.out);
}

TEST_CASE("a problem of SHAPES finds what the problem that is tuned does not show") {
  // Wrong where a part has one element, of which the small problems that Hone makes have none.
  const std::string error = error_after("partial_sums", "n=5000", "if (threadIdx.x == 0) y[part] = sums[0];",
                                        "if (threadIdx.x == 0) y[part] = p.n == 63 ? 0 : sums[0];");
  CHECK(error.find("on the small problem n=63") != std::string::npos);
  const auto shapes = run({"kernels", HONE_SOURCE_DIR "/examples/kernels/partial_sums.cu", "--json"}).json()["shapes"];
  CHECK(shapes.size() == 3);
  CHECK(shapes[2]["n"] == 4097);
  CHECK(run({"kernels", HONE_SOURCE_DIR "/examples/kernels/partial_sums.cu"}).out.find("also on n=1\n") != std::string::npos);
}

TEST_CASE("without an element a kernel must be right too") {
  CHECK(error_after("partial_sums", "n=5000", "if (threadIdx.x == 0) y[part] = sums[0];",
                    "if (threadIdx.x == 0 && p.n > 0) y[part] = sums[0];")
            .find("on the small problem n=0") != std::string::npos);
}

TEST_CASE("a grid without a block launches nothing, and that is right where there is nothing to write") {
  const TemporaryDirectory directory;
  const std::string file = directory / "twice.cu";
  write(file, R"(#include <hone/kernel.h>
struct Problem { RANGE(0) long n = 100; };
struct Config { TUNE(32, 64) int block = 32; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
REFERENCE(p.n) void twice_reference(long i, const float* x, double* y, double* z) { y[i] = 2 * x[i]; z[i] += x[i]; }
template <Config c> KERNEL void twice(IN(p.n) const float* x, OUT(p.n) float* y, INOUT(p.n, .low = 0, .below = 4) float* z, Problem p) {
  const long i = (long)blockIdx.x * c.block + threadIdx.x;
  if (i < p.n) { y[i] = 2 * x[i]; z[i] += x[i]; }
}
)");
  for (const std::string shape : {"n=0", "n=70"}) {
    const Ended tuned =
        run({"tune", file, "--device", "cpu", "--shape", shape, "--budget", "2trials", "--store", directory / "S.db", "--json"});
    REQUIRE_MESSAGE(tuned.exit == 0, tuned.err);
    CHECK(tuned.json()["outcomes"]["ok"] == 2);
    const Ended again =
        run({"run", file, "--device", "cpu", "--shape", shape, "--config", "best", "--store", directory / "S.db", "--json"});
    REQUIRE_MESSAGE(again.exit == 0, again.err);
    CHECK(again.json()["outcome"] == "ok");
  }
}

TEST_CASE("flags and enumerators of a problem go by their names, and others are refused") {
  const std::string file = HONE_SOURCE_DIR "/examples/kernels/strided_gemm.cu";
  const auto asked = [&](const std::string& shape) {
    return run({"run", file, "--dtype", "f32", "--device", "cpu", "--shape", "m=9,n=7,k=5," + shape, "--json"});
  };
  CHECK(asked("gap=0,accumulate=true,layout=kTransposed").exit == 0);
  CHECK(asked("layout=kOther").err.find("layout is 'kOther'; it is one of kNormal (0), kTransposed (1)") != std::string::npos);
  CHECK(asked("accumulate=2").err.find("a flag is true or false") != std::string::npos);
  CHECK(asked("gap=-1").err.find("an extent is at least 0") != std::string::npos);
}

TEST_CASE("an accuracy bound lets cheaper arithmetic be right, for those alone who ask for it") {
  // A sum in f16 beside one in f32.
  std::string text = source("segmented_sum");
  const auto replace = [&](const std::string& from, const std::string& to) { text.replace(text.find(from), from.size(), to); };
  replace("TUNE(32, 64, 128, 256) int block = 128;", "TUNE(128) int block = 128;\n  TUNE(false, true) bool narrow = false;");
  replace("TUNE(1, 2, 4, 8, 16, 32) int threads = 8;", "TUNE(8) int threads = 8;");
  replace("sum += (float)x[i];\n  }\n  for", "sum += c.narrow ? (float)f16((float)x[i]) : (float)x[i];\n  }\n  for");
  const TemporaryDirectory directory;
  const std::string file = directory / "segmented_sum.cu";
  write(file, text);
  const auto asked = [&](const std::string& verb, const Arguments& more) {
    Arguments all{verb,    file, "--device", "cpu", "--dtype", "f32", "--shape", "n=20000,segments=40", "--store", directory / "S.db",
                  "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Ended strict = asked("tune", {"--budget", "4trials"});
  REQUIRE_MESSAGE(strict.exit == 0, strict.err);
  CHECK(strict.json()["best"]["config"]["narrow"] == false);
  CHECK(strict.json()["outcomes"]["wrong_result"] == 1);
  CHECK(strict.json()["accuracy_bound"] == nullptr);
  // Which of the two is faster is not for this test: the other one takes no part.
  const Ended loose = asked("tune", {"--budget", "4trials", "--max-error", "5e-2", "--fix", "narrow=true"});
  REQUIRE_MESSAGE(loose.exit == 0, loose.err);
  CHECK(loose.json()["best"]["config"]["narrow"] == true);
  CHECK(asked("best", {}).json()["config"]["narrow"] == false);
  CHECK(asked("best", {"--max-error", "5e-2"}).json()["config"]["narrow"] == true);
  CHECK(asked("best", {"--max-error", "1e-2"}).exit == 2);
  CHECK(asked("tune", {"--max-error", "-1"}).err.find("--max-error is a share above 0") != std::string::npos);
}

TEST_CASE("kernels says what fills each input and who judges each output") {
  const auto arguments = run({"kernels", HONE_SOURCE_DIR "/examples/kernels/top_k.cu", "--json"}).json()["arguments"];
  CHECK(arguments[0]["filled"] == "by x_input");
  CHECK(arguments[1]["judged"] == "judged by top_k_accept");
  const std::string text = run({"kernels", HONE_SOURCE_DIR "/examples/kernels/histogram.cu"}).out;
  CHECK(text.find("filled: in [0, p.bins)") != std::string::npos);
}

TEST_CASE("the largest error of a right kernel is not that of inputs which its default is wrong for, and which it is not held to") {
  const TemporaryDirectory directory;
  write(directory / "there_and_back.cu", R"cuda(
#include <hone/kernel.h>
struct Problem { long n = 4096; };
struct Config { TUNE(64, 128) int block = 64; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
REFERENCE(p.n) TOLERANCE(y, .absolute = 1e-3) void there_and_back_reference(long i, const float* x, double* y, Problem p) { y[i] = x[i]; }
template <Config c> KERNEL void there_and_back(IN(p.n) const float* x, OUT(p.n) float* y, Problem p) {
  const long i = blockIdx.x * (long)c.block + threadIdx.x;
  if (i < p.n) y[i] = logf(expf(x[i]));  // infinite for large ones
}
)cuda");
  const Ended ended = run({"run", directory / "there_and_back.cu", "--device", "cpu", "--store", directory / "S.db", "--json"});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(ended.json()["max_error"].get<double>() <= 1.0);
}

}  // namespace hone::test
