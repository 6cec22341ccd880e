#pragma once
// Compiles a kernel written in a test and runs it on the cpu device. The spec is made by hand: these tests are about the device alone.

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.hpp"

namespace hone {
std::unique_ptr<DevicePlugin> make_cpu_device();
}

namespace cpu_test {

/// A kernel `test_kernel<Config>` over an array `out` of ints and `Problem::n`, unless a test says otherwise.
inline hone::KernelSpec make_spec(const std::string& source, int arguments = 1) {
  hone::KernelSpec spec;
  spec.name = "test_kernel";
  spec.file = "kernels/test_kernel.cu";
  spec.source = source;
  spec.templated_on_type = false;
  spec.dtypes = {hone::DType::kF32};
  spec.problem.push_back({"n", 1, ""});
  hone::Parameter parameter;
  parameter.name = "value";
  parameter.values = {hone::Value(1), hone::Value(2), hone::Value(3), hone::Value(4)};
  parameter.default_value = hone::Value(1);
  spec.parameters.push_back(parameter);
  hone::Pass pass;
  pass.function = "test_kernel";
  for (int i = 0; i < arguments; ++i) {
    hone::Argument argument;
    argument.name = "a" + std::to_string(i);
    spec.arguments.push_back(argument);
    pass.arguments.push_back(i);
  }
  pass.arguments.push_back(-1);
  spec.passes.push_back(pass);
  return spec;
}

/// The frame of a test's kernel file; `body` sees c, p and the pointer out.
inline std::string kernel_source(const std::string& body, const std::string& helpers = "", const std::string& type = "int") {
  return "#include <hone/kernel.h>\nstruct Problem { long n = 1; };\nstruct Config { int value = 1; };\n" + helpers +
         "\ntemplate <Config c> KERNEL void test_kernel(" + type + "* out, Problem p) {\n" + body + "\n}\n";
}

class CpuFixture {
 public:
  CpuFixture() : plugin_(hone::make_cpu_device()) {
    info_ = plugin_->enumerate().value().at(0);
    device_ = plugin_->open(info_).value();
    compiler_ = plugin_->compiler(info_).value();
  }

  hone::Device& device() { return *device_; }
  const hone::DeviceInfo& info() const { return info_; }
  const hone::DevicePlugin& plugin() const { return *plugin_; }
  hone::Compiler& compiler() { return *compiler_; }

  std::vector<hone::Result<hone::Compiled>> compile(const hone::KernelSpec& spec, const std::vector<int>& values = {1}) {
    hone::CompileRequest request;
    request.spec = &spec;
    for (const int value : values) {
      request.configurations.push_back({{hone::Value(value)}});
    }
    return compiler_->compile(request);
  }

  /// Compiles and launches the default configuration over the arguments.
  hone::Result<void> launch(const hone::KernelSpec& spec, const hone::PassLaunch& geometry, const std::vector<void*>& pointers,
                            std::int64_t n = 1) {
    auto compiled = compile(spec);
    if (!compiled.at(0)) {
      return compiled.at(0).error();
    }
    return launch(*compiled.at(0), geometry, pointers, n);
  }

  hone::Result<void> launch(const hone::Compiled& compiled, const hone::PassLaunch& geometry, const std::vector<void*>& pointers,
                            std::int64_t n = 1) {
    hone::Problem problem{hone::DType::kF32, {{"n", n}}};
    HONE_ASSIGN(const auto kernel, device_->load(compiled, {geometry}, problem));
    std::vector<void*> values = pointers;
    std::vector<void*> addresses;
    for (void*& value : values) {
      addresses.push_back(&value);
    }
    return kernel->launch(nullptr, addresses);
  }

  /// Runs `body` (see kernel_source) over `count` ints that begin as -1.
  std::vector<int> run(const std::string& body, const hone::PassLaunch& geometry, std::size_t count, const std::string& helpers = "") {
    std::vector<int> out(count, -1);
    const auto launched = launch(make_spec(kernel_source(body, helpers)), geometry, {out.data()}, static_cast<std::int64_t>(count));
    const std::string message = launched.ok() ? "" : launched.error().message;
    INFO(message);
    REQUIRE(launched.ok());
    return out;
  }

 private:
  std::unique_ptr<hone::DevicePlugin> plugin_;
  hone::DeviceInfo info_;
  std::unique_ptr<hone::Device> device_;
  std::unique_ptr<hone::Compiler> compiler_;
};

inline hone::PassLaunch geometry(std::array<std::int64_t, 3> grid, std::array<std::int64_t, 3> block, std::int64_t shared = 0) {
  hone::PassLaunch launch;
  launch.grid = grid;
  launch.block = block;
  launch.shared_bytes = shared;
  return launch;
}

}  // namespace cpu_test
