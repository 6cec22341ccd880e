// Kernels that were not written for Hone, and headers that are not its own, with NVRTC. No GPU is needed.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "plugins/cuda/nvrtc.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

using namespace test;

namespace {

std::unique_ptr<Compiler> compiler_for_sm90() {
  auto found = cuda_plugin().compiler(compile_target("sm_90a"));
  if (!found) {
    hone::tests::skip("nvrtc", found.error().message);
    return nullptr;
  }
  return std::move(found).value();
}

/// Whether NVRTC finds a header of CUDA, CCCL or CUTLASS on this machine.
bool has_header(const char* header) {
  const auto nvrtc = hone::cuda::nvrtc();
  const bool found = nvrtc.ok() && std::ranges::any_of((*nvrtc)->includes, [&](const std::string& option) {
                       return std::filesystem::exists(std::filesystem::path(option.substr(2)) / header);
                     });
  if (!found) {
    hone::tests::skip("cuda_headers", std::string(header) + " is not on this machine");
  }
  return found;
}

/// A kernel as others write it: no template, the configuration in macros, a limit of threads that must fit.
KernelSpec foreign_spec() {
  KernelSpec spec = twice_spec();
  spec.source =
      "#include <hone/kernel.h>\nstruct Problem { long n = 1000, unused = 7; };\nstruct Config { int block, vec, shared, cap; };\n"
      "#if VEC == 8\n#error \"vec 8 is not supported\"\n#endif\n"
      "extern \"C\" __global__ void __launch_bounds__(BLOCK) twice(const float* x, float* y, Problem p) {\n"
      "  __shared__ float kept[BLOCK * VEC];\n  kept[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
      "  y[threadIdx.x] = FACTOR * kept[BLOCK - threadIdx.x];\n}\n"
      "REFERENCE(p.n) void twice_reference(long i, const float* x, double* y, Problem p) { y[i] = FACTOR * x[i] * (VEC > 0); }\n";
  spec.templated_on_type = false;
  spec.passes[0].takes_config = false;
  spec.parameters[0].compile_option = "-DBLOCK={}";
  spec.parameters[1].compile_option = "-DVEC={}";
  spec.flags = {"-DFACTOR=2.0f", "--use_fast_math"};
  return spec;
}

}  // namespace

TEST_CASE("each configuration of somebody else's kernel is a program with its macros") {
  const auto compiler = compiler_for_sm90();
  if (compiler == nullptr) {
    return;
  }
  const KernelSpec spec = foreign_spec();
  const auto compiled =
      compile(*compiler, spec, {configuration({256, 1, 0, 0}), configuration({64, 8, 0, 0}), configuration({64, 4, 0, 0})});
  REQUIRE(compiled.size() == 3);
  REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  REQUIRE_MESSAGE(compiled[2].ok(), compiled[2].error().message);
  CHECK(compiled[0]->symbols == std::vector<std::string>{"twice"});  // extern "C"
  CHECK(compiled[0]->resources.shared_bytes == 256 * 4);
  CHECK(compiled[2]->resources.shared_bytes == 64 * 4 * 4);
  REQUIRE_FALSE(compiled[1].ok());
  CHECK(compiled[1].error().message.find("vec 8 is not supported") != std::string::npos);
  const auto reference = compile_reference(*compiler, spec);
  CHECK_MESSAGE(reference.ok(), reference.error().message);
}

TEST_CASE("C's integers and limits need no header, and C++'s freestanding headers no toolkit") {
  const auto compiler = compiler_for_sm90();
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.source +=
      "__device__ uint64_t numbers(int32_t i, uint8_t b) { return i == INT_MAX && FLT_MAX > M_PI * b ? CHAR_BIT : UINT_MAX; }\n"
      "#include <cstdint>\n#include <cfloat>\n#include <climits>\n#include <cmath>\n#include <math.h>\n#include <stdint.h>\n#include "
      "<stdio.h>\n"
      "#include <type_traits>\n#include <limits>\n#include <utility>\n#include <array>\n"
      "__device__ float more(std::uint32_t i) {\n"
      "  std::array<float, 4> a{};\n  std::swap(a[0], a[1]);\n"
      "  static_assert(std::is_same_v<std::make_unsigned_t<int>, std::uint32_t> && std::numeric_limits<int>::max() == INT_MAX);\n"
      "  static_assert(std::make_index_sequence<4>::size() == 4);\n"
      "  return std::sqrt(a[i & 3]) + std::numeric_limits<float>::infinity() + std::move(a[0]);\n}\n";
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
  CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
}

TEST_CASE("the toolkit's headers go together with the integers and the limits of kernel.h") {
  const auto compiler = compiler_for_sm90();
  if (compiler == nullptr) {
    return;
  }
  for (const auto& [header, code] : {std::pair{"cuda_fp16.h", "__device__ __half f(float x) { return __float2half(x); }"},
                                     std::pair{"cuda_fp8.h", "__device__ __nv_fp8_e4m3 f(float x) { return __nv_fp8_e4m3(x); }"},
                                     std::pair{"mma.h",
                                               "using Fragment = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, "
                                               "nvcuda::wmma::row_major>;"},
                                     std::pair{"cooperative_groups.h", "__device__ void f() { cooperative_groups::this_grid().sync(); }"},
                                     std::pair{"cub/block/block_scan.cuh",
                                               "__device__ void f(int& x) { __shared__ cub::BlockScan<int, 128>::TempStorage kept;"
                                               " cub::BlockScan<int, 128>(kept).InclusiveSum(x, x); }"},
                                     std::pair{"cute/tensor.hpp", "using Tile = cute::Shape<cute::_128, cute::_64>;"}}) {
    if (!has_header(header)) {
      continue;
    }
    CAPTURE(header);
    KernelSpec spec = twice_spec();
    spec.source += std::string("#include <") + header + ">\n#include <cstdint>\n" + code + "\n";
    const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
    CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  }
}

TEST_CASE("a header that is not there says where it comes from") {
  const auto compiler = compiler_for_sm90();
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.source = "#include <cutlass/nothing.h>\n" + spec.source;
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
  REQUIRE_FALSE(compiled[0].ok());
  CHECK(compiled[0].error().message.find(
            "cutlass/nothing.h comes with the CUDA toolkit, CCCL or CUTLASS: name its folder with --cuda-include") != std::string::npos);
}
