// Kernels over other types than floats, from the command line: tuned on the cpu device, and refused where they are wrong.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

std::string kernel(const std::string& name) { return std::string(HONE_SOURCE_DIR) + "/examples/kernels/" + name + ".cu"; }

/// A tuning run of few trials; the report of one that has a winner.
nlohmann::json tuned(const std::string& file, const Arguments& more) {
  const TemporaryDirectory directory;
  Arguments arguments{"tune", file, "--device", "cpu", "--store", directory / "S.db", "--budget", "3trials", "--seed", "1", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ended ended = run(arguments);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  const auto report = ended.json();
  CHECK(report["outcomes"]["ok"] == 3);
  CHECK(report["best"]["time_us"] > 0.0);
  return report;
}

/// A copy of an example with something else in the place of `from`, run in its default configuration.
Ended run_changed(const std::string& name, const std::string& from, const std::string& to, const Arguments& more) {
  const TemporaryDirectory directory;
  std::stringstream text;
  text << std::ifstream(kernel(name)).rdbuf();
  std::string source = text.str();
  const std::size_t at = source.find(from);
  REQUIRE(at != std::string::npos);
  source.replace(at, from.size(), to);
  std::ofstream(directory / (name + ".cu")) << source;
  std::ofstream(directory / "rowmax.h") << std::ifstream(std::string(HONE_SOURCE_DIR) + "/examples/kernels/rowmax.h").rdbuf();
  Arguments arguments{"run", directory / (name + ".cu"), "--device", "cpu", "--config", "default"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

}  // namespace

TEST_CASE("quantization to 8-bit integers is tuned, and one that cuts off instead of rounding is wrong") {
  tuned(kernel("quantize_i8"), {"--shape", "rows=8,cols=128", "--dtype", "bf16"});
  const Ended ended =
      run_changed("quantize_i8", "__float2int_rn((float)in[e] * scale)", "(int)((float)in[e] * scale)", {"--shape", "rows=8,cols=128"});
  CHECK(ended.exit != 0);
  CHECK((ended.out + ended.err).find("argument 'y'") != std::string::npos);
}

TEST_CASE("quantization to 8-bit floats is tuned for each of its types, and one that wraps beyond the range is wrong") {
  const auto report = tuned(kernel("quantize_fp8"), {"--shape", "rows=8,cols=128", "--dtype", "In=f16,Out=e4m3"});
  CHECK(report["dtype"] == "In=f16,Out=e4m3");
  tuned(kernel("quantize_fp8"), {"--shape", "rows=8,cols=128", "--dtype", "In=f32,Out=e5m2"});
  const Ended ended = run_changed("quantize_fp8", "out[e] = Out((float)in[e] * scale)", "out[e] = Out((float)in[e] * scale * 1.1f)",
                                  {"--shape", "rows=8,cols=128", "--dtype", "In=f32,Out=e4m3"});
  CHECK(ended.exit != 0);
  CHECK((ended.out + ended.err).find("argument 'y'") != std::string::npos);
}

TEST_CASE("indices of 32 and 64 bits are tuned, and one that forgets about ties is wrong") {
  tuned(kernel("argmax"), {"--shape", "rows=16,cols=300", "--dtype", "T=bf16,Index=i64"});
  tuned(kernel("argmax"), {"--shape", "rows=16,cols=300", "--dtype", "T=f32,Index=i32"});
  const Ended ended = run_changed("argmax", "(other == mine && its_place < my_place)", "(other == mine && its_place > my_place)",
                                  {"--shape", "rows=64,cols=1000", "--dtype", "T=bf16,Index=i32"});
  CHECK(ended.exit != 0);
  CHECK((ended.out + ended.err).find("argument 'place'") != std::string::npos);
}

TEST_CASE("a kernel of one dtype needs none on the command line") {
  const auto report = tuned(kernel("byte_histogram"), {"--shape", "n=10000"});
  CHECK(report["dtype"] == "u8");
}

TEST_CASE("a kernel over vectors is tuned, and one that leaves out a lane is wrong") {
  tuned(kernel("move_points"), {"--shape", "n=1000"});
  const Ended ended = run_changed("move_points", "at.z += by.z * time;", "", {"--shape", "n=1000"});
  CHECK(ended.exit != 0);
  CHECK((ended.out + ended.err).find("argument 'point'") != std::string::npos);
}

TEST_CASE("a record of several types is found, shown, exported and run under its name") {
  const TemporaryDirectory directory;
  const Arguments problem{kernel("argmax"), "--device",         "cpu",     "--dtype",          "T=f32,Index=i64",
                          "--shape",        "rows=16,cols=300", "--store", directory / "S.db", "--json"};
  const auto verb = [&](const std::string& name, const Arguments& more) {
    Arguments arguments{name};
    arguments.insert(arguments.end(), problem.begin(), problem.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = run(arguments);
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    return ended.json();
  };
  const auto report = verb("tune", {"--budget", "3trials", "--seed", "1"});
  const auto best = verb("best", {});
  CHECK(best["config"] == report["best"]["config"]);
  CHECK(best["dtype"] == "T=f32,Index=i64");
  const auto plan = verb("export", {"--out", directory / "plan"});
  CHECK(plan["dtype"] == "T=f32,Index=i64");
  CHECK(plan["arguments"][0]["dtype"] == "f32");
  CHECK(plan["arguments"][1]["dtype"] == "i64");
  CHECK(plan["arguments"][1]["bytes"] == 16 * 8);
  const auto sessions = run({"sessions", "--store", directory / "S.db", "--json"}).json()["sessions"];
  CHECK(sessions[0]["dtype"] == "T=f32,Index=i64");

  const Ended vague = run({"best", kernel("argmax"), "--device", "cpu", "--dtype", "f32", "--store", directory / "S.db"});
  CHECK(vague.exit != 0);
  CHECK(vague.err.find("'f32' matches several dtypes; give --dtype T=f32,Index=i32 or T=f32,Index=i64") != std::string::npos);
}

TEST_CASE("kernels shows the elements of arguments, and what the types may be") {
  const auto shown = run({"kernels", kernel("move_points"), "--json"}).json();
  CHECK(shown["arguments"][0]["element"] == "f32 x 4");
  const auto several = run({"kernels", kernel("quantize_fp8"), "--json"}).json();
  CHECK(several["dtypes"].size() == 6);
  CHECK(several["dtypes"][0] == "In=f32,Out=e4m3");
  CHECK(several["arguments"][0]["element"] == "In");
}

namespace {

/// y[i] = x[i] * 2^56 + 1, in 64-bit integers, of which doubles hold the upper bits alone; scalars of many types; bytes of two numbers.
constexpr std::string_view kWide = R"cuda(// Numbers that no double holds.
#include <hone/kernel.h>
#include <hone/kernel_narrow.h>
enum class Way : unsigned char { down, up };
struct Problem { long n = 1000; };
struct Config { TUNE(32, 64) int block = 32; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
REFERENCE(p.n) void wide_reference(long i, const i8* x, i64* y, double* halves, bool plus, long by, Way way, Problem p) {
  y[i] = x[i] * by + (plus ? 1 : 0) + (way == Way::up ? 2 : 0);
  halves[i] = u4x2(x[i] & 15, 3).bits;
}
template <Config c>
KERNEL void wide(IN(p.n) const i8* x, OUT(p.n) i64* y, OUT(p.n) u4x2* halves, SCALAR(true) bool plus, SCALAR(1L << 55) long by,
                 SCALAR(Way::up) Way way, Problem p) {
  const long i = blockIdx.x * (long)c.block + threadIdx.x;
  if (i < p.n) {
    y[i] = x[i] * by + (plus ? 1 : 0) + (way == Way::up ? 2 : 0);
    halves[i] = u4x2(x[i], 3);
  }
}
)cuda";

}  // namespace

TEST_CASE("64-bit integers are right to the last bit, or wrong") {
  const TemporaryDirectory directory;
  write(directory / "wide.cu", kWide);
  const Arguments checked{"run", directory / "wide.cu", "--device", "cpu", "--config", "default"};
  const Ended right = run(checked);
  CHECK_MESSAGE(right.exit == 0, right.err);
  std::string wrong(kWide);
  const std::string last = "(plus ? 1 : 0)";
  wrong.replace(wrong.rfind(last), last.size(), "0");
  write(directory / "wide.cu", wrong);
  const Ended ended = run(checked);
  CHECK(ended.exit != 0);
  CHECK((ended.out + ended.err).find("argument 'y'") != std::string::npos);
}

}  // namespace hone::test
