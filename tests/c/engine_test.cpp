// Engines through hone/hone.h: options, kernels of one's own, memory, what an engine says of itself.
#include <atomic>
#include <fstream>
#include <thread>

#include "tests/c/c_fixture.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

const std::string kScale = R"(#include <hone/kernel.h>
struct Problem { long n = 64; };
struct Config { TUNE(1, 2, 4) int block = 4; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {(p.n + c.block - 1) / c.block}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void scale_reference(long i, const T* x, double* y, float factor, Problem p) { y[i] = factor * (double)x[i]; }
template <class T, Config c> KERNEL void scale(IN(p.n) const T* x, OUT(p.n) T* y, SCALAR(2.0) float factor, Problem p) {
  const long i = blockIdx.x * (long)c.block + threadIdx.x;
  if (i < p.n) { y[i] = factor * x[i]; }
}
)";

/// Whether the machine lacks what reads kernel files.
bool no_libclang(const Failure& failure) {
  if (failure.status() == HONE_ERROR_UNAVAILABLE && failure.says("libclang")) {
    hone::tests::skip("libclang", failure.message());
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("c: an engine without options is opened on the best device, and says which") {
  hone_engine* opened = nullptr;
  REQUIRE(hone_engine_open(nullptr, &opened, nullptr) == HONE_SUCCESS);
  const CEngine engine(opened);
  auto device = sized<hone_engine_device_info>();
  REQUIRE(hone_engine_device(engine.get(), &device, nullptr) == HONE_SUCCESS);
  CHECK_FALSE(std::string(device.product).empty());
  CHECK_FALSE(std::string(device.architecture).empty());
  std::int64_t warp = 0;
  CHECK(hone_engine_device_property(engine.get(), "warp_size", &warp, nullptr) == HONE_SUCCESS);
  CHECK(warp == 32);
  Failure failure;
  CHECK(hone_engine_device_property(engine.get(), "warpsize", &warp, &failure) == HONE_ERROR_NOT_FOUND);
  CHECK(failure.says("warp_size"));
}

TEST_CASE("c: options reach the engine") {
  const Folder folder;
  const std::string store = folder / "S.db";
  make_tuned_store(store);
  auto options = sized<hone_engine_options>();
  options.store = store.c_str();
  options.device = "cpu";
  hone_engine* opened = nullptr;
  Failure failure;
  const std::int64_t later = 99, first = 0;
  options.generation = &later;
  CHECK(hone_engine_open(&options, &opened, &failure) == HONE_ERROR_NOT_FOUND);
  CHECK(failure.says("no generation 99"));
  const auto source_with = [&](const auto& change) {
    auto changed = sized<hone_engine_options>();
    changed.store = store.c_str();
    changed.device = "cpu";
    change(changed);
    REQUIRE_MESSAGE(hone_engine_open(&changed, &opened, &failure) == HONE_SUCCESS, failure.message());
    const CEngine engine(opened);
    return described(find_softmax(engine.get()).get()).source;
  };
  CHECK(source_with([](hone_engine_options&) {}) == HONE_SOURCE_EXACT);
  CHECK(source_with([&](hone_engine_options& changed) { changed.generation = &first; }) == HONE_SOURCE_DEFAULT);
  CHECK(source_with([](hone_engine_options& changed) { changed.approved_only = 1; }) == HONE_SOURCE_DEFAULT);
  CHECK(source_with([](hone_engine_options& changed) { changed.max_error = 0.5; }) == HONE_SOURCE_DEFAULT);
  const char* const forced[] = {"softmax"};
  CHECK(source_with([&](hone_engine_options& changed) {
          changed.force_default = forced;
          changed.force_default_count = 1;
        }) == HONE_SOURCE_DEFAULT);
}

TEST_CASE("c: a kernel comes from its text, its file or its description") {
  const CEngine engine = open_cpu();
  Failure failure;
  const hone_status added = hone_engine_add_kernel_source(engine.get(), "scale.cu", kScale.c_str(), nullptr, 0, &failure);
  if (no_libclang(failure)) {
    return;
  }
  REQUIRE_MESSAGE(added == HONE_SUCCESS, failure.message());
  CHECK(hone_engine_add_kernel_source(engine.get(), "scale.cu", kScale.c_str(), nullptr, 0, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(failure.says("added already"));
  const Folder folder;
  const std::string file = folder / "other.cu";
  std::string text = kScale;
  for (std::size_t at = 0; (at = text.find("scale", at)) != std::string::npos;) {
    text.replace(at, 5, "other");
  }
  std::ofstream(file) << text;
  CHECK_MESSAGE(hone_engine_add_kernel_file(engine.get(), file.c_str(), nullptr, 0, &failure) == HONE_SUCCESS, failure.message());
  CHECK(hone_engine_add_kernel_file(engine.get(), (folder / "none.cu").c_str(), nullptr, 0, &failure) == HONE_ERROR_NOT_FOUND);
  CHECK(hone_engine_add_kernel_spec(engine.get(), "{", &failure) != HONE_SUCCESS);
  hone_kernel* found = nullptr;
  const hone_extent n{"n", 8};
  REQUIRE(hone_kernel_find(engine.get(), "other", nullptr, &n, 1, &found, &failure) != HONE_SUCCESS);  // several dtypes: which?
  REQUIRE_MESSAGE(hone_kernel_find(engine.get(), "other", "f32", &n, 1, &found, &failure) == HONE_SUCCESS, failure.message());
  hone_kernel_free(found);
}

TEST_CASE("c: what is wrong in a text is said with its name, and a flag reaches it") {
  const CEngine engine = open_cpu();
  Failure failure;
  CHECK(hone_engine_add_kernel_source(engine.get(), "broken.cu", "struct Problem { long n = ; };", nullptr, 0, &failure) != HONE_SUCCESS);
  if (no_libclang(failure)) {
    return;
  }
  CHECK(failure.status() == HONE_ERROR_BAD_KERNEL);
  CHECK_MESSAGE(failure.message().starts_with("broken.cu:1:"), failure.message());
  CHECK(hone_engine_add_kernel_source(engine.get(), "../a.cu", "", nullptr, 0, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  const char* const flags[] = {"-DMOST=4"};
  std::string text = kScale;
  text.replace(text.find("block = 4"), 9, "block = MOST");
  CHECK(hone_engine_add_kernel_source(engine.get(), "scale.cu", text.c_str(), nullptr, 0, &failure) == HONE_ERROR_BAD_KERNEL);
  CHECK_MESSAGE(hone_engine_add_kernel_source(engine.get(), "scale.cu", text.c_str(), flags, 1, &failure) == HONE_SUCCESS,
                failure.message());
}

TEST_CASE("c: memory is moved, filled and copied, and nothing is no error") {
  const CEngine engine = open_cpu();
  const CBuffer first = allocate(engine.get(), 16), second = allocate(engine.get(), 16);
  CHECK(hone_buffer_bytes(first.get()) >= 16);
  char text[16] = "fifteen letters", back[16] = "";
  void *const from = hone_buffer_address(first.get()), *const to = hone_buffer_address(second.get());
  CHECK(hone_upload(engine.get(), from, text, 16, nullptr) == HONE_SUCCESS);
  CHECK(hone_copy(engine.get(), to, from, 16, nullptr) == HONE_SUCCESS);
  CHECK(hone_fill(engine.get(), to, 'x', 4, nullptr) == HONE_SUCCESS);
  CHECK(hone_synchronize(engine.get(), nullptr) == HONE_SUCCESS);
  CHECK(hone_download(engine.get(), back, to, 16, nullptr) == HONE_SUCCESS);
  CHECK(std::string(back) == "xxxxeen letters");
  CHECK(hone_upload(engine.get(), nullptr, nullptr, 0, nullptr) == HONE_SUCCESS);
}

TEST_CASE("c: an engine reports its generation, its warnings and its background tuning") {
  const Folder folder;
  const std::string store = folder / "S.db";
  std::ofstream(store) << "no database at all, and long enough to be looked at";
  const CEngine engine = open_cpu(store);
  hone_texts* listed = nullptr;
  REQUIRE(hone_engine_warnings(engine.get(), &listed, nullptr) == HONE_SUCCESS);
  const CTexts warnings(listed);
  REQUIRE(hone_texts_count(warnings.get()) == 1);
  CHECK(contains(hone_texts_get(warnings.get(), 0), "S.db"));
  CHECK(hone_texts_get(warnings.get(), 1) == nullptr);
  auto report = sized<hone_background_report>();
  CHECK(hone_engine_background_report(engine.get(), &report, nullptr, nullptr) == HONE_SUCCESS);
  CHECK(report.waiting == 0);
  CHECK(hone_engine_background_report(engine.get(), &report, &listed, nullptr) == HONE_SUCCESS);
  CHECK(hone_texts_count(listed) == 0);
  hone_texts_free(listed);
  const CEngine other = open_cpu();
  std::int64_t generation = -1;
  CHECK(hone_engine_generation(other.get(), &generation, nullptr) == HONE_SUCCESS);
  CHECK(generation == 0);
  CHECK(hone_engine_reserve_graph_workspaces(other.get(), 2, nullptr) == HONE_SUCCESS);
}

TEST_CASE("c: a workload is written, and a check of a launch reaches the callback") {
  const Folder folder;
  const std::string workload = folder / "W.jsonl", store = folder / "S.db";
  KernelSpec copy = **find_builtin_kernel("copy");
  for (Parameter& parameter : copy.parameters) {  // what is the default anyway is not checked
    parameter.default_value = parameter.name == "block" ? Value(64) : parameter.default_value;
  }
  make_tuned_store(store, {}, copy, {{"n", 15}});
  struct Told {
    std::string text;
    std::atomic<bool> done = false;
  } told;
  auto options = sized<hone_engine_options>();
  options.store = store.c_str();
  options.device = "cpu";
  options.record_workload = workload.c_str();
  options.check_one_in = 1;
  options.on_check = [](void* data, const hone_launch_check* check) {
    auto& to = *static_cast<Told*>(data);
    if (!to.done) {
      to.text = std::string(check->kernel) + " " + check->dtypes + " " + check->shape;
      to.done = true;
    }
  };
  options.on_check_data = &told;
  hone_engine* opened = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(hone_engine_open(&options, &opened, &failure) == HONE_SUCCESS, failure.message());
  const CEngine engine(opened);
  {
    const hone_extent n{"n", 15};
    hone_kernel* found = nullptr;
    REQUIRE(hone_kernel_find(engine.get(), "copy", "f32", &n, 1, &found, nullptr) == HONE_SUCCESS);
    const CKernel tuned(found);
    REQUIRE(described(found).source == HONE_SOURCE_EXACT);
    const CBuffer x = allocate(engine.get(), 60), y = allocate(engine.get(), 60);
    REQUIRE(hone_fill(engine.get(), hone_buffer_address(x.get()), 0, 60, nullptr) == HONE_SUCCESS);
    const hone_argument arguments[] = {{hone_buffer_address(x.get()), 60, HONE_TYPE_F32, 0},
                                       {hone_buffer_address(y.get()), 60, HONE_TYPE_F32, 0}};
    while (!told.done) {  // the first launches prepare; one that is never checked is ctest's time-out
      REQUIRE(hone_launch(found, nullptr, arguments, 2, nullptr) == HONE_SUCCESS);
      std::this_thread::yield();
    }
    CHECK(hone_engine_write_workload(engine.get(), nullptr) == HONE_SUCCESS);
  }
  CHECK(std::filesystem::file_size(workload) > 0);
  CHECK(told.text == "copy f32 n=15");
}

}  // namespace hone::test
