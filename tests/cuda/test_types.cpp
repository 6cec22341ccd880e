// Kernels over the narrow types, several types and vectors compile for GPUs with and without conversions of 8-bit floats.
#include <doctest/doctest.h>

#include <filesystem>

#include "engine/kernel/instantiation.hpp"
#include "plugins/cuda/compiler.hpp"
#include "plugins/cuda/utilities.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

using namespace test;

namespace {

const std::filesystem::path kKernels = std::filesystem::path(HONE_SOURCE_DIR) / "examples/kernels";

/// What the example lists, compiled for one architecture with its default configuration.
void compile_all(const std::string& architecture, const std::string& kernel) {
  auto compiler = cuda_plugin().compiler(compile_target(architecture));
  const Result<KernelSpec> spec = read_kernel_file(kKernels / (kernel + ".cu"));
  if (!compiler || !spec) {
    hone::tests::skip("nvrtc", compiler ? spec.error().message : compiler.error().message);
    REQUIRE((!spec && spec.error().code == ErrorCode::kUnavailable) == !spec);
    return;
  }
  Configuration defaults;
  for (const Parameter& parameter : spec->parameters) {
    defaults.values.push_back(parameter.default_value);
  }
  for (const DTypes& dtypes : spec->dtypes) {
    CAPTURE(kernel);
    CAPTURE(name(dtypes));
    const auto compiled = compile(**compiler, *spec, {defaults}, dtypes);
    REQUIRE_MESSAGE(compiled.at(0).ok(), compiled.at(0).error().message);
    const auto reference = compile_reference(**compiler, *spec, dtypes);
    REQUIRE_MESSAGE(reference.ok(), reference.error().message);
    CHECK(reference->symbols.size() == answer_code(*spec, {}).passes.size());
  }
}

}  // namespace

TEST_CASE("kernels over 8-bit floats compile where there are conversions of them and where there are none") {
  compile_all("sm_80", "quantize_fp8");
  compile_all("sm_90a", "quantize_fp8");
}

TEST_CASE("kernels over integers of all widths, several types and vectors compile") {
  for (const char* kernel : {"quantize_i8", "argmax", "byte_histogram", "move_points"}) {
    compile_all("sm_90a", kernel);
  }
}

TEST_CASE("the device's own code knows every dtype on every architecture") {
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    const auto compiler = cuda_plugin().compiler(compile_target(architecture));
    if (!compiler) {
      hone::tests::skip("nvrtc", compiler.error().message);
      return;
    }
    const auto code = cuda::utility_code(architecture);
    REQUIRE_MESSAGE(code.ok(), code.error().message);
  }
}
