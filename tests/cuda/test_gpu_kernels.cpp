#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/measure/measure.hpp"
#include "gpu.hpp"

using namespace test;

TEST_CASE_FIXTURE(Gpu, "every built-in kernel's default configuration is right, and is timed") {
  for (const hone::KernelSpec* const kernel : builtin_kernels()) {
    const hone::KernelSpec& spec = *kernel;
    for (const DTypes& dtype : spec.dtypes) {
      CAPTURE(spec.name);
      CAPTURE(std::string(name(dtype)));
      const auto problem = make_problem(spec, dtype, {});
      REQUIRE_MESSAGE(problem.ok(), problem.error().message);
      const Configuration chosen = untuned(spec, dtype, info);
      const auto compiled = compile(*compiler, spec, {chosen}, dtype);
      REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
      const auto reference = compile_reference(*compiler, spec, dtype);
      REQUIRE_MESSAGE(reference.ok(), reference.error().message);
      const auto plan = plan_launch(spec, *problem, chosen, info);
      REQUIRE_MESSAGE(plan.ok(), plan.error().message);
      const auto loaded = device->load(*compiled[0], *plan, *problem);
      REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
      auto bench = Bench::create(*device, spec, *problem, *reference);
      REQUIRE_MESSAGE(bench.ok(), bench.error().message);
      const auto validation = (*bench)->validate(**loaded, chosen, 1);
      REQUIRE_MESSAGE(validation.ok(), validation.error().message);
      CHECK_MESSAGE(validation->outcome == Outcome::kOk, validation->detail);
      Readings readings;
      const auto measured = (*bench)->time(**loaded, chosen, MeasureSettings{}, std::nullopt, readings);
      REQUIRE_MESSAGE(measured.ok(), measured.error().message);
      CHECK_MESSAGE(measured->validation.ok(), measured->validation.detail);
      CHECK(measured->measurement.median_us > 0.0);
      MESSAGE(spec.name << " " << std::string(name(dtype)) << ": " << measured->measurement.median_us << " us, error "
                        << validation->max_error << " of what is allowed, at " << readings.sm_clock_mhz << " MHz");
    }
  }
}
