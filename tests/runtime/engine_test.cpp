#include "hone/engine.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "hone/launch_plan.hpp"

namespace hone {
namespace {

const Shape kShape{{"rows", 3}, {"cols", 5}};

/// A user's data directory while it lives: what is written then is that user's.
class User {
 public:
  explicit User(const std::filesystem::path& data) {
    const char* const before = std::getenv("XDG_DATA_HOME");
    before_ = before == nullptr ? "" : before;
    setenv("XDG_DATA_HOME", data.c_str(), 1);
  }
  User(const User&) = delete;
  User& operator=(const User&) = delete;
  ~User() { before_.empty() ? unsetenv("XDG_DATA_HOME") : setenv("XDG_DATA_HOME", before_.c_str(), 1); }

 private:
  std::string before_;
};

/// A store in which the default configuration of softmax won, with its code.
void make_tuned_store(const std::filesystem::path& file) {
  const KernelSpec& spec = **find_builtin_kernel("softmax");
  const Registry::Found cpu = builtin_registry().device("cpu").value();
  const Problem problem = make_problem(spec, DType::kF32, kShape).value();
  const auto store = open_store(file, StoreMode::kReadWrite).value();
  const LaunchPlan plan = make_launch_plan(spec, problem, choose(spec, problem, cpu.info, nullptr).value(), cpu, store.get()).value();
  Record record;
  record.configuration = plan.choice.configuration;
  record.configuration_text = text(spec.parameters, record.configuration);
  record.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
  record.artifact = plan.code.artifact->digest;
  record.symbols = plan.code.symbols;
  const RecordKey key = record_key(spec, problem, cpu.info);
  const std::int64_t session = store->begin_session({key, "random", "", 0}, "1trials").value();
  REQUIRE(store->finish_session(session, key, record, 1.0).value());
}

/// What softmax makes of rows of equal numbers.
std::vector<float> launched(Engine& engine, const Kernel& softmax) {
  const std::vector<float> input(15, 2.0F);
  std::vector<float> output(15, -1.0F);
  const auto x = engine.device().allocate(input.size() * sizeof(float)).value();
  const auto y = engine.device().allocate(output.size() * sizeof(float)).value();
  REQUIRE(engine.device().upload(x->address(), std::as_bytes(std::span(input))).ok());
  REQUIRE(softmax.launch(nullptr, static_cast<const float*>(x->address()), static_cast<float*>(y->address())).ok());
  REQUIRE(engine.device().download(std::as_writable_bytes(std::span(output)), y->address()).ok());
  return output;
}

Engine cpu_engine() { return Engine::open({.store = "/nonexistent/hone.db", .device = "cpu"}).value(); }

}  // namespace

TEST_CASE("an engine without a store launches the default and gets the right answer") {
  Engine engine = cpu_engine();
  const Kernel softmax = engine.kernel("softmax", DType::kF32, kShape).value();
  CHECK(softmax.source() == Source::kDefault);
  CHECK(softmax.why().empty());
  for (const float value : launched(engine, softmax)) {
    CHECK(value == doctest::Approx(0.2));
  }
}

TEST_CASE("code that came from elsewhere is launched only where the application says so, and otherwise the default says why") {
  const auto folder = std::filesystem::temp_directory_path() / ("hone_engine_" + std::to_string(::getpid()));
  const auto file = folder / "S.db";
  {
    const User author(folder / "author");
    make_tuned_store(file);
    Engine engine = Engine::open({.store = file, .device = "cpu"}).value();
    CHECK(engine.kernel("softmax", DType::kF32, kShape).value().source() == Source::kExact);
  }
  const User other(folder / "other");
  Engine careful = Engine::open({.store = file, .device = "cpu"}).value();
  const Kernel standard = careful.kernel("softmax", DType::kF32, kShape).value();
  CHECK(standard.source() == Source::kDefault);
  CHECK(standard.why().find("EngineOptions::trust_store") != std::string::npos);
  for (const float value : launched(careful, standard)) {
    CHECK(value == doctest::Approx(0.2));
  }
  Engine trusting = Engine::open({.store = file, .device = "cpu", .trust_store = true}).value();
  const Kernel tuned = trusting.kernel("softmax", DType::kF32, kShape).value();
  CHECK(tuned.source() == Source::kExact);
  CHECK(tuned.why().empty());
  for (const float value : launched(trusting, tuned)) {
    CHECK(value == doctest::Approx(0.2));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
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
