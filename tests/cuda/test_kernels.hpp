#pragma once
// Small kernels whose specs are written by hand: these tests need no libclang.

#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/space/default_position.hpp"
#include "engine/space/search_space.hpp"
#include "engine/tune/session.hpp"

namespace test {

using namespace hone;

inline Parameter integer_parameter(std::string name, std::vector<Value> values, std::string option = "") {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.default_value = values.front();
  parameter.values = std::move(values);
  parameter.compile_option = std::move(option);
  return parameter;
}

// y[i] = 2 x[i]; `vec` 8 is rejected by the source, `shared` is static shared memory in KiB, `cap` a limit of registers.
inline constexpr const char* kTwice = R"cuda(// Twice.
#include <hone/kernel.h>

struct Problem { long n = 1000, unused = 7; };

struct Config {
  TUNE(32, 64, 128, 256) int block = 256;
  TUNE(1, 2, 4, 8) int vec = 1;
  TUNE(0, 16, 64, 400) int shared = 0;
  TUNE(0, 32) OPTION("--maxrregcount={}") int cap = 0;
};

template <class T> REFERENCE(p.n) void twice_reference(long i, const T* x, double* y, Problem p) {
  y[i] = 2.0 * (double)(float)x[i] + (p.unused - 7);
}

template <class T, Config c> KERNEL LAUNCH_BOUNDS(c.block) void twice(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  static_assert(c.vec < 8, "vec 8 is not supported");
  long i = (long)blockIdx.x * c.block + threadIdx.x;
  if constexpr (c.shared > 0) {
    __shared__ volatile float padding[c.shared * 256];
    padding[threadIdx.x] = (float)x[i % p.n];
    __syncthreads();
    if (i < p.n) y[i] = T(2 * padding[threadIdx.x]);
  } else if (i < p.n) {
    y[i] = T(2 * (float)x[i] + (p.unused - 7));
  }
}

// Needs many registers: spills under a cap.
template <class T, Config c> KERNEL void hungry(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  float a[100];
  for (int i = 0; i < 100; ++i) a[i] = (float)x[i * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int round = 0; round < 9; ++round)
    for (int i = 0; i < 99; ++i) a[i] = a[i] * a[i + 1] + a[99 - i];
  for (int i = 0; i < 100; ++i) y[i * blockDim.x + threadIdx.x] = T(a[i]);
}
)cuda";

inline KernelSpec twice_spec() {
  KernelSpec spec;
  spec.name = "twice";
  spec.file = "some folder/twice.cu";
  spec.source = kTwice;
  spec.dtypes = {DType::kF32, DType::kF16, DType::kBF16};
  spec.problem = {{"n", 1000, ""}, {"unused", 7, ""}};
  spec.parameters = {integer_parameter("block", {256, 128, 64, 32}), integer_parameter("vec", {1, 2, 4, 8}),
                     integer_parameter("shared", {0, 16, 64, 400}), integer_parameter("cap", {0, 32}, "--maxrregcount={}")};
  Pass pass;
  pass.function = "twice";
  pass.arguments = {0, 1, -1};
  spec.passes = {pass};
  spec.reference = {{.function = "twice_reference", .extent = Expression::variable("p.n"), .arguments = {0, 1, -1}}};
  return spec;
}

inline Configuration configuration(std::vector<Value> values) { return Configuration{std::move(values)}; }

/// The cuda plugin of this binary.
inline const DevicePlugin& cuda_plugin() {
  for (const auto& plugin : builtin_registry().devices()) {
    if (plugin->name() == "cuda") {
      return *plugin;
    }
  }
  throw ContractError("this binary has no cuda plugin");
}

/// A device to compile for: the compiler looks at its architecture alone.
inline DeviceInfo compile_target(std::string architecture) {
  DeviceInfo info;
  info.id = "cuda:0";
  info.plugin = "cuda";
  info.architecture = std::move(architecture);
  return info;
}

inline std::vector<Result<Compiled>> compile(Compiler& compiler, const KernelSpec& spec, std::vector<Configuration> configurations,
                                             const DTypes& dtype = DType::kF32, Shape shape = {}) {
  CompileRequest request;
  request.spec = &spec;
  request.dtype = dtype;
  request.configurations = std::move(configurations);
  request.shape = std::move(shape);
  return compiler.compile(request);
}

inline Result<Compiled> compile_reference(Compiler& compiler, const KernelSpec& spec, const DTypes& dtype = DType::kF32, Shape shape = {}) {
  CompileRequest request;
  request.spec = &spec;
  request.dtype = dtype;
  request.reference = true;
  request.shape = std::move(shape);
  return std::move(compiler.compile(request).front());
}

/// What an H200, a B200 or an A100 has in common with its like, to choose configurations for; the compute capability is the architecture's.
inline DeviceInfo large_device(const std::string& architecture, std::int64_t compute_capability) {
  DeviceInfo info = compile_target(architecture);
  info.properties = {{"compute_capability", compute_capability},   {"l2_bytes", 50 << 20},
                     {"memory", std::int64_t{80} << 30},           {"multiprocessors", 132},
                     {"registers_per_multiprocessor", 65536},      {"shared_memory_per_block", 166912},
                     {"shared_memory_per_multiprocessor", 167936}, {"threads_per_block", 1024},
                     {"threads_per_multiprocessor", 2048},         {"warp_size", 32}};
  return info;
}

inline Result<SearchSpace> space_of(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device) {
  Bindings fixed = bindings(problem);
  fixed.merge(bindings(device));
  return SearchSpace::build(spec.parameters, spec.constraints, fixed);
}

/// What runs where nothing was tuned: the default, or the nearest to it that is valid; of a kernel for other devices, the default.
inline Configuration untuned(const KernelSpec& spec, const DTypes& dtype, const DeviceInfo& device) {
  const auto space = space_of(spec, make_problem(spec, dtype, {}).value(), device);
  const Configuration standard = default_configuration(spec);
  return !space || space->size() == 0 ? standard : space->at(default_position(*space, standard));
}

}  // namespace test
