// Ranges of launches, for profilers.
#include "engine/runtime/launch_range.hpp"

#include <dlfcn.h>

#include "tests/runtime/engine_fixture.hpp"

namespace hone::test {
namespace {

const std::string kShamProfiler = std::string(HONE_BINARY_DIR) + "/tests/runtime/sham_profiler.so";

/// What the sham profiler says of its ranges.
template <class Answer>
Answer asked(const char* function) {
  void* const library = ::dlopen(kShamProfiler.c_str(), RTLD_LAZY);
  return reinterpret_cast<Answer (*)()>(::dlsym(library, function))();
}

}  // namespace

TEST_CASE("a profiler sees each launch as a range named after kernel and configuration") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, kSoftmaxShape).value();
  const auto memory = engine.memory().allocate(256).value();
  auto* const x = static_cast<float*>(memory->address());
  REQUIRE(softmax.launch(nullptr, x, x).ok());  // nobody listens
  REQUIRE(attach_profiler(kShamProfiler.c_str()));
  const int before = asked<int>("sham_profiler_pushed");
  CHECK(softmax.launch(nullptr, x, x).ok());
  CHECK(asked<int>("sham_profiler_pushed") == before + 1);
  CHECK(asked<int>("sham_profiler_open") == 0);
  CHECK(std::string(asked<const char*>("sham_profiler_latest")) == "softmax " + softmax.configuration_text());
  detach_profiler();
  CHECK(softmax.launch(nullptr, x, x).ok());
  CHECK(asked<int>("sham_profiler_pushed") == before + 1);
}

TEST_CASE("what is no profiler, or collects no ranges, is not attached") {
  CHECK_FALSE(attach_profiler("/nowhere/libprofiler.so"));
  CHECK_FALSE(attach_profiler("libm.so.6"));
  const Variable refuses("HONE_SHAM_PROFILER", "refuses");
  CHECK_FALSE(attach_profiler(kShamProfiler.c_str()));
}

}  // namespace hone::test
