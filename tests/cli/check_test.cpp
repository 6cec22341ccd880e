// hone check: what no validation sees is found by sanitizers, and a file is held against another kernel's reference.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

/// y = 2 x; a configuration may make a mistake that changes no result.
constexpr std::string_view kQuietMistakes = R"(// Twice x.
#include <hone/kernel.h>
struct Problem { long n = 1000; };
struct Config { TUNE(0, 1, 2, 3) int mistake = 0; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, 64L)}, .block = {64}, .shared = 64 * 4}; }
template <class T> REFERENCE(p.n) void twice_reference(long i, const T* x, double* y, Problem p) { y[i] = 2.0 * (double)(float)x[i]; }
template <class T, Config c> KERNEL DTYPES(f32) void twice(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  SHARED_DYNAMIC(float, staged);
  const long i = (long)blockIdx.x * 64 + threadIdx.x;
  staged[threadIdx.x] = 0.0f;
  float seen = 0.0f;
  if (c.mistake == 1 && i == p.n - 1) seen = (float)x[i + 1];  // line 12: one past the end
  if (c.mistake == 2) seen = (float)(1 << ((int)(p.n > 0) * 33));  // line 13: no such shift
  if (c.mistake == 3 && threadIdx.x == 63) seen = staged[threadIdx.x + 1];  // line 14: past what was launched with
  if (i < p.n) y[i] = T(2.0f * (float)x[i] + (seen == 12345.0f ? 1.0f : 0.0f));
}
)";

/// The entries of a report that are about one sanitizer, or about none.
nlohmann::json entry(const nlohmann::json& report, const std::string& sanitizer, int mistake) {
  for (const auto& one : report["checked"]) {
    const bool same = sanitizer.empty() ? one["sanitizer"].is_null() : one["sanitizer"] == sanitizer;
    if (same && one["config"]["mistake"] == mistake) {
      return one;
    }
  }
  return nullptr;
}

std::string detail(const nlohmann::json& report, int mistake) { return entry(report, "address,undefined", mistake)["detail"]; }

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A kernel file of y = `factor` x whose own reference says just that.
std::string scaled(const std::string& name, const std::string& factor) {
  return "#include <hone/kernel.h>\nstruct Problem { long n = 1000; };\nstruct Config { TUNE(64, 128) int block = 64; };\n"
         "constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }\n"
         "template <class T> REFERENCE(p.n) void " +
         name + "_reference(long i, const T* from, double* to, Problem p) { to[i] = " + factor +
         " * (double)(float)from[i]; }\n"
         "template <class T, Config c> KERNEL void " +
         name +
         "(IN(p.n) const T* from, OUT(p.n) T* to, Problem p) {\n"
         "  const long i = (long)blockIdx.x * c.block + threadIdx.x;\n  if (i < p.n) to[i] = T(" +
         factor + "f * (float)from[i]);\n}\n";
}

/// A softmax as one finds it, with what is behind `columns` of a row left as it was.
std::string plain_softmax(const std::string& columns) {
  return "#include <cuda_runtime.h>\n#include <cmath>\n"
         "// not: __global__ void commented_out(int);\n"
         "__device__ float largest(float a, float b) { return a > b ? a : b; }\n"
         "extern \"C\" __global__ void __launch_bounds__(128) softmax_kernel(const float* __restrict__ x, float* y, int rows, int cols) {\n"
         "  extern __shared__ float partial[];\n"
         "  const float* row = x + (long)blockIdx.x * cols;\n"
         "  float most = -INFINITY, sum = 0.0f;\n"
         "  for (int i = 0; i < cols; ++i) most = largest(most, row[i]);\n"
         "  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - most);\n"
         "  partial[threadIdx.x] = sum;\n  __syncthreads();\n  sum = 0.0f;\n"
         "  for (int i = 0; i < blockDim.x; ++i) sum += partial[i];\n"
         "  for (int i = threadIdx.x; i < " +
         columns + "; i += blockDim.x) y[(long)blockIdx.x * cols + i] = expf(row[i] - most) / sum;\n}\n";
}

}  // namespace

TEST_CASE("check finds on the cpu device what no result shows: a read past the end, undefined behaviour, shared memory overrun") {
  const TemporaryDirectory directory;
  const std::string file = directory / "twice.cu";
  write(file, kQuietMistakes);
  const Ended ended = run({"check", file, "--device", "cpu", "--configurations", "0", "--json"});
  REQUIRE_MESSAGE(ended.exit == 1, ended.err);
  const auto report = ended.json();
  INFO(report.dump(1));
  CHECK(report["right"] == false);
  CHECK(report["wrong"] == 3);
  CHECK(report["not_run"].empty());
  CHECK(report["checked"].size() == 8);  // each value of the parameter, by the gate alone and under the sanitizers
  for (int mistake = 0; mistake < 4; ++mistake) {
    CHECK(entry(report, "", mistake)["outcome"] == "ok");
  }
  CHECK(entry(report, "address,undefined", 0)["outcome"] == "ok");
  CHECK(holds(detail(report, 1), "heap-buffer-overflow, READ of size 4, twice.cu:12"));
  CHECK(holds(detail(report, 1), "n="));
  CHECK(holds(detail(report, 2), "shift exponent 33"));
  CHECK(holds(detail(report, 2), "twice.cu:13"));
  CHECK(holds(detail(report, 3), "twice.cu:14"));
}

TEST_CASE("check passes a right kernel, and says so in the table") {
  const TemporaryDirectory directory;
  const std::string file = directory / "same.cu";
  write(file, scaled("same", "1.0"));
  const Ended ended = run({"check", file, "--device", "cpu", "--dtype", "f16", "--shape", "n=300", "--configurations", "1"});
  CHECK_MESSAGE(ended.exit == 0, ended.out, ended.err);
  CHECK(holds(ended.out, "address,undefined"));
  CHECK(holds(ended.out, "block=128"));
  CHECK(holds(ended.out, "0 of 4 checks wrong"));
}

TEST_CASE("where the sanitizers' runtime is missing, that part is not run, and nothing else is said of it") {
  const TemporaryDirectory directory;
  const std::string file = directory / "same.cu", compiler = directory / "g++";
  write(file, scaled("same", "1.0"));
  write(compiler, "#!/bin/sh\ncase \"$1\" in -print-file-name=*) echo libasan.so; exit 0;; esac\nexec g++ \"$@\"\n");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const Ended ended =
      run({"check", file, "--device", "cpu", "--dtype", "f32", "--configurations", "0", "--json"}, {{"HONE_CXX", compiler}});
  CHECK_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  REQUIRE(report["not_run"].size() == 1);
  CHECK(holds(report["not_run"][0]["reason"], "libasan.so"));
  CHECK(std::ranges::all_of(report["checked"], [](const auto& one) { return one["sanitizer"].is_null(); }));
}

TEST_CASE("check --against believes the other kernel's reference, not the file's own") {
  const TemporaryDirectory directory;
  const std::string same = directory / "same.cu", twice = directory / "twice.cu";
  write(same, scaled("same", "1.0"));
  write(twice, scaled("twice", "2.0"));
  const auto checked = [](const std::string& file, const Arguments& more) {
    Arguments all{"check", file, "--device", "cpu", "--dtype", "f32", "--shape", "n=700", "--configurations", "0", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  CHECK(checked(twice, {}).exit == 0);
  const Ended refused = checked(twice, {"--against", "copy"});
  CHECK(refused.exit == 1);
  CHECK(refused.json()["checked"][0]["outcome"] == "wrong_result");
  CHECK(refused.json()["against"] == "copy");
  const Ended accepted = checked(same, {"--against", "copy"});
  CHECK_MESSAGE(accepted.exit == 0, accepted.out, accepted.err);

  const Ended mismatched = run({"check", same, "--device", "cpu", "--against", "row_sum"});
  CHECK(mismatched.exit == 2);
  CHECK_MESSAGE(holds(mismatched.err, "cannot be compared with row_sum"), mismatched.err);
}

TEST_CASE("check --against takes a CUDA file without marks as it is") {
  const TemporaryDirectory directory;
  const std::string right = directory / "right.cu", wrong = directory / "wrong.cu";
  write(right, plain_softmax("cols"));
  write(wrong, plain_softmax("(cols & ~3)"));
  const auto checked = [](const std::string& file, const Arguments& more) {
    Arguments all{"check", file, "--against", "softmax", "--device", "cpu", "--shape", "rows=9,cols=64", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Arguments launched{"--grid", "p.rows", "--block", "128", "--shared", "128 * 4"};
  const Ended accepted = checked(right, launched);
  REQUIRE_MESSAGE(accepted.exit == 0, accepted.out, accepted.err);
  CHECK(accepted.json()["kernel"] == "softmax_kernel");
  CHECK(std::ranges::all_of(accepted.json()["checked"], [](const auto& one) { return one["dtype"] == "f32"; }));  // what its pointers are
  const Ended refused = checked(wrong, launched);
  CHECK(refused.exit == 1);
  CHECK(holds(refused.json()["checked"][0]["detail"], "cols="));

  std::string of_any_type = plain_softmax("cols");
  const std::string head = "extern \"C\" __global__ void __launch_bounds__(128) softmax_kernel(const float* __restrict__ x, float* y";
  of_any_type.replace(
      of_any_type.find(head), head.size(),
      "template <int kBlock, class T> __global__ void __launch_bounds__(kBlock) softmax_kernel(const T* __restrict__ x, T* y");
  const std::string row = "const float* row";
  of_any_type.replace(of_any_type.find(row), row.size(), "const T* row");
  write(right, of_any_type);
  Arguments instance = launched;
  instance.insert(instance.end(), {"--entry", "softmax_kernel<128, float>", "--arguments", "x, y, p.rows, p.cols"});
  const Ended of_floats = checked(right, instance);
  REQUIRE_MESSAGE(of_floats.exit == 0, of_floats.out, of_floats.err);
  CHECK(std::ranges::all_of(of_floats.json()["checked"], [](const auto& one) { return one["dtype"] == "f32"; }));
  write(right, plain_softmax("cols"));

  CHECK(holds(checked(right, {}).err, "--grid"));
  CHECK(run({"check", right, "--device", "cpu"}).err.find("--against") != std::string::npos);
  Arguments misplaced = launched;
  misplaced.insert(misplaced.end(), {"--arguments", "y, x, p.rows, p.cols"});
  CHECK(holds(checked(right, misplaced).err, "is const, but 'y' of softmax is written"));
  Arguments other = launched;
  other.insert(other.end(), {"--entry", "softmax_kernle"});
  CHECK(holds(checked(right, other).err, "there are: softmax_kernel"));
}

}  // namespace hone::test
