// Lookups and launches through hone/hone.h.
#include <algorithm>

#include "tests/c/c_fixture.hpp"

namespace hone::test {
namespace {

/// Softmax of three rows of five equal numbers, launched; whether the result is right.
bool is_right(hone_engine* engine, const hone_kernel* softmax) {
  const std::vector<float> input(15, 2.0F);
  std::vector<float> output(15, -1.0F);
  const CBuffer x = allocate(engine, 60), y = allocate(engine, 60);
  REQUIRE(hone_upload(engine, hone_buffer_address(x.get()), input.data(), 60, nullptr) == HONE_SUCCESS);
  const hone_argument arguments[] = {{hone_buffer_address(x.get()), 60, HONE_TYPE_F32, 0},
                                     {hone_buffer_address(y.get()), 0, HONE_TYPE_ANY, 0}};
  Failure failure;
  REQUIRE_MESSAGE(hone_launch(softmax, nullptr, arguments, 2, &failure) == HONE_SUCCESS, failure.message());
  REQUIRE(hone_download(engine, output.data(), hone_buffer_address(y.get()), 60, nullptr) == HONE_SUCCESS);
  return std::ranges::all_of(output, [](float value) { return value > 0.1999F && value < 0.2001F; });
}

CBound bind_softmax(hone_engine* engine) {
  const char* const names[] = {"rows", "cols"};
  hone_bound* bound = nullptr;
  REQUIRE(hone_bind(engine, "softmax", "f32", names, 2, nullptr, 0, &bound, nullptr) == HONE_SUCCESS);
  return CBound(bound);
}

}  // namespace

TEST_CASE("c: a lookup says what it found") {
  const Folder folder;
  const std::string store = folder / "S.db";
  make_tuned_store(store);
  const CEngine engine = open_cpu(store);
  const CKernel exact = find_softmax(engine.get());
  const hone_kernel_info info = described(exact.get());
  CHECK(info.source == HONE_SOURCE_EXACT);
  CHECK(std::string(info.kernel) == "softmax");
  CHECK(std::string(info.dtypes) == "f32");
  CHECK(contains(info.configuration, "block="));
  CHECK(std::string(info.why).empty());
  CHECK(info.superseded == 0);
  CHECK(info.slowdown == 0.0);
  REQUIRE(info.extent_count == 2);
  REQUIRE(info.tuned_extent_count == 2);
  hone_extent extent{};
  CHECK(hone_kernel_extent(exact.get(), 1, &extent, nullptr) == HONE_SUCCESS);
  CHECK(std::string(extent.name) == "cols");
  CHECK(extent.value == 5);
  Failure failure;
  CHECK(hone_kernel_extent(exact.get(), 2, &extent, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(failure.says("there are 2"));
  const CKernel nearest = find_softmax(engine.get(), 4, 5);
  CHECK(described(nearest.get()).source == HONE_SOURCE_NEAREST);
  CHECK(hone_kernel_tuned_extent(nearest.get(), 0, &extent, nullptr) == HONE_SUCCESS);
  CHECK(extent.value == 3);
  auto staleness = sized<hone_staleness>();
  for (std::size_t i = 0; i < info.stale_count; ++i) {
    CHECK(hone_kernel_stale(exact.get(), i, &staleness, nullptr) == HONE_SUCCESS);
  }
  CHECK(hone_kernel_stale(exact.get(), info.stale_count, &staleness, nullptr) == HONE_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("c: the values of a configuration are read by place and by name") {
  const CEngine engine = open_cpu();
  const CKernel softmax = find_softmax(engine.get());
  const hone_kernel_info info = described(softmax.get());
  auto first = sized<hone_setting>(), named = sized<hone_setting>();
  REQUIRE(hone_kernel_setting(softmax.get(), 0, &first, nullptr) == HONE_SUCCESS);
  REQUIRE(hone_kernel_setting_named(softmax.get(), first.name, &named, nullptr) == HONE_SUCCESS);
  CHECK(named.integer == first.integer);
  CHECK(std::string(info.configuration).starts_with(std::string(first.name) + "=" + std::to_string(first.integer)));
  CHECK(named.real == static_cast<double>(first.integer));
  CHECK(hone_kernel_setting_named(softmax.get(), "unaligned_rows", &named, nullptr) == HONE_SUCCESS);
  CHECK(named.kind == HONE_VALUE_BOOLEAN);
  Failure failure;
  CHECK(hone_kernel_setting_named(softmax.get(), "blocks", &named, &failure) == HONE_ERROR_NOT_FOUND);
  CHECK(hone_kernel_setting(softmax.get(), info.setting_count, &named, nullptr) == HONE_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("c: a kernel says what it takes") {
  const CEngine engine = open_cpu();
  const CKernel softmax = find_softmax(engine.get());
  CHECK(described(softmax.get()).argument_count == 2);
  auto argument = sized<hone_argument_info>();
  REQUIRE(hone_kernel_argument(softmax.get(), 1, &argument, nullptr) == HONE_SUCCESS);
  CHECK(std::string(argument.name) == "y");
  CHECK(argument.role == HONE_ROLE_OUT);
  CHECK(argument.type == HONE_TYPE_F32);
  CHECK(argument.elements == 15);
  CHECK(argument.bytes == 60);
  CHECK(hone_kernel_argument(softmax.get(), 2, &argument, nullptr) == HONE_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("c: what is wrong in a lookup is said") {
  const CEngine engine = open_cpu();
  hone_kernel* found = nullptr;
  Failure failure;
  const auto says = [&](const char* kernel, const char* dtypes, const std::vector<hone_extent>& shape, const char* part) {
    CHECK(hone_kernel_find(engine.get(), kernel, dtypes, shape.data(), shape.size(), &found, &failure) != HONE_SUCCESS);
    CHECK(found == nullptr);
    CHECK_MESSAGE(failure.says(part), failure.message());
  };
  says("sofmax", "f32", {}, "softmax");
  says("softmax", "f33", {}, "f32");
  says("softmax", "f32", {{"row", 3}}, "rows");
  says("softmax", "f32", {{"rows", 0}}, "at least 1");
  says("softmax", nullptr, {}, "bf16");  // it has several: which?
}

TEST_CASE("c: a found kernel launches, and outlives its engine") {
  CEngine engine = open_cpu();
  const CKernel softmax = find_softmax(engine.get());
  CHECK(is_right(engine.get(), softmax.get()));
  hone_kernel* copied = nullptr;
  REQUIRE(hone_kernel_copy(softmax.get(), &copied, nullptr) == HONE_SUCCESS);
  const CKernel copy(copied);
  engine.reset();
  const CEngine other = open_cpu();  // for memory: that of the cpu device is the host's
  CHECK(is_right(other.get(), copy.get()));
}

TEST_CASE("c: a bound kernel is looked up by position, and a copy of what it found can be kept") {
  const CEngine engine = open_cpu();
  const CBound softmax = bind_softmax(engine.get());
  const std::int64_t shape[] = {3, 5}, other[] = {2, 7};
  const hone_kernel* found = nullptr;
  Failure failure;
  CHECK(hone_bound_find_at_once(softmax.get(), shape, 2, &found, &failure) == HONE_ERROR_UNAVAILABLE);
  CHECK(found == nullptr);
  REQUIRE(hone_bound_find(softmax.get(), shape, 2, &found, nullptr) == HONE_SUCCESS);
  CHECK(is_right(engine.get(), found));
  const hone_kernel* again = nullptr;
  REQUIRE(hone_bound_find(softmax.get(), shape, 2, &again, nullptr) == HONE_SUCCESS);
  CHECK(again == found);
  hone_kernel* kept = nullptr;
  REQUIRE(hone_kernel_copy(found, &kept, nullptr) == HONE_SUCCESS);
  REQUIRE(hone_bound_find_at_once(softmax.get(), other, 2, &found, nullptr) == HONE_SUCCESS);  // a stand-in, or the kernel itself
  CHECK(is_right(engine.get(), kept));
  hone_kernel_free(kept);
  CHECK(hone_bound_find(softmax.get(), shape, 1, &found, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(failure.says("bound with 2 extents; 1 were passed"));
}

TEST_CASE("c: the rest of a bound shape is fixed") {
  const CEngine engine = open_cpu();
  const char* const rows = "rows";
  const hone_extent columns{"cols", 5};
  hone_bound* bound = nullptr;
  Failure failure;
  REQUIRE(hone_bind(engine.get(), "softmax", "f32", &rows, 1, &columns, 1, &bound, &failure) == HONE_SUCCESS);
  const CBound softmax(bound);
  const std::int64_t three = 3;
  const hone_kernel* found = nullptr;
  REQUIRE(hone_bound_find(softmax.get(), &three, 1, &found, nullptr) == HONE_SUCCESS);
  CHECK(is_right(engine.get(), found));
  CHECK(hone_bind(engine.get(), "softmax", "f32", &columns.name, 1, &columns, 1, &bound, &failure) == HONE_ERROR_INVALID_ARGUMENT);
  CHECK(failure.says("bound twice"));
}

TEST_CASE("c: arguments that do not fit are refused before anything is launched") {
  const CEngine engine = open_cpu();
  const CKernel softmax = find_softmax(engine.get());
  const CBuffer x = allocate(engine.get(), 64), y = allocate(engine.get(), 64);
  REQUIRE(hone_fill(engine.get(), hone_buffer_address(y.get()), 7, 64, nullptr) == HONE_SUCCESS);
  void *const from = hone_buffer_address(x.get()), *const to = hone_buffer_address(y.get());
  Failure failure;
  const auto refused = [&](const std::vector<hone_argument>& arguments, const char* why) {
    CHECK(hone_launch(softmax.get(), nullptr, arguments.data(), arguments.size(), &failure) == HONE_ERROR_INVALID_ARGUMENT);
    CHECK_MESSAGE(failure.says(why), failure.message());
  };
  refused({{from, 60, HONE_TYPE_F32, 0}}, "softmax takes 2 arguments; 1 were passed");
  refused({{from, 60, HONE_TYPE_F32, 0}, {to, 60, HONE_TYPE_F64, 0}},
          "argument 1 (y): f64* was passed; its type in the kernel file is f32*");
  refused({{from, 60, HONE_TYPE_F32, 0}, {to, 56, HONE_TYPE_F32, 0}},
          "argument 1 (y): the span holds 14 elements of f32; the kernel has 15");
  refused({{nullptr, 0, HONE_TYPE_F32, 0}, {to, 60, HONE_TYPE_F32, 0}}, "argument 0 (x): a null pointer was passed");
  refused({{static_cast<char*>(from) + 4, 0, HONE_TYPE_ANY, 0}, {to, 60, HONE_TYPE_F32, 0}}, "not aligned to 16 bytes");
  refused({{from, 60, 18, 0}, {to, 60, HONE_TYPE_F32, 0}}, "argument 0 (x): 18 is no HONE_TYPE");
  unsigned char untouched = 0;
  REQUIRE(hone_download(engine.get(), &untouched, to, 1, nullptr) == HONE_SUCCESS);
  CHECK(untouched == 7);
}

TEST_CASE("c: a scalar is passed by its address, with its size, and its type is checked where it is said") {
  const CEngine engine = open_cpu();
  const std::vector<hone_extent> shape{{"m", 16}, {"n", 16}, {"k", 16}};
  hone_kernel* found = nullptr;
  Failure failure;
  REQUIRE_MESSAGE(hone_kernel_find(engine.get(), "gemm", "f32", shape.data(), shape.size(), &found, &failure) == HONE_SUCCESS,
                  failure.message());
  const CKernel gemm(found);
  std::vector<hone_argument> arguments;
  std::vector<CBuffer> buffers;
  std::vector<float> ones(256, 1.0F);
  const float alpha = 2.0F, beta = 0.0F;
  std::size_t first_scalar = 0;
  void* out = nullptr;
  for (std::size_t i = 0; i < described(gemm.get()).argument_count; ++i) {
    auto info = sized<hone_argument_info>();
    REQUIRE(hone_kernel_argument(gemm.get(), i, &info, nullptr) == HONE_SUCCESS);
    if (info.role == HONE_ROLE_SCALAR) {
      CHECK(info.elements == 1);
      CHECK(info.bytes == 4);
      first_scalar = first_scalar == 0 ? i : first_scalar;
      arguments.push_back({std::string(info.name) == "alpha" ? &alpha : &beta, 4, HONE_TYPE_ANY, 0});
      continue;
    }
    buffers.push_back(allocate(engine.get(), 1024));
    void* const address = hone_buffer_address(buffers.back().get());
    REQUIRE(hone_upload(engine.get(), address, ones.data(), 1024, nullptr) == HONE_SUCCESS);
    out = info.role == HONE_ROLE_IN ? out : address;
    arguments.push_back({address, 1024, info.type, 0});
  }
  REQUIRE(first_scalar > 0);
  const auto launched = [&] { return hone_launch(gemm.get(), nullptr, arguments.data(), arguments.size(), &failure); };
  REQUIRE_MESSAGE(launched() == HONE_SUCCESS, failure.message());
  float result = 0.0F;
  REQUIRE(hone_download(engine.get(), &result, out, sizeof result, nullptr) == HONE_SUCCESS);
  CHECK(result == 32.0F);
  arguments[first_scalar].type = HONE_TYPE_I32;
  CHECK(launched() == HONE_ERROR_INVALID_ARGUMENT);
  CHECK_MESSAGE(failure.says("i32 was passed; its type in the kernel file is f32"), failure.message());
  arguments[first_scalar].type = HONE_TYPE_F32;
  CHECK(launched() == HONE_SUCCESS);
  arguments[first_scalar].bytes = 8;
  CHECK(launched() == HONE_ERROR_INVALID_ARGUMENT);
  CHECK_MESSAGE(failure.says("`bytes` is 8; a value of f32 has 4"), failure.message());
  arguments[first_scalar].data = nullptr;
  CHECK(launched() == HONE_ERROR_INVALID_ARGUMENT);
  CHECK_MESSAGE(failure.says("`data` is NULL"), failure.message());
}

}  // namespace hone::test
