// Engines on a GPU: workspaces of streams and graphs, and what may happen beside a capture.
#include <thread>

#include "gpu.hpp"
#include "hone/engine.hpp"
#include "plugins/cuda/driver.hpp"

using namespace test;

namespace {

constexpr std::int64_t kTerms = 1 << 20;

/// Streams and graphs, and the sum of kTerms ones into one of two results.
struct CaptureFixture : Gpu {
  std::shared_ptr<hone::cuda::PrimaryContext> context = hone::cuda::PrimaryContext::retain(0).value();
  const hone::cuda::DriverApi& api = context->api();
  hone::cuda::ContextScope scope{*context};
  Engine engine = Engine::open({.store = "/nonexistent/hone.db", .device = "cuda:0", .graph_workspaces = 1}).value();
  Kernel sum = engine.kernel("full_sum", DType::kF32, {{"n", kTerms}}).value();
  std::unique_ptr<Buffer> terms = upload(std::vector<float>(kTerms, 1.0F));
  std::unique_ptr<Buffer> result = upload(std::vector<float>(4, -1.0F));
  hone::cuda::StreamHandle stream = make_stream();

  hone::cuda::StreamHandle make_stream() {
    hone::cuda::StreamHandle made = nullptr;
    REQUIRE(api.stream_create(&made, 1) == 0);
    return made;
  }
  Result<void> launch(void* on) {
    return sum.launch(on, static_cast<const float*>(terms->address()), static_cast<float*>(result->address()));
  }
  float answer() {
    require(engine.memory().synchronize());
    return download<float>(*result).front();
  }
  void begin() { REQUIRE(api.stream_begin_capture(stream, 0) == 0); }  // global: other threads are held to it, too
  hone::cuda::GraphHandle end() {
    hone::cuda::GraphHandle graph = nullptr;
    REQUIRE(api.stream_end_capture(stream, &graph) == 0);
    return graph;
  }
  /// Launches a graph twice, and destroys it.
  void run(hone::cuda::GraphHandle graph) {
    hone::cuda::GraphExecHandle instance = nullptr;
    REQUIRE(api.graph_instantiate(&instance, graph, 0) == 0);
    REQUIRE(api.graph_launch(instance, stream) == 0);
    REQUIRE(api.graph_launch(instance, stream) == 0);
    REQUIRE(api.stream_synchronize(stream) == 0);
    REQUIRE(api.graph_exec_destroy(instance) == 0);
    REQUIRE(api.graph_destroy(graph) == 0);
  }
};

}  // namespace

TEST_CASE_FIXTURE(CaptureFixture, "one handle is launched on several streams, from several threads") {
  require(launch(nullptr));
  CHECK(answer() == static_cast<float>(kTerms));
  constexpr std::size_t kThreads = 3, kLaunches = 20, kApart = 4;  // floats between results: they are aligned to 16 bytes
  for (int round = 0; round < 10; ++round) {
    // Each has terms and results of its own, so that a workspace that two streams share shows.
    std::vector<std::unique_ptr<Buffer>> own_terms, own_results;
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (std::size_t t = 0; t < kThreads; ++t) {
      own_terms.push_back(upload(std::vector<float>(kTerms, static_cast<float>(t + 1))));
      own_results.push_back(upload(std::vector<float>(kLaunches * kApart, -1.0F)));
    }
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, own = make_stream()] {
        for (std::size_t i = 0; i < kLaunches; ++i) {
          auto* const to = static_cast<float*>(own_results[t]->address()) + i * kApart;
          failed += sum.launch(own, static_cast<const float*>(own_terms[t]->address()), to).ok() ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(failed == 0);
    require(engine.memory().synchronize());
    for (std::size_t t = 0; t < kThreads; ++t) {
      const std::vector<float> sums = download<float>(*own_results[t]);
      for (std::size_t i = 0; i < kLaunches; ++i) {
        CHECK(sums[i * kApart] == static_cast<float>(kTerms) * static_cast<float>(t + 1));
      }
    }
  }
}

TEST_CASE_FIXTURE(CaptureFixture,
                  "a captured launch takes a spare workspace, a second graph needs another, and a destroyed one gives it back") {
  begin();
  require(launch(stream));
  require(launch(stream));
  const auto first = end();
  begin();
  const Result<void> refused = launch(stream);
  CHECK_FALSE(refused.ok());
  CHECK(refused.error().message.find("reserve_graph_workspaces") != std::string::npos);
  REQUIRE(api.graph_destroy(end()) == 0);  // the capture is not spoiled
  require(engine.reserve_graph_workspaces(1));
  begin();
  require(launch(stream));
  const auto second = end();
  run(first);
  CHECK(answer() == static_cast<float>(kTerms));
  run(second);
  begin();
  require(launch(stream));
  run(end());
  CHECK(answer() == static_cast<float>(kTerms));
}

TEST_CASE_FIXTURE(CaptureFixture, "problems are looked up and loaded while this thread or another one captures") {
  begin();
  require(launch(stream));
  const Result<Kernel> here = engine.kernel("copy", DType::kF32, {{"n", 4096}});
  CHECK_MESSAGE(here.ok(), (here ? "" : here.error().message));
  std::thread([&] {
    const Result<Kernel> there = engine.kernel("softmax", DType::kF32, {{"rows", 8}, {"cols", 64}});
    CHECK_MESSAGE(there.ok(), (there ? "" : there.error().message));
  }).join();
  run(end());
  CHECK(answer() == static_cast<float>(kTerms));
}

TEST_CASE_FIXTURE(CaptureFixture, "a bound kernel stands in with loaded code, and serves the wanted one later") {
  const BoundKernel bound = engine.bind("full_sum", DType::kF32, {"n"}).value();
  REQUIRE(bound(kTerms).ok());
  constexpr std::int64_t kFewer = kTerms / 4 * 3;  // what runs kTerms has fewer blocks there, and still more than with one a multiprocessor
  const KernelView fewer = bound.at_once(kFewer).value();
  require(fewer.launch(nullptr, static_cast<const float*>(terms->address()), static_cast<float*>(result->address())));
  CHECK(answer() == static_cast<float>(kFewer));
  REQUIRE(bound(kFewer).ok());
  require(bound(kFewer)->launch(nullptr, static_cast<const float*>(terms->address()), static_cast<float*>(result->address())));
  CHECK(answer() == static_cast<float>(kFewer));
}
