#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

#include "hone/random.h"
#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;
using cpu_test::geometry;
using cpu_test::kernel_source;
using cpu_test::make_spec;

TEST_CASE("the device describes itself with every property a kernel file may ask for") {
  CpuFixture cpu;
  for (const std::string_view property : hone::device_property_names()) {
    CHECK(cpu.info().properties.count(property) == 1);
  }
  CHECK(cpu.info().id == "cpu");
  CHECK(cpu.info().properties.find("compute_capability")->second == 0);
  CHECK(cpu.info().properties.find("memory")->second > 0);
  CHECK_FALSE(cpu.info().product.empty());
  CHECK_FALSE(cpu.info().architecture.empty());
  CHECK_FALSE(cpu.info().compile_overlaps);
}

TEST_CASE("buffers are aligned as on a GPU, and one too large is an error") {
  CpuFixture cpu;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    const auto buffer = cpu.device().allocate(bytes).value();
    CHECK(reinterpret_cast<std::uintptr_t>(buffer->address()) % 256 == 0);
    CHECK(buffer->bytes() == bytes);
  }
  const auto failed = cpu.device().allocate(std::numeric_limits<std::size_t>::max());
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code == hone::ErrorCode::kDevice);
}

TEST_CASE("random elements are those of random.h in every dtype") {
  CpuFixture cpu;
  std::vector<float> f32(100000);
  std::vector<double> f64(1000);
  std::vector<int> i32(1000);
  REQUIRE(cpu.device().randomize(f32.data(), hone::DType::kF32, f32.size(), 7).ok());
  REQUIRE(cpu.device().randomize(f64.data(), hone::DType::kF64, f64.size(), 7).ok());
  REQUIRE(cpu.device().randomize(i32.data(), hone::DType::kI32, i32.size(), 7).ok());
  for (std::size_t i = 0; i < f32.size(); ++i) {
    REQUIRE(f32[i] == hone::random_element(7, i));
  }
  for (std::size_t i = 0; i < f64.size(); ++i) {
    REQUIRE(f64[i] == static_cast<double>(hone::random_element(7, i)));
    REQUIRE(i32[i] == hone::random_integer(7, i));
  }
}

TEST_CASE("a comparison finds the first mismatch and lets no NaN pass") {
  CpuFixture cpu;
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> expected(100000, 2.0), actual(100000, 2.0);
  actual[10] = 2.001;  // within the tolerance
  auto same = cpu.device().compare(actual.data(), hone::DType::kF64, expected.data(), expected.size(), {.relative = 0.01}).value();
  CHECK(same.mismatches == 0);
  CHECK(same.max_error == doctest::Approx(0.05));

  actual[99999] = 3.0;
  actual[70000] = kNaN;
  actual[60000] = kInfinity;
  actual[50000] = expected[50000] = -kInfinity;
  actual[90000] = expected[90000] = kNaN;
  actual[80000] = kInfinity;
  expected[80000] = -kInfinity;
  const auto found = cpu.device().compare(actual.data(), hone::DType::kF64, expected.data(), expected.size(), {.relative = 0.01}).value();
  CHECK(found.elements == 100000);
  CHECK(found.mismatches == 5);
  CHECK(found.not_finite == 2);
  CHECK(found.first_mismatch == 60000);
  CHECK(found.first_actual == kInfinity);
  CHECK(found.first_expected == 2.0);
  CHECK(found.max_error > 1e100);
  CHECK(std::isfinite(found.max_error));
}

TEST_CASE("the parts of a tolerance add up") {
  CpuFixture cpu;
  const std::vector<double> expected{3.0, -3.0, 3.0, 3.0};
  const std::vector<float> actual{3.0f, -3.25f, 3.5f, 3.0f};
  const auto with = [&](hone::Tolerance tolerance) {
    return cpu.device().compare(actual.data(), hone::DType::kF32, expected.data(), expected.size(), tolerance).value().mismatches;
  };
  CHECK(with({}) == 2);
  CHECK(with({.absolute_rms = 0.1}) == 1);
  CHECK(with({.absolute_rms = 0.1, .absolute = 0.21}) == 0);
  CHECK(with({.relative = 0.1}) == 1);
}

TEST_CASE("a checksum depends on every byte") {
  CpuFixture cpu;
  std::vector<std::byte> bytes(10000, std::byte{1});
  const auto before = cpu.device().checksum(bytes.data(), bytes.size()).value();
  CHECK(before == cpu.device().checksum(bytes.data(), bytes.size()).value());
  bytes[9999] = std::byte{2};
  CHECK(before != cpu.device().checksum(bytes.data(), bytes.size()).value());
  CHECK(cpu.device().checksum(nullptr, 0).ok());
}

TEST_CASE("the passes of a reference run in order over the same outputs, each over its own indices") {
  CpuFixture cpu;
  auto spec = make_spec(kernel_source("", R"(
REFERENCE(1) void zero(long, double* sums) { sums[0] = 0; }
REFERENCE(p.n) void add(long i, const int* x, double* sums) { atomicAdd(sums, (double)x[i]); }
REFERENCE(3) void spread(long i, double* sums, Problem p) { sums[i + 1] = sums[0] * (double)(i + p.n); })"));
  spec.reference = {{.function = "zero", .extent = hone::Expression::constant(hone::Value(1)), .arguments = {1}},
                    {.function = "add", .extent = hone::Expression::variable("p.n"), .arguments = {0, 1}},
                    {.function = "spread", .extent = hone::Expression::constant(hone::Value(3)), .arguments = {1, -1}}};
  hone::CompileRequest request;
  request.spec = &spec;
  request.reference = true;
  const auto compiled = cpu.compiler().compile(request).at(0);
  REQUIRE_MESSAGE(compiled.ok(), compiled.error().message);
  CHECK(compiled->symbols.size() == 3);

  constexpr int kCount = 1000;
  const hone::Problem problem{hone::DType::kF32, {{"n", kCount}}};
  const auto reference = cpu.device().load_reference(*compiled, hone::plan_reference(spec, problem).value(), problem).value();
  const std::vector<int> x(kCount, 3);
  std::vector<double> sums(4, std::nan(""));
  const void* from = x.data();
  void* to = sums.data();
  void* const arguments[] = {&from, &to};
  REQUIRE(reference->launch(nullptr, arguments).ok());
  CHECK(sums == std::vector<double>{3000.0, 3e6, 3000.0 * 1001, 3000.0 * 1002});
}

TEST_CASE("timing prepares before each run and gives a sample of each") {
  CpuFixture cpu;
  std::vector<int> out(4, 5), original{1, 2, 3, 4};
  const auto compiled = cpu.compile(make_spec(kernel_source("out[threadIdx.x] += 1;"))).at(0).value();
  const auto kernel = cpu.device().load(compiled, {geometry({1, 1, 1}, {4, 1, 1})}, {hone::DType::kF32, {{"n", 4}}}).value();
  void* pointer = out.data();
  void* const arguments[] = {&pointer};
  const hone::Preparation preparations[] = {{hone::Preparation::Kind::kCopy, out.data(), original.data(), 16},
                                            {hone::Preparation::Kind::kZero, out.data(), nullptr, 4}};
  const auto runs = cpu.device().time({.kernel = kernel.get(), .arguments = arguments, .preparations = preparations, .samples = 5}).value();
  CHECK(runs.us.size() == 5);
  for (const double sample : runs.us) {
    CHECK(sample > 0.0);
  }
  CHECK(out == std::vector<int>{1, 3, 4, 5});
}

TEST_CASE("watched outputs are spoiled before each run, and what a run leaves wrong is counted") {
  CpuFixture cpu;
  std::vector<int> out(4, 9);
  const std::vector<double> expected{1.0, 2.0, 3.0, 4.0};
  void* pointer = out.data();
  void* const arguments[] = {&pointer};
  const hone::Watch watches[] = {{.address = out.data(), .element = hone::DType::kI32, .expected = expected.data(), .count = 4}};
  for (const bool works : {true, false}) {
    const auto compiled = cpu.compile(make_spec(kernel_source(works ? "out[threadIdx.x] = threadIdx.x + 1;" : ""))).at(0).value();
    const auto kernel = cpu.device().load(compiled, {geometry({1, 1, 1}, {4, 1, 1})}, {hone::DType::kF32, {{"n", 4}}}).value();
    const auto runs =
        cpu.device().time({.kernel = kernel.get(), .arguments = arguments, .preparations = {}, .watches = watches, .samples = 3}).value();
    CHECK((runs.unmended == 0) == works);
  }
}

TEST_CASE("shared memory that nobody wrote holds what it was painted with, in every block") {
  CpuFixture cpu;
  std::vector<int> out(4, 0);
  const auto compiled =
      cpu.compile(make_spec(kernel_source("__shared__ int s[64]; out[blockIdx.x] = s[7]; __syncthreads(); s[threadIdx.x] = 3;")))
          .at(0)
          .value();
  const auto kernel = cpu.device().load(compiled, {geometry({4, 1, 1}, {32, 1, 1})}, {hone::DType::kF32, {{"n", 4}}}).value();
  void* pointer = out.data();
  void* const arguments[] = {&pointer};
  REQUIRE(cpu.device().paint_shared(0x7f).ok());
  REQUIRE(kernel->launch(nullptr, arguments).ok());
  CHECK(out == std::vector<int>(4, 0x7f7f7f7f));
}

TEST_CASE("kernels may be launched from several threads at once") {
  CpuFixture cpu;
  std::vector<int> out(4, 0);
  const auto compiled = cpu.compile(make_spec(kernel_source("atomicAdd(&out[threadIdx.x % 4], __syncthreads_count(1));"))).at(0).value();
  const std::shared_ptr<hone::LoadedKernel> kernel =
      cpu.device().load(compiled, {geometry({4, 1, 1}, {64, 1, 1})}, {hone::DType::kF32, {{"n", 4}}}).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      void* pointer = out.data();
      void* const arguments[] = {&pointer};
      for (int run = 0; run < 10; ++run) {
        CHECK(kernel->launch(nullptr, arguments).ok());
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(out == std::vector<int>(4, 4 * 10 * 4 * 16 * 64));
}
