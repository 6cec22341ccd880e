// Kernels over several and other types than floats, as an application calls them.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "hone/engine.hpp"
#include "tests/skip.hpp"

namespace hone {
namespace {

const std::filesystem::path kKernels = std::filesystem::path(HONE_SOURCE_DIR) / "examples/kernels";

/// An engine on the cpu device that knows an example; nothing without libclang.
std::optional<Engine> engine_with(const std::string& kernel) {
  Engine engine = Engine::open({.store = "/nonexistent/hone.db", .device = "cpu"}).value();
  if (const auto added = engine.add_kernel_file(kKernels / (kernel + ".cu")); !added) {
    REQUIRE(added.error().code == ErrorCode::kUnavailable);
    hone::tests::skip("libclang", added.error().message);
    return std::nullopt;
  }
  return engine;
}

}  // namespace

TEST_CASE("a kernel of several types is asked for by their names") {
  auto engine = engine_with("argmax");
  if (!engine) {
    return;
  }
  const Kernel argmax = engine->kernel("argmax", {{"T", DType::kF32}, {"Index", DType::kI64}}, {{"rows", 2}, {"cols", 70}}).value();
  CHECK(name(argmax.problem().dtype) == "T=f32,Index=i64");
  std::vector<float> x(140, 0.0F);
  x[33] = x[44] = 1.0F;
  x[139] = 1.0F;
  const auto input = engine->memory().allocate(x.size() * sizeof(float)).value();
  const auto output = engine->memory().allocate(2 * sizeof(std::int64_t)).value();
  REQUIRE(engine->memory().upload(input->address(), std::as_bytes(std::span(x))).ok());
  auto* const values = static_cast<const float*>(input->address());
  auto* const places = static_cast<std::int64_t*>(output->address());
  REQUIRE(argmax.launch(nullptr, values, places).ok());
  std::vector<std::int64_t> found(2);
  REQUIRE(engine->memory().download(std::as_writable_bytes(std::span(found)), output->address()).ok());
  CHECK(found == std::vector<std::int64_t>{33, 69});

  CHECK(argmax.launch(nullptr, values, reinterpret_cast<std::int32_t*>(places)).error().message.find("i64*") != std::string::npos);
  CHECK(argmax.launch(nullptr, reinterpret_cast<const double*>(values), places).error().message.find("f32*") != std::string::npos);
  CHECK(argmax.launch(nullptr, input->address(), output->address()).ok());
  CHECK(engine->kernel("argmax", DType::kF32, {}).error().message.find("T=f32,Index=i32") != std::string::npos);
  CHECK(engine->kernel("argmax", {{"rows", 2}}).error().message.find("which dtype?") != std::string::npos);
}

TEST_CASE("a kernel is launched without an element of its input") {
  auto engine = engine_with("partial_sums");
  if (!engine) {
    return;
  }
  const Kernel sums = engine->kernel("partial_sums", {{"n", 0}}).value();
  const auto output = engine->memory().allocate(64 * sizeof(float)).value();
  REQUIRE(engine->memory().fill(output->address(), output->bytes(), 0xff).ok());
  REQUIRE(sums.launch(nullptr, static_cast<const float*>(nullptr), static_cast<float*>(output->address())).ok());
  std::vector<float> found(64, 1.0F);
  REQUIRE(engine->memory().download(std::as_writable_bytes(std::span(found)), output->address()).ok());
  CHECK(found == std::vector<float>(64, 0.0F));
}

TEST_CASE("a kernel of one dtype is asked for without it") {
  auto engine = engine_with("byte_histogram");
  if (!engine) {
    return;
  }
  const Kernel histogram = engine->kernel("byte_histogram", {{"n", 512}}).value();
  std::vector<std::uint8_t> bytes(512);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const auto x = engine->memory().allocate(bytes.size()).value(), bins = engine->memory().allocate(256 * sizeof(std::uint32_t)).value();
  REQUIRE(engine->memory().upload(x->address(), std::as_bytes(std::span(bytes))).ok());
  REQUIRE(histogram.launch(nullptr, static_cast<const std::uint8_t*>(x->address()), static_cast<std::uint32_t*>(bins->address())).ok());
  std::vector<std::uint32_t> counts(256);
  REQUIRE(engine->memory().download(std::as_writable_bytes(std::span(counts)), bins->address()).ok());
  CHECK(counts == std::vector<std::uint32_t>(256, 2));
}

TEST_CASE("what goes to constant memory is passed behind the kernel's parameters, at each launch anew") {
  auto engine = engine_with("lookup");
  if (!engine) {
    return;
  }
  const Kernel lookup = engine->kernel("lookup", {{"n", 256}}).value();
  std::vector<std::uint8_t> bytes(256), found(256);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const auto x = engine->memory().allocate(256).value(), y = engine->memory().allocate(256).value(),
             table = engine->memory().allocate(256).value();
  REQUIRE(engine->memory().upload(x->address(), std::as_bytes(std::span(bytes))).ok());
  auto* const from = static_cast<const std::uint8_t*>(x->address());
  auto* const to = static_cast<std::uint8_t*>(y->address());
  for (const int added : {3, 200}) {
    std::vector<std::uint8_t> entries(256), expected(256);
    for (int i = 0; i < 256; ++i) {
      entries[static_cast<std::size_t>(i)] = expected[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i + added);
    }
    REQUIRE(engine->memory().upload(table->address(), std::as_bytes(std::span(entries))).ok());
    REQUIRE(lookup.launch(nullptr, from, to, static_cast<const std::uint8_t*>(table->address())).ok());
    REQUIRE(engine->memory().download(std::as_writable_bytes(std::span(found)), y->address()).ok());
    CHECK(found == expected);
  }
  CHECK(lookup.launch(nullptr, from, to).error().message.find("takes 3 arguments; 2 were passed") != std::string::npos);
}

}  // namespace hone
