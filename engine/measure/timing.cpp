// How fast is a configuration? Batches of samples until the confidence interval is narrow, the time is spent, or the race is lost.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "engine/measure/bench_impl.hpp"

namespace hone {
namespace {

/// NVML's clocks-event reasons that make a sample worthless: hardware slowdown, software thermal, hardware thermal, power brake.
/// Running at the power cap (0x4) is how a busy device works; it is only recorded.
constexpr std::uint64_t kThrottled = 0x8 | 0x20 | 0x40 | 0x80;

/// How often a throttled batch is taken again, with a pause before each. A device that stays throttled is measured as it is:
/// its readings say so.
constexpr int kRetries = 4;
constexpr std::chrono::milliseconds kPause{10};

/// A warm-up run this many times slower than what would lose the race decides it with one sample more instead of race_samples.
constexpr double kHopeless = 3.0;

double total(const std::vector<double>& samples) { return std::accumulate(samples.begin(), samples.end(), 0.0); }

double fastest(const std::vector<double>& samples) { return *std::min_element(samples.begin(), samples.end()); }

bool is_settled(const std::vector<double>& samples, const MeasureSettings& settings) {
  if (static_cast<int>(samples.size()) < settings.minimum_samples) {
    return false;
  }
  const Measurement so_far = summarize(samples);
  return (so_far.ci95_high_us - so_far.ci95_low_us) / 2.0 <= settings.target_relative_ci * so_far.median_us;
}

using Clock = std::chrono::steady_clock;

/// Samples to take next, of each of `subjects`; 0 when it is enough. The number doubles from race_samples on, within the time that is left.
/// What was spent since `begin` counts, not the samples alone: on a host, flushing the cache takes longer than a small kernel.
int next_batch(const std::vector<std::vector<double>>& samples, const MeasureSettings& settings, Clock::time_point begin) {
  const int taken = static_cast<int>(samples.front().size());
  const int first = std::max(1, settings.race_samples);
  if (taken == 0) {
    return first;
  }
  double sampled_us = 0.0;
  for (const std::vector<double>& of_one : samples) {
    sampled_us += total(of_one);
  }
  const double spent_us = std::max(sampled_us, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  const double left_us = settings.maximum_seconds * 1e6 * static_cast<double>(samples.size()) - spent_us;
  const bool settled = std::ranges::all_of(samples, [&](const std::vector<double>& of_one) { return is_settled(of_one, settings); });
  if (settled || (left_us <= 0.0 && taken >= settings.race_samples)) {
    return 0;
  }
  const double round_us = std::max(spent_us / taken, 1e-3);
  const double affordable = std::max(1.0, left_us / round_us);
  const int wanted = std::max(0, std::min(taken, settings.maximum_samples - taken));
  return static_cast<int>(std::min(static_cast<double>(wanted), affordable));
}

void append(std::vector<std::vector<double>>& samples, const std::vector<std::vector<double>>& batch) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].insert(samples[i].end(), batch[i].begin(), batch[i].end());
  }
}

}  // namespace

Result<void> Bench::Impl::ready_for_timing() { return inputs_seed_ ? Result<void>() : fill_inputs(0); }

std::vector<Preparation> Bench::Impl::preparations(const std::vector<std::size_t>& workspaces, const std::vector<void*>& addresses) const {
  std::vector<Preparation> prepared;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.is(Direction::kInOut)) {
      prepared.push_back({Preparation::Kind::kCopy, addresses[i], slot.original->address(), slot.bytes()});
    } else if (!slot.is(Direction::kScalar) && slot.argument->zeroed) {
      const std::size_t count = slot.is(Direction::kWorkspace) ? workspaces[i] : slot.count;
      if (count > 0) {
        prepared.push_back({Preparation::Kind::kZero, addresses[i], nullptr, count * size_of(slot.element)});
      }
    }
  }
  return prepared;
}

Result<Bench::Impl::Subject> Bench::Impl::warm_up(const LoadedKernel& kernel, std::vector<std::size_t> workspaces, int runs, bool flush) {
  std::vector<void*> addresses;
  std::ranges::transform(slots_, std::back_inserter(addresses), [](const Slot& slot) { return slot.address; });
  Subject subject;
  subject.kernel = &kernel;
  subject.preparations = preparations(workspaces, addresses);
  subject.workspaces = std::move(workspaces);
  if (runs > 0) {
    HONE_ASSIGN(const std::vector<double> taken, sample(subject, runs, flush));
    subject.warmup_us = fastest(taken);
  }
  return subject;
}

Result<std::vector<double>> Bench::Impl::sample(const Subject& subject, int samples, bool flush) {
  TimeRequest request;
  request.kernel = subject.kernel;
  request.arguments = arguments_;
  request.preparations = subject.preparations;
  request.samples = samples;
  request.flush_cache = flush;
  HONE_ASSIGN(std::vector<double> taken, subject.graph ? subject.graph->time(samples) : device_.time(request));
  if (taken.size() != static_cast<std::size_t>(samples)) {
    return Error{ErrorCode::kPlugin, "device " + device_.info().id + " returned another number of samples than was asked for"};
  }
  return taken;
}

/// What `take` measures while the device is not throttled. `readings` hold the state before it, and afterwards the state after it.
template <class Take>
Result<std::vector<std::vector<double>>> Bench::Impl::accepted(Readings& readings, const Take& take) {
  std::uint64_t before = readings.throttle_reasons;
  for (int retry = 0;; ++retry) {
    Result<std::vector<std::vector<double>>> batch = take();
    if (!batch) {
      return batch;
    }
    const int discarded = readings.discarded_samples;
    readings = device_.readings();
    readings.discarded_samples = discarded;
    const bool throttled = ((before | readings.throttle_reasons) & kThrottled) != 0;
    if (!throttled || retry == kRetries) {
      return batch;
    }
    for (const std::vector<double>& samples : *batch) {
      readings.discarded_samples += static_cast<int>(samples.size());
    }
    std::this_thread::sleep_for(kPause * (1 << retry));
    before = device_.readings().throttle_reasons;
  }
}

Result<Measurement> Bench::Impl::time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                                      std::optional<double> incumbent_us, Readings& readings) {
  HONE_TRY(ready_for_timing());
  HONE_ASSIGN(std::vector<std::size_t> counts, workspace_counts(configuration));
  HONE_TRY(fit_workspaces(counts));
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double limit_us = incumbent_us ? *incumbent_us * settings.race_margin : kNone;
  HONE_ASSIGN(Subject subject, warm_up(kernel, std::move(counts), settings.warmup_runs, settings.flush_cache));
  const bool hopeless = subject.warmup_us < kNone && subject.warmup_us > kHopeless * limit_us;
  if (!hopeless) {
    HONE_TRY(choose_way(subject, settings, incumbent_us.value_or(kNone)));
  }
  readings = device_.readings();
  std::vector<std::vector<double>> samples(1);
  const Clock::time_point begin = Clock::now();
  bool lost = false;
  while (const int batch = lost ? 0 : hopeless && samples[0].empty() ? 1 : next_batch(samples, settings, begin)) {
    const auto take = [&]() -> Result<std::vector<std::vector<double>>> {
      HONE_ASSIGN(std::vector<double> taken, sample(subject, batch, settings.flush_cache));
      return std::vector<std::vector<double>>{std::move(taken)};
    };
    HONE_ASSIGN(const auto taken, accepted(readings, take));
    append(samples, taken);
    lost = fastest(samples[0]) > limit_us && (hopeless || static_cast<int>(samples[0].size()) >= settings.race_samples);
  }
  Measurement measured = summarize(std::move(samples[0]));
  measured.raced_out = lost;
  measured.by_graph = subject.graph != nullptr;
  return measured;
}

Result<std::vector<Bench::Impl::Subject>> Bench::Impl::warm_up_finalists(std::span<const Finalist> finalists,
                                                                         const MeasureSettings& settings) {
  std::vector<std::vector<std::size_t>> counts;
  std::vector<std::size_t> largest(slots_.size(), 0);
  for (const Finalist& finalist : finalists) {
    HONE_ASSIGN(auto of_one, workspace_counts(finalist.configuration));
    std::ranges::transform(largest, of_one, largest.begin(), [](std::size_t a, std::size_t b) { return std::max(a, b); });
    counts.push_back(std::move(of_one));
  }
  HONE_TRY(fit_workspaces(largest));  // one set that fits them all
  std::vector<Subject> subjects;
  double fastest_us = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const int runs = std::max(1, settings.warmup_runs);
    HONE_ASSIGN(Subject subject, warm_up(*finalists[i].kernel, std::move(counts[i]), runs, settings.flush_cache));
    fastest_us = std::min(fastest_us, subject.warmup_us);
    subjects.push_back(std::move(subject));
  }
  for (Subject& subject : subjects) {
    HONE_TRY(choose_way(subject, settings, fastest_us));
  }
  if (!has_graphs_) {  // found out with the third of five, say
    std::ranges::for_each(subjects, [](Subject& subject) { subject.graph.reset(); });
  }
  return subjects;
}

Result<std::vector<Measurement>> Bench::Impl::time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings,
                                                               std::uint64_t seed, Readings& readings) {
  if (finalists.empty()) {
    return std::vector<Measurement>();
  }
  HONE_TRY(ready_for_timing());
  HONE_ASSIGN(const auto subjects, warm_up_finalists(finalists, settings));
  readings = device_.readings();
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order(finalists.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::vector<double>> samples(finalists.size());
  const Clock::time_point begin = Clock::now();
  while (const int rounds = next_batch(samples, settings, begin)) {
    const auto take = [&]() -> Result<std::vector<std::vector<double>>> {
      std::vector<std::vector<double>> batch(finalists.size());
      for (int round = 0; round < rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) {
          HONE_ASSIGN(const std::vector<double> one, sample(subjects[i], 1, settings.flush_cache));
          batch[i].push_back(one.front());
        }
      }
      return batch;
    };
    HONE_ASSIGN(const auto batch, accepted(readings, take));
    append(samples, batch);
  }
  std::vector<Measurement> measured;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    measured.push_back(summarize(std::move(samples[i])));
    measured.back().by_graph = subjects[i].graph != nullptr;
  }
  return measured;
}

}  // namespace hone
