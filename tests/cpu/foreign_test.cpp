// Kernels that were not written for Hone, on the cpu device.

#include "plugins/cpu/dynamic_shared.hpp"
#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::kernel_source;
using cpu_test::make_spec;

TEST_CASE("configurations of one batch have macros of their own") {
  CpuFixture cpu;
  hone::KernelSpec spec = make_spec(
      "#include <hone/kernel.h>\nstruct Problem { long n = 1; };\nstruct Config { int value = 1; };\n"
      "#if VALUE > 2\n#define FACTOR 100\n#else\n#define FACTOR 10\n#endif\n"
      "extern \"C\" __global__ void __launch_bounds__(32) test_kernel(int* out, Problem p) {\n"
      "  extern __shared__\n    int kept[];\n  kept[threadIdx.x] = VALUE;\n  __syncthreads();\n  out[0] = kept[0] * FACTOR + ADDED;\n}\n");
  spec.parameters[0].compile_option = "-DVALUE={}";
  spec.flags = {"-DADDED=5", "--use_fast_math"};  // the second is not for this compiler
  spec.passes[0].takes_config = false;
  const auto compiled = cpu.compile(spec, {1, 3, 2});
  REQUIRE(compiled.size() == 3);
  const int expected[] = {15, 305, 25};
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE_MESSAGE(compiled[i].ok(), compiled[i].error().message);
    int out = -1;
    REQUIRE(cpu.launch(*compiled[i], geometry({1, 1, 1}, {1, 1, 1}, 128), {&out}).ok());
    CHECK(out == expected[i]);
  }
}

TEST_CASE("a file that includes headers of CUDA's own is not for the cpu device, which says so") {
  CpuFixture cpu;
  hone::KernelSpec spec = make_spec(kernel_source("out[0] = 1;"));
  spec.cuda_headers = {"cub/cub.cuh"};
  const auto compiled = cpu.compile(spec, {1, 2});
  REQUIRE(compiled.size() == 2);
  for (const auto& one : compiled) {
    REQUIRE_FALSE(one.ok());
    CHECK(one.error().message.find("includes <cub/cub.cuh>, which only CUDA's compiler can read: this kernel runs on cuda devices") !=
          std::string::npos);
  }
}

TEST_CASE("freestanding headers, limits and fixed-width integers") {
  CpuFixture cpu;
  const std::string helpers =
      "#include <cstdint>\n#include <limits>\n#include <array>\n#include <cmath>\n#include <type_traits>\n#include <utility>\n#include "
      "<math.h>\n"
      "#include <float.h>\n#include <stdio.h>\n";
  const auto out = cpu.run(
      "std::array<std::uint8_t, 3> a{250, 10, 0}; a[2] = a[0] + a[1]; int64_t wide = INT_MAX; std::swap(a[0], a[1]);"
      "static_assert(std::is_same_v<std::make_unsigned_t<int>, uint32_t>); static_assert(std::numeric_limits<short>::max() == SHRT_MAX);"
      "out[0] = a[2]; out[1] = (wide + 1) >> 31; out[2] = std::numeric_limits<float>::max() == FLT_MAX; out[3] = (int)(M_PI * 100);"
      "out[4] = a[0]; out[5] = std::numeric_limits<int>::min() == INT_MIN; out[6] = (int)std::sqrt(81.0f);",
      geometry({1, 1, 1}, {1, 1, 1}), 7, helpers);
  CHECK(out == std::vector<int>{4, 1, 1, 314, 10, 1, 9});
}

TEST_CASE("intrinsics on bytes and pairs of words") {
  CpuFixture cpu;
  const auto out = cpu.run(
      "out[0] = __byte_perm(0x33221100, 0x77665544, 0x7520) == 0x77552200; out[1] = __byte_perm(0x80, 0, 0x8888) == 0xffffffff;"
      "out[2] = __dp4a(0x01ff0203, 0x02040101, 10); out[3] = __dp4a(0xff000001u, 0x02000003u, 0u);"
      "out[4] = __funnelshift_l(0x80000000u, 1u, 1) == 3u; out[5] = __funnelshift_r(0x1u, 0x1u, 1) == 0x80000000u;"
      "out[6] = __umul64hi(1ull << 63, 4); out[7] = clock() != 0;",
      geometry({1, 1, 1}, {1, 1, 1}), 8);
  CHECK(out == std::vector<int>{1, 1, 10 + 2 - 4 + 2 + 3, 513, 1, 1, 2, 1});
}

TEST_CASE("declarations of dynamic shared memory keep their lines") {
  using hone::cpu::with_dynamic_shared;
  CHECK(with_dynamic_shared("a;\nextern __shared__ float s[];\nb;") == "a;\nfloat* s = static_cast<float*>(hone_dynamic_shared());\nb;");
  CHECK(with_dynamic_shared("extern __shared__ __align__(16) unsigned char s [ ] ;") ==
        "unsigned char* s = static_cast<unsigned char*>(hone_dynamic_shared());");
  CHECK(with_dynamic_shared("extern int x; __shared__ float s[4];") == "extern int x; __shared__ float s[4];");
}
