#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::kernel_source;
using cpu_test::make_spec;

TEST_CASE("atomics on integers count across blocks") {
  CpuFixture cpu;
  std::vector<int> out(8, 0);
  out[1] = 1 << 30;
  out[3] = 0xffff;
  const auto spec =
      make_spec(kernel_source("const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "atomicAdd(&out[0], 1); atomicMin(&out[1], i); atomicMax(&out[2], i); atomicAnd(&out[3], ~(1 << (i % 8)));\n"
                              "atomicOr(&out[4], 1 << (i % 8)); atomicInc((unsigned*)&out[5], 9u); atomicSub(&out[6], 2);\n"
                              "int seen = out[7], assumed;\n"
                              "do { assumed = seen; seen = atomicCAS(&out[7], assumed, assumed + 3); } while (seen != assumed);"));
  REQUIRE(cpu.launch(spec, geometry({100, 1, 1}, {64, 1, 1}), {out.data()}).ok());
  CHECK(out == std::vector<int>{6400, 0, 6399, 0xff00, 0xff, 0, -12800, 19200});
}

TEST_CASE("atomics on reals and on 64 bits") {
  CpuFixture cpu;
  float real = 0.0f;
  double wide = 0.0;
  unsigned long long count = 0;
  auto spec = make_spec(
      "#include <hone/kernel.h>\nstruct Problem { long n = 1; };\nstruct Config { int value = 1; };\n"
      "template <Config c> KERNEL void test_kernel(float* real, double* wide, unsigned long long* count, Problem p) {\n"
      "  atomicAdd(real, 0.5f); atomicAdd(wide, 0.25); atomicAdd(count, 1ull << 33);\n}\n",
      3);
  REQUIRE(cpu.launch(spec, geometry({64, 1, 1}, {32, 1, 1}), {&real, &wide, &count}).ok());
  CHECK(real == 1024.0f);
  CHECK(wide == 512.0);
  CHECK(count == 2048ULL << 33);
}

TEST_CASE("a lock held by another thread of the block is released in time") {
  CpuFixture cpu;
  std::vector<int> out(2, 0);
  const auto spec =
      make_spec(kernel_source("while (atomicCAS(&out[0], 0, 1) != 0) {}\n"
                              "const int seen = out[1]; __nanosleep(10); out[1] = seen + 1;\n"
                              "__threadfence(); atomicExch(&out[0], 0);"));
  REQUIRE(cpu.launch(spec, geometry({1, 1, 1}, {64, 1, 1}), {out.data()}).ok());
  CHECK(out[1] == 64);
}
