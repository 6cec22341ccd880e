// Clusters, bulk copies and register caps of the memory-bound kernels meet ptxas here: no GPU is needed for that.

#include <doctest/doctest.h>

#include <random>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/space/search_space.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

using namespace test;

namespace {

struct Selection {
  const char* kernel;
  const char* shape;
  const char* configuration;  ///< empty: drawn at random
};

void check_compiles(Compiler& compiler, const DeviceInfo& device, const Selection& choice, std::mt19937_64& random) {
  const KernelSpec& spec = *find_builtin_kernel(choice.kernel).value();
  const DType dtype = random() % 2 == 0 ? DType::kBF16 : DType::kF32;
  const SearchSpace space = space_of(spec, make_problem(spec, dtype, parse_shape(choice.shape).value()).value(), device).value();
  const std::string given = choice.configuration;
  const Configuration configuration = given.empty() ? space.at(space.sample(random)) : parse_configuration(spec.parameters, given).value();
  CAPTURE(device.architecture);
  CAPTURE(choice.kernel);
  CAPTURE(text(spec.parameters, configuration));
  REQUIRE(space.index(configuration).has_value());
  const auto compiled = compile(compiler, spec, {configuration}, dtype);
  CHECK_MESSAGE(compiled.at(0).ok(), compiled.at(0).error().message);
}

}  // namespace

TEST_CASE("configurations of the memory-bound kernels drawn at random compile for each family") {
  std::mt19937_64 random(1);
  for (const auto& [architecture, capability] : {std::pair("sm_80", 80), std::pair("sm_90a", 90), std::pair("sm_100a", 100)}) {
    const DeviceInfo device = large_device(architecture, capability);
    const auto compiler = cuda_plugin().compiler(device);
    if (!compiler) {
      hone::tests::skip("nvrtc", compiler.error().message);
      return;
    }
    for (const char* kernel : {"softmax", "layernorm", "rmsnorm", "residual_rmsnorm", "row_sum", "bias_gelu", "transpose"}) {
      check_compiles(**compiler, device, {kernel, "rows=8192,cols=8192", ""}, random);
    }
    for (const char* kernel : {"copy", "full_sum", "scan"}) {
      check_compiles(**compiler, device, {kernel, "n=100000000", ""}, random);
    }
  }
}

TEST_CASE("clusters and bulk copies compile for Hopper") {
  std::mt19937_64 random(2);
  const DeviceInfo device = large_device("sm_90a", 90);
  const auto compiler = cuda_plugin().compiler(device);
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
    return;
  }
  const char* long_rows = "rows=128,cols=524288";
  const char* shared_out = "block=512,row_threads=512,cluster=16,items_per_thread=64,in_flight=0,unaligned_rows=false,min_blocks=1";
  const std::string stay = "cluster=16,in_flight=0,unaligned_rows=false,stages=4,lookahead=2,reserved_clusters=1,min_blocks=1";
  const std::string stay_weights = stay + ",weights=early", stay_layernorm = stay_weights + ",two_pass=false";
  const char* rows = "rows=128,cols=131072";
  for (const Selection& choice :
       {Selection{"softmax", long_rows, shared_out}, Selection{"layernorm", long_rows, shared_out},
        Selection{"residual_rmsnorm", long_rows, shared_out}, Selection{"softmax", rows, stay.c_str()},
        Selection{"rmsnorm", rows, stay_weights.c_str()}, Selection{"layernorm", rows, stay_layernorm.c_str()},
        Selection{"row_sum", long_rows, "block=512,row_threads=512,cluster=4,in_flight=2,unaligned_rows=false,bulk=true,split=8"},
        Selection{"copy", "n=100000000", "block=1024,in_flight=1,resident=2,stages=4"},
        Selection{"transpose", "rows=8192,cols=8192", "block=128,path=tma"},
        Selection{"scan", "n=100000000", "warps=20,packets_per_thread=7,steps=3"}}) {
    check_compiles(**compiler, device, choice, random);
  }
}
