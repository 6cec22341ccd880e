// The memory-bound built-in kernels on the cpu device, at aligned and at ragged shapes, with configurations that take each of their ways.

#include <algorithm>
#include <cmath>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/measure.hpp"
#include "tests/cpu/cpu_fixture.hpp"

using cpu_test::CpuFixture;

namespace {

struct Case {
  const char* kernel;
  hone::DType dtype;
  std::vector<std::string> shapes;
  std::vector<std::string> configurations;  ///< beside the default
};

const std::vector<Case>& cases() {
  using hone::DType;
  const std::string few = "block=64,row_threads=64,min_blocks=1,", kept = few + "items_per_thread=8,in_flight=4,rest_shared=true";
  const std::string kept_words = kept + ",unaligned_rows=false";  // where rows are whole words
  // Blocks that stay, for more rows than they have stages.
  const std::string stay =
                        "block=256,row_threads=256,items_per_thread=64,in_flight=0,unaligned_rows=false,stages=3,lookahead=1,min_blocks=1",
                    stay_weights = stay + ",weights=early";
  static const std::vector<Case> all = {
      {"softmax",
       DType::kBF16,
       {"rows=5,cols=1031", "rows=2,cols=40001", "rows=3,cols=40960"},
       {"block=64,row_threads=32,min_blocks=1,items_per_thread=64", kept, kept + ",online=false", kept_words}},
      {"softmax", DType::kF32, {"rows=9,cols=9000"}, {stay}},
      {"layernorm",
       DType::kF32,
       {"rows=5,cols=1031", "rows=9,cols=1024", "rows=2,cols=20001", "rows=11,cols=8192"},
       {kept, "block=64,row_threads=64,items_per_thread=16,in_flight=0,unaligned_rows=false,weights=early,min_blocks=1",
        "block=64,row_threads=16,min_blocks=1,items_per_thread=64,in_flight=0,unaligned_rows=false,two_pass=false",
        "block=256,row_threads=256,items_per_thread=32,in_flight=0,unaligned_rows=false,stages=4,lookahead=2,two_pass=false,weights=early,"
        "min_blocks=1"}},
      {"layernorm",
       DType::kF16,
       {"rows=70,cols=64"},
       {"block=64,row_threads=8,min_blocks=1,items_per_thread=8,in_flight=0,unaligned_rows=false"}},
      {"rmsnorm",
       DType::kBF16,
       {"rows=5,cols=1031", "rows=2,cols=50001"},  // of the long rows, shared memory has room for a part
       {kept, kept + ",weights=early", "block=128,row_threads=128,items_per_thread=8,in_flight=4,rest_shared=true,min_blocks=8"}},
      {"rmsnorm", DType::kF32, {"rows=9,cols=9000", "rows=1,cols=9000"}, {stay_weights}},  // threads without a word; nothing to wait for
      {"residual_rmsnorm", DType::kBF16, {"rows=5,cols=1031", "rows=2,cols=40960", "rows=9,cols=16384"}, {kept_words, stay_weights}},
      {"row_sum",
       DType::kF32,
       {"rows=3,cols=9001", "rows=40,cols=64"},
       {"block=64,row_threads=64,split=2", "block=64,row_threads=8,bytes=8,unaligned_rows=false"}},
      {"full_sum", DType::kF32, {"n=100003", "n=3"}, {"block=64,in_flight=1,contiguous=true"}},
      {"scan",
       DType::kF32,
       {"n=100003", "n=1031", "n=3"},
       {"warps=4,packets_per_thread=3,steps=2,tiles_per_lane=4", "warps=16,packets_per_thread=5,steps=2"}},
      {"bias_gelu", DType::kBF16, {"rows=7,cols=515", "rows=3,cols=64"}, {"block=64,in_flight=1"}},
      {"copy", DType::kF16, {"n=10001"}, {"block=64,bytes=4,in_flight=2"}},
      {"transpose",
       DType::kBF16,
       {"rows=33,cols=71", "rows=64,cols=128"},
       {"block=64,bytes=4,path=direct", "run_out=64,run_in=64,block=32,bytes=8,path=swizzled"}},
  };
  return all;
}

/// The configurations of a case that are valid for the problem.
std::vector<hone::Configuration> configurations_for(const hone::KernelSpec& spec, const Case& one, const hone::Problem& problem,
                                                    const hone::DeviceInfo& info) {
  std::vector<hone::Configuration> chosen{hone::default_configuration(spec)};
  for (const std::string& text : one.configurations) {
    const hone::Configuration configuration = hone::parse_configuration(spec.parameters, text).value();
    hone::Bindings bound = hone::bindings(problem);
    bound.merge(hone::bindings(info));
    bound.merge(hone::bindings(spec.parameters, configuration));
    const bool valid = std::all_of(spec.constraints.begin(), spec.constraints.end(),
                                   [&](const hone::Constraint& c) { return c.condition.evaluate(bound).value().boolean(); });
    if (valid) {
      chosen.push_back(configuration);
    }
  }
  return chosen;
}

}  // namespace

TEST_CASE("memory-bound kernels equal their references at aligned and ragged shapes") {
  CpuFixture cpu;
  for (const Case& one : cases()) {
    const hone::KernelSpec& spec = *hone::find_builtin_kernel(one.kernel).value();
    hone::CompileRequest request;
    request.spec = &spec;
    request.dtype = one.dtype;
    request.reference = true;
    const auto reference = cpu.compiler().compile(request);
    REQUIRE(reference.at(0).ok());
    request.reference = false;
    std::size_t alternatives = 0;
    for (const std::string& shape : one.shapes) {
      const hone::Problem problem = hone::make_problem(spec, one.dtype, hone::parse_shape(shape).value()).value();
      request.configurations = configurations_for(spec, one, problem, cpu.info());
      alternatives += request.configurations.size() - 1;
      const auto compiled = cpu.compiler().compile(request);
      const auto bench = hone::Bench::create(cpu.device(), spec, problem, *reference.at(0)).value();
      for (std::size_t i = 0; i < compiled.size(); ++i) {
        CAPTURE(one.kernel);
        CAPTURE(shape);
        CAPTURE(hone::text(spec.parameters, request.configurations[i]));
        REQUIRE(compiled[i].ok());
        const auto plan = hone::plan_launch(spec, problem, request.configurations[i], cpu.info()).value();
        const auto kernel = cpu.device().load(*compiled[i], plan, problem).value();
        const hone::Validation validation = bench->validate(*kernel, request.configurations[i], 1).value();
        CHECK_MESSAGE(validation.outcome == hone::Outcome::kOk, validation.detail);
      }
    }
    CHECK_MESSAGE(alternatives > 0, one.kernel);
  }
}

TEST_CASE("a scan's results are the same every time, whichever warps had which tiles") {
  CpuFixture cpu;
  const hone::KernelSpec& spec = *hone::find_builtin_kernel("scan").value();
  constexpr std::size_t kElements = 50021;
  hone::CompileRequest request;
  request.spec = &spec;
  request.configurations = {hone::parse_configuration(spec.parameters, "warps=4,packets_per_thread=3,steps=1,tiles_per_lane=4").value()};
  const auto compiled = cpu.compiler().compile(request);
  REQUIRE(compiled.at(0).ok());
  const hone::Problem problem = hone::make_problem(spec, hone::DType::kF32, {{"n", kElements}}).value();
  const auto plan = hone::plan_launch(spec, problem, request.configurations[0], cpu.info()).value();
  const auto kernel = cpu.device().load(*compiled[0], plan, problem).value();

  std::vector<float> x(kElements), y(kElements);
  REQUIRE(cpu.device().randomize(x.data(), hone::DType::kF32, x.size(), 1).ok());
  std::vector<double> workspace(1 + kElements / 384 + 1);
  void* pointers[] = {x.data(), y.data(), workspace.data()};
  void* const arguments[] = {&pointers[0], &pointers[1], &pointers[2]};
  REQUIRE(kernel->launch(nullptr, arguments).ok());
  const std::vector<float> first = y;
  for (int again = 0; again < 3; ++again) {
    std::fill(y.begin(), y.end(), 0.0f);
    std::fill(workspace.begin(), workspace.end(), 0.0);
    REQUIRE(kernel->launch(nullptr, arguments).ok());
    CHECK(y == first);
  }
}

TEST_CASE("layernorm keeps its digits where the mean is a thousand times the deviation") {
  CpuFixture cpu;
  const hone::KernelSpec& spec = *hone::find_builtin_kernel("layernorm").value();
  constexpr std::size_t kRows = 3, kCols = 3000;
  hone::CompileRequest request;
  request.spec = &spec;
  request.configurations = {
      hone::default_configuration(spec),
      hone::parse_configuration(spec.parameters, "block=64,row_threads=64,min_blocks=1,items_per_thread=8,rest_shared=true").value(),
      hone::parse_configuration(spec.parameters,
                                "block=64,row_threads=64,min_blocks=1,items_per_thread=64,in_flight=0,unaligned_rows=false,stages=3,"
                                "lookahead=1,two_pass=false,weights=early")
          .value()};
  const auto compiled = cpu.compiler().compile(request);
  const hone::Problem problem = hone::make_problem(spec, hone::DType::kF32, {{"rows", kRows}, {"cols", kCols}}).value();

  std::vector<float> x(kRows * kCols), weight(kCols, 1.0f), bias(kCols, 0.0f), y(x.size());
  REQUIRE(cpu.device().randomize(x.data(), hone::DType::kF32, x.size(), 1).ok());
  std::vector<double> expected(x.size());
  for (std::size_t r = 0; r < kRows; ++r) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < kCols; ++c) {
      x[r * kCols + c] += 1000.0f;  // the deviation is 0.58: sums of squares differ from the squared mean by less than float's precision
      mean += static_cast<double>(x[r * kCols + c]) / kCols;
    }
    for (std::size_t c = 0; c < kCols; ++c) {
      variance += (x[r * kCols + c] - mean) * (x[r * kCols + c] - mean) / kCols;
    }
    for (std::size_t c = 0; c < kCols; ++c) {
      expected[r * kCols + c] = (x[r * kCols + c] - mean) / std::sqrt(variance + 1e-5);
    }
  }
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    REQUIRE(compiled[i].ok());
    const auto plan = hone::plan_launch(spec, problem, request.configurations[i], cpu.info()).value();
    const auto kernel = cpu.device().load(*compiled[i], plan, problem).value();
    void* pointers[] = {x.data(), weight.data(), bias.data(), y.data()};
    float epsilon = 1e-5f;
    void* const arguments[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3], &epsilon};
    REQUIRE(kernel->launch(nullptr, arguments).ok());
    double largest = 0;
    for (std::size_t e = 0; e < y.size(); ++e) {
      largest = std::max(largest, std::abs(y[e] - expected[e]));
    }
    CHECK(largest < 1e-3);  // half a unit in the last place of the mean, over the deviation, is 5e-5
  }
}
