#include "plugins/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plugins/cuda/call_graph.hpp"
#include "plugins/cuda/device_info.hpp"
#include "plugins/cuda/loaded_kernel.hpp"

namespace hone::cuda {
namespace {

constexpr std::size_t kSamplesInFlight = 32;
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;
constexpr std::int64_t kReferenceBlock = 64;  // references are long loops; small blocks spread few indices over the device

}  // namespace

CudaDevice::CudaDevice(std::unique_ptr<CudaLaunchDevice> launcher)
    : launcher_(std::move(launcher)),
      info_(launcher_->info()),
      context_(launcher_->context()),
      api_(context_->api()),
      nvml_(pci_bus_id(api_, context_->device())),
      stream_(launcher_->stream()) {}

Result<std::unique_ptr<Device>> CudaDevice::open(const DeviceInfo& info) {
  HONE_ASSIGN(std::unique_ptr<CudaLaunchDevice> launcher, CudaLaunchDevice::open(info));
  std::unique_ptr<CudaDevice> device(new CudaDevice(std::move(launcher)));
  HONE_TRY(device->create_events());
  return std::unique_ptr<Device>(std::move(device));
}

CudaDevice::~CudaDevice() {
  const ContextScope scope(*context_);
  profiler_.reset();
  for (const EventPair& pair : events_) {
    for (EventHandle event : {pair.begin, pair.end}) {
      if (event != nullptr) {
        api_.event_destroy(event);
      }
    }
  }
}

Result<void> CudaDevice::create_events() {
  const ContextScope scope(*context_);
  HONE_TRY(check(scope.status(), "the device's context cannot be entered"));
  events_.resize(kSamplesInFlight);
  for (EventPair& pair : events_) {
    HONE_TRY(check(api_.event_create(&pair.begin, 0), "no event on the device"));
    HONE_TRY(check(api_.event_create(&pair.end, 0), "no event on the device"));
  }
  return {};
}

Result<Utilities*> CudaDevice::utilities() {
  if (utilities_ == nullptr) {
    HONE_ASSIGN(utilities_, Utilities::create(context_, info_));
  }
  return utilities_.get();
}

Result<void> CudaDevice::randomize(void* destination, DType dtype, std::size_t count, std::uint64_t seed) {
  if (count == 0) {
    return {};
  }
  HONE_ASSIGN(Utilities * tools, utilities());
  const ContextScope scope(*context_);
  HONE_TRY(tools->randomize(stream_, destination, dtype, count, seed));
  return finish(status::kSuccess, "randomize");
}

Result<Comparison> CudaDevice::compare(const void* actual, DType dtype, const double* expected, std::size_t count, Tolerance tolerance) {
  HONE_ASSIGN(Utilities * tools, utilities());
  const ContextScope scope(*context_);
  return tools->compare(stream_, actual, dtype, expected, count, tolerance);
}

Result<std::uint64_t> CudaDevice::checksum(const void* source, std::size_t bytes) {
  const Region region{const_cast<void*>(source), bytes};
  HONE_ASSIGN(const std::vector<std::uint64_t> sums, checksums(std::span(&region, 1)));
  return sums.front();
}

Result<std::vector<std::uint64_t>> CudaDevice::checksums(std::span<const Region> regions) {
  HONE_ASSIGN(Utilities * tools, utilities());
  const ContextScope scope(*context_);
  return tools->checksums(stream_, regions);
}

Result<double> CudaDevice::root_mean_square(const double* values, std::size_t count) {
  HONE_ASSIGN(Utilities * tools, utilities());
  const ContextScope scope(*context_);
  return tools->root_mean_square(stream_, values, count);
}

Result<void> CudaDevice::spoil(std::span<const Watch> watches, const Spots& spots) {
  HONE_ASSIGN(Utilities * tools, utilities());
  const ContextScope scope(*context_);
  HONE_TRY(tools->set_watches(stream_, watches));
  return tools->spoil(stream_, spots);
}

Result<std::uint64_t> CudaDevice::unmended(std::span<const Watch> watches, const Spots& spots) {
  HONE_ASSIGN(Utilities * tools, utilities());
  const ContextScope scope(*context_);
  HONE_TRY(tools->set_watches(stream_, watches));
  HONE_TRY(tools->count_unmended(stream_, spots));
  return tools->take_unmended(stream_);
}

Result<void> CudaDevice::paint_shared(std::uint8_t pattern) {
  HONE_ASSIGN(Utilities * tools, utilities());
  const ContextScope scope(*context_);
  return tools->paint_shared(nullptr, pattern);
}

Result<std::unique_ptr<LoadedKernel>> CudaDevice::load_reference(const Compiled& compiled, const std::vector<PassLaunch>& plan,
                                                                 const Problem& problem) {
  std::vector<PassLaunch> passes = plan;
  for (PassLaunch& pass : passes) {
    pass.grid[0] = (pass.extent + kReferenceBlock - 1) / kReferenceBlock;
    pass.block[0] = kReferenceBlock;
    pass.arguments.insert(pass.arguments.begin(), kExtentParameter);
  }
  return load(compiled, passes, problem);
}

Result<void> CudaDevice::invert(std::span<const Region> regions, bool late) {
  HONE_ASSIGN(Utilities* const own, utilities());
  const ContextScope scope(*context_);
  return own->invert(nullptr, regions, late);
}

// Reads displace what the L2 held and leave lines that need not be written back. After a fill the kernel under test would pay for that, up
// to the whole L2. Four times its size, because lines are not replaced strictly by age.
Result<void> CudaDevice::prepare_flush() {
  if (flush_ != nullptr) {
    return {};
  }
  std::size_t free = 0, total = 0;
  {
    const ContextScope scope(*context_);
    HONE_TRY(check(api_.mem_get_info(&free, &total), "free memory"));
  }
  const auto l2 = static_cast<std::size_t>(info_.properties.at("l2_bytes"));
  HONE_ASSIGN(std::unique_ptr<Buffer> zeros, allocate(std::max(4 * l2, std::min(kFlushBytes, free / 8))));
  HONE_TRY(fill(zeros->address(), zeros->bytes(), 0));
  flush_ = std::move(zeros);
  return {};
}

Result<void> CudaDevice::enqueue_preparations(const Surroundings& around, const Spots& spots, Utilities& tools) {
  for (const Preparation& preparation : around.preparations) {
    const Address to = address_of(preparation.destination);
    if (preparation.bytes == 0) {
      continue;
    }
    HONE_TRY(check(preparation.kind == Preparation::Kind::kCopy
                       ? api_.memcpy_dtod_async(to, address_of(preparation.source), preparation.bytes, stream_)
                       : api_.memset_d8_async(to, fill_pattern(preparation.kind, spots.seed), preparation.bytes, stream_),
                   "preparation of a sample"));
  }
  HONE_TRY(tools.spoil(stream_, spots));
  return around.flush ? tools.displace(stream_, flush_->address(), flush_->bytes()) : Result<void>();
}

Result<TimedRuns> CudaDevice::time_each(int samples, const Surroundings& around, const std::function<Result<void>(StreamHandle)>& run) {
  if (around.flush) {
    HONE_TRY(prepare_flush());
  }
  HONE_ASSIGN(Utilities* const tools, utilities());
  const ContextScope scope(*context_);
  HONE_TRY(tools->set_watches(stream_, around.watches));
  TimedRuns runs;
  while (runs.us.size() < static_cast<std::size_t>(std::max(samples, 0))) {
    // The host runs ahead of the device, so that launch overhead hides behind the flush of the next sample.
    const std::size_t batch = std::min(kSamplesInFlight, static_cast<std::size_t>(samples) - runs.us.size());
    for (std::size_t i = 0; i < batch; ++i) {
      const Spots spots = spots_of_run(around.seed, runs.us.size() + i);
      HONE_TRY(enqueue_preparations(around, spots, *tools));
      HONE_TRY(check(api_.event_record(events_[i].begin, stream_), "event"));
      HONE_TRY(run(stream_));
      HONE_TRY(check(api_.event_record(events_[i].end, stream_), "event"));
      HONE_TRY(tools->count_unmended(stream_, spots));
    }
    HONE_TRY(finish(status::kSuccess, "the kernel failed while it was timed"));
    for (std::size_t i = 0; i < batch; ++i) {
      float milliseconds = 0;
      HONE_TRY(check(api_.event_elapsed_time(&milliseconds, events_[i].begin, events_[i].end), "elapsed time"));
      runs.us.push_back(static_cast<double>(milliseconds) * 1000.0);
    }
  }
  HONE_ASSIGN(runs.unmended, tools->take_unmended(stream_));
  return runs;
}

Result<TimedRuns> CudaDevice::time(const TimeRequest& request) {
  const Surroundings around{request.preparations, request.watches, request.seed, request.flush_cache};
  return time_each(request.samples, around, [&](StreamHandle stream) { return request.kernel->launch(stream, request.arguments); });
}

Result<Counters> CudaDevice::count(const TimeRequest& request) {
  if (request.flush_cache) {
    HONE_TRY(prepare_flush());
  }
  HONE_ASSIGN(Utilities* const tools, utilities());
  const ContextScope scope(*context_);
  HONE_TRY(tools->set_watches(stream_, request.watches));
  if (profiler_ == nullptr) {
    HONE_ASSIGN(profiler_, LaunchProfiler::open({.context = context_->handle(), .device = context_->device()}));
  }
  const Surroundings around{request.preparations, request.watches, request.seed, request.flush_cache};
  return profiler_->count({.prepare = [&]() -> Result<void> {
                             HONE_TRY(enqueue_preparations(around, spots_of_run(request.seed, 0), *tools));
                             return finish(status::kSuccess, "the preparation of a counted run failed");
                           },
                           .launch = [&]() -> Result<void> {
                             HONE_TRY(request.kernel->launch(stream_, request.arguments));
                             return finish(status::kSuccess, "the kernel failed while it was counted");
                           }});
}

Result<std::unique_ptr<CallGraph>> CudaDevice::graph(const LoadedKernel& kernel, std::span<const GraphCall> calls) {
  HONE_ASSIGN(std::unique_ptr<CudaCallGraph> graph, CudaCallGraph::capture(*this, context_, kernel, calls));
  return std::unique_ptr<CallGraph>(std::move(graph));
}

Result<EnergyReading> CudaDevice::energy() {
  const std::optional<EnergyReading> read = nvml_.energy();
  return read ? Result<EnergyReading>(*read) : Device::energy();
}

}  // namespace hone::cuda
