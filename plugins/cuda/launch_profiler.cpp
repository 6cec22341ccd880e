#include "plugins/cuda/launch_profiler.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>

namespace hone::cuda {
namespace {

/// A struct of CUPTI's, empty but for its size.
template <class Params>
Params sized() {
  Params params{};
  params.struct_size = Params::kSize;
  return params;
}

}  // namespace

Result<std::unique_ptr<LaunchProfiler>> LaunchProfiler::open(const Target& target) {
  HONE_ASSIGN(const Cupti* const library, cupti());
  std::unique_ptr<LaunchProfiler> profiler(new LaunchProfiler(*library, target));
  HONE_TRY(profiler->find_chip());
  HONE_TRY(profiler->choose_metrics());
  HONE_TRY(profiler->enable());
  return profiler;
}

LaunchProfiler::~LaunchProfiler() {
  if (range_ != nullptr) {
    auto params = sized<CuptiOnRange>();
    params.range = range_;
    api_.disable(&params);
  }
  end_host();
}

Result<void> LaunchProfiler::check(CuptiStatus status, std::string_view call) const {
  return status == cupti_status::kSuccess ? Result<void>() : Result<void>(cupti_error(library_, status, call));
}

Result<void> LaunchProfiler::find_chip() {
  auto start = sized<CuptiInitialize>();
  HONE_TRY(check(api_.initialize(&start), "cuptiProfilerInitialize"));
  auto supported = sized<CuptiSupported>();
  supported.device = target_.device;
  HONE_TRY(check(api_.device_supported(&supported), "cuptiProfilerDeviceSupported"));
  constexpr int kIsNot = 1, kIsDisabled = 2;
  if (supported.supported == kIsNot || supported.supported == kIsDisabled) {
    Error refused = cupti_error(library_, cupti_status::kNotSupported, "cuptiProfilerDeviceSupported");
    refused.message += fmt::format(
        " (architecture {}, SLI {}, virtual GPU {}, confidential computing {}, mining {}, WSL {}; 1: no, 3: yes)", supported.architecture,
        supported.sli, supported.virtual_gpu, supported.confidential_compute, supported.mining, supported.wsl);
    return refused;
  }
  auto chip = sized<CuptiChipName>();
  chip.device = static_cast<std::size_t>(target_.device);
  HONE_TRY(check(api_.chip_name(&chip), "cuptiDeviceGetChipName"));
  chip_ = chip.name;
  auto available = sized<CuptiAvailability>();
  available.context = target_.context;
  HONE_TRY(check(api_.availability(&available), "cuptiProfilerGetCounterAvailability"));
  availability_.resize(available.size);
  available.image = availability_.data();
  return check(api_.availability(&available), "cuptiProfilerGetCounterAvailability");
}

Result<void> LaunchProfiler::start_host() {
  end_host();
  auto params = sized<CuptiHostInitialize>();
  params.type = kCuptiRangeProfiler;
  params.chip = chip_.c_str();
  params.availability = availability_.data();
  HONE_TRY(check(api_.host_initialize(&params), "cuptiProfilerHostInitialize"));
  host_ = params.host;
  return {};
}

void LaunchProfiler::end_host() {
  if (host_ != nullptr) {
    auto params = sized<CuptiHostDeinitialize>();
    params.host = host_;
    api_.host_deinitialize(&params);
    host_ = nullptr;
  }
}

std::vector<const char*> LaunchProfiler::names() const {
  std::vector<const char*> names;
  for (const Metric& metric : metrics_) {
    names.push_back(metric.name.c_str());
  }
  return names;
}

Result<void> LaunchProfiler::choose_metrics() {
  HONE_TRY(start_host());
  auto known = sized<CuptiBaseMetrics>();
  known.host = host_;
  known.type = kCuptiCounters;
  HONE_TRY(check(api_.base_metrics(&known), "cuptiProfilerHostGetBaseMetrics"));
  metrics_ = metrics_of({known.names, known.names + known.count});
  for (;;) {
    HONE_ASSIGN(const bool configured, configure());
    if (configured) {
      return {};
    }
    if (metrics_.empty()) {
      return Error{ErrorCode::kUnavailable, fmt::format("CUPTI {}: it has none of the counters for {}", library_.version, chip_)};
    }
    HONE_TRY(start_host());  // one that refused a metric takes no other
  }
}

/// False if a metric cannot be had here: it is left out of the next try.
Result<bool> LaunchProfiler::configure() {
  for (auto metric = metrics_.begin(); metric != metrics_.end(); ++metric) {
    const char* name = metric->name.c_str();
    auto params = sized<CuptiAddMetrics>();
    params.host = host_;
    params.names = &name;
    params.count = 1;
    if (api_.add_metrics(&params) != cupti_status::kSuccess) {
      metrics_.erase(metric);
      return false;
    }
  }
  auto size = sized<CuptiConfigSize>();
  size.host = host_;
  HONE_TRY(check(api_.config_size(&size), "cuptiProfilerHostGetConfigImageSize"));
  config_.resize(size.size);
  auto config = sized<CuptiConfig>();
  config.host = host_;
  config.size = config_.size();
  config.image = config_.data();
  HONE_TRY(check(api_.config(&config), "cuptiProfilerHostGetConfigImage"));
  auto passes = sized<CuptiPasses>();
  passes.config_size = config_.size();
  passes.config = config_.data();
  HONE_TRY(check(api_.passes(&passes), "cuptiProfilerHostGetNumOfPasses"));
  passes_ = passes.passes;
  return !metrics_.empty();
}

Result<void> LaunchProfiler::enable() {
  auto params = sized<CuptiEnable>();
  params.context = target_.context;
  HONE_TRY(check(api_.enable(&params), "cuptiRangeProfilerEnable"));
  range_ = params.range;
  std::vector<const char*> wanted = names();
  auto size = sized<CuptiDataSize>();
  size.range = range_;
  size.names = wanted.data();
  size.count = wanted.size();
  size.most_ranges = kMostKernels;
  size.most_nodes = kMostKernels;
  HONE_TRY(check(api_.data_size(&size), "cuptiRangeProfilerGetCounterDataSize"));
  data_.resize(size.size);
  return {};
}

Result<Counters> LaunchProfiler::count(const Run& run) {
  auto data = sized<CuptiDataInitialize>();
  data.range = range_;
  data.size = data_.size();
  data.data = data_.data();
  HONE_TRY(check(api_.data_initialize(&data), "cuptiRangeProfilerCounterDataImageInitialize"));
  auto config = sized<CuptiSetConfig>();
  config.range = range_;
  config.config_size = config_.size();
  config.config = config_.data();
  config.data_size = data_.size();
  config.data = data_.data();
  config.range_mode = kCuptiAutoRange;
  config.replay_mode = kCuptiUserReplay;
  config.most_ranges = kMostKernels;
  config.nesting_levels = 1;
  config.least_nesting = 1;
  HONE_TRY(check(api_.set_config(&config), "cuptiRangeProfilerSetConfig"));
  Counters counters;
  auto stop = sized<CuptiStop>();
  stop.range = range_;
  while (stop.all_passes_submitted == 0) {
    const std::size_t most = 2 * passes_ + 8;  // a profiler that never has enough must not hang
    if (static_cast<std::size_t>(counters.launches) == most) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("CUPTI {}: {} runs were not enough for counters that need {} passes", library_.version, most, passes_)};
    }
    HONE_TRY(run.prepare());
    auto start = sized<CuptiOnRange>();
    start.range = range_;
    HONE_TRY(check(api_.start(&start), "cuptiRangeProfilerStart"));
    const Result<void> launched = run.launch();
    const Result<void> stopped = check(api_.stop(&stop), "cuptiRangeProfilerStop");
    HONE_TRY(launched);
    HONE_TRY(stopped);
    ++counters.launches;
  }
  auto decode = sized<CuptiDecode>();
  decode.range = range_;
  HONE_TRY(check(api_.decode(&decode), "cuptiRangeProfilerDecodeData"));
  if (decode.dropped > 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("a launch of more than {} kernels is not counted", kMostKernels)};
  }
  HONE_ASSIGN(const auto ranges, evaluate());
  counters.values = counters_of(metrics_, ranges);
  counters.source = fmt::format("CUPTI {}, {}", library_.version, chip_);
  return counters;
}

/// The values of the metrics in each range.
Result<std::vector<std::vector<double>>> LaunchProfiler::evaluate() {
  auto info = sized<CuptiDataInfo>();
  info.data = data_.data();
  info.size = data_.size();
  HONE_TRY(check(api_.data_info(&info), "cuptiRangeProfilerGetCounterDataInfo"));
  if (info.ranges == 0) {
    return Error{ErrorCode::kUnavailable, fmt::format("CUPTI {}: no kernel was counted", library_.version)};
  }
  std::vector<const char*> wanted = names();
  std::vector<std::vector<double>> ranges;
  for (std::size_t i = 0; i < info.ranges; ++i) {
    std::vector<double>& values = ranges.emplace_back(wanted.size());
    auto params = sized<CuptiEvaluate>();
    params.host = host_;
    params.data = data_.data();
    params.data_size = data_.size();
    params.range = i;
    params.names = wanted.data();
    params.count = wanted.size();
    params.values = values.data();
    HONE_TRY(check(api_.evaluate(&params), "cuptiProfilerHostEvaluateToGpuValues"));
  }
  return ranges;
}

}  // namespace hone::cuda
