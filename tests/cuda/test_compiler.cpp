#include <doctest/doctest.h>

#include <cstdlib>
#include <regex>

#include "engine/kernel/builtin_kernels.hpp"
#include "plugins/cuda/compiler.hpp"
#include "plugins/cuda/utilities.hpp"
#include "test_kernels.hpp"
#include "tests/skip.hpp"

using namespace test;

namespace {

// No NVRTC is no failure of these tests: they end early and say so.
std::unique_ptr<Compiler> compiler_for(const std::string& architecture) {
  auto found = cuda_plugin().compiler(compile_target(architecture));
  if (!found) {
    hone::tests::skip("nvrtc", found.error().message);
    return nullptr;
  }
  return std::move(found).value();
}

bool is_elf(const Artifact& artifact) { return artifact.bytes.size() > 4 && static_cast<char>(artifact.bytes[1]) == 'E'; }

}  // namespace

TEST_CASE("a configuration becomes a cubin with its symbol and resources") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  const KernelSpec spec = twice_spec();
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 16, 0})});
  REQUIRE(compiled.size() == 1);
  REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  CHECK(is_elf(*compiled[0]->artifact));
  CHECK(compiled[0]->artifact->digest.size() == 32);
  REQUIRE(compiled[0]->symbols.size() == 1);
  CHECK(compiled[0]->symbols[0].starts_with("_Z5twice"));
  CHECK(compiled[0]->resources.registers > 0);
  CHECK(compiled[0]->resources.spill_bytes == 0);
  CHECK(compiled[0]->resources.shared_bytes == 16 * 1024);
}

TEST_CASE("configurations of a batch share one artifact and keep their own symbols") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  const KernelSpec spec = twice_spec();
  const auto compiled =
      compile(*compiler, spec, {configuration({256, 1, 0, 0}), configuration({128, 1, 16, 0}), configuration({64, 2, 0, 0})});
  REQUIRE(compiled.size() == 3);
  for (const auto& one : compiled) {
    REQUIRE_MESSAGE(one.ok(), one.error().message);
  }
  CHECK(compiled[0]->artifact == compiled[1]->artifact);
  CHECK(compiled[0]->symbols != compiled[1]->symbols);
  CHECK(compiled[1]->symbols != compiled[2]->symbols);
  CHECK(compiled[0]->resources.shared_bytes == 0);
  CHECK(compiled[1]->resources.shared_bytes == 16 * 1024);
}

TEST_CASE("one bad configuration fails alone, with the line of the kernel file") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  const KernelSpec spec = twice_spec();
  const auto compiled = compile(*compiler, spec,
                                {configuration({256, 1, 0, 0}), configuration({256, 8, 0, 0}), configuration({128, 4, 0, 0}),
                                 configuration({64, 1, 0, 0}), configuration({32, 2, 0, 0})});
  REQUIRE(compiled.size() == 5);
  for (const std::size_t good : {0, 2, 3, 4}) {
    CHECK_MESSAGE(compiled[good].ok(), good);
  }
  REQUIRE_FALSE(compiled[1].ok());
  CHECK(compiled[1].error().code == ErrorCode::kCompile);
  CHECK(compiled[1].error().message.starts_with("some folder/twice.cu(18): error"));
  CHECK(compiled[1].error().message.find("vec 8 is not supported") != std::string::npos);
}

TEST_CASE("a parameter that is a compile option reaches the compiler, and splits the batch") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.passes[0].function = "hungry";
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0}), configuration({256, 1, 0, 32})});
  REQUIRE(compiled.size() == 2);
  REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  REQUIRE_MESSAGE(compiled[1].ok(), compiled[1].error().message);
  CHECK(compiled[0]->artifact != compiled[1]->artifact);
  CHECK(compiled[0]->resources.registers > 32);
  CHECK(compiled[1]->resources.registers <= 32);
  CHECK(compiled[1]->resources.spill_bytes > 0);
  CHECK(compiled[1]->resources.stack_bytes > 0);
}

TEST_CASE("what only the assembler rejects is told, too") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  const KernelSpec spec = twice_spec();
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 400, 0}), configuration({256, 1, 0, 0})});
  CHECK(compiled[1].ok());
  REQUIRE_FALSE(compiled[0].ok());
  CHECK(compiled[0].error().code == ErrorCode::kCompile);
  CHECK(compiled[0].error().message.find("too much shared data") != std::string::npos);
}

TEST_CASE("a kernel of several passes has a symbol for each") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.passes.push_back(spec.passes[0]);
  spec.passes[1].function = "hungry";
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
  REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  REQUIRE(compiled[0]->symbols.size() == 2);
  CHECK(compiled[0]->symbols[1].starts_with("_Z6hungry"));
}

TEST_CASE("the reference becomes a kernel over its indices") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  const KernelSpec spec = twice_spec();
  for (const DTypes& dtype : spec.dtypes) {
    const auto compiled = compile_reference(*compiler, spec, dtype);
    REQUIRE_MESSAGE(compiled.ok(), compiled.error().message);
    REQUIRE(compiled->symbols.size() == 1);
    CHECK(compiled->symbols[0].find("hone_reference_0") != std::string::npos);
  }
}

TEST_CASE("a reference of several passes is one artifact with a kernel for each, in their order") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  for (const char* kernel : {"scan", "full_sum"}) {
    const KernelSpec& spec = *find_builtin_kernel(kernel).value();
    REQUIRE(spec.reference.size() > 1);
    const auto compiled = compile_reference(*compiler, spec, DType::kBF16);
    REQUIRE_MESSAGE(compiled.ok(), compiled.error().message);
    REQUIRE(compiled->symbols.size() == spec.reference.size());
    for (std::size_t pass = 0; pass < spec.reference.size(); ++pass) {
      CHECK(compiled->symbols[pass].find("hone_reference_" + std::to_string(pass)) != std::string::npos);
    }
  }
}

TEST_CASE("a kernel may include headers of its own, and need not be templated on a type") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.templated_on_type = false;
  spec.includes = {{"own/factor.h", "constexpr float kFactor = 3;\n"}};
  spec.source =
      "#include <hone/kernel.h>\n#include \"own/factor.h\"\nstruct Problem { long n = 1; };\nstruct Config { int block = 256; };\n"
      "REFERENCE(p.n) void r(long i, double* y, Problem) { y[i] = kFactor; }\n"
      "template <Config c> KERNEL void twice(float* y, Problem p) { if (threadIdx.x < c.block) y[threadIdx.x] = kFactor; }\n";
  spec.parameters = {integer_parameter("block", {256})};
  spec.passes[0].arguments = {0, -1};
  spec.reference = {{.function = "r", .extent = Expression::variable("p.n"), .arguments = {0, -1}}};
  const auto compiled = compile(*compiler, spec, {configuration({256})});
  CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
  const auto reference = compile_reference(*compiler, spec);
  CHECK_MESSAGE(reference.ok(), reference.error().message);
}

TEST_CASE("a header that is included under two names is read once") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.includes = {{"../own/factor.h", "#pragma once\nconstexpr float kFactor = 2;\n"},
                   {"../own/scale.h", "#pragma once\n#include \"factor.h\"\n"},
                   {"factor.h", "#pragma once\nconstexpr float kFactor = 2;\n"}};
  spec.source.replace(0, 0, "#include \"../own/factor.h\"\n#include \"../own/scale.h\"\n");
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
  CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
}

TEST_CASE("CUDA's own headers are there for kernels that want them") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  if ((*hone::cuda::nvrtc())->includes.empty()) {
    hone::tests::skip("cuda_headers", "no CUDA headers beside NVRTC");
    return;
  }
  KernelSpec spec = twice_spec();
  spec.source += "#include <cuda_fp16.h>\n__device__ __half half_of(float x) { return __float2half(x / 2); }\n";
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
  CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
}

TEST_CASE("INFINITY and NAN are there without CUDA's headers, as the reader and the cpu device have them") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.source += "__device__ float bound_of(bool known) { return known ? INFINITY : NAN; }\n";
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
  CHECK_MESSAGE(compiled[0].ok(), compiled[0].error().message);
}

TEST_CASE("the device's own code compiles for every supported family") {
  if (const auto found = hone::cuda::nvrtc(); !found) {
    hone::tests::skip("nvrtc", found.error().message);
    return;
  }
  for (const char* architecture : {"sm_80", "sm_89", "sm_90a", "sm_100a"}) {
    const auto code = hone::cuda::utility_code(architecture);
    CHECK_MESSAGE(code.ok(), code.error().message);
  }
}

TEST_CASE("an architecture that NVRTC does not know is an error that says so") {
  const auto compiler = compiler_for("sm_1");
  if (compiler == nullptr) {
    return;
  }
  const KernelSpec spec = twice_spec();
  const auto compiled = compile(*compiler, spec, {configuration({256, 1, 0, 0})});
  REQUIRE_FALSE(compiled[0].ok());
  CHECK(compiled[0].error().message.find("gpu-architecture") != std::string::npos);
}

TEST_CASE("HONE_NVRTC names the only NVRTC that is looked for") {
  const char* before = std::getenv("HONE_NVRTC");
  const std::string kept = before == nullptr ? "" : before;
  setenv("HONE_NVRTC", "/nowhere/libnvrtc.so", 1);
  CHECK(hone::cuda::nvrtc_candidates() == std::vector<std::string>{"/nowhere/libnvrtc.so"});
  unsetenv("HONE_NVRTC");
  CHECK(hone::cuda::nvrtc_candidates().front() == "libnvrtc.so.13");
  if (before != nullptr) {
    setenv("HONE_NVRTC", kept.c_str(), 1);
  }
}

TEST_CASE("names of an earlier release compile, and NVRTC warns of each") {
  const auto nvrtc = hone::cuda::nvrtc();
  if (!nvrtc) {
    hone::tests::skip("nvrtc", nvrtc.error().message);
    return;
  }
  hone::cuda::ProgramRequest program;
  program.name = "old.cu";
  program.source = R"cuda(#include <hone/kernel.h>
#include <hone/kernel_hopper.h>
#ifndef HONE_HOPPER
#error "sm_90a has all of kernel_hopper.h"
#endif
KERNEL void old(const __grid_constant__ TensorMap map) {
  __shared__ __align__(128) unsigned char memory[64 << 7];
  __shared__ hopper::u64 place;
  const hopper::u32 at = hopper::shared_address(&place), to = hopper::address_in(hopper::shared_address(memory), 0);
  await_pass_before();
  let_next_pass_begin();
  hopper::barrier_init(at, 1);
  hopper::fence_barrier_init();
  hopper::barrier_arrive(at);
  hopper::barrier_arrive_at(at, 0);
  hopper::barrier_arrive_expect(at, 128);
  hopper::prefetch_map(map);
  hopper::copy_box(to, map, 0, 0, at);
  hopper::copy_box(to, map, 0, 0, at, hopper::kEvictFirst, 1);
  hopper::barrier_wait(at, 0);
  hopper::store_matrices(to, 1, 2, 3, 4);
  hopper::fence_async();
  hopper::named_barrier(1, 128);
  hopper::store_box(map, 0, 0, to);
  hopper::store_commit();
  hopper::store_wait_read<0>();
  hopper::give_registers<96>();
  hopper::take_registers<128>();
  float sums[32] = {};
  const hopper::u64 a = hopper::operand(to, 16, 1024);
  hopper::products_begin();
  hopper::multiply_add<bf16, 64, false, false>(sums, a, a, false);
  hopper::products_commit();
  hopper::products_wait<0>();
  hopper::store_pair(to, sums[0], sums[1]);
}
)cuda";
  program.headers = hone::cuda::own_headers();
  program.options = hone::cuda::base_options(**nvrtc, "sm_90a");
  program.expressions = {"old"};
  const auto compiled = hone::cuda::compile_program(**nvrtc, program);
  REQUIRE_MESSAGE(compiled.ok(), compiled.error().message);
  REQUIRE_MESSAGE(compiled->compiled, compiled->log);
  for (const char* name : {"await_pass_before",  "let_next_pass_begin",
                           "address_in",         "barrier_init",
                           "fence_barrier_init", "barrier_arrive",
                           "barrier_arrive_at",  "barrier_arrive_expect",
                           "prefetch_map",       "copy_box",
                           "barrier_wait",       "store_matrices",
                           "fence_async",        "named_barrier",
                           "store_box",          "store_commit",
                           "store_wait_read",    "give_registers",
                           "take_registers",     "operand",
                           "products_begin",     "multiply_add",
                           "products_commit",    "products_wait"}) {
    CAPTURE(name);
    CHECK(std::regex_search(compiled->log, std::regex("\\b" + std::string(name) + "\\b.*was declared deprecated")));
  }
}

TEST_CASE("STATIC fields are compiled in, and arrays in constant memory keep their names") {
  const auto compiler = compiler_for("sm_90a");
  if (compiler == nullptr) {
    return;
  }
  KernelSpec spec = twice_spec();
  spec.source =
      "#include <hone/kernel.h>\nstruct Problem { long n = 1;\nSTATIC long head = 64; };\nstruct Config { int block, vec, shared, cap; };\n"
      "__constant__ float theirs[16];\nCONSTANT(16) extern float theirs[];\nCONSTANT(256) float table[256];\n"
      "template <class T> REFERENCE(p.n) void twice_reference(long i, const T* x, double* y, Problem p) { y[i] = p.head; }\n"
      "template <class T, Config c> KERNEL void twice(const T* x, T* y, Problem p) {\n"
      "  Vector<float, Problem::head / 32> own;\n  for (int k = 0; k < p.head / 32; ++k) own[k] = x[k];\n"
      "  y[threadIdx.x % p.head] = table[p.head] + own[p.head / 32 - 1];\n}\n";
  spec.problem[1] = {.name = "head", .default_value = 64, .comment = "", .initializer = Initializer{3, 20, "64"}};
  CompileRequest request{.spec = &spec, .dtype = DType::kF32, .configurations = {configuration({256, 1, 0, 0})}};
  std::vector<std::string> artifacts;
  for (const std::int64_t head : {64, 128}) {
    request.shape = {{"n", 1}, {"head", head}};
    const auto compiled = compiler->compile(request);
    REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
    artifacts.emplace_back(reinterpret_cast<const char*>(compiled[0]->artifact->bytes.data()), compiled[0]->artifact->bytes.size());
    CHECK(artifacts.back().find(std::string("\0table\0", 7)) != std::string::npos);
    CHECK(artifacts.back().find(std::string("\0theirs\0", 8)) != std::string::npos);
  }
  CHECK(artifacts[0] != artifacts[1]);
  request.reference = true;
  request.configurations.clear();
  const auto answer = compiler->compile(request);
  CHECK_MESSAGE(answer[0].ok(), answer[0].error().message);
}
