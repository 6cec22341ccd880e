#include <doctest/doctest.h>

#include "hone/configuration.hpp"
#include "test_kernels.hpp"

using namespace test;

TEST_CASE("every built-in kernel's default configuration and reference compile for each family and dtype") {
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100a"}) {
    const auto compiler = cuda_plugin().compiler(compile_target(architecture));
    if (!compiler) {
      MESSAGE("not run: " << compiler.error().message);
      return;
    }
    for (const KernelSpec& spec : builtin_kernels()) {
      for (const DType dtype : spec.dtypes) {
        CAPTURE(architecture);
        CAPTURE(spec.name);
        CAPTURE(std::string(name(dtype)));
        const auto compiled = compile(**compiler, spec, {default_configuration(spec)}, dtype);
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
