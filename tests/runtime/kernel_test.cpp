// What a launch takes, and what it says of what it does not take.
#include <array>
#include <cstdint>
#include <span>

#include "engine/kernel/builtin_kernels.hpp"
#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

/// Of the launch of softmax at kSoftmaxShape; empty if it took the arguments.
template <class... Arguments>
std::string complaint(const Kernel& kernel, Arguments... arguments) {
  const Result<void> launched = kernel.launch(nullptr, arguments...);
  return launched ? "" : launched.error().message;
}

}  // namespace

TEST_CASE("misuse of a launch is an error that names the argument and the types, not a crash") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  const auto memory = engine.memory().allocate(256).value();
  auto* const x = static_cast<float*>(memory->address());
  CHECK(complaint(softmax, x) == "softmax takes 2 arguments; 1 were passed");
  CHECK(complaint(softmax, x, 1.0F) == "softmax: argument 1 (y): float was passed; its type in the kernel file is f32*");
  CHECK(complaint(softmax, static_cast<const double*>(memory->address()), x) ==
        "softmax: argument 0 (x): double* was passed; its type in the kernel file is f32*");
  CHECK(contains(complaint(softmax, x, static_cast<std::int32_t*>(memory->address())), "argument 1 (y): int32_t* was passed"));
  CHECK(contains(complaint(softmax, x + 1, x), "argument 0 (x): the pointer is not aligned to 16 bytes"));
  CHECK(complaint(softmax, memory->address(), memory->address()) == "");  // void* may be anything
}

TEST_CASE("a null pointer is refused where the kernel has elements") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  const auto memory = engine.memory().allocate(256).value();
  auto* const x = static_cast<float*>(memory->address());
  CHECK(complaint(softmax, x, static_cast<float*>(nullptr)) ==
        "softmax: argument 1 (y): a null pointer was passed; the kernel has 15 elements there");
  CHECK(contains(complaint(softmax, nullptr, x), "argument 0 (x): a null pointer was passed"));
  CHECK(contains(complaint(softmax, std::span<const float>(), x), "argument 0 (x): a null pointer was passed"));
}

TEST_CASE("an argument without elements may be null") {
  Engine engine = cpu_engine();
  KernelSpec spec = **find_builtin_kernel("copy");
  spec.name = "copy_nothing";
  spec.source_hash = "copy_nothing";
  for (Argument& argument : spec.arguments) {
    argument.extent = Expression::constant(std::int64_t{0});
  }
  const std::string body = "const long packets = p.n / kVec;";
  REQUIRE(contains(spec.source, body));
  spec.source.replace(spec.source.rfind(body), body.size(), body + " if (p.n > 0) return;");
  spec.name = "copy";
  REQUIRE(engine.add_kernel_spec(spec.serialize()).ok());
  const Kernel nothing = engine.kernel("copy", DType::kF32, {{"n", 4}}).value();
  CHECK(complaint(nothing, nullptr, static_cast<float*>(nullptr)) == "");
}

TEST_CASE("the extent of a span is held against the kernel's") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  alignas(16) std::array<float, 16> x{}, y{};
  CHECK(complaint(softmax, std::span<const float>(x), std::span<float, 16>(y)) == "");
  CHECK(y[14] == doctest::Approx(0.2));
  CHECK(complaint(softmax, std::span(x), std::span(y).first(14)) ==
        "softmax: argument 1 (y): the span holds 14 elements of f32; the kernel has 15 there");
  CHECK(contains(complaint(softmax, std::as_bytes(std::span(x)), std::as_writable_bytes(std::span(y)).first(59)),
                 "the span holds 14 elements of f32"));
  alignas(16) std::array<double, 16> doubles{};
  CHECK(contains(complaint(softmax, std::span(doubles), y.data()), "argument 0 (x): std::span<double> was passed"));
}

TEST_CASE("arguments whose types are known at run time are launched and checked like others") {
  Engine engine = cpu_engine();
  const Kernel rmsnorm = engine.kernel("rmsnorm", DType::kF32, {{"rows", 1}, {"cols", 4}}).value();
  alignas(16) std::array<float, 4> x{2, 2, 2, 2}, weight{1, 1, 1, 1}, y{}, again{};
  const float epsilon = 12.0F;
  const std::array arguments{DynamicArgument(x.data(), sizeof x), DynamicArgument(weight.data(), sizeof weight),
                             DynamicArgument(y.data(), sizeof y), DynamicArgument::number(DType::kF32, &epsilon)};
  REQUIRE(rmsnorm.launch_dynamic(nullptr, arguments).ok());
  REQUIRE(rmsnorm.launch(nullptr, x.data(), weight.data(), again.data(), epsilon).ok());
  CHECK(y == again);
  CHECK(y[3] == doctest::Approx(0.5));
  const auto complaint_of = [&](std::size_t at, const DynamicArgument& other) {
    auto wrong = arguments;
    wrong[at] = other;
    const Result<void> launched = rmsnorm.launch_dynamic(nullptr, wrong);
    return launched ? "" : launched.error().message;
  };
  const std::int32_t whole = 3;
  CHECK(contains(complaint_of(2, DynamicArgument(y.data(), 12)), "the span holds 3 elements of f32; the kernel has 4 there"));
  CHECK(contains(complaint_of(3, DynamicArgument::number(DType::kI32, &whole)), "argument 3 (epsilon): i32 was passed"));
  CHECK(contains(complaint_of(0, DynamicArgument()), "argument 0 (x): a null pointer was passed"));
  const Result<void> fewer = rmsnorm.launch_dynamic(nullptr, std::span(arguments).first(2));
  CHECK(fewer.error().message == "rmsnorm takes 4 arguments; 2 were passed");
}

}  // namespace hone::test
