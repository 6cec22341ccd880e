// Attention on tensor cores: which configurations there are for which hardware, and that those compile without local memory.

#include <doctest/doctest.h>

#include <string>

#include "engine/space/likely_space.hpp"
#include "sampled_kernels.hpp"

using namespace test;

namespace {

Problem attention_problem(const KernelSpec& spec, const Shape& shape, const DTypes& dtypes = DType::kBF16) {
  return make_problem(spec, dtypes, shape).value();
}

/// Compiles these configurations, and requires that all that a thread holds is in its registers.
void check_registers(const char* kernel, const Shape& shape, const DeviceInfo& device, const std::vector<std::string>& configurations,
                     const DTypes& dtypes = DType::kBF16) {
  const auto compiler = cuda_plugin().compiler(device);
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
    return;
  }
  const KernelSpec& spec = **find_builtin_kernel(kernel);
  const Problem problem = attention_problem(spec, shape, dtypes);
  for (const std::string& given : configurations) {
    CAPTURE(given);
    const Configuration configuration = parse_configuration(spec.parameters, given).value();
    const auto plan = plan_launch(spec, problem, configuration, device);
    REQUIRE_MESSAGE(plan.ok(), plan.error().message);
    const auto compiled = compile(**compiler, spec, {configuration}, problem.dtype, problem.shape);
    REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
    CHECK(static_reject(*plan, compiled[0]->resources, device) == "");
    CHECK(compiled[0]->resources.spill_bytes == 0);
  }
}

}  // namespace

TEST_CASE("attention by warpgroups is for Hopper, and its tensor maps obey the rules of the hardware") {
  const KernelSpec& spec = **find_builtin_kernel("attention_wgmma");
  for (const Shape& shape :
       {Shape{}, Shape{{"head", 64}, {"layout", 2}, {"causal", 0}},
        Shape{{"head", 256}, {"heads", 3}, {"group", 5}, {"queries", 77}, {"keys", 1001}},
        Shape{{"head", 96}, {"heads", 3}, {"queries", 77}, {"keys", 1001}, {"layout", 2}}, Shape{{"head", 32}},
        Shape{{"head", 192}, {"value_head", 128}}, Shape{{"packed", 1}, {"batch", 7}, {"queries", 1000}, {"keys", 3001}, {"varied", 90}}}) {
    const Problem problem = attention_problem(spec, shape);
    CAPTURE(text(problem.shape));
    for (const auto& other : {large("sm_80", 80), large("sm_100a", 100)}) {
      CHECK_FALSE(space_of(spec, problem, other).ok());
    }
    const DeviceInfo hopper = large("sm_90a", 90);
    const auto space = space_of(spec, problem, hopper);
    REQUIRE_MESSAGE(space.ok(), space.error().message);
    CHECK(space->size() > 100);
    check_plans(spec, problem, *space, hopper, 100);
  }
}

TEST_CASE("attention by warpgroups compiles, and likely configurations use no local memory") {
  const DeviceInfo hopper = large("sm_90a", 90);
  check_registers("attention_wgmma", {}, hopper, {"", "bn=176,schedule=1"});
  check_registers("attention_wgmma", {{"head", 64}, {"causal", 0}, {"layout", 2}}, hopper,
                  {"consumers=3,bn=128,by_fma=2,lazy=8", "consumers=3,bn=128,q_stages=2"});
  check_registers("attention_wgmma", {{"head", 256}}, hopper, {"bn=80,schedule=0,pingpong=false"});
  for (const std::int64_t head : {32, 96, 160, 224}) {  // no whole panels of 64 columns
    CAPTURE(head);
    check_registers("attention_wgmma", {{"head", head}}, hopper, {"bn=64"});
  }
  check_registers("attention_wgmma", {{"head", 192}, {"value_head", 128}}, hopper, {"bn=112", "bn=128,lazy=8"});
  check_registers("attention_wgmma", {{"packed", 1}}, hopper, {"", "bn=176,schedule=1"});
  check_registers("attention_wgmma", {{"packed", 1}, {"head", 64}}, hopper, {"consumers=3,schedule=1,cluster=2"});
}

TEST_CASE("attention of 8-bit floats compiles, and likely configurations use no local memory") {
  const DeviceInfo hopper = large("sm_90a", 90);
  check_registers("attention_fp8", {}, hopper, {"", "bn=192,schedule=1", "consumers=3,bn=96,stages=4,q_stages=2,lazy=0"});
  check_registers("attention_fp8", {{"head", 64}, {"causal", 0}, {"layout", 2}}, hopper,
                  {"consumers=3,bn=128", "consumers=3,bn=96,q_stages=2,lazy=0"});
  check_registers("attention_fp8", {{"head", 256}}, hopper, {"bn=96,schedule=0"});
  check_registers("attention_fp8", {{"packed", 1}}, hopper, {"q_stages=2", "consumers=3,bn=96"});
  const KernelSpec& spec = **find_builtin_kernel("attention_fp8");
  const Problem problem = attention_problem(spec, {});
  const auto space = space_of(spec, problem, hopper);
  REQUIRE_MESSAGE(space.ok(), space.error().message);
  check_plans(spec, problem, *space, hopper, 50);
  CHECK_FALSE(space_of(spec, problem, large("sm_100a", 100)).ok());
}

TEST_CASE("the backward pass of attention by warpgroups is for Hopper, and its tensor maps obey the rules of the hardware") {
  const KernelSpec& spec = **find_builtin_kernel("attention_backward_wgmma");
  const DeviceInfo hopper = large("sm_90a", 90);
  check_registers("attention_backward_wgmma", {}, hopper, {"", "stages=3,raster=1"});
  check_registers("attention_backward_wgmma", {{"head", 64}, {"causal", 0}, {"layout", 2}}, hopper, {"stages=4", "consumers=1,bm=128"});
  check_registers("attention_backward_wgmma", {{"head", 96}, {"value_head", 64}, {"window", 100}}, hopper, {""});
  check_registers("attention_backward_wgmma", {{"packed", 1}}, hopper, {""});
  for (const Shape& shape : {Shape{}, Shape{{"head", 64}, {"layout", 2}, {"causal", 0}},
                             Shape{{"head", 32}, {"heads", 3}, {"group", 5}, {"queries", 77}, {"keys", 1001}},
                             Shape{{"packed", 1}, {"batch", 7}, {"queries", 1000}, {"keys", 3001}, {"varied", 90}}}) {
    const Problem problem = attention_problem(spec, shape);
    CAPTURE(text(problem.shape));
    const auto space = space_of(spec, problem, hopper);
    REQUIRE_MESSAGE(space.ok(), space.error().message);
    check_plans(spec, problem, *space, hopper, 50);
    CHECK_FALSE(space_of(spec, problem, large("sm_100a", 100)).ok());
  }
  CHECK_FALSE(space_of(spec, attention_problem(spec, {{"head", 256}}), hopper).ok());  // dk and dv of it are not in registers
}

TEST_CASE("the backward pass of attention by warps compiles for each family since Ampere") {
  check_registers("attention_backward_mma", {}, large("sm_80", 80), {"", "warps=8,bn=64,raster=16"});
  check_registers("attention_backward_mma", {{"head", 64}, {"causal", 0}, {"layout", 2}}, large("sm_90a", 90), {"bn=64,bm=64"});
  check_registers("attention_backward_mma", {{"packed", 1}}, large("sm_100a", 100), {"bm=16"});
  const KernelSpec& spec = **find_builtin_kernel("attention_backward_mma");
  CHECK_FALSE(space_of(spec, attention_problem(spec, {}), large("sm_75", 75)).ok());
}

TEST_CASE("attention by warps compiles for each family since Ampere") {
  check_registers("attention_mma", {}, large("sm_80", 80), {"", "held=true,stages=2,by_fma=2,lazy=8"});
  check_registers("attention_mma", {{"head", 64}, {"causal", 0}, {"layout", 2}}, large("sm_90a", 90), {"warps=8,bn=128"});
  check_registers("attention_mma", {{"head", 256}}, large("sm_100a", 100), {"bn=32"});
  check_registers("attention_mma", {{"head", 96}}, large("sm_80", 80), {"stages=2"});
  check_registers("attention_mma", {{"packed", 1}}, large("sm_80", 80), {"", "held=true,stages=2"});
  const KernelSpec& spec = **find_builtin_kernel("attention_mma");
  CHECK_FALSE(space_of(spec, attention_problem(spec, {}), large("sm_75", 75)).ok());
}

TEST_CASE("decoding by warps compiles for each family since Ampere; only split sequences have a second pass") {
  check_registers("decode_mma", {}, large("sm_80", 80), {"", "split=8,stages=4"});
  check_registers("decode_mma", {{"head", 64}, {"page", 16}}, large("sm_90a", 90), {"bn=16,split=4,wm=32"});
  for (const std::int64_t head : {32, 96, 160}) {
    CAPTURE(head);
    check_registers("decode_mma", {{"head", head}}, large("sm_90a", 90), {"split=4,once=true,stages=2"});
  }
  check_registers("decode_mma", {{"head", 256}, {"queries", 8}}, large("sm_100a", 100), {"stages=2"});
  check_registers("decode_mma", {{"sequences", 1}, {"longest", 32768}}, large("sm_90a", 90), {"split=16,cluster=true,warps=8,residency=1"});
  const KernelSpec& spec = **find_builtin_kernel("decode_mma");
  const DeviceInfo hopper = large("sm_90a", 90);
  const auto passes = [&](const char* configuration) {
    return plan_launch(spec, attention_problem(spec, {}), parse_configuration(spec.parameters, configuration).value(), hopper)
        .value()
        .size();
  };
  CHECK(passes("split=1") == 1);
  CHECK(passes("split=2") == 2);
  CHECK(passes("split=2,cluster=true") == 1);
}

TEST_CASE("decoding by warps takes caches of other types than that of the queries") {
  const DTypes narrow{{"T", DType::kBF16}, {"KV", DType::kE4M3}};
  check_registers("decode_mma", {}, large("sm_80", 80), {"", "split=8,stages=4"}, narrow);
  check_registers("decode_mma", {}, large("sm_90a", 90), {"held=true,bn=32,stages=6,warps=2"}, narrow);
  check_registers("decode_mma", {{"head", 64}, {"page", 16}}, large("sm_90a", 90), {"bn=16,split=4,wm=32"}, narrow);
  check_registers("decode_mma", {{"head", 256}, {"queries", 8}}, large("sm_100a", 100), {"stages=2,residency=1"}, narrow);
  check_registers("decode_mma", {}, large("sm_90a", 90), {""}, {{"T", DType::kF16}, {"KV", DType::kBF16}});
}

TEST_CASE("no asynchronous copy has a cache policy beside a uniform address, which the assembler gets wrong") {
  const DeviceInfo hopper = large("sm_90a", 90);
  const auto compiler = cuda_plugin().compiler(hopper);
  if (!compiler) {
    hone::tests::skip("nvrtc", compiler.error().message);
    return;
  }
  const DTypes narrow{{"T", DType::kBF16}, {"KV", DType::kE4M3}};
  const auto copies_beside_uniform = [&](const char* kernel, const DTypes& dtypes, const char* given, const Shape& shape = {}) {
    const KernelSpec& spec = **find_builtin_kernel(kernel);
    const Problem problem = attention_problem(spec, shape, dtypes);
    const auto compiled = compile(**compiler, spec, {parse_configuration(spec.parameters, given).value()}, problem.dtype, problem.shape);
    REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
    const auto& code = compiled[0]->artifact->bytes;
    int count = 0, others = 0;
    for (std::size_t at = 0; at + 16 <= code.size(); at += 16) {
      // Instructions have 16 bytes; the opcode and its form are the lowest 12 bits.
      const int form = std::to_integer<int>(code[at + 1]) & 0x0f;
      const bool copies = std::to_integer<int>(code[at]) == 0xae;
      count += copies && form == 0x0d ? 1 : 0;
      others += copies && form == 0x0f ? 1 : 0;
    }
    CHECK(others > 0);  // ordinary ones are seen
    return count;
  };
  CHECK(copies_beside_uniform("decode_latent_mma", DType::kBF16, "") == 0);
  for (const char* const given :
       {"warps=8,wm=32,bn=16,stages=1,held=true,raster=16,lazy=8,by_fma=2", "warps=4,bn=16,stages=2", "warps=8,bn=16,stages=3"}) {
    CAPTURE(given);
    CHECK(copies_beside_uniform("attention_mma", DType::kBF16, given) == 0);
  }
  for (const std::int64_t head : {96, 160}) {  // whose lines are no power of two
    CAPTURE(head);
    CHECK(copies_beside_uniform("decode_mma", DType::kBF16, "stages=2,once=true,residency=1", {{"head", head}}) == 0);
    CHECK(copies_beside_uniform("attention_mma", DType::kBF16, "stages=2,bn=16", {{"head", head}}) == 0);
  }
  for (const char* const once : {"false", "true"}) {
    for (const char* const given : {"warps=2,wm=16,bn=64,stages=4,split=2", "warps=1,wm=16,bn=32,stages=8,split=4,held=true"}) {
      CAPTURE(given);
      CHECK(copies_beside_uniform("decode_mma", narrow, (std::string(given) + ",once=" + once).c_str()) == 0);
    }
  }
}

TEST_CASE("decoding over a latent cache compiles for each family since Ampere") {
  check_registers("decode_latent_mma", {}, large("sm_80", 80), {"warps=4,bn=32"});
  check_registers("decode_latent_mma", {{"heads", 128}}, large("sm_90a", 90), {"", "wm=32", "wm=64,split=2"});
  check_registers("decode_latent_mma", {{"queries", 4}}, large("sm_100a", 100), {"split=4,stages=2"});
}

TEST_CASE("decoding over a latent cache by warpgroups is for Hopper, and its tensor maps obey the rules of the hardware") {
  const KernelSpec& spec = **find_builtin_kernel("decode_latent_wgmma");
  const DeviceInfo hopper = large("sm_90a", 90);
  check_registers("decode_latent_wgmma", {{"heads", 128}}, hopper, {"", "split=2,lazy=8", "cluster=2"});
  check_registers("decode_latent_wgmma", {{"latent", 256}, {"rope", 0}}, hopper, {"bn=128", "stages=4,split=3"});
  for (const Shape& shape : {Shape{}, Shape{{"heads", 128}, {"queries", 3}, {"page", 16}}, Shape{{"longest", 1000}, {"page", 1000}},
                             Shape{{"latent", 128}, {"heads", 7}, {"page", 24}}}) {
    const Problem problem = attention_problem(spec, shape);
    CAPTURE(text(problem.shape));
    const auto space = space_of(spec, problem, hopper);
    REQUIRE_MESSAGE(space.ok(), space.error().message);
    check_plans(spec, problem, *space, hopper, 50);
    CHECK_FALSE(space_of(spec, problem, large("sm_100a", 100)).ok());
  }
  // Pieces of a page are 8 lines or more, and none reaches beyond it.
  CHECK_FALSE(space_of(spec, attention_problem(spec, {{"page", 100}}), hopper).ok());
  CHECK_FALSE(space_of(spec, attention_problem(spec, {{"longest", 1001}, {"page", 1001}}), hopper).ok());
}

TEST_CASE("pages of a latent cache may have any size") {
  const KernelSpec& spec = **find_builtin_kernel("decode_latent_mma");
  for (const std::int64_t page : {1, 16, 100, 4096}) {
    CHECK(space_of(spec, attention_problem(spec, {{"page", page}}), large("sm_90a", 90)).ok());
  }
}

TEST_CASE("the keys of a step of decode lie in one page") {
  const KernelSpec& spec = **find_builtin_kernel("decode_mma");
  const auto has = [&](std::int64_t page, const char* configuration) {
    const auto space = space_of(spec, attention_problem(spec, {{"page", page}}), large("sm_90a", 90));
    return space.ok() && space->contains(parse_configuration(spec.parameters, configuration).value());
  };
  CHECK(has(16, "bn=16"));
  CHECK_FALSE(has(16, "bn=32"));
  CHECK_FALSE(has(100, "bn=16"));
  CHECK(has(4096, "bn=32"));  // contiguous
}

TEST_CASE("8-bit caches have heads of whole runs of words") {
  const KernelSpec& spec = **find_builtin_kernel("decode_mma");
  const auto has_space = [&](std::int64_t head, DType cache) {
    const DTypes dtypes{{"T", DType::kBF16}, {"KV", cache}};
    return space_of(spec, attention_problem(spec, {{"head", head}}, dtypes), large("sm_90a", 90)).ok();
  };
  CHECK(has_space(96, DType::kBF16));
  CHECK_FALSE(has_space(96, DType::kE4M3));
  CHECK(has_space(64, DType::kE4M3));
  CHECK_FALSE(has_space(48, DType::kBF16));
}

TEST_CASE("queries without keys have no answer, unless sequences are packed") {
  for (const char* kernel : {"attention", "attention_mma", "attention_wgmma"}) {
    const KernelSpec& spec = **find_builtin_kernel(kernel);
    const auto has_space = [&](const Shape& more) {
      Shape shape{{"queries", 9}, {"keys", 8}};
      shape.insert(shape.end(), more.begin(), more.end());
      return space_of(spec, attention_problem(spec, shape), large("sm_90a", 90)).ok();
    };
    CHECK_FALSE(has_space({}));
    CHECK(has_space({{"causal", 0}}));
    CHECK(has_space({{"packed", 1}}));
    CHECK_FALSE(has_space({{"causal", 0}, {"packed", 1}, {"layout", 2}}));
  }
}
