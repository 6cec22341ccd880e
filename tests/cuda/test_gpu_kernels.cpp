#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/measure/measure.hpp"
#include "gpu.hpp"

using namespace test;

namespace {

/// Compiles a configuration of the problem and validates it.
void check_right(Gpu& gpu, const hone::KernelSpec& spec, const Problem& problem, const Configuration& chosen) {
  const auto compiled = compile(*gpu.compiler, spec, {chosen}, problem.dtype, problem.shape);
  REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  const auto reference = compile_reference(*gpu.compiler, spec, problem.dtype, problem.shape);
  REQUIRE_MESSAGE(reference.ok(), reference.error().message);
  const auto plan = plan_launch(spec, problem, chosen, gpu.info);
  REQUIRE_MESSAGE(plan.ok(), plan.error().message);
  const auto loaded = gpu.device->load(*compiled[0], *plan, problem);
  REQUIRE_MESSAGE(loaded.ok(), loaded.error().message);
  auto bench = Bench::create(*gpu.device, spec, problem, *reference);
  REQUIRE_MESSAGE(bench.ok(), bench.error().message);
  const auto validation = (*bench)->validate(**loaded, chosen, 1);
  REQUIRE_MESSAGE(validation.ok(), validation.error().message);
  CHECK_MESSAGE(validation->outcome == Outcome::kOk, validation->detail);
}

/// Attention's default problem takes kernels for any device a fifth of a second.
Shape short_enough(const hone::KernelSpec& spec) {
  return operation_of(spec).starts_with("attention") ? Shape{{"batch", 1}, {"heads", 4}} : Shape{};
}

}  // namespace

TEST_CASE_FIXTURE(Gpu, "every built-in kernel's default configuration is right, and is timed") {
  for (const hone::KernelSpec* const kernel : builtin_kernels()) {
    const hone::KernelSpec& spec = *kernel;
    for (const DTypes& dtype : spec.dtypes) {
      CAPTURE(spec.name);
      CAPTURE(std::string(name(dtype)));
      const auto problem = make_problem(spec, dtype, short_enough(spec));
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

TEST_CASE_FIXTURE(Gpu, "clusters, parts and sizes of heads that no default has are right") {
  struct Given {
    const char *kernel, *dtypes, *shape, *configuration;
  };
  const Given all[] = {
      {"decode_latent_wgmma", "bf16", "sequences=3,heads=70,longest=1000,varied=90,page=16", "split=3,cluster=2,lazy=8"},
      {"decode_latent_wgmma", "bf16", "sequences=2,heads=128,queries=2,longest=700,page=64", "cluster=2"},
      {"decode_latent_wgmma", "bf16", "sequences=2,heads=20,longest=520,page=520,latent=256,rope=0", "bn=128,stages=2"},
      {"decode_latent_wgmma", "f16", "sequences=2,heads=20,longest=520,page=24,latent=128", "stages=3,split=2"},
      {"attention_wgmma", "bf16", "batch=2,heads=3,queries=500,keys=700,head=96,causal=0", "consumers=3,bn=96,lazy=8,schedule=0"},
      {"attention_wgmma", "bf16", "batch=2,heads=3,queries=500,keys=700,head=192,value_head=128,layout=2", "consumers=2,bn=112,schedule=0"},
      {"attention_mma", "bf16", "batch=2,heads=3,queries=300,keys=400,head=160,value_head=96", "bn=16,stages=2"},
      {"attention_backward_wgmma", "bf16", "batch=2,heads=3,group=2,queries=500,keys=700,head=96,value_head=64,window=150", "stages=3"},
      {"attention_backward_wgmma", "f16", "batch=2,heads=3,queries=500,keys=700,head=64,causal=0,layout=2", "consumers=1,bm=128"},
      {"attention_backward_wgmma", "bf16", "batch=2,heads=3,group=2,queries=500,keys=500,head=64", "stages=3"},
      {"attention_backward_wgmma", "bf16", "batch=9,heads=2,queries=1000,keys=1300,packed=1,varied=100", "consumers=2"},
      {"attention_backward_mma", "bf16", "batch=2,heads=3,group=2,queries=300,keys=400,head=64,window=90,causal=0", "wm=32,bm=16,bn=64"},
      {"attention_backward_mma", "f16", "batch=9,heads=2,queries=1000,keys=1300,head=96,packed=1,varied=100", "warps=8,stages=1"},
      {"decode_mma", "T=bf16,KV=bf16", "sequences=3,heads=2,group=3,queries=2,longest=900,varied=50,page=16,head=96",
       "split=3,stages=2,residency=1"},
  };
  for (const Given& given : all) {
    CAPTURE(given.kernel);
    CAPTURE(given.shape);
    const hone::KernelSpec& spec = **find_builtin_kernel(given.kernel);
    const auto problem = make_problem(spec, parse_dtypes(given.dtypes).value(), parse_shape(spec, given.shape).value());
    REQUIRE_MESSAGE(problem.ok(), problem.error().message);
    if (const auto space = space_of(spec, *problem, info); space.ok()) {  // warpgroups are Hopper's alone
      const auto chosen = parse_configuration(spec.parameters, given.configuration);
      REQUIRE_MESSAGE(chosen.ok(), chosen.error().message);
      REQUIRE(space->contains(*chosen));
      check_right(*this, spec, *problem, *chosen);
    }
  }
}
