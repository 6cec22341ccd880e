// Surveys whose code is compiled while something else is measured, on the cpu device.
#include "engine/tune/compiled_ahead.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "engine/kernel/configuration_text.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/reader/kernel_file.hpp"
#include "engine/tune/scratch_store.hpp"

namespace hone {
namespace {

namespace fs = std::filesystem;

/// Where broken=true does not compile.
constexpr const char* kAtTimes = R"cuda(#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(1, 2, 3) int times = 1; TUNE(false, true) bool broken = false; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {p.n}, .block = {1}}; }
REFERENCE(p.n) void at_times_reference(long i, const f32* x, double* y, Problem p) { y[i] = x[i]; }
template <Config c> KERNEL void at_times(IN(p.n) const f32* x, OUT(p.n) f32* y, Problem p) {
  static_assert(!c.broken);
  for (int i = 0; i < c.times; ++i) y[blockIdx.x] = x[blockIdx.x];
}
)cuda";

class Ahead {
 public:
  Ahead() : folder_(fs::temp_directory_path() / ("hone_ahead_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "at_times.cu") << kAtTimes;
    spec = read_kernel_file(folder_ / "at_times.cu").value();
    operation = {spec.name, {&spec}, &spec};
    request.operation = &operation;
    request.range = parse_range(spec, "n=1..4096").value();
    request.dtypes = DType::kF32;
    request.common.device = builtin_registry().device("cpu").value();
    request.common.device.info.compile_overlaps = true;
  }
  ~Ahead() { fs::remove_all(folder_); }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  static Configuration of(std::int64_t times, bool broken = false) { return {{Value(times), Value(broken)}}; }
  [[nodiscard]] bool knows(const Configuration& one) {
    const Problem problem = shapes.problem_at({{"n", 64}}).value();
    return store.store().find_compiled(compiled_key(spec, problem, text(spec.parameters, one), request.common.device.info))->has_value();
  }
  static PlannedSurvey plan(std::int64_t n, std::vector<Configuration> configurations) {
    return {{{"n", n}}, {{"at_times", std::move(configurations)}}};
  }
  std::optional<CompiledAhead::Ready> wait() {
    for (int i = 0; i < 6000; ++i) {
      if (auto ready = ahead.take()) {
        return ready;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::nullopt;
  }

 private:
  fs::path folder_;

 public:
  KernelSpec spec;
  Operation operation;
  PortfolioRequest request;
  ScratchStore store = ScratchStore::create().value();
  PortfolioTable table;
  PortfolioShapes shapes{request};
  PortfolioProposals proposals{request, table, shapes};
  CompiledAhead ahead{request, shapes, proposals, store.store(), 2};
};

}  // namespace

TEST_CASE("a plan is ready once its code is there, without what does not compile") {
  Ahead one;
  one.ahead.add(Ahead::plan(64, {Ahead::of(1), Ahead::of(2), Ahead::of(3, true)}));
  CHECK_FALSE(one.ahead.is_full());
  CHECK_FALSE(one.ahead.is_empty());
  const auto ready = one.wait();
  REQUIRE(ready);
  CHECK(ready->ended.ok());
  CHECK(ready->plan.first.at("at_times") == std::vector<Configuration>{Ahead::of(1), Ahead::of(2)});
  CHECK(ready->failed == std::vector<PortfolioMember>{{"at_times", "times=3,broken=true"}});
  CHECK(one.knows(Ahead::of(2)));
  CHECK(one.ahead.is_empty());
}

TEST_CASE("where something is measured nothing is taken, and others are") {
  Ahead one;
  one.shapes.reserve({{"n", 64}});
  one.ahead.add(Ahead::plan(64, {Ahead::of(1)}));
  one.ahead.add(Ahead::plan(128, {Ahead::of(1)}));
  CHECK(one.ahead.is_full());
  const auto other = one.wait();
  REQUIRE(other);
  CHECK(other->plan.shape == Shape{{"n", 128}});
  CHECK_FALSE(one.ahead.take());
  one.shapes.release({{"n", 64}});
  CHECK(one.wait());
}

TEST_CASE("where compiling disturbs what is timed whoever surveys compiles") {
  Ahead one;
  one.request.common.device.info.compile_overlaps = false;
  one.ahead.add(Ahead::plan(64, {Ahead::of(1), Ahead::of(3, true)}));
  const auto ready = one.ahead.take();
  REQUIRE(ready);
  CHECK(ready->plan.first.at("at_times").size() == 2);
  CHECK(ready->failed.empty());
  CHECK_FALSE(one.knows(Ahead::of(1)));
}

TEST_CASE("what is compiled is stopped with who waits for it") {
  Ahead one;
  one.ahead.add(Ahead::plan(64, {Ahead::of(1), Ahead::of(2), Ahead::of(3)}));
  one.ahead.stop();
  CHECK(one.ahead.is_empty());
  CHECK_FALSE(one.ahead.take());
}

}  // namespace hone
