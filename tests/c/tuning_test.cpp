// Sessions through hone/hone.h, on the cpu device.
#include <chrono>
#include <thread>

#include "tests/c/c_fixture.hpp"

namespace hone::test {
namespace {

const std::vector<hone_extent> kCopy{{"n", 1000}};

hone_tuning_options trials(std::int64_t count) {
  auto options = sized<hone_tuning_options>();
  options.trials = count;
  return options;
}

hone_tuning_info told(const hone_tuning* tuning) {
  auto info = sized<hone_tuning_info>();
  REQUIRE(hone_tuning_describe(tuning, &info, nullptr) == HONE_SUCCESS);
  return info;
}

hone_status tune(hone_engine* engine, const char* kernel, const std::vector<hone_extent>& shape, const hone_tuning_options& options,
                 CTuning& to, Failure& failure) {
  hone_tuning* made = nullptr;
  const hone_status status = hone_tune(engine, kernel, "f32", shape.data(), shape.size(), &options, &made, &failure);
  to.reset(made);
  return status;
}

std::int32_t source_of(hone_engine* engine, const char* kernel, const std::vector<hone_extent>& shape) {
  hone_kernel* found = nullptr;
  REQUIRE(hone_kernel_find(engine, kernel, "f32", shape.data(), shape.size(), &found, nullptr) == HONE_SUCCESS);
  return described(CKernel(found).get()).source;
}

}  // namespace

TEST_CASE("c: a session on several devices of the engine's product") {
  const Variable divided("HONE_CPU_DEVICES", "2");
  const Folder folder;
  const CEngine engine = open_cpu(folder / "S.db");
  hone_tuning_options options = trials(4);
  options.devices = "cpu:0,cpu:1";
  CTuning tuning;
  Failure failure;
  REQUIRE_MESSAGE(tune(engine.get(), "copy", kCopy, options, tuning, failure) == HONE_SUCCESS, failure.message());
  CHECK(told(tuning.get()).found == 1);
  CHECK(source_of(engine.get(), "copy", kCopy) == HONE_SOURCE_EXACT);
  options.devices = "replay";
  CHECK(tune(engine.get(), "copy", kCopy, options, tuning, failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(failure.message().find("can use") != std::string::npos);
}

TEST_CASE("c: tuning makes a store, reports its progress, and the engine serves the winner from then on") {
  const Folder folder;
  const CEngine engine = open_cpu(folder / "S.db");
  CHECK(source_of(engine.get(), "copy", kCopy) == HONE_SOURCE_DEFAULT);  // what was found before is found anew
  const char* const n = "n";
  hone_bound* bound_copy = nullptr;
  REQUIRE(hone_bind(engine.get(), "copy", "f32", &n, 1, nullptr, 0, &bound_copy, nullptr) == HONE_SUCCESS);
  const CBound bound(bound_copy);
  const hone_kernel* view = nullptr;
  REQUIRE(hone_bound_find(bound.get(), &kCopy[0].value, 1, &view, nullptr) == HONE_SUCCESS);
  CHECK(described(view).source == HONE_SOURCE_DEFAULT);
  std::int64_t seen = 0;
  hone_tuning_options options = trials(3);
  options.on_progress = [](void* data, const hone_progress* progress) {
    *static_cast<std::int64_t*>(data) = progress->trials;
    return progress->outcome != nullptr && progress->size == sizeof(hone_progress) ? 0 : 1;
  };
  options.on_progress_data = &seen;
  CTuning tuning;
  Failure failure;
  REQUIRE_MESSAGE(tune(engine.get(), "copy", kCopy, options, tuning, failure) == HONE_SUCCESS, failure.message());
  CHECK(seen >= 1);
  const hone_tuning_info info = told(tuning.get());
  CHECK(info.found == 1);
  CHECK(info.interrupted == 0);
  CHECK(std::string(info.kernel) == "copy");
  CHECK(info.trials == seen);
  CHECK(info.session == 1);
  CHECK(info.default_us > 0.0);
  CHECK(info.best_us > 0.0);
  CHECK(info.best_low_us <= info.best_us);
  CHECK(info.best_us <= info.best_high_us);
  CHECK(info.speedup > 0.0);
  CHECK(hone_texts_count(hone_tuning_notes(tuning.get())) == 0);
  hone_kernel* found = nullptr;
  REQUIRE(hone_kernel_find(engine.get(), "copy", "f32", kCopy.data(), 1, &found, nullptr) == HONE_SUCCESS);
  const CKernel winner(found);
  CHECK(described(winner.get()).source == HONE_SOURCE_EXACT);
  CHECK(std::string(described(winner.get()).configuration) == info.configuration);
  REQUIRE(hone_bound_find(bound.get(), &kCopy[0].value, 1, &view, nullptr) == HONE_SUCCESS);
  CHECK(described(view).source == HONE_SOURCE_EXACT);
}

TEST_CASE("c: an operation is tuned over its kernels") {
  const Folder folder;
  const CEngine engine = open_cpu(folder / "S.db");
  const std::vector<hone_extent> shape{{"m", 1}, {"n", 16}, {"k", 16}};
  CTuning tuning;
  Failure failure;
  REQUIRE_MESSAGE(tune(engine.get(), "matmul", shape, trials(8), tuning, failure) == HONE_SUCCESS, failure.message());
  const hone_tuning_info info = told(tuning.get());
  CHECK(info.found == 1);
  CHECK((std::string(info.kernel) == "gemm" || std::string(info.kernel) == "gemv"));
  CHECK(info.trials >= 2);
  CHECK(source_of(engine.get(), "matmul", shape) == HONE_SOURCE_EXACT);
}

TEST_CASE("c: a session ends where its callback says so, or a stop is requested, and is resumed later") {
  const Folder folder;
  const CEngine engine = open_cpu(folder / "S.db");
  hone_tuning_options options = trials(1000);
  CTuning tuning;
  Failure failure;
  options.on_progress = [](void*, const hone_progress* progress) { return progress->best_us > 0.0 ? 1 : 0; };
  REQUIRE_MESSAGE(tune(engine.get(), "copy", kCopy, options, tuning, failure) == HONE_SUCCESS, failure.message());
  CHECK(told(tuning.get()).interrupted == 1);
  CHECK(told(tuning.get()).found == 1);
  const std::int64_t first = told(tuning.get()).trials;
  REQUIRE_MESSAGE(tune(engine.get(), "copy", kCopy, trials(first + 1), tuning, failure) == HONE_SUCCESS, failure.message());
  CHECK(told(tuning.get()).session == 1);
  CHECK(told(tuning.get()).trials > first);
  hone_stop* stop = nullptr;
  REQUIRE(hone_stop_create(&stop, nullptr) == HONE_SUCCESS);
  hone_stop_request(stop);
  options = trials(1000);
  options.stop = stop;
  CHECK(tune(engine.get(), "copy", {{"n", 64}}, options, tuning, failure) == HONE_ERROR_CANCELLED);
  hone_stop_free(stop);
}

TEST_CASE("c: what is wrong in a request is said before a store is made") {
  const Folder folder;
  const std::string store = folder / "S.db";
  const CEngine engine = open_cpu(store);
  CTuning tuning;
  Failure failure;
  const auto says = [&](const char* kernel, const hone_tuning_options& options, const char* part) {
    CHECK(tune(engine.get(), kernel, kCopy, options, tuning, failure) != HONE_SUCCESS);
    CHECK(tuning == nullptr);
    CHECK_MESSAGE(failure.says(part), failure.message());
  };
  says("cpoy", trials(1), "copy");
  says("softmax", trials(1), "rows");
  says("copy", trials(-1), "-1 trials");
  hone_tuning_options options = trials(1);
  options.strategy = "atuo";
  says("copy", options, "auto");
  options = trials(1);
  options.compile_workers = -1;
  says("copy", options, "compile workers");
  {
    const Variable worker("HONE_WORKER", "/nonexistent/worker");
    says("copy", trials(1), "HONE_WORKER");
  }
  CHECK_FALSE(std::filesystem::exists(store));
}

TEST_CASE("c: background tuning replaces what a lookup found") {
  const Folder folder;
  const std::string store = folder / "S.db";
  auto background = sized<hone_background_tuning>();
  background.trials = 2;
  auto options = sized<hone_engine_options>();
  options.store = store.c_str();
  options.device = "cpu";
  options.background_tuning = &background;
  hone_engine* opened = nullptr;
  Failure failure;
  background.seconds = -1.0;
  CHECK(hone_engine_open(&options, &opened, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(failure.says("both are 0 or more"));
  background.seconds = 0.0;
  REQUIRE_MESSAGE(hone_engine_open(&options, &opened, &failure) == HONE_SUCCESS, failure.message());
  const CEngine engine(opened);
  hone_kernel* found = nullptr;
  REQUIRE(hone_kernel_find(engine.get(), "copy", "f32", kCopy.data(), 1, &found, nullptr) == HONE_SUCCESS);
  const CKernel stand_in(found);
  while (hone_kernel_superseded(stand_in.get()) == 0) {  // one that never comes is ctest's time-out
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(source_of(engine.get(), "copy", kCopy) == HONE_SOURCE_EXACT);
}

}  // namespace hone::test
