// CONSTANT(N): inputs in constant memory.
#include <algorithm>

#include "engine/device/device.hpp"
#include "engine/kernel/small_problems.hpp"
#include "tests/kernel/reader_fixture.hpp"

using namespace hone;
using reader_test::can_read;
using reader_test::error_of;

namespace {

/// A file with `declarations` at file scope.
std::string constant_file(const std::string& declarations, const std::string& fields = "long n = 64;",
                          const std::string& parameters = "IN(p.n) const float* x, ") {
  return "#include <hone/kernel.h>\nstruct Problem { " + fields + " };\nstruct Config { TUNE(32, 64) int block = 32; };\n" + declarations +
         "\n" + "constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {c.block}, .overlap = true}; }\n" +
         "REFERENCE(p.n) void add_reference(long i, double* y, Problem p) { y[i] = 0; }\n" + "template <Config c> KERNEL void add(" +
         parameters + "OUT(p.n) float* y, Problem p) {}\n";
}

KernelSpec read_constant_file(const std::string& text) {
  const reader_test::Folder folder;
  auto spec = read_kernel_file(folder.write("add.cu", text));
  REQUIRE_MESSAGE(spec.ok(), (spec.ok() ? "" : spec.error().message));
  return *std::move(spec);
}

Problem constant_problem(const KernelSpec& spec, const Shape& shape) { return make_problem(spec, spec.dtypes.front(), shape).value(); }

}  // namespace

TEST_CASE("arrays in constant memory are inputs behind the kernels' parameters") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec = read_constant_file(
      constant_file("CONSTANT(p.taps, .low = 0, .below = 2) float filter[289];\nCONSTANT(4) float4 corners[2][2];\nCONSTANT(1) int scale;",
                    "long n = 64; long taps = 9;"));
  REQUIRE(spec.arguments.size() == 5);
  const Argument& filter = spec.arguments[2];
  CHECK(filter.name == "filter");
  CHECK(filter.direction == Direction::kIn);
  CHECK(filter.dtype == DType::kF32);
  CHECK(filter.fill.below.has_value());
  CHECK(spec.arguments[3].lanes == 4);
  CHECK(spec.arguments[4].dtype == DType::kI32);
  CHECK_FALSE(spec.arguments[0].capacity.has_value());
  CHECK(spec.passes[0].arguments == std::vector<int>{0, 1, kProblemParameter});
  DeviceInfo hopper;
  hopper.properties["compute_capability"] = 90;
  const auto plan = plan_launch(spec, constant_problem(spec, {{"taps", 25}}), default_configuration(spec), hopper).value();
  REQUIRE(plan.front().constants.size() == 3);
  CHECK(plan.front().constants[0].symbol == "filter");
  CHECK(plan.front().constants[0].argument == 2);
  CHECK(plan.front().constants[0].bytes == 100);
  CHECK(plan.front().constants[1].bytes == 64);
  CHECK(plan.front().constants[2].bytes == 4);
  CHECK_FALSE(plan.front().overlap);  // it waits for the copies
  const KernelSpec sent = parse_kernel_spec(spec.serialize()).value();
  CHECK(sent.arguments[2].capacity->text() == filter.capacity->text());
}

TEST_CASE("more elements than the array holds is an error that names both, and no small problem asks for them") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec =
      read_constant_file(constant_file("CONSTANT(p.taps * p.taps) float filter[17 * 17];", "long n = 64; long taps = 3;"));
  const auto made = make_problem(spec, spec.dtypes.front(), {{"taps", 20}});
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().message.find("CONSTANT 'filter' has 400 elements (p.taps * p.taps), and its array holds 289") != std::string::npos);
  CHECK_FALSE(ragged_problems(spec, constant_problem(spec, {{"taps", 17}}), 1 << 16).empty());
  for (const Problem& small : ragged_problems(spec, constant_problem(spec, {{"taps", 17}}), 1 << 16)) {
    CHECK(small.shape[1].second <= 17);
  }
  for (const Problem& small : regular_problems(spec, constant_problem(spec, {{"taps", 17}}), 1 << 16)) {
    CHECK(small.shape[1].second <= 17);
  }
}

TEST_CASE("an array as long as a STATIC field says holds that many") {
  if (!can_read()) {
    return;
  }
  const KernelSpec spec =
      read_constant_file(constant_file("CONSTANT(p.taps) float filter[Problem::taps];", "long n = 64; STATIC long taps = 3;"));
  CHECK(plan_launch(spec, constant_problem(spec, {{"taps", 500}}), default_configuration(spec), {}).value().front().constants[0].bytes ==
        2000);
}

TEST_CASE("a declaration marks somebody else's array") {
  if (!can_read()) {
    return;
  }
  const reader_test::Folder folder;
  folder.write("their.cu", "__constant__ float d_filter[256];\n");
  const auto spec =
      read_kernel_file(folder.write("add.cu", constant_file("#include \"their.cu\"\nCONSTANT(p.n) extern float d_filter[];")));
  REQUIRE_MESSAGE(spec.ok(), (spec.ok() ? "" : spec.error().message));
  REQUIRE(spec->arguments.size() == 3);
  CHECK(spec->arguments[2].name == "d_filter");
  CHECK(spec->arguments[2].capacity->evaluate({}).value().integer() == 256);
  CHECK(make_problem(*spec, spec->dtypes.front(), {{"n", 257}})
            .error()
            .message.find("'d_filter' has 257 elements (p.n), and its array holds 256") != std::string::npos);
}

TEST_CASE("what cannot be in constant memory is refused where it stands") {
  if (!can_read()) {
    return;
  }
  CHECK(
      error_of(constant_file("CONSTANT(p.n) float x[64];")).find("add.cu:4:21: error: CONSTANT 'x' has the name of a kernel's parameter") ==
      0);
  CHECK(
      error_of(constant_file("CONSTANT(p.n) extern float filter[];")).find("the size of the array of CONSTANT 'filter' is unknown here") !=
      std::string::npos);
  CHECK(error_of(constant_file("namespace a {\nCONSTANT(p.n) float filter[64];\n}"))
            .find("add.cu:5:1: error: CONSTANT must be at file scope") == 0);
  CHECK(error_of(constant_file("extern \"C\" {\nCONSTANT(p.n) float filter[64];\n}")).find("must be at file scope") != std::string::npos);
  CHECK(error_of(constant_file("CONSTANT(p.n) float filter[1 << 15];")).find("has 131072 bytes; constant memory has 65536") !=
        std::string::npos);
  CHECK(error_of(constant_file("struct Pair { int a, b; };\nCONSTANT(p.n) Pair filter[64];"))
            .find("CONSTANT 'filter' has elements of type 'Pair'; an element is f32") != std::string::npos);
  CHECK(error_of(constant_file("CONSTANT(p.n) float filter[63];")).find("add.cu:4:10: error: with the Problem's defaults") == 0);
  CHECK(error_of(constant_file("CONSTANT(c.block) float filter[63];")).find("error") != std::string::npos);
}
