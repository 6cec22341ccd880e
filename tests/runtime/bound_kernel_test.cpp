#include "hone/bound_kernel.hpp"

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <new>
#include <thread>
#include <vector>

#include "tests/runtime/engine_fixture.hpp"

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

/// Counts what this thread allocates, in the whole program.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hone::test {
namespace {

/// Waits for what another thread is doing.
template <class Condition>
void wait_until(const Condition& condition) {
  while (!condition()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("a bound kernel finds what the engine finds, in the order in which its extents were named") {
  Engine engine = cpu_engine();
  const BoundKernel softmax = engine.bind("softmax", DType::kF32, {"cols", "rows"}).value();
  const KernelView found = softmax(5, 3).value();
  CHECK(found->problem().shape == kSoftmaxShape);
  CHECK(is_right(engine, *found));
  CHECK((*softmax(5U, std::int64_t{3}))->problem() == engine.kernel("softmax", DType::kF32, kSoftmaxShape)->problem());
  const BoundKernel row = engine.bind("softmax", DType::kF32, {"cols"}, {{"rows", 3}}).value();
  CHECK((*row(5))->problem().shape == kSoftmaxShape);
  CHECK((*row.find(std::array<std::int64_t, 1>{5}))->problem().shape == kSoftmaxShape);
}

TEST_CASE("a lookup of what was asked for before allocates nothing") {
  Engine engine = cpu_engine();
  const BoundKernel softmax = engine.bind("softmax", DType::kF32, {"rows", "cols"}).value();
  for (std::int64_t rows = 1; rows <= 3; ++rows) {
    REQUIRE(softmax(rows, 5).ok());
  }
  bool found = true;
  const std::size_t before = allocations;
  for (int i = 0; i < 1000; ++i) {
    found = softmax(1 + i % 3, 5).ok() && found;
  }
  CHECK(allocations == before);
  CHECK(found);
  CHECK(softmax(4, 5).ok());
  CHECK(allocations > before);  // what it counts
}

TEST_CASE("what cannot be bound, and what cannot be looked up, is refused by name") {
  Engine engine = cpu_engine();
  CHECK(contains(engine.bind("sofmax", DType::kF32, {"rows"}).error().message, "softmax"));
  CHECK(contains(engine.bind("softmax", DType::kF32, {"row"}).error().message, "rows"));
  CHECK(contains(engine.bind("softmax", DType::kI32, {"rows"}).error().message, "dtype"));
  CHECK(contains(engine.bind("softmax", DType::kF32, {"rows", "rows"}).error().message, "'rows' is bound twice"));
  CHECK(contains(engine.bind("softmax", DType::kF32, {"rows"}, {{"rows", 3}}).error().message, "'rows' is bound twice"));
  CHECK(engine.bind("softmax", DType::kF32, std::vector<std::string>(17, "rows")).error().code == ErrorCode::kInvalidArgument);
  const BoundKernel softmax = engine.bind("softmax", DType::kF32, {"rows", "cols"}).value();
  CHECK(contains(softmax(3).error().message, "2 extents; 1 were passed"));
  CHECK(contains(softmax(0, 5).error().message, "at least 1"));
  CHECK(contains(softmax(~std::uint64_t{0}, 5).error().message, "at least 1"));
}

TEST_CASE("a bound kernel, and what was kept of it, go on when the engine is gone") {
  alignas(16) std::array<float, 64> x{}, y{};
  x.fill(0.5F);
  const auto bound = [] { return cpu_engine().bind("full_sum", DType::kF32, {"n"}).value(); };
  std::optional<Kernel> kept;
  {
    const BoundKernel sum = bound();
    REQUIRE(sum(64)->launch(nullptr, std::span<const float>(x), std::span(y)).ok());
    CHECK(y[0] == 32.0F);
    const BoundKernel copy = sum;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested
    kept = **copy(32);
  }
  REQUIRE(kept->launch(nullptr, std::span<const float>(x).first(32), std::span(y)).ok());
  CHECK(y[0] == 16.0F);
}

TEST_CASE("beyond its limit an engine loads anew what it let go, and what was kept stays as it is") {
  Engine engine = Engine::open({.store = "/nonexistent/hone.db", .device = "cpu", .most_problems = 4}).value();
  const BoundKernel softmax = engine.bind("softmax", DType::kF32, {"rows", "cols"}).value();
  const Kernel kept = **softmax(3, 5);
  for (std::int64_t rows = 4; rows < 11; ++rows) {
    CHECK((*softmax(rows, 5))->problem().shape.front().second == rows);
  }
  CHECK((*softmax(3, 5))->problem() == kept.problem());
  CHECK(is_right(engine, **softmax(3, 5)));
  CHECK(is_right(engine, kept));
}

TEST_CASE("threads that ask and launch at once get the right kernels") {
  Engine engine = cpu_engine();
  const BoundKernel sum = engine.bind("full_sum", DType::kF32, {"n"}).value();
  constexpr int kThreads = 4;
  std::atomic<int> wrong{0};
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      alignas(16) std::array<float, 64> x{}, y{};
      x.fill(1.0F);
      start.arrive_and_wait();
      for (int i = 0; i < 30; ++i) {
        const std::int64_t n = 61 + i % 4;
        const bool launched = sum(n)->launch(nullptr, std::span<const float>(x), std::span(y)).ok();
        wrong += launched && y[0] == static_cast<float>(n) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("one kernel is launched by several threads at once, workspaces and all") {
  Engine engine = cpu_engine();
  const Kernel sum = engine.kernel("full_sum", DType::kF32, {{"n", 4096}}).value();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> memory(4096 + 8), result(8);
      float* const x =
          memory.data() + (4 - reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(float) % 4) % 4;  // aligned to 16 bytes
      alignas(16) std::array<float, 4> y{};
      std::fill_n(x, 4096, static_cast<float>(t));
      for (int i = 0; i < 50; ++i) {
        wrong += sum.launch(nullptr, static_cast<const float*>(x), y.data()).ok() && y[0] == 4096.0F * static_cast<float>(t) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("who does not wait gets what is loaded at once, and the record later") {
  const Folder folder;
  const auto file = folder / "S.db";
  const Variable home("XDG_DATA_HOME", folder / "home");
  make_tuned_store(file);
  Engine engine = cpu_engine(file);
  const BoundKernel softmax = engine.bind("softmax", DType::kF32, {"rows", "cols"}).value();
  wait_until([&] { return softmax.at_once(7, 5).ok(); });
  CHECK((*softmax.at_once(7, 5))->problem().shape.front().second == 7);
  const KernelView first = softmax.at_once(3, 5).value();  // of another problem's code, unless its own is there already
  CHECK((first->source() == Source::kNearest || first->source() == Source::kExact));
  CHECK(is_right(engine, *first));
  wait_until([&] { return (*softmax.at_once(3, 5))->source() == Source::kExact; });
  CHECK(is_right(engine, **softmax.at_once(3, 5)));
}

TEST_CASE("a compiler at work keeps nobody waiting who does not want to wait, and who wants to gets what it makes") {
  const Folder folder;
  const std::filesystem::path script = folder / "compiler", begun = folder / "begun", go_on = folder / "go_on";
  std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = --version ] && exec g++ --version\n: >" << begun.string() << "\nwhile [ ! -e "
                        << go_on.string() << " ]; do sleep 0.01; done\nexec g++ \"$@\"\n";
  REQUIRE(chmod(script.c_str(), 0755) == 0);
  Engine engine = cpu_engine();
  const BoundKernel softmax = engine.bind("softmax", DType::kF32, {"rows", "cols"}).value();
  const BoundKernel copy = engine.bind("copy", DType::kF32, {"n"}).value();
  REQUIRE(softmax(7, 5).ok());
  const Variable compiler("HONE_CXX", script);
  const Result<KernelView> nothing = copy.at_once(64);
  REQUIRE_FALSE(nothing.ok());
  CHECK(nothing.error().code == ErrorCode::kUnavailable);
  CHECK(contains(nothing.error().message, "is being loaded"));
  const KernelView meanwhile = softmax.at_once(3, 5).value();
  CHECK(meanwhile->source() == Source::kDefault);
  CHECK(is_right(engine, *meanwhile));
  wait_until([&] { return std::filesystem::exists(begun); });
  CHECK(is_right(engine, **softmax.at_once(3, 5)));
  std::ofstream(go_on) << "";
  CHECK(is_right(engine, **softmax(3, 5)));
  CHECK(copy(64).ok());
}

TEST_CASE("what cannot be loaded says why also to who does not wait") {
  const Folder folder;
  Engine engine = cpu_engine();
  const BoundKernel copy = engine.bind("copy", DType::kF32, {"n"}).value();
  const Variable compiler("HONE_CXX", folder / "none");
  std::string why;
  wait_until([&] {
    why = copy.at_once(64).error().message;
    return !contains(why, "is being loaded");
  });
  CHECK(contains(why, "HONE_CXX"));
  CHECK_FALSE(copy(64).ok());
}

}  // namespace hone::test
