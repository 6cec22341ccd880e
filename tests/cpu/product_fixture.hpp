#pragma once
// Validates configurations of a built-in kernel on the cpu device, against its reference.

#include <string>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/measure/measure.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/store/lookup.hpp"
#include "tests/cpu/cpu_fixture.hpp"

namespace cpu_test {

struct ProductCase {
  std::string shape, configuration;
};

/// Checks that each configuration is valid for its shape and gives the reference's answer.
inline void check_products(const std::string& kernel, const hone::DTypes& dtype, const std::vector<ProductCase>& cases) {
  CpuFixture cpu;
  const hone::KernelSpec& spec = *hone::find_builtin_kernel(kernel).value();
  for (const ProductCase& one : cases) {
    CAPTURE(one.shape);
    CAPTURE(one.configuration);
    const hone::Configuration configuration = hone::parse_configuration(spec.parameters, one.configuration).value();
    const hone::Problem problem = hone::make_problem(spec, dtype, hone::parse_shape(one.shape).value()).value();
    REQUIRE(hone::valid_for(spec, problem, cpu.info(), configuration));
    hone::CompileRequest request{.spec = &spec, .dtype = problem.dtype, .configurations = {configuration}, .shape = problem.shape};
    const auto compiled = cpu.compiler().compile(request);
    REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
    request.reference = true;
    const auto reference = cpu.compiler().compile(request);
    REQUIRE(reference.at(0).ok());
    const auto plan = hone::plan_launch(spec, problem, configuration, cpu.info()).value();
    const auto loaded = cpu.device().load(*compiled[0], plan, problem).value();
    const auto bench = hone::Bench::create(cpu.device(), spec, problem, *reference.at(0)).value();
    const hone::Validation validation = bench->validate(*loaded, configuration, 1).value();
    CHECK_MESSAGE(validation.outcome == hone::Outcome::kOk, validation.detail);
    CHECK(validation.max_error > 0.0);
  }
}

}  // namespace cpu_test
