#pragma once
// Engines on the cpu device, and a store for them.

#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/runtime/launch_plan.hpp"
#include "hone/engine.hpp"

namespace hone::test {

/// A directory of the test's own, removed with all that is in it.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "hone_engine_XXXXXX").string();
    path_ = mkdtemp(path.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// An environment variable with another value while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) {
      before_ = before;
    }
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

inline Engine cpu_engine(const std::filesystem::path& store = "/nonexistent/hone.db") {
  return Engine::open({.store = store, .device = "cpu"}).value();
}

inline const Shape kSoftmaxShape{{"rows", 3}, {"cols", 5}};

/// A store in which the default configuration of a kernel won at a shape, with its code.
inline void make_tuned_store(const std::filesystem::path& file, const Purpose& purpose, const KernelSpec& spec, const Shape& shape) {
  const Registry::Found cpu = builtin_registry().device("cpu").value();
  const Problem problem = make_problem(spec, DType::kF32, shape).value();
  const auto store = open_store(file, StoreMode::kReadWrite).value();
  const LaunchPlan plan = make_launch_plan(spec, problem, choose(spec, problem, cpu.info, nullptr).value(), cpu, store.get()).value();
  Record record;
  record.configuration = plan.choice.configuration;
  record.configuration_text = text(spec.parameters, record.configuration);
  record.measurement = {.samples_us = {1.0}, .median_us = 1.0, .ci95_low_us = 1.0, .ci95_high_us = 1.0};
  record.artifact = plan.code.artifact->digest;
  record.symbols = plan.code.symbols;
  const RecordKey key = record_key(spec, problem, cpu.info, purpose);
  const std::int64_t session = store->begin_session({key, "random", "", 0}, "1trials").value();
  REQUIRE(store->finish_session(session, key, record, 1.0).value());
}

/// The same of softmax at kSoftmaxShape.
inline void make_tuned_store(const std::filesystem::path& file, const Purpose& purpose = {}) {
  make_tuned_store(file, purpose, **find_builtin_kernel("softmax"), kSoftmaxShape);
}

/// What softmax makes of three rows of five equal numbers: 0.2 everywhere.
inline std::vector<float> launched(Engine& engine, const Kernel& softmax) {
  const std::vector<float> input(15, 2.0F);
  std::vector<float> output(15, -1.0F);
  const auto x = engine.memory().allocate(input.size() * sizeof(float)).value();
  const auto y = engine.memory().allocate(output.size() * sizeof(float)).value();
  REQUIRE(engine.memory().upload(x->address(), std::as_bytes(std::span(input))).ok());
  REQUIRE(softmax.launch(nullptr, static_cast<const float*>(x->address()), static_cast<float*>(y->address())).ok());
  REQUIRE(engine.memory().download(std::as_writable_bytes(std::span(output)), y->address()).ok());
  return output;
}

inline bool is_right(Engine& engine, const Kernel& softmax) {
  for (const float value : launched(engine, softmax)) {
    if (!(value > 0.1999F && value < 0.2001F)) {
      return false;
    }
  }
  return true;
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace hone::test
