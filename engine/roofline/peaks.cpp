#include "engine/roofline/peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/kernel/builtin_kernels.hpp"
#include "engine/tune/session.hpp"

namespace hone {

/// Generated when Hone is built, as embedded_kernels().
std::span<const EmbeddedKernel> embedded_probes();

namespace roofline {
namespace {

constexpr std::int64_t kTrials = 8;  // of a probe: most have a dozen configurations, which differ little

constexpr std::array kLimits{Limit{"memory", "memory bandwidth (copy)", true},
                             Limit{"l2", "reads from the L2 cache", true},
                             Limit{"shared", "reads from shared memory", true},
                             Limit{"f32", "f32 multiply-adds"},
                             Limit{"bf16", "tensor cores, bf16"},
                             Limit{"f16", "tensor cores, f16"}};

/// A kernel that measures a limit.
struct Probe {
  std::string_view limit, kernel;
  DType dtype;
};
constexpr std::array kProbes{Probe{"memory", "copy", DType::kF32},         Probe{"l2", "probe_l2", DType::kF32},
                             Probe{"shared", "probe_shared", DType::kF32}, Probe{"f32", "probe_f32", DType::kF32},
                             Probe{"bf16", "probe_mma", DType::kBF16},     Probe{"bf16", "probe_wgmma", DType::kBF16},
                             Probe{"f16", "probe_mma", DType::kF16},       Probe{"f16", "probe_wgmma", DType::kF16}};

const Limit* limit_named(std::string_view name) { return std::ranges::find(kLimits, name, &Limit::name); }

const KernelSpec& spec_of(const Probe& probe) {
  static EmbeddedSpecs& specs = *new EmbeddedSpecs(embedded_probes());
  for (std::size_t i = 0; i < embedded_probes().size(); ++i) {
    if (embedded_probes()[i].name == probe.kernel) {
      return *specs.at(i);
    }
  }
  return *find_builtin_kernel(probe.kernel).value();
}

/// So large that launching and the ends of the grid do not count, for this device.
Shape shape_of(const Probe& probe, const DeviceInfo& device) {
  const std::int64_t processors = std::max<std::int64_t>(1, device.properties.at("multiprocessors"));
  const std::int64_t threads = processors * std::max<std::int64_t>(128, device.properties.at("threads_per_multiprocessor"));
  if (probe.kernel == "copy") {
    constexpr std::int64_t kEach = 1 << 19, kMost = 1 << 26;
    return {{"n", std::min(processors * kEach, kMost)}};
  }
  if (probe.kernel == "probe_l2") {  // a quarter of the cache: it stays there, with what else is
    constexpr std::int64_t kPart = 4, kPacket = 16, kMost = 1 << 20;
    return {{"packets", std::clamp(device.properties.at("l2_bytes") / kPart / kPacket, std::int64_t{1024}, kMost)},
            {"threads", 4 * threads}};
  }
  return {{"n", probe.kernel == "probe_wgmma" ? threads / 2 : probe.kernel == "probe_mma" ? 4 * threads : 8 * threads}};
}

Result<Problem> problem_of(const Probe& probe, const DeviceInfo& device) {
  return make_problem(spec_of(probe), DTypes(probe.dtype), shape_of(probe, device));
}

double cost_of(const Limit& limit, const KernelSpec& spec, const Problem& problem) {
  const Result<Value> cost = (limit.is_bytes ? spec.cost.bytes : spec.cost.flops).evaluate(bindings(problem));
  return cost ? cost->real() : 0.0;
}

/// Whether a record was made with inputs and accuracy as the probes have them.
bool is_of(const RecordInfo& record, const RecordKey& key) {
  return record.kernel == key.kernel && record.source_hash == key.source_hash && record.dtypes == dtypes_text(key) &&
         record.shape == key.problem.shape && record.accuracy_bound == key.purpose.accuracy_bound &&
         record.input_profile == key.purpose.input_profile;
}

Result<void> measure(const Probe& probe, const MeasureRequest& request, Store& store) {
  TuneRequest tuning;
  tuning.spec = spec_of(probe);
  HONE_ASSIGN(tuning.problem, problem_of(probe, request.device.info));
  tuning.device = request.device;
  tuning.strategy = "random";
  tuning.budget = {.seconds = std::nullopt, .trials = kTrials};
  tuning.resume = false;
  tuning.stop = request.stop;
  if (const auto space = space_of(tuning); !space && space.error().code == ErrorCode::kEmptySpace) {
    return {};
  }
  if (request.on_progress) {
    request.on_progress(fmt::format("{} {}", probe.kernel, name(tuning.problem.dtype)));
  }
  HONE_TRY(tune(tuning, store, *request.registry));
  return {};
}

}  // namespace

std::span<const Limit> limits() { return kLimits; }

Result<MeasuredPeaks> measure_peaks(const MeasureRequest& request, Store& store) {
  MeasuredPeaks measured;
  for (const Probe& probe : kProbes) {
    const Result<void> done = measure(probe, request, store);
    if (done) {
      continue;
    }
    const ErrorCode code = done.error().code;
    if (code == ErrorCode::kCancelled || code == ErrorCode::kUnavailable || code == ErrorCode::kStore || code == ErrorCode::kIo) {
      return done.error();
    }
    measured.failures.push_back(fmt::format("{} {}: {}", probe.kernel, name(probe.dtype), done.error().message));
  }
  HONE_ASSIGN(measured.peaks, find_peaks(request.device.info, store));
  return measured;
}

Result<std::vector<Peak>> find_peaks(const DeviceInfo& device, Store& store) {
  std::vector<Peak> peaks;
  if (device.properties.empty()) {
    return peaks;
  }
  // The record that stands would do for a kernel; here a slower day, or somebody's own tuning of copy, must not lower a peak.
  HONE_ASSIGN(std::vector<RecordInfo> records, store.record_history({}));
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, store.sessions());
  std::erase_if(records, [&](const RecordInfo& record) {
    const auto session = std::ranges::find(sessions, record.session, &SessionInfo::id);
    return record.product != device.product || record.state == RecordState::kWithdrawn || record.median_us <= 0.0 ||
           session == sessions.end() || session->mig_profile != device.mig_profile || session->share != device.share;
  });
  for (const Probe& probe : kProbes) {
    const KernelSpec& spec = spec_of(probe);
    HONE_ASSIGN(const Problem problem, problem_of(probe, device));
    const RecordInfo* fastest = nullptr;
    for (const RecordInfo& record : records) {
      if (is_of(record, record_key(spec, problem, device)) && (fastest == nullptr || record.median_us < fastest->median_us)) {
        fastest = &record;
      }
    }
    if (fastest == nullptr) {
      continue;
    }
    const Limit* const limit = limit_named(probe.limit);
    Peak peak{limit, cost_of(*limit, spec, problem) / fastest->median_us * 1e6, spec.name, fastest->configuration, fastest->created_at};
    const auto same = std::ranges::find(peaks, limit, &Peak::limit);
    if (same == peaks.end()) {
      peaks.push_back(std::move(peak));
    } else if (peak.per_second > same->per_second) {
      *same = std::move(peak);
    }
  }
  return peaks;
}

std::optional<Place> place(double flops, double bytes, DType dtype, double us, std::span<const Peak> peaks) {
  const auto peak_named = [&](std::string_view wanted) {
    const auto found = std::ranges::find_if(peaks, [&](const Peak& peak) { return peak.limit->name == wanted; });
    return found == peaks.end() ? nullptr : &*found;
  };
  const bool own = dtype != DType::kF32 && peak_named(name(dtype)) != nullptr;
  std::optional<Place> found;
  for (const auto& [peak, amount] : {std::pair(peak_named("memory"), bytes), std::pair(peak_named(own ? name(dtype) : "f32"), flops)}) {
    const double least = peak == nullptr ? 0.0 : amount / peak->per_second * 1e6;
    if (least > 0.0 && us > 0.0 && (!found || least > found->least_us)) {
      found = Place{*peak, least / us, least};
    }
  }
  return found;
}

std::optional<Place> place_of(const KernelSpec& spec, const Problem& problem, double us, std::span<const Peak> peaks) {
  return place(cost_of(Limit{}, spec, problem), cost_of(Limit{.name = "", .what = "", .is_bytes = true}, spec, problem),
               problem.dtype.all().front().dtype, us, peaks);
}

std::string rate_text(const Peak& peak) {
  const bool tera = peak.per_second >= 1e12;
  return fmt::format("{:.3g} {}{}", peak.per_second / (tera ? 1e12 : 1e9), tera ? "T" : "G", peak.limit->is_bytes ? "B/s" : "FLOP/s");
}

std::string text(const Place& place) {
  return fmt::format("{:.1f} % of {} ({} measured)", 100.0 * place.share, place.peak.limit->what, rate_text(place.peak));
}

}  // namespace roofline
}  // namespace hone
