#include "engine/runtime/workload_recorder.hpp"

#include <fstream>
#include <thread>
#include <vector>

#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

Engine recording_engine(const std::filesystem::path& file, const std::filesystem::path& store = "/nonexistent/hone.db") {
  return Engine::open({.store = store, .device = "cpu", .record_workload = file}).value();
}

void launch_softmax(Engine& engine, const Shape& shape, int times = 1) {
  const Kernel softmax = engine.kernel("softmax", DType::kF32, shape).value();
  for (int i = 0; i < times; ++i) {
    launched(engine, softmax);
  }
}

const WorkloadProblem kUnit{.kernel = "softmax", .dtypes = "f32", .shape = kSoftmaxShape};

}  // namespace

TEST_CASE("launches of several threads are all counted") {
  const Folder folder;
  WorkloadRecorder recorder(folder / "calls.jsonl");
  const auto counter = recorder.counter(kUnit);
  constexpr int kThreads = 20;  // more than the first part of the thread numbers holds
  constexpr std::uint64_t kLaunches = 1000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t k = 0; k < kLaunches; ++k) {
        counter->add();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(counter->sum() == kThreads * kLaunches);
  REQUIRE(recorder.write().ok());
  CHECK(read_workload(folder / "calls.jsonl")->front().count == kThreads * kLaunches);
}

TEST_CASE("what was launched before a problem was loaded anew counts, and nothing counts twice") {
  const Folder folder;
  WorkloadRecorder recorder(folder / "calls.jsonl");
  recorder.counter(kUnit)->add();  // gone at once
  const auto counter = recorder.counter(kUnit);
  CHECK(counter == recorder.counter(kUnit));
  counter->add();
  REQUIRE(recorder.write().ok());
  REQUIRE(recorder.write().ok());
  counter->add();
  REQUIRE(recorder.write().ok());
  CHECK(read_workload(folder / "calls.jsonl")->front().count == 3);
}

TEST_CASE("an engine records what is launched, and adds it to the file when it closes") {
  const Folder folder;
  const std::filesystem::path file = folder / "calls.jsonl";
  {
    Engine engine = recording_engine(file);
    launch_softmax(engine, kSoftmaxShape, 3);
    const BoundKernel bound = engine.bind("softmax", DType::kF32, {"rows", "cols"}).value();
    launched(engine, **bound(3, 5));
    CHECK(bound(1, 7).ok());  // looked up, never launched
    CHECK(engine.write_workload().ok());
    CHECK(read_workload(file)->front().count == 4);
    launch_softmax(engine, {{"rows", 5}, {"cols", 3}});
  }
  const Workload recorded = read_workload(file).value();
  CHECK(text(recorded) == text({{.kernel = "softmax", .dtypes = "f32", .shape = kSoftmaxShape, .count = 4},
                                {.kernel = "softmax", .dtypes = "f32", .shape = {{"rows", 5}, {"cols", 3}}, .count = 1}}));
  {
    Engine engine = recording_engine(file);
    launch_softmax(engine, kSoftmaxShape);
  }
  CHECK(read_workload(file)->front().count == 5);
}

TEST_CASE("the time of a problem is that of its record") {
  const Folder folder;
  make_tuned_store(folder / "S.db");
  {
    Engine engine = recording_engine(folder / "calls.jsonl", folder / "S.db");
    launch_softmax(engine, kSoftmaxShape);
  }
  CHECK(read_workload(folder / "calls.jsonl")->front().time_us == 1.0);
}

TEST_CASE("an application's own kernel is recorded by the path of its file, an operation by its name") {
  const Folder folder;
  const KernelSpec& spec = **find_builtin_kernel("softmax");
  KernelSpec own = spec;
  own.name = "own_softmax";
  own.file = folder / "own_softmax.cu";
  std::ofstream(own.file) << own.source;
  {
    Engine engine = recording_engine(folder / "calls.jsonl");
    REQUIRE(engine.add_kernel_spec(own.serialize()).ok());
    launched(engine, engine.kernel("own_softmax", DType::kF32, kSoftmaxShape).value());
    launch_softmax(engine, kSoftmaxShape);
  }
  const Workload recorded = read_workload(folder / "calls.jsonl").value();
  REQUIRE(recorded.size() == 2);
  CHECK(recorded[0].kernel == own.file);
  CHECK(recorded[1].kernel == "softmax");
}

TEST_CASE("a workload that cannot be written is a warning and an error of write_workload, never of a launch") {
  const Folder folder;
  const std::filesystem::path file = folder / "none" / "calls.jsonl";
  Engine engine = recording_engine(file);
  REQUIRE(engine.warnings().size() == 1);
  CHECK(contains(engine.warnings().front(), file.string()));
  launch_softmax(engine, kSoftmaxShape, 2);
  CHECK(engine.write_workload().error().code == ErrorCode::kIo);
  std::filesystem::create_directory(file.parent_path());
  CHECK(engine.write_workload().ok());  // nothing was lost meanwhile
  CHECK(read_workload(file)->front().count == 2);
}

TEST_CASE("an engine that records nothing writes nothing") {
  Engine engine = cpu_engine();
  launch_softmax(engine, kSoftmaxShape);
  CHECK(engine.write_workload().ok());
  CHECK(engine.warnings().empty());
}

}  // namespace hone::test
