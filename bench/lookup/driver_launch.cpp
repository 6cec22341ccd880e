#include "bench/lookup/driver_launch.hpp"

#include <algorithm>
#include <chrono>

namespace hone::bench {
namespace {

Result<void> check(const cuda::DriverApi& api, cuda::Status status, std::string_view what) {
  return status == cuda::status::kSuccess ? Result<void>() : cuda::driver_error(api, status, what);
}

}  // namespace

Result<std::unique_ptr<DriverLaunch>> DriverLaunch::prepare(const LaunchPlan& plan, const std::vector<void*>& arguments) {
  if (plan.passes.size() != 1) {
    return Error{ErrorCode::kInvalidArgument, "only kernels of one pass are compared with the driver"};
  }
  const PassLaunch& pass = plan.passes.front();
  auto made = std::make_unique<DriverLaunch>();
  HONE_ASSIGN(made->context_, cuda::PrimaryContext::retain(0));
  const cuda::DriverApi& api = made->context_->api();
  const cuda::ContextScope scope(*made->context_);
  HONE_ASSIGN(made->library_, cuda::Library::load(made->context_, plan.code.artifact->bytes.data()));
  HONE_ASSIGN(const cuda::KernelHandle kernel, made->library_->kernel(plan.code.symbols.at(pass.symbol)));
  HONE_TRY(check(api, api.kernel_get_function(&made->function_, kernel), "no function"));
  if (pass.shared_bytes > 48 * 1024) {
    HONE_TRY(check(api,
                   api.func_set_attribute(made->function_, static_cast<int>(cuda::FunctionAttribute::kDynamicSharedLimit),
                                          static_cast<int>(pass.shared_bytes)),
                   "no shared memory"));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made->config_.grid[axis] = static_cast<unsigned>(pass.grid[axis]);
    made->config_.block[axis] = static_cast<unsigned>(pass.block[axis]);
  }
  made->config_.shared_bytes = static_cast<unsigned>(pass.shared_bytes);
  if (pass.cluster != std::array<std::int64_t, 3>{1, 1, 1}) {
    cuda::LaunchAttribute& attribute = made->attributes_.emplace_back();
    attribute.id = cuda::LaunchAttribute::kClusterDimension;
    std::ranges::transform(pass.cluster, attribute.value.cluster, [](std::int64_t extent) { return static_cast<unsigned>(extent); });
  }
  if (pass.overlap) {
    cuda::LaunchAttribute& attribute = made->attributes_.emplace_back();
    attribute.id = cuda::LaunchAttribute::kProgrammaticStreamSerialization;
    attribute.value.programmatic_stream_serialization_allowed = 1;
  }
  made->config_.attributes = made->attributes_.data();
  made->config_.attribute_count = static_cast<unsigned>(made->attributes_.size());
  made->problem_ = pass.problem;
  made->maps_.resize(pass.tensor_maps.size());
  for (std::size_t i = 0; i < pass.tensor_maps.size(); ++i) {
    const cuda::TensorMapEncoding encoding(pass.tensor_maps[i]);
    void* const base = *static_cast<void* const*>(arguments.at(static_cast<std::size_t>(encoding.argument())));
    HONE_TRY(check(api, encoding.encode(api, base, made->maps_[i]), "no tensor map"));
  }
  std::size_t map = 0;
  for (const int index : pass.arguments) {
    made->parameters_.push_back(index >= 0                     ? arguments.at(static_cast<std::size_t>(index))
                                : index == kTensorMapParameter ? static_cast<void*>(&made->maps_.at(map++))
                                : index == kRunIndexParameter  ? static_cast<void*>(&made->run_index_)
                                                               : static_cast<void*>(made->problem_.data()));
  }
  return made;
}

Result<void> DriverLaunch::launch(void* stream) {
  config_.stream = static_cast<cuda::StreamHandle>(stream);
  const cuda::DriverApi& api = context_->api();
  return check(api, api.launch_kernel_ex(&config_, function_, parameters_.data(), nullptr), "launch");
}

Result<std::unique_ptr<Stream>> Stream::make() {
  auto made = std::make_unique<Stream>();
  HONE_ASSIGN(made->context_, cuda::PrimaryContext::retain(0));
  const cuda::DriverApi& api = made->context_->api();
  api.ctx_push_current(made->context_->handle());  // for good: what an application's thread has
  HONE_TRY(check(api, api.stream_create(&made->stream_, 1), "no stream"));
  return made;
}

Stream::~Stream() {
  if (stream_ != nullptr) {
    context_->api().stream_destroy(stream_);
  }
}

Result<void> Stream::wait() { return check(context_->api(), context_->api().stream_synchronize(stream_), "the stream failed"); }

Result<void> Stream::capture(const std::function<void()>& launches) {
  const cuda::DriverApi& api = context_->api();
  HONE_TRY(check(api, api.stream_begin_capture(stream_, 0), "no capture"));
  launches();
  cuda::GraphHandle graph = nullptr;
  HONE_TRY(check(api, api.stream_end_capture(stream_, &graph), "the capture failed"));
  return check(api, api.graph_destroy(graph), "no graph");
}

Result<double> context_ms() {
  const auto begin = std::chrono::steady_clock::now();
  HONE_ASSIGN(const auto context, cuda::PrimaryContext::retain(0));
  const cuda::ContextScope scope(*context);
  cuda::Address address = 0;
  HONE_TRY(check(context->api(), context->api().mem_alloc(&address, 4096), "no memory"));
  HONE_TRY(check(context->api(), context->api().memset_d8_async(address, 0, 4096, nullptr), "no fill"));
  HONE_TRY(check(context->api(), context->api().ctx_synchronize(), "the device failed"));
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace hone::bench
