#include <doctest/doctest.h>

#include <filesystem>
#include <random>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/instantiation.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/kernel/small_problems.hpp"
#include "engine/space/search_space.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

using namespace test;

TEST_CASE("every built-in kernel's default configuration and reference compile for each family and dtype") {
  for (const auto& [architecture, capability] : {std::pair("sm_80", 80), std::pair("sm_90a", 90), std::pair("sm_100a", 100)}) {
    const DeviceInfo device = large_device(architecture, capability);
    const auto compiler = cuda_plugin().compiler(device);
    if (!compiler) {
      hone::tests::skip("nvrtc", compiler.error().message);
      return;
    }
    for (const KernelSpec* const kernel : builtin_kernels()) {
      const KernelSpec& spec = *kernel;
      for (const DTypes& dtype : spec.dtypes) {
        CAPTURE(device.architecture);
        CAPTURE(spec.name);
        CAPTURE(std::string(name(dtype)));
        const auto compiled = compile(**compiler, spec, {untuned(spec, dtype, device)}, dtype);
        REQUIRE(compiled.size() == 1);
        CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
        // References differ from one family to another in nothing.
        if (std::string_view(architecture) == "sm_90a") {
          const auto reference = compile_reference(**compiler, spec, dtype);
          CHECK_MESSAGE(reference.ok(), reference.error().message);
        }
      }
    }
  }
}

TEST_CASE("the example kernels, their generators and what accepts their results compile for each family") {
  if (!find_libclang()) {
    hone::tests::skip("libclang", find_libclang().error().message);
    return;
  }
  for (const auto& [architecture, capability] : {std::pair("sm_80", 80), std::pair("sm_90a", 90), std::pair("sm_100a", 100)}) {
    const DeviceInfo device = large_device(architecture, capability);
    const auto compiler = cuda_plugin().compiler(device);
    if (!compiler) {
      hone::tests::skip("nvrtc", compiler.error().message);
      return;
    }
    for (const auto& file : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/examples/kernels")) {
      if (file.path().extension() != ".cu") {
        continue;
      }
      CAPTURE(file.path().string());
      const auto spec = read_kernel_file(file.path());
      REQUIRE_MESSAGE(spec.ok(), spec.error().message);
      if (!spec->cuda_headers.empty() && std::string_view(architecture) != "sm_90a") {
        continue;  // seconds each
      }
      const auto compiled = compile(**compiler, *spec, {untuned(*spec, spec->dtypes.front(), device)}, spec->dtypes.front());
      if (!spec->cuda_headers.empty() && !compiled[0] &&
          compiled[0].error().message.find("comes with the CUDA toolkit") != std::string::npos) {
        MESSAGE("not run: " << compiled[0].error().message);
        continue;
      }
      CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
      const auto answer = compile_reference(**compiler, *spec, spec->dtypes.front());
      REQUIRE_MESSAGE(answer.ok(), answer.error().message);
      CHECK(answer->symbols.size() == answer_code(*spec, make_problem(*spec, spec->dtypes.front(), {}).value().shape).passes.size());
    }
  }
}

TEST_CASE("configurations of the products drawn at random compile for each family, in every layout") {
  std::mt19937_64 random(1);
  for (const auto& [architecture, capability] : {std::pair("sm_80", 80), std::pair("sm_90a", 90), std::pair("sm_100a", 100)}) {
    const DeviceInfo device = large_device(architecture, capability);
    const auto compiler = cuda_plugin().compiler(device);
    if (!compiler) {
      hone::tests::skip("nvrtc", compiler.error().message);
      return;
    }
    for (const std::string shape : {"gemm m=333,n=1777,k=511,layout=1,terms=4,activation=3", "gemm m=512,n=512,k=512,layout=4",
                                    "gemv n=4096,k=4096,layout=1,terms=2,activation=4", "gemv n=4096,k=4096,layout=2"}) {
      const KernelSpec& spec = *find_builtin_kernel(shape.substr(0, 4)).value();
      const Problem problem = make_problem(spec, DType::kF32, parse_shape(shape.substr(5)).value()).value();
      const SearchSpace space = space_of(spec, problem, device).value();
      const Configuration drawn = space.at(space.sample(random));
      CAPTURE(architecture);
      CAPTURE(shape);
      CAPTURE(text(spec.parameters, drawn));
      const auto compiled = compile(**compiler, spec, {drawn}, DType::kF32, problem.shape);
      CHECK_MESSAGE(compiled.at(0).ok(), compiled.at(0).error().message);
    }
  }
}

TEST_CASE("ragged problems keep the variant that the caller chose") {
  const KernelSpec& spec = *find_builtin_kernel("gemm").value();
  const Problem problem = make_problem(spec, DType::kF32, parse_shape("m=512,n=512,k=512,layout=3,activation=2").value()).value();
  const std::vector<Problem> ragged = ragged_problems(spec, problem, 1 << 16);
  REQUIRE(!ragged.empty());
  for (const Problem& small : ragged) {
    CAPTURE(text(small.shape));
    CHECK(bindings(small).at("p.layout").integer() == 3);
    CHECK(bindings(small).at("p.terms").integer() == 1);
    CHECK(bindings(small).at("p.activation").integer() == 2);
    CHECK(bindings(small).at("p.m").integer() != 512);
  }
}
