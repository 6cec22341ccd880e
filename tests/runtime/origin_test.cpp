// An engine in a process that was forked from its own.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/runtime/engine_fixture.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

/// What `question` answers in a forked process; false also where that hangs.
bool in_fork(const std::function<bool()>& question) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    _exit(question() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("in a fork every call says that it is one, and the process before goes on") {
  Engine engine = cpu_engine();
  // Large enough for every thread of the device: those the fork does not have.
  const Kernel softmax = engine.kernel("softmax", DType::kF32, {{"rows", 4096}, {"cols", 64}}).value();
  const std::size_t count = 4096 * 64;
  const auto x = engine.memory().allocate(count * sizeof(float)).value(), y = engine.memory().allocate(count * sizeof(float)).value();
  REQUIRE(engine.memory().fill(x->address(), count * sizeof(float), 0).ok());
  const auto launch = [&] { return softmax.launch(nullptr, x->address(), y->address()); };
  REQUIRE(launch().ok());
  CHECK(in_fork([&] {
    const Result<void> launched = launch();
    const Result<Kernel> found = engine.kernel("softmax", DType::kF32, kSoftmaxShape);
    return !launched && !found && contains(launched.error().message, "fork") && contains(found.error().message, "fork") &&
           found.error().code == ErrorCode::kUnavailable && engine.background_report().waiting == 0;
  }));
  CHECK(launch().ok());
}

TEST_CASE("what a fork inherits can go away there, and it opens an engine of its own") {
#if defined(__SANITIZE_THREAD__)
  hone::tests::skip("sanitizer", "the thread sanitizer ends a fork of several threads that starts one");
  return;
#endif
  auto engine = std::make_unique<Engine>(cpu_engine());
  auto softmax = std::make_unique<Kernel>(engine->kernel("softmax", DType::kF32, kSoftmaxShape).value());
  CHECK(in_fork([&] {
    engine.reset();
    softmax.reset();
    Engine own = cpu_engine();
    return is_right(own, own.kernel("softmax", DType::kF32, kSoftmaxShape).value());
  }));
  CHECK(is_right(*engine, *softmax));
}

}  // namespace hone::test
