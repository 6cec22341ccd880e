#include "hone/engine.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace hone {
namespace {

Engine cpu_engine() { return Engine::open({.store = "/nonexistent/hone.db", .device = "cpu"}).value(); }

}  // namespace

TEST_CASE("an engine without a store launches the default and gets the right answer") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, {{"rows", 3}, {"cols", 5}}).value();
  CHECK(softmax.source() == Source::kDefault);
  const std::vector<float> input(15, 2.0F);
  std::vector<float> output(15, -1.0F);
  const auto x = engine.device().allocate(input.size() * sizeof(float)).value();
  const auto y = engine.device().allocate(output.size() * sizeof(float)).value();
  REQUIRE(engine.device().upload(x->address(), std::as_bytes(std::span(input))).ok());
  REQUIRE(softmax.launch(nullptr, static_cast<const float*>(x->address()), static_cast<float*>(y->address())).ok());
  REQUIRE(engine.device().download(std::as_writable_bytes(std::span(output)), y->address()).ok());
  for (const float value : output) {
    CHECK(value == doctest::Approx(0.2));
  }
}

TEST_CASE("misuse of a launch is an error, not a crash") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, {{"rows", 3}, {"cols", 5}}).value();
  const auto memory = engine.device().allocate(256).value();
  auto* x = static_cast<float*>(memory->address());
  CHECK(softmax.launch(nullptr, x).error().message == "softmax takes 2 arguments; 1 were passed");
  CHECK(softmax.launch(nullptr, x, 1.0F).error().message.find("type") != std::string::npos);
  CHECK(softmax.launch(nullptr, x + 1, x).error().message.find("aligned") != std::string::npos);
}

TEST_CASE("unknown kernels, dtypes and shapes are refused by name") {
  Engine engine = cpu_engine();
  CHECK(engine.kernel("sofmax", DType::kF32, {}).error().message.find("softmax") != std::string::npos);
  CHECK(engine.kernel("softmax", DType::kI32, {}).error().message.find("dtype") != std::string::npos);
  CHECK(engine.kernel("softmax", DType::kF32, {{"row", 1}}).error().message.find("rows") != std::string::npos);
  CHECK(engine.kernel("softmax", DType::kF32, {{"rows", 0}}).error().message.find("at least 1") != std::string::npos);
}

TEST_CASE("an unknown device is refused") { CHECK_FALSE(Engine::open({.store = "", .device = "abacus"}).ok()); }

}  // namespace hone
