#pragma once
// The GPU of the gpu tests. Without one the binary ends with 77, which ctest reports as skipped.

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "test_kernels.hpp"

namespace test {

struct Gpu {
  Gpu() {
    auto devices = cuda_plugin().enumerate();
    if (!devices) {
      std::printf("not run: no GPU: %s\n", devices.error().message.c_str());
      std::exit(77);
    }
    info = devices->front();
    auto opened = cuda_plugin().open(info);
    REQUIRE_MESSAGE(opened.ok(), opened.error().message);
    device = std::move(opened).value();
    auto made = cuda_plugin().compiler(info);
    REQUIRE_MESSAGE(made.ok(), made.error().message);
    compiler = std::move(made).value();
  }

  std::unique_ptr<Buffer> allocate(std::size_t bytes) {
    auto buffer = device->allocate(bytes);
    REQUIRE_MESSAGE(buffer.ok(), buffer.error().message);
    return std::move(buffer).value();
  }

  template <class T>
  std::unique_ptr<Buffer> upload(const std::vector<T>& values) {
    auto buffer = allocate(values.size() * sizeof(T));
    require(device->upload(buffer->address(), std::as_bytes(std::span(values))));
    return buffer;
  }

  template <class T>
  std::vector<T> download(const Buffer& buffer) {
    std::vector<T> values(buffer.bytes() / sizeof(T));
    require(device->download(std::as_writable_bytes(std::span(values)), buffer.address()));
    return values;
  }

  static void require(const Result<void>& result) { REQUIRE_MESSAGE(result.ok(), result.error().message); }

  /// Compiles the kernel `k` of `source` (template <Config c>, one parameter `block`) and loads it with `pass`, or several passes of it.
  Result<std::unique_ptr<LoadedKernel>> load(const std::string& source, const PassLaunch& pass) { return load(source, std::vector{pass}); }
  Result<std::unique_ptr<LoadedKernel>> load(const std::string& source, const std::vector<PassLaunch>& passes) {
    const std::int64_t block = passes.front().block[0];
    KernelSpec spec;
    spec.name = "k";
    spec.file = "k.cu";
    spec.source = "#include <hone/kernel.h>\nstruct Problem { long n = 1; };\nstruct Config { int block = 1; };\n" + source;
    spec.templated_on_type = false;
    spec.parameters = {integer_parameter("block", {block})};
    Pass only;
    only.function = "k";
    spec.passes = {only};
    auto compiled = compile(*compiler, spec, {configuration({block})});
    REQUIRE_MESSAGE(compiled[0].ok(), compiled[0].error().message);
    return device->load(*compiled[0], passes, Problem{DType::kF32, {{"n", 1}}});
  }

  DeviceInfo info;
  std::unique_ptr<Device> device;
  std::unique_ptr<Compiler> compiler;
};

}  // namespace test
