// What holds for every function of hone/hone.h: errors as values, NULL, sizes of structs.
#include <cstring>

#include "tests/c/c_fixture.hpp"

namespace hone::test {

TEST_CASE("c: an error has a status and a message, and a success has none") {
  hone_error* error = nullptr;
  hone_engine* engine = reinterpret_cast<hone_engine*>(&error);
  auto options = sized<hone_engine_options>();
  options.device = "gpu:9";
  CHECK(hone_engine_open(&options, &engine, &error) == HONE_ERROR_NOT_FOUND);
  CHECK(engine == nullptr);
  CHECK(hone_error_status(error) == HONE_ERROR_NOT_FOUND);
  CHECK(contains(hone_error_message(error), "no device 'gpu:9'"));
  hone_error_free(error);
  CHECK(hone_engine_open(&options, &engine, nullptr) == HONE_ERROR_NOT_FOUND);  // who does not ask is not told
  options.device = "cpu";
  options.store = "/nonexistent/hone.db";
  CHECK(hone_engine_open(&options, &engine, &error) == HONE_SUCCESS);
  CHECK(error == nullptr);
  hone_engine_close(engine);
}

TEST_CASE("c: what is asked of NULL is answered, and freeing it does nothing") {
  CHECK(std::string(hone_error_message(nullptr)).empty());
  CHECK(hone_error_status(nullptr) == HONE_SUCCESS);
  CHECK(hone_texts_count(nullptr) == 0);
  CHECK(hone_texts_get(nullptr, 0) == nullptr);
  CHECK(hone_buffer_address(nullptr) == nullptr);
  CHECK(hone_buffer_bytes(nullptr) == 0);
  CHECK(hone_kernel_superseded(nullptr) == 0);
  CHECK(hone_tuning_notes(nullptr) == nullptr);
  CHECK(hone_records_count(nullptr) == 0);
  hone_stop_request(nullptr);
  hone_error_free(nullptr);
  hone_texts_free(nullptr);
  hone_engine_close(nullptr);
  hone_buffer_free(nullptr);
  hone_kernel_free(nullptr);
  hone_bound_free(nullptr);
  hone_stop_free(nullptr);
  hone_tuning_free(nullptr);
  hone_records_free(nullptr);
}

TEST_CASE("c: NULL where something must be is a broken contract, which the message names") {
  const CEngine engine = open_cpu();
  const CKernel kernel = find_softmax(engine.get());
  Failure failure;
  hone_kernel* found = nullptr;
  hone_bound* bound = nullptr;
  const auto breaks = [&](hone_status status, const char* what) {
    CHECK_MESSAGE(status == HONE_ERROR_CONTRACT, what);
    CHECK_MESSAGE(failure.message() == std::string(what) + " is NULL", failure.message());
  };
  breaks(hone_engine_open(nullptr, nullptr, &failure), "hone_engine_open: engine");
  breaks(hone_kernel_find(nullptr, "softmax", "f32", nullptr, 0, &found, &failure), "hone_kernel_find: engine");
  breaks(hone_kernel_find(engine.get(), nullptr, "f32", nullptr, 0, &found, &failure), "hone_kernel_find: kernel");
  breaks(hone_kernel_find(engine.get(), "softmax", "f32", nullptr, 2, &found, &failure), "hone_kernel_find: extents");
  const hone_extent nameless{nullptr, 3};
  breaks(hone_kernel_find(engine.get(), "softmax", "f32", &nameless, 1, &found, &failure), "hone_kernel_find: extents");
  breaks(hone_bind(engine.get(), "softmax", "f32", nullptr, 1, nullptr, 0, &bound, &failure), "hone_bind: names");
  breaks(hone_bound_find(nullptr, nullptr, 0, nullptr, &failure), "hone_bound_find: found");
  breaks(hone_launch(nullptr, nullptr, nullptr, 0, &failure), "hone_launch: kernel");
  breaks(hone_launch(kernel.get(), nullptr, nullptr, 2, &failure), "hone_launch: arguments");
  breaks(hone_kernel_describe(kernel.get(), nullptr, &failure), "hone_kernel_describe: info");
  breaks(hone_upload(engine.get(), nullptr, "x", 1, &failure), "hone_upload: to_device");
  breaks(hone_engine_add_kernel_source(engine.get(), "a.cu", nullptr, nullptr, 0, &failure), "hone_engine_add_kernel_source: text");
  breaks(hone_tune(engine.get(), "softmax", "f32", nullptr, 0, nullptr, nullptr, &failure), "hone_tune: tuning");
  breaks(hone_records_generation(nullptr, nullptr, &failure), "hone_records_generation: generation");
}

TEST_CASE("c: a struct without its size is refused") {
  hone_engine* engine = nullptr;
  Failure failure;
  hone_engine_options options{};
  CHECK(hone_engine_open(&options, &engine, &failure) == HONE_ERROR_CONTRACT);
  CHECK(failure.says("hone_engine_open: options has a size of 0"));
  options.size = sizeof options - 3;
  CHECK(hone_engine_open(&options, &engine, &failure) == HONE_ERROR_CONTRACT);
  options.size = static_cast<std::size_t>(-8);
  CHECK(hone_engine_open(&options, &engine, &failure) == HONE_ERROR_CONTRACT);
  hone_kernel_info info{};
  const CEngine open = open_cpu();
  const CKernel kernel = find_softmax(open.get());
  CHECK(hone_kernel_describe(kernel.get(), &info, &failure) == HONE_ERROR_CONTRACT);
}

TEST_CASE("c: the options of an older header are a prefix, and what they lack is as 0") {
  struct {
    std::size_t size;
    const char *store, *device;
    const char* beyond;  // not looked at
  } options{offsetof(hone_engine_options, trust_store), "/nonexistent/hone.db", "cpu", reinterpret_cast<const char*>(1)};
  hone_engine* engine = nullptr;
  CHECK(hone_engine_open(reinterpret_cast<const hone_engine_options*>(&options), &engine, nullptr) == HONE_SUCCESS);
  hone_engine_close(engine);
}

TEST_CASE("c: the options of a newer header may be longer, as long as nothing unknown is asked for") {
  struct {
    hone_engine_options known;
    std::uint64_t newer[2];
  } options{sized<hone_engine_options>(), {0, 0}};
  options.known.size = sizeof options;
  options.known.device = "cpu";
  options.known.store = "/nonexistent/hone.db";
  hone_engine* engine = nullptr;
  Failure failure;
  CHECK(hone_engine_open(&options.known, &engine, &failure) == HONE_SUCCESS);
  hone_engine_close(engine);
  options.newer[1] = 1;
  CHECK(hone_engine_open(&options.known, &engine, &failure) == HONE_ERROR_CONTRACT);
  CHECK(failure.says("newer header"));
}

TEST_CASE("c: a struct to be filled is filled as far as it goes, and zero beyond what is known") {
  const CEngine engine = open_cpu();
  const CKernel kernel = find_softmax(engine.get());
  hone_kernel_info info;
  std::memset(&info, 0x7F, sizeof info);
  info.size = offsetof(hone_kernel_info, configuration);
  REQUIRE(hone_kernel_describe(kernel.get(), &info, nullptr) == HONE_SUCCESS);
  CHECK(std::string(info.kernel) == "softmax");
  CHECK(info.source == 0x7F7F7F7F);  // behind the end that the caller gave
  struct {
    hone_kernel_info known;
    std::uint64_t newer;
  } larger;
  std::memset(&larger, 0x7F, sizeof larger);
  larger.known.size = sizeof larger;
  REQUIRE(hone_kernel_describe(kernel.get(), &larger.known, nullptr) == HONE_SUCCESS);
  CHECK(larger.known.size == sizeof larger);
  CHECK(larger.known.source == HONE_SOURCE_DEFAULT);
  CHECK(larger.newer == 0);
}

TEST_CASE("c: names of statuses and types, and the version") {
  CHECK(std::string(hone_version()) == HONE_VERSION);
  CHECK(std::string(hone_status_name(HONE_SUCCESS)) == "success");
  CHECK(std::string(hone_status_name(HONE_ERROR_INTERNAL)) == "internal");
  CHECK(std::string(hone_status_name(17)) == "unknown");
  CHECK(std::string(hone_status_name(-1)) == "unknown");
  CHECK(std::string(hone_source_name(HONE_SOURCE_NEAREST)) == "nearest");
  CHECK(std::string(hone_source_name(4)).empty());
  // In the order of hone::DType, one further.
  for (const DType dtype : all_dtypes()) {
    const auto type = static_cast<hone_type>(dtype) + 1;
    CHECK(hone_type_name(type) == name(dtype));
    CHECK(hone_type_size(type) == size_of(dtype));
  }
  CHECK(all_dtypes().size() == HONE_TYPE_U4X2);
  CHECK(std::string(hone_type_name(HONE_TYPE_BF16)) == "bf16");
  CHECK(hone_type_size(HONE_TYPE_ANY) == 0);
  CHECK(std::string(hone_type_name(HONE_TYPE_U4X2 + 1)).empty());
}

}  // namespace hone::test
