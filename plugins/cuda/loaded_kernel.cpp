#include "plugins/cuda/loaded_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace hone::cuda {
namespace {

constexpr std::int64_t kDefaultSharedLimit = 48 * 1024;  // more needs a declaration, and only as dynamic shared memory
constexpr std::int64_t kPortableCluster = 8;
// A driver that can capture a programmatic dependent launch (graph edges have kinds since CUDA 12.3); an older one would spoil a caller's
// graph.
constexpr int kCapturesOverlap = 12030;

// A kernel's limits are shared by all configurations loaded from one cubin; they must only grow.
std::mutex& limits_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::int64_t volume(const std::array<std::int64_t, 3>& extents) { return extents[0] * extents[1] * extents[2]; }

Error bad_launch(std::string message) { return Error{ErrorCode::kLaunch, std::move(message)}; }

}  // namespace

Result<std::unique_ptr<CudaKernel>> CudaKernel::create(std::shared_ptr<PrimaryContext> context, std::shared_ptr<Library> library,
                                                       const Request& request) {
  std::unique_ptr<CudaKernel> kernel(new CudaKernel(std::move(context), std::move(library)));
  if (!request.plan->empty() && !request.plan->front().problem.empty()) {
    kernel->problem_ = request.plan->front().problem;
  } else {
    std::ranges::transform(request.problem->shape, std::back_inserter(kernel->problem_), [](const auto& field) { return field.second; });
  }
  kernel->resources_.spill_bytes = request.compiled->resources.spill_bytes;
  kernel->resources_.stack_bytes = request.compiled->resources.stack_bytes;
  const ContextScope scope(*kernel->context_);
  if (scope.status() != status::kSuccess) {
    return driver_error(kernel->context_->api(), scope.status(), "the device's context cannot be entered");
  }
  for (const PassLaunch& launch : *request.plan) {
    HONE_TRY(kernel->add_pass(launch, request));
    HONE_TRY(kernel->add_constants(launch));
  }
  return kernel;
}

Result<void> CudaKernel::add_pass(const PassLaunch& launch, const Request& request) {
  if (launch.symbol >= request.compiled->symbols.size() || request.compiled->symbols[launch.symbol].empty()) {
    return bad_launch(fmt::format("pass {} is not in the compiled code, which holds {}", launch.symbol, request.compiled->symbols.size()));
  }
  Pass pass;
  pass.symbol = request.compiled->symbols[launch.symbol];
  if (launch.arguments.size() > kMostParameters) {
    return bad_launch(fmt::format("{} has {} parameters; at most {} are supported", pass.symbol, launch.arguments.size(), kMostParameters));
  }
  pass.extent = launch.extent;
  pass.run_index = launch.run_index;
  pass.parameter_count = launch.arguments.size();
  std::copy(launch.arguments.begin(), launch.arguments.end(), pass.parameters.begin());
  if (launch.tensor_maps.size() > kMostTensorMaps) {
    return bad_launch(
        fmt::format("{} has {} tensor maps; at most {} are supported", pass.symbol, launch.tensor_maps.size(), kMostTensorMaps));
  }
  for (const TensorMap& map : launch.tensor_maps) {
    pass.tensor_maps.emplace_back(map);
    argument_count_ = std::max(argument_count_, static_cast<std::size_t>(map.argument + 1));
  }
  if (!launch.tensor_maps.empty()) {
    pass.encoded = std::make_unique<EncodedMaps>(launch.tensor_maps.size());
  }
  for (const int index : launch.arguments) {
    argument_count_ = std::max(argument_count_, static_cast<std::size_t>(index + 1 > 0 ? index + 1 : 0));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    pass.config.grid[axis] = static_cast<unsigned int>(launch.grid[axis]);
    pass.config.block[axis] = static_cast<unsigned int>(launch.block[axis]);
  }
  pass.config.shared_bytes = static_cast<unsigned int>(launch.shared_bytes);
  if (volume(launch.cluster) > 1) {
    LaunchAttribute& attribute = pass.attributes[pass.config.attribute_count++];
    attribute.id = LaunchAttribute::kClusterDimension;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      attribute.value.cluster[axis] = static_cast<unsigned int>(launch.cluster[axis]);
    }
  }
  if (launch.cooperative) {
    LaunchAttribute& attribute = pass.attributes[pass.config.attribute_count++];
    attribute.id = LaunchAttribute::kCooperative;
    attribute.value.cooperative = 1;
  }
  int driver_version = 0;
  context_->api().driver_get_version(&driver_version);
  pass.overlaps = launch.overlap && driver_version >= kCapturesOverlap;
  if (pass.overlaps) {
    LaunchAttribute& attribute = pass.attributes[pass.config.attribute_count++];
    attribute.id = LaunchAttribute::kProgrammaticStreamSerialization;
    attribute.value.programmatic_stream_serialization_allowed = 1;
  }
  HONE_ASSIGN(pass.kernel, library_->kernel(pass.symbol));
  // Loading the function now keeps the driver's lazy loading out of the first launch, which may be under capture.
  if (const Status status = context_->api().kernel_get_function(&pass.function, pass.kernel); status != status::kSuccess) {
    return driver_error(context_->api(), status, fmt::format("{} cannot be loaded", pass.symbol), ErrorCode::kLaunch);
  }
  HONE_TRY(set_limits(pass, launch, *request.info));
  HONE_TRY(read_resources(pass, *request.info));
  passes_.push_back(std::move(pass));
  return {};
}

Result<void> CudaKernel::add_constants(const PassLaunch& launch) {
  for (const ConstantCopy& copy : launch.constants) {
    if (copy.bytes > 0) {
      const auto bytes = static_cast<std::size_t>(copy.bytes);
      HONE_ASSIGN(const Address variable, library_->variable(copy.symbol, bytes));
      constants_.push_back({variable, static_cast<std::size_t>(copy.argument), bytes, copy.symbol});
    }
    argument_count_ = std::max(argument_count_, static_cast<std::size_t>(copy.argument + 1));
  }
  return {};
}

Result<void> CudaKernel::set_limits(const Pass& pass, const PassLaunch& launch, const DeviceInfo& info) {
  const DriverApi& api = context_->api();
  const DeviceOrdinal device = context_->device();
  const auto set = [&](FunctionAttribute attribute, int value) -> Result<void> {
    // The function is already loaded, and a later load of the kernel in another context must agree.
    Status status = api.kernel_set_attribute(static_cast<int>(attribute), value, pass.kernel, device);
    if (status == status::kSuccess) {
      status = api.func_set_attribute(pass.function, static_cast<int>(attribute), value);
    }
    if (status != status::kSuccess) {
      return driver_error(api, status, fmt::format("{}: attribute {} cannot be set to {}", pass.symbol, static_cast<int>(attribute), value),
                          ErrorCode::kLaunch);
    }
    return {};
  };
  const std::lock_guard lock(limits_mutex());
  int fixed = 0, limit = 0;
  api.kernel_get_attribute(&fixed, static_cast<int>(FunctionAttribute::kStaticSharedBytes), pass.kernel, device);
  api.kernel_get_attribute(&limit, static_cast<int>(FunctionAttribute::kDynamicSharedLimit), pass.kernel, device);
  const std::int64_t most = info.properties.at("shared_memory_per_block");
  if (launch.shared_bytes + fixed > most) {
    return bad_launch(fmt::format("{} needs {} bytes of shared memory ({} dynamic); a block can have {}", pass.symbol,
                                  launch.shared_bytes + fixed, launch.shared_bytes, most));
  }
  if (launch.shared_bytes + fixed > kDefaultSharedLimit && launch.shared_bytes > limit) {
    HONE_TRY(set(FunctionAttribute::kDynamicSharedLimit, static_cast<int>(launch.shared_bytes)));
  }
  if (volume(launch.cluster) > kPortableCluster) {
    HONE_TRY(set(FunctionAttribute::kNonPortableClusters, 1));
  }
  return {};
}

Result<void> CudaKernel::read_resources(const Pass& pass, const DeviceInfo& info) {
  const DriverApi& api = context_->api();
  const auto read = [&](FunctionAttribute attribute) -> std::int64_t {
    int value = 0;
    api.kernel_get_attribute(&value, static_cast<int>(attribute), pass.kernel, context_->device());
    return value;
  };
  resources_.registers = std::max(resources_.registers, read(FunctionAttribute::kRegisters));
  resources_.stack_bytes = std::max(resources_.stack_bytes, read(FunctionAttribute::kLocalBytes));
  resources_.shared_bytes =
      std::max<std::int64_t>(resources_.shared_bytes, read(FunctionAttribute::kStaticSharedBytes) + pass.config.shared_bytes);
  const std::int64_t threads = static_cast<std::int64_t>(pass.config.block[0]) * pass.config.block[1] * pass.config.block[2];
  int blocks = 0;
  const Status status = api.occupancy_max_active_blocks(&blocks, pass.function, static_cast<int>(threads), pass.config.shared_bytes);
  if (is_sticky(status)) {
    return driver_error(api, status, fmt::format("{}: occupancy", pass.symbol));
  }
  if (status == status::kSuccess) {
    const double share = static_cast<double>(blocks * threads) / static_cast<double>(info.properties.at("threads_per_multiprocessor"));
    resources_.occupancy = passes_.empty() ? share : std::min(resources_.occupancy, share);
  }
  return {};
}

Status CudaKernel::enqueue(const Pass& pass, FunctionHandle function, StreamHandle stream, void** parameters) const {
  const LaunchConfig& config = pass.config;
  if (config.attribute_count == 0) {
    return context_->api().launch_kernel(function, config.grid[0], config.grid[1], config.grid[2], config.block[0], config.block[1],
                                         config.block[2], config.shared_bytes, stream, parameters, nullptr);
  }
  LaunchConfig extended = config;
  extended.stream = stream;
  extended.attributes = const_cast<LaunchAttribute*>(pass.attributes.data());  // the driver only reads them
  return context_->api().launch_kernel_ex(&extended, function, parameters, nullptr);
}

// The thread has no context, or the stream belongs to another one than the primary.
Status CudaKernel::enqueue_elsewhere(const Pass& pass, StreamHandle stream, void** parameters) const {
  if (stream != nullptr) {
    // A kernel may be passed where a function is expected: the stream's context decides where it runs.
    return enqueue(pass, reinterpret_cast<FunctionHandle>(pass.kernel), stream, parameters);
  }
  const ContextScope scope(*context_);
  return scope.status() == status::kSuccess ? enqueue(pass, pass.function, nullptr, parameters) : scope.status();
}

/// Those of an earlier launch with the same addresses, else in `maps`.
Result<const EncodedTensorMap*> CudaKernel::encoded(const Pass& pass, std::span<void* const> arguments, EncodedTensorMap* maps) const {
  std::array<const void*, kMostTensorMaps> addresses;
  const std::size_t count = pass.tensor_maps.size();
  for (std::size_t i = 0; i < count; ++i) {
    addresses[i] = *static_cast<void* const*>(arguments[static_cast<std::size_t>(pass.tensor_maps[i].argument())]);
  }
  const std::span<const void* const> key(addresses.data(), count);
  if (const EncodedTensorMap* const known = pass.encoded->find(key)) {
    return known;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const TensorMapEncoding& encoding = pass.tensor_maps[i];
    void* const base = const_cast<void*>(addresses[i]);
    Status status = encoding.encode(context_->api(), base, maps[i]);
    if (status == status::kInvalidContext) {
      const ContextScope scope(*context_);
      status = encoding.encode(context_->api(), base, maps[i]);
    }
    if (status != status::kSuccess) {
      return driver_error(context_->api(), status, fmt::format("{}: {}", pass.symbol, encoding.description(base)), ErrorCode::kLaunch);
    }
  }
  pass.encoded->put(key, std::span<const EncodedTensorMap>(maps, count));
  return static_cast<const EncodedTensorMap*>(maps);
}

Result<void> CudaKernel::copy_constants(StreamHandle stream, std::span<void* const> arguments) const {
  for (const Constant& constant : constants_) {
    const Address from = *static_cast<const Address*>(arguments[constant.argument]);
    const auto copy = [&] { return context_->api().memcpy_dtod_async(constant.variable, from, constant.bytes, stream); };
    Status status = copy();
    if (status == status::kInvalidContext) {  // the thread has none
      const ContextScope scope(*context_);
      status = scope.status() == status::kSuccess ? copy() : scope.status();
    }
    if (status != status::kSuccess) {
      return driver_error(context_->api(), status, fmt::format("{} bytes cannot be copied to '{}'", constant.bytes, constant.symbol),
                          ErrorCode::kLaunch);
    }
  }
  return {};
}

Result<void> CudaKernel::launch(void* stream, std::span<void* const> arguments) const {
  return launch_passes(stream, arguments, 0, passes_.size());
}

Result<void> CudaKernel::launch_passes(void* stream, std::span<void* const> arguments, std::size_t first, std::size_t count) const {
  if (arguments.size() < argument_count_) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the kernel takes {} arguments; {} were passed", argument_count_, arguments.size())};
  }
  if (first == 0) {
    HONE_TRY(copy_constants(static_cast<StreamHandle>(stream), arguments));
  }
  for (std::size_t i = first; i < first + count; ++i) {
    HONE_TRY(launch_pass(passes_[i], static_cast<StreamHandle>(stream), arguments));
  }
  return {};
}

Result<void> CudaKernel::launch_pass(const Pass& pass, StreamHandle stream, std::span<void* const> arguments) const {
  std::array<void*, kMostParameters> parameters;
  std::array<EncodedTensorMap, kMostTensorMaps> own_maps;
  const EncodedTensorMap* next_map = nullptr;
  if (pass.encoded != nullptr) {
    HONE_ASSIGN(next_map, encoded(pass, arguments, own_maps.data()));
  }
  for (std::size_t i = 0; i < pass.parameter_count; ++i) {
    const int index = pass.parameters[i];
    if (index >= 0) {
      parameters[i] = arguments[static_cast<std::size_t>(index)];
    } else {
      const void* own = index == kTensorMapParameter  ? static_cast<const void*>(next_map++)
                        : index == kExtentParameter   ? static_cast<const void*>(&pass.extent)
                        : index == kRunIndexParameter ? static_cast<const void*>(&pass.run_index)
                                                      : problem_.data();
      parameters[i] = const_cast<void*>(own);  // the driver only reads it
    }
  }
  Status status = enqueue(pass, pass.function, stream, parameters.data());
  if (status == status::kInvalidContext || status == status::kInvalidHandle) {
    status = enqueue_elsewhere(pass, stream, parameters.data());
  }
  return status == status::kSuccess ? Result<void>() : launch_error(pass, status);
}

Error CudaKernel::launch_error(const Pass& pass, Status status) const {
  const LaunchConfig& config = pass.config;
  return driver_error(
      context_->api(), status,
      fmt::format("{} cannot be launched (grid {} x {} x {}, block {} x {} x {}, {} bytes of dynamic shared memory)", pass.symbol,
                  config.grid[0], config.grid[1], config.grid[2], config.block[0], config.block[1], config.block[2], config.shared_bytes),
      ErrorCode::kLaunch);
}

}  // namespace hone::cuda
