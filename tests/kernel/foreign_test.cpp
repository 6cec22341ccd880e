// Other people's code: options of compilers, macros that are tuned, functions without marks, headers that are not the file's own.

#include <algorithm>
#include <filesystem>

#include "engine/kernel/instantiation.hpp"
#include "reader_fixture.hpp"

using hone::read_kernel_file;
using reader_test::can_read;
using reader_test::error_of;
using reader_test::Folder;

namespace {

/// A file that doubles x; the kernel, its Config and what comes before both are given.
std::string foreign_file(const std::string& before, const std::string& config, const std::string& kernel,
                         const std::string& launch = "{.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}") {
  return "#include <hone/kernel.h>\n" + before + "\nstruct Problem { long n = 1024; };\nstruct Config { " + config +
         " };\nconstexpr Launch launch(Problem p, Config c) { return " + launch +
         "; }\nREFERENCE(p.n) void add_reference(long i, const float* x, double* y, Problem p) { y[i] = 2.0 * x[i]; }\n" + kernel + "\n";
}

constexpr const char* kForeignBlock = "TUNE(64, 128) int block = 64;";
constexpr const char* kForeignHead = "template <Config c> KERNEL void add(IN(p.n) const float* x, OUT(p.n) float* y, Problem p) {";

std::string foreign_body(const std::string& statements) { return kForeignHead + statements + "}"; }

/// Somebody else's file: it does not compile without its macros.
constexpr const char* kTheirs = R"(
#ifndef TILE
#error "no TILE"
#endif
#if TILE > 16
#define WIDE 1
#else
#define WIDE 0
#endif
extern "C" __global__ void __launch_bounds__(BLOCK) double_it(float* out, float* in, int n) {
  for (int t = 0; t < TILE; ++t) {
    int i = (blockIdx.x * TILE + t) * BLOCK + threadIdx.x;
    if (i < n) out[i] = WIDE ? in[i] + in[i] : 2.0f * in[i];
  }
}
)";

std::string around_theirs(const std::string& launch = "{.grid = {ceil_div(p.n, (long)c.threads * c.tile)}, .block = {c.threads}}") {
  return foreign_file("", R"(TUNE(64, 128) OPTION("-DBLOCK={}") int threads = 64; TUNE(1, 8, 32) OPTION("-DTILE={}") int tile = 8;)",
                      "#include \"theirs.cu\"\nKERNEL void double_it(OUT(p.n) float* y, IN(p.n) float* x, SCALAR(1024) int n);", launch);
}

}  // namespace

TEST_CASE("a header's name leads to one file") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  std::filesystem::create_directory(folder.write("part.h", "#pragma once\n#include \"inner/more.h\"\n").parent_path() / "inner");
  folder.write("inner/more.h", "#include \"last.h\"\n");
  folder.write("inner/last.h", "#include \"../part.h\"\n#define LAST 2\n");
  const auto with = [&](const std::string& includes) {
    return read_kernel_file(folder.write("add.cu", foreign_file(includes, kForeignBlock, foreign_body("y[0] = LAST * x[0];"))));
  };
  const auto one = with("#include \"part.h\"");
  REQUIRE_MESSAGE(one.ok(), one.error().message);
  CHECK(one->includes.size() == 4);  // "../part.h", too
  folder.write("last.h", "#define OTHER 1\n");
  const auto two = with("#include \"part.h\"\n#include \"last.h\"");
  REQUIRE_FALSE(two.ok());
  CHECK(two.error().message.find("add.cu:3:1: error: 'last.h' names two files") != std::string::npos);
}

TEST_CASE("of a vector whose lanes are a macro the elements are counted") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  folder.write("theirs.cu",
               "#if WIDTH == 1\n#define Many float\n#else\n#define Many float2\n#endif\n__global__ void widened(Many* out, const Many* in, "
               "int n) {}\n");
  const auto with = [&](const std::string& extent) {
    return foreign_file(
        "", R"(TUNE(1, 2) OPTION("-DWIDTH={}") int wide = 1;)",
        "#include \"theirs.cu\"\nKERNEL void widened(OUT(" + extent + ") Many* y, IN(" + extent + ") const Many* x, SCALAR(1024) int n);",
        "{.grid = {1}, .block = {32}}");
  };
  const auto spec = read_kernel_file(folder.write("add.cu", with(".elements = p.n")));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  CHECK(spec->arguments[0].lanes == 1);
  CHECK(spec->arguments[0].extent.text() == "p.n");
  CHECK(read_kernel_file(folder.write("add.cu", with("p.n"))).error().message.find("depends on a macro") != std::string::npos);
}

TEST_CASE("FLAGS of a file and those given to it reach the reader and belong to the kernel") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  std::filesystem::create_directory(folder.write("x", "").parent_path() / "inc");
  folder.write("inc/twice.h", "#define TWICE(v) ((v) * FACTOR)\n");
  const auto path = folder.write(
      "add.cu", foreign_file("FLAGS(\"-I inc --use_fast_math -DFACTOR=2\");  // FLAGS(\"-Inowhere\")\n#include \"twice.h\"", kForeignBlock,
                             foreign_body("long i = blockIdx.x * (long)c.block + threadIdx.x; if (i < p.n) y[i] = TWICE(x[i]) + MORE;")));
  CHECK_FALSE(read_kernel_file(path).ok());  // no MORE
  const auto spec = read_kernel_file(path, {{"-D", "MORE=f(0, 0)"}});
  CHECK_FALSE(spec.ok());  // words are parted
  const auto one = read_kernel_file(path, {{"-DMORE=0"}}), two = read_kernel_file(path, {{"-D MORE=1 -UOTHER"}});
  REQUIRE_MESSAGE(one.ok(), one.error().message);
  REQUIRE_MESSAGE(two.ok(), two.error().message);
  CHECK(one->flags == std::vector<std::string>{"--use_fast_math", "-DFACTOR=2", "-DMORE=0"});
  CHECK(one->source_hash != two->source_hash);
  CHECK(read_kernel_file(path, {{"-DMORE=0"}})->source_hash == one->source_hash);
  REQUIRE(one->includes.size() == 1);
  CHECK(one->includes[0].second.find("FACTOR") != std::string::npos);  // carried along: nobody needs the folder any more
  CHECK(hone::parse_kernel_spec(one->serialize())->flags == one->flags);
  // What is fast is no reference; what is defined is.
  CHECK(hone::reference_options(*one) == std::vector<std::string>{"-DFACTOR=2", "-DMORE=0"});
  CHECK(hone::compile_options(*one, {{hone::Value(64)}}) == one->flags);
}

TEST_CASE("flags that are none are refused, at their line") {
  if (!can_read()) {
    return;
  }
  const auto with = [](const std::string& flags) {
    return error_of(foreign_file("\nFLAGS(\"" + flags + "\");", kForeignBlock, foreign_body("")));
  };
  CHECK(with("use_fast_math").starts_with("add.cu:3:1: error: 'use_fast_math' is not a compiler option"));
  CHECK(with("-I").starts_with("add.cu:3:1: error: -I needs a value"));
  CHECK(with("-Inowhere").starts_with("add.cu:3:1: error: -I nowhere: no such folder"));
  CHECK(with("-D 3=4").starts_with("add.cu:3:1: error: -D3=4 does not name a macro"));
  CHECK(with("-std=c++17").starts_with("add.cu:3:1: error: -std=c++17 cannot be given"));
}

TEST_CASE("a parameter can be a macro of somebody else's function, which no line is changed of") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  folder.write("theirs.cu", kTheirs);
  const auto spec = read_kernel_file(folder.write("add.cu", around_theirs()));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  REQUIRE(spec->passes.size() == 1);
  CHECK_FALSE(spec->passes[0].takes_config);
  CHECK(spec->name == "add");
  const hone::Configuration wide{{hone::Value(128), hone::Value(32)}};
  CHECK(hone::instantiation(*spec, spec->passes[0], hone::DType::kF32, wide) == "double_it");
  CHECK(hone::compile_options(*spec, wide) == std::vector<std::string>{"-DBLOCK=128", "-DTILE=32"});
  CHECK(hone::reference_options(*spec) == std::vector<std::string>{"-DBLOCK=64", "-DTILE=8"});
  CHECK_FALSE(hone::parse_kernel_spec(spec->serialize())->passes[0].takes_config);
}

TEST_CASE("macros have every value, and flags are numbers") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const auto spec = read_kernel_file(folder.write(
      "add.cu",
      foreign_file(
          "",
          R"(TUNE(64) int block = 64; TUNE(false, true) OPTION("-DLDG={}") bool ldg = false; TUNE(0, 2) OPTION("--maxrregcount={}") int r = 0;)",
          foreign_body("\n#if LDG == 1\ny[0] = __ldg(x);\n#elif LDG == 0\ny[0] = x[0];\n#else\n#error LDG\n#endif\n"))));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  CHECK(hone::compile_options(*spec, {{hone::Value(64), hone::Value(false), hone::Value(0)}}) == std::vector<std::string>{"-DLDG=0"});
  CHECK(hone::compile_options(*spec, {{hone::Value(64), hone::Value(true), hone::Value(2)}}) ==
        std::vector<std::string>{"-DLDG=1", "--maxrregcount=2"});
}

TEST_CASE("what Hone reads must not depend on a macro that is tuned") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  folder.write("theirs.cu", kTheirs);
  const auto spec = read_kernel_file(folder.write("add.cu", around_theirs("{.grid = {ceil_div(p.n, 64L * TILE)}, .block = {64}}")));
  REQUIRE_FALSE(spec.ok());
  CHECK(spec.error().message.find("the grid of kernel 'double_it' depends on a macro that an OPTION(\"-D...\") defines") !=
        std::string::npos);
  CHECK(error_of(foreign_file("", "TUNE(64) OPTION(\"-Dblock={}\") int block = 64;", foreign_body("")))
            .find("error: OPTION(\"-Dblock={}\") would also replace the name of field 'block'") != std::string::npos);
}

TEST_CASE("headers of CUDA, CCCL and CUTLASS are left to CUDA's compiler, and with them what bodies make of them") {
  if (!can_read()) {
    return;
  }
  const Folder folder;
  const std::string includes =
      "#include <cub/block/block_scan.cuh>\n#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\nusing namespace cute;\n"
      "template <int n> using Scan = cub::BlockScan<int, n>;\n__device__ int helper(cg::thread_block b) { return b.size(); }\n";
  const std::string scan =
      "__shared__ typename Scan<c.block>::TempStorage kept; int v; Scan<c.block>(kept).ExclusiveSum(v, v);"
      "auto block = cg::this_thread_block(); block.sync();";
  const auto spec = read_kernel_file(folder.write("add.cu", foreign_file(includes, kForeignBlock, foreign_body(scan))));
  REQUIRE_MESSAGE(spec.ok(), spec.error().message);
  CHECK(spec->cuda_headers == std::vector<std::string>{"cub/block/block_scan.cuh", "cooperative_groups.h"});
  CHECK(spec->arguments.size() == 2);
  CHECK(hone::parse_kernel_spec(spec->serialize())->cuda_headers == spec->cuda_headers);
  // What Hone reads is judged as ever.
  const std::string error =
      error_of(foreign_file(includes, "TUNE(64) int block = 64;", foreign_body(scan), "{.grid = {p.m}, .block = {c.block}}"));
  CHECK(error.starts_with("add.cu:11:"));
  CHECK(error.ends_with("error: no member named 'm' in 'Problem'"));
}

TEST_CASE("C++'s freestanding headers are there, and what is not in them is an error of the file") {
  if (!can_read()) {
    return;
  }
  const std::string includes =
      "#include <cstdint>\n#include <cfloat>\n#include <climits>\n#include <cmath>\n#include <type_traits>\n#include <limits>\n#include "
      "<utility>\n"
      "#include <array>\n#include <stdint.h>\n#include <math.h>\n#include <cuda_runtime.h>\n#include <vector_types.h>\n";
  const std::string uses =
      "std::int32_t i = INT_MAX; uint8_t b = 3; float f = FLT_MAX + std::numeric_limits<float>::infinity(); double pi = M_PI;"
      "std::array<float, 4> a{}; std::conditional_t<(c.block > 64), int, long> t = 0; static_assert(std::is_same_v<int, std::int32_t>);"
      "std::index_sequence<0, 1> s; std::swap(i, i); y[0] = std::sqrt(f) + a[b] + NAN + (float)pi + t + std::max(1.0f, f);";
  CHECK(error_of(foreign_file(includes, kForeignBlock, foreign_body(uses))) == "(no error)");
  CHECK(error_of(foreign_file(includes, kForeignBlock, foreign_body("std::vector<int> v;")))
            .find("no member named 'vector' in namespace 'std'") != std::string::npos);
}

TEST_CASE("kernels and references return nothing") {
  if (!can_read()) {
    return;
  }
  CHECK(error_of(foreign_file("", kForeignBlock,
                              "template <Config c> KERNEL int add(IN(p.n) const float* x, OUT(p.n) float* y, Problem p) { return 0; }"))
            .find(": error: 'add' returns 'int'; it must return void") != std::string::npos);
  std::string text = foreign_file("", kForeignBlock, foreign_body(""));
  text.replace(text.find("REFERENCE(p.n) void"), 19, "REFERENCE(p.n) double");
  CHECK(error_of(text).find(": error: 'add_reference' returns 'double'; it must return void") != std::string::npos);
}

TEST_CASE("dynamic shared memory that the launch does not have is an error of the file") {
  if (!can_read()) {
    return;
  }
  const std::string uses = foreign_body("SHARED_DYNAMIC(float, tile); y[0] = tile[0];");
  CHECK(error_of(foreign_file("", kForeignBlock, uses)).find("error: kernel 'add' uses dynamic shared memory, but its launch has none") !=
        std::string::npos);
  CHECK(error_of(foreign_file("", kForeignBlock, uses, "{.grid = {p.n}, .block = {c.block}, .shared = c.block * 4}")) == "(no error)");
}

TEST_CASE("an output without its mark is named as that") {
  if (!can_read()) {
    return;
  }
  CHECK(error_of(
            foreign_file("", kForeignBlock, "template <Config c> KERNEL void add(IN(p.n) const float* x, IN(p.n) float* y, Problem p) {}"))
            .find("error: the reference writes 'y', which is an input (IN) of the kernel: should its mark be OUT or INOUT?") !=
        std::string::npos);
}
