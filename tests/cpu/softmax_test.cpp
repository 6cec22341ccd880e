#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/measure/measure.hpp"
#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;

TEST_CASE("softmax equals its reference in every dtype it supports") {
  CpuFixture cpu;
  const hone::KernelSpec& spec = *hone::find_builtin_kernel("softmax").value();
  constexpr std::int64_t kRows = 33, kCols = 515;
  constexpr std::size_t kElements = kRows * kCols;
  for (const hone::DTypes& dtypes : spec.dtypes) {
    const hone::DType dtype = dtypes.first();
    CAPTURE(hone::name(dtype));
    hone::CompileRequest request;
    request.spec = &spec;
    request.dtype = dtype;
    request.configurations = {hone::default_configuration(spec),
                              hone::parse_configuration(spec.parameters, "block=128,row_threads=32").value()};
    const auto compiled = cpu.compiler().compile(request);
    request.reference = true;
    const auto reference = cpu.compiler().compile(request);
    REQUIRE(reference.at(0).ok());

    const hone::Problem problem = hone::make_problem(spec, dtype, {{"rows", kRows}, {"cols", kCols}}).value();
    std::vector<std::byte> x(kElements * hone::size_of(dtype)), y(x.size());
    std::vector<double> expected(kElements);
    REQUIRE(cpu.device().randomize(x.data(), dtype, kElements, 1).ok());
    void* pointers[] = {x.data(), y.data(), expected.data()};
    void* const reference_arguments[] = {&pointers[0], &pointers[2]};
    const auto passes = hone::plan_reference(spec, problem).value();
    REQUIRE(cpu.device().load_reference(*reference.at(0), passes, problem).value()->launch(nullptr, reference_arguments).ok());
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      REQUIRE(compiled[i].ok());
      const auto plan = hone::plan_launch(spec, problem, request.configurations[i], cpu.info()).value();
      const auto kernel = cpu.device().load(*compiled[i], plan, problem).value();
      void* const arguments[] = {&pointers[0], &pointers[1]};
      REQUIRE(kernel->launch(nullptr, arguments).ok());
      const auto comparison = cpu.device().compare(y.data(), dtype, expected.data(), kElements, hone::tolerance(dtype, kCols)).value();
      CHECK(comparison.mismatches == 0);
      CHECK(comparison.max_error > 0.0);
    }
  }
}
