#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::kernel_source;
using cpu_test::make_spec;

namespace {

std::size_t temporary_directories() {
  std::size_t found = 0;
  const std::string prefix = "hone-cpu-" + std::to_string(getpid()) + "-";
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path())) {
    found += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
  }
  return found;
}

/// An environment variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("an error names the line and column of the user's file and leaves no files behind") {
  CpuFixture cpu;
  const auto results = cpu.compile(make_spec(kernel_source("out[0] = 1;\n  out[1] = unknown_thing;")), {1, 2, 3});
  REQUIRE(results.size() == 3);
  for (const auto& result : results) {
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == hone::ErrorCode::kCompile);
    CHECK(result.error().message.find("kernels/test_kernel.cu:7:12: error: ") != std::string::npos);
    CHECK(result.error().message.find("'unknown_thing'") != std::string::npos);
  }
  CHECK(temporary_directories() == 0);
}

TEST_CASE("one bad configuration does not spoil its batch") {
  CpuFixture cpu;
  const auto spec = make_spec(kernel_source("static_assert(c.value != 3, \"three is not supported\");\nout[0] = c.value * 10;"));
  const auto results = cpu.compile(spec, {1, 2, 3, 4});
  REQUIRE(results.size() == 4);
  for (int value = 1; value <= 4; ++value) {
    const auto& result = results[static_cast<std::size_t>(value - 1)];
    REQUIRE(result.ok() == (value != 3));
    if (result.ok()) {
      std::vector<int> out(1, 0);
      REQUIRE(cpu.launch(*result, geometry({1, 1, 1}, {1, 1, 1}), {out.data()}).ok());
      CHECK(out[0] == value * 10);
    } else {
      CHECK(result.error().message.find("kernels/test_kernel.cu:6") != std::string::npos);
      CHECK(result.error().message.find("three is not supported") != std::string::npos);
    }
  }
}

TEST_CASE("a kernel file's own headers are found, also above it") {
  CpuFixture cpu;
  auto spec = make_spec("#include \"../shared/common.h\"\n" + kernel_source("out[0] = common();"));
  spec.includes.emplace_back("../shared/common.h", "inline int common() { return 42; }\n");
  std::vector<int> out(1, 0);
  REQUIRE(cpu.launch(spec, geometry({1, 1, 1}, {1, 1, 1}), {out.data()}).ok());
  CHECK(out[0] == 42);
}

TEST_CASE("a header that is included by two names is read once") {
  // gcc takes copies of one time for one file: this compiler sees headers that were written a second apart.
  const std::filesystem::path compiler = std::filesystem::temp_directory_path() / ("hone-test-compiler-" + std::to_string(getpid()));
  std::ofstream(compiler) << R"sh(#!/bin/sh
for argument in "$@"; do source=$argument; done
second=0
[ -f "$source" ] && for header in $(find "${source%/*}/.." -name factor.h); do
  second=$((second + 1)) && touch -d "@$second" "$header"
done
exec g++ "$@"
)sh";
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const Variable chosen("HONE_CXX", compiler.c_str());
  CpuFixture cpu;
  auto spec = make_spec("#include \"./factor.h\"\n#include \"../test/factor.h\"\n#include \"factor.h\"\n" +
                        kernel_source("out[0] = kFactor * kFactor;"));
  for (const char* name : {"factor.h", "../test/factor.h", "./factor.h"}) {
    spec.includes.emplace_back(name, "#pragma once\nconstexpr int kFactor = 3;\n");
  }
  std::vector<int> out(1, 0);
  const auto launched = cpu.launch(spec, geometry({1, 1, 1}, {1, 1, 1}), {out.data()});
  std::filesystem::remove(compiler);
  REQUIRE(launched.ok());
  CHECK(out[0] == 9);
}

TEST_CASE("several passes run in order") {
  CpuFixture cpu;
  auto spec = make_spec(
      kernel_source("out[blockIdx.x] = blockIdx.x;",
                    "template <Config c> KERNEL void second(Problem p, int* out) { int sum = 0; for (long i = 0; i < p.n; ++i) sum "
                    "+= out[i]; out[0] = sum; }\n"));
  spec.passes.push_back(spec.passes[0]);
  spec.passes[1].function = "second";
  spec.passes[1].arguments = {-1, 0};
  const auto compiled = cpu.compile(spec).at(0).value();
  auto first = geometry({100, 1, 1}, {1, 1, 1}), second = geometry({1, 1, 1}, {1, 1, 1});
  second.symbol = 1;
  const auto kernel = cpu.device().load(compiled, {first, second}, {hone::DType::kF32, {{"n", 100}}}).value();
  std::vector<int> out(100, 0);
  void* pointer = out.data();
  void* const arguments[] = {&pointer};
  REQUIRE(kernel->launch(nullptr, arguments).ok());
  CHECK(out[0] == 4950);
}

TEST_CASE("a pass that its configuration never runs is not compiled") {
  CpuFixture cpu;
  auto spec = make_spec(kernel_source("out[0] = c.value;"));  // which has no `second`
  spec.passes.push_back(spec.passes[0]);
  spec.passes[1].function = "second";
  spec.passes[1].enabled =
      hone::Expression::make(hone::Operator::kGreater, {hone::Expression::variable("c.value"), hone::Expression::constant(1)});
  const auto without = cpu.compile(spec, {1}).at(0);
  REQUIRE(without.ok());
  CHECK(without->symbols.at(1).empty());
  CHECK_FALSE(without->symbols.at(0).empty());
  CHECK_FALSE(cpu.compile(spec, {2}).at(0).ok());
  auto second = geometry({1, 1, 1}, {1, 1, 1});
  second.symbol = 1;
  CHECK_FALSE(cpu.device().load(*without, {second}, {hone::DType::kF32, {{"n", 1}}}).ok());
}

TEST_CASE("kernels of the same name in two artifacts keep their own shared memory and code") {
  CpuFixture cpu;
  const std::string body = "__shared__ int state[1]; state[0] = NUMBER; __syncthreads(); out[0] = state[0];";
  std::vector<int> first(1, 0), second(1, 0);
  const auto one = cpu.compile(make_spec("#define NUMBER 1\n" + kernel_source(body))).at(0).value();
  const auto two = cpu.compile(make_spec("#define NUMBER 2\n" + kernel_source(body))).at(0).value();
  const hone::Problem problem{hone::DType::kF32, {{"n", 1}}};
  const auto kernel_one = cpu.device().load(one, {geometry({1, 1, 1}, {1, 1, 1})}, problem).value();
  const auto kernel_two = cpu.device().load(two, {geometry({1, 1, 1}, {1, 1, 1})}, problem).value();
  void* pointers[] = {first.data(), second.data()};
  void* const to_first[] = {&pointers[0]};
  void* const to_second[] = {&pointers[1]};
  REQUIRE(kernel_one->launch(nullptr, to_first).ok());
  REQUIRE(kernel_two->launch(nullptr, to_second).ok());
  CHECK(first[0] == 1);
  CHECK(second[0] == 2);
}

TEST_CASE("CUDA's spellings compile: qualifiers, vectors, alignment, unrolling") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "__shared__ alignas(16) float aligned[8]; __shared__ __align__(16) int other[4];\n"
      "#pragma unroll 4\n"
      "for (int i = 0; i < 4; ++i) { aligned[i] = table[i]; other[i] = i; }\n"
      "const float4 four = *reinterpret_cast<const float4*>(aligned);\n"
      "const int4 ints = __ldg(reinterpret_cast<const int4*>(other));\n"
      "const Vector<float, 4> v = load<4>(aligned);\n"
      "out[0] = (int)(four.x + four.w + helper(v[3]) + ints.z + min(2, 3) + max(1.0f, NAN) + fmaxf(0.0f, -INFINITY) + __popc(0xff) + "
      "__clz(1));",
      geometry({1, 1, 1}, {1, 1, 1}), 1,
      "__constant__ float table[4] = {1, 2, 3, 4};\n__device__ __forceinline__ float helper(float x) { return exp(0.0f) + x; }");
  CHECK(out[0] == 1 + 4 + 5 + 2 + 2 + 1 + 0 + 8 + 31);
}

TEST_CASE("without a host compiler the device opens and says what is missing") {
  const auto plugin = hone::make_cpu_device();
  const Variable path("HONE_CXX", "/nowhere/g++");
  const auto infos = plugin->enumerate();
  REQUIRE(infos.ok());
  CHECK(infos->at(0).environment.at("compiler") == "none");
  CHECK(plugin->open(infos->at(0)).ok());
  const auto compiler = plugin->compiler(infos->at(0));
  REQUIRE_FALSE(compiler.ok());
  CHECK(compiler.error().code == hone::ErrorCode::kUnavailable);
  CHECK(compiler.error().message.find("/nowhere/g++") != std::string::npos);
}

TEST_CASE("a sanitized kernel is refused, not fatal, where the sanitizer's runtime is missing") {
#if !defined(__SANITIZE_ADDRESS__)
  const Variable sanitize("HONE_CPU_SANITIZE", "1");  // a compiler is told when it is made
  CpuFixture cpu;
  const auto results = cpu.compile(make_spec(kernel_source("out[0] = 1;")));
  REQUIRE(results.at(0).ok());
  std::vector<int> out(1, 0);
  const auto launched = cpu.launch(*results.at(0), geometry({1, 1, 1}, {1, 1, 1}), {out.data()});
  REQUIRE_FALSE(launched.ok());
  CHECK(launched.error().message.find("LD_PRELOAD") != std::string::npos);
#endif
}

TEST_CASE("bytes that are no kernel are refused") {
  CpuFixture cpu;
  auto artifact = std::make_shared<hone::Artifact>();
  artifact->bytes.resize(100);
  artifact->digest = "00";
  const auto loaded = cpu.device().load({artifact, {"hone_k0_0"}, {}}, {geometry({1, 1, 1}, {1, 1, 1})}, {hone::DType::kF32, {{"n", 1}}});
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == hone::ErrorCode::kLaunch);
}

TEST_CASE("names of an earlier release compile") {
  CpuFixture cpu;
  const auto results = cpu.compile(make_spec(kernel_source("await_pass_before();\n  let_next_pass_begin();\n  out[0] = c.value;")));
  REQUIRE(results.size() == 1);
  CHECK_MESSAGE(results[0].ok(), results[0].error().message);
}
