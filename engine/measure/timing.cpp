// How fast is a configuration? Batches of samples until the confidence interval is narrow, the time is spent, or the race is lost.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <thread>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/sampling.hpp"
#include "hone/random.h"

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

using Clock = std::chrono::steady_clock;

double fastest(const std::vector<double>& samples) { return *std::min_element(samples.begin(), samples.end()); }

}  // namespace

/// What is timed is looked at: that takes the answer.
Result<void> Bench::Impl::ready_for_timing() { return compute_answer(inputs_seed_.value_or(0)); }

std::vector<void*> Bench::Impl::addresses(std::size_t place) const {
  std::vector<void*> all;
  std::ranges::transform(slots_, std::back_inserter(all), [place](const Slot& slot) { return slot.address[place]; });
  return all;
}

std::vector<Preparation> Bench::Impl::preparations(const std::vector<std::size_t>& workspaces, const std::vector<void*>& addresses) const {
  std::vector<Preparation> prepared;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const std::size_t count = slot.is(Direction::kWorkspace) ? workspaces[i] : slot.count;
    if (slot.is(Direction::kScalar) || count == 0) {
      continue;
    }
    if (slot.is(Direction::kInOut)) {
      prepared.push_back({Preparation::Kind::kCopy, addresses[i], slot.original, slot.bytes()});
    } else if (slot.argument->zeroed) {
      prepared.push_back({Preparation::Kind::kZero, addresses[i], nullptr, count * size_of(slot.element)});
    } else if (slot.is(Direction::kWorkspace) || (slot.is_output() && !slot.is_watched())) {
      prepared.push_back({Preparation::Kind::kScramble, addresses[i], nullptr, count * size_of(slot.element)});
    }
  }
  return prepared;
}

/// The outputs among the arguments at `addresses`. What a run does to a right result beside the tolerance (sums in any order) is well
/// within twice what was seen of right ones.
std::vector<Watch> Bench::Impl::watches(const std::vector<void*>& addresses) const {
  constexpr double kTwice = 2.0;
  std::vector<Watch> made;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const double slack = kTwice * slot.slack;
    if (slot.is_watched()) {
      made.push_back(
          {.address = addresses[i],
           .element = slot.element,
           .expected = slot.expected,
           .count = slot.count,
           .relative = slack * slot.tolerance.relative,
           .absolute = slack * (slot.tolerance.absolute_rms * slot.rms + slot.tolerance.absolute) + kTwice * where_zero_is_due(slot),
           .spoiled = slot.is(Direction::kOut) && !slot.argument->zeroed});
    }
  }
  return made;
}

Bench::Impl::Subject Bench::Impl::subject(const LoadedKernel& kernel, const Configuration& configuration,
                                          std::vector<std::size_t> workspaces) const {
  Subject made;
  made.kernel = &kernel;
  made.configuration = &configuration;
  made.preparations = preparations(workspaces, addresses(kFirst));
  made.watches = watches(addresses(kFirst));
  made.workspaces = std::move(workspaces);
  return made;
}

/// With the buffers and the answer that its runs need.
Result<Bench::Impl::Subject> Bench::Impl::ready_subject(const LoadedKernel& kernel, const Configuration& configuration) {
  use(configuration);
  HONE_TRY(ready_for_timing());
  HONE_ASSIGN(std::vector<std::size_t> counts, workspace_counts(configuration));
  HONE_TRY(fit_workspaces(counts));
  return subject(kernel, configuration, std::move(counts));
}

Result<void> Bench::Impl::warm_up(Subject& subject, int runs, bool flush) {
  if (runs > 0) {
    HONE_ASSIGN(const std::vector<double> taken, sample(subject, runs, flush));
    subject.warmup_us = fastest(taken);
  }
  return {};
}

void Bench::Impl::report_turn(std::size_t finalist, double us) const {
  if (on_turn_) {
    on_turn_(finalist, us * 1e-6);
  }
}

TimeRequest Bench::Impl::time_request(const Subject& subject, int samples, bool flush) {
  return {.kernel = subject.kernel,
          .arguments = arguments_[kFirst],
          .preparations = subject.preparations,
          .watches = subject.watches,
          .seed = random_bits(*inputs_seed_, ++timings_),
          .samples = samples,
          .flush_cache = flush};
}

Result<std::vector<double>> Bench::Impl::sample(Subject& subject, int samples, bool flush) {
  const TimeRequest request = time_request(subject, samples, flush);
  HONE_ASSIGN(TimedRuns taken, subject.graph ? subject.graph->time(samples, request.seed) : device_.time(request));
  if (taken.us.size() != static_cast<std::size_t>(samples)) {
    return Error{ErrorCode::kPlugin, "device " + device_.info().id + " returned another number of samples than was asked for"};
  }
  subject.unmended += taken.unmended;
  subject.runs += taken.us.size();
  return std::move(taken.us);
}

/// What `take` measures while the device is not throttled. `readings` hold the state before it, and afterwards the state after it.
Result<Samples> Bench::Impl::accepted(Readings& readings, const std::function<Result<Samples>()>& take) {
  std::uint64_t before = readings.throttle_reasons;
  for (int retry = 0;; ++retry) {
    Result<Samples> batch = take();
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

Result<std::optional<Measurement>> Bench::Impl::look(const LoadedKernel& kernel, const Configuration& configuration,
                                                     const MeasureSettings& settings, double limit_us) {
  constexpr int kLooks = 2;  // what a first launch takes for itself (its code has to come, say) is not the kernel's time
  HONE_ASSIGN(Subject seen, ready_subject(kernel, configuration));
  double least_us = std::numeric_limits<double>::infinity();
  for (int look = 0; look < kLooks; ++look) {
    HONE_ASSIGN(const std::vector<double> taken, sample(seen, 1, settings.flush_cache));
    if (taken.front() <= limit_us) {
      return std::optional<Measurement>();
    }
    least_us = std::min(least_us, taken.front());
  }
  if ((device_.readings().throttle_reasons & kThrottled) != 0) {
    return std::optional<Measurement>();  // the device's fault, maybe
  }
  Measurement measurement = summarize({least_us});
  measurement.raced_out = true;
  return std::optional<Measurement>(std::move(measurement));
}

Result<Timing> Bench::Impl::time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                                 const std::optional<Incumbent>& incumbent, Readings& readings) {
  HONE_ASSIGN(Subject timed, ready_subject(kernel, configuration));
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  const double limit_us = incumbent ? incumbent->time_us * settings.race_margin * incumbent->time_allowance : kUnlimited;
  const Clock::time_point warming = Clock::now();
  HONE_TRY(warm_up(timed, settings.warmup_runs, settings.flush_cache));
  // The incumbent of a short kernel was timed in a graph, and a warm-up run is not.
  const double alone_us = limit_us < settings.graph_below_us * settings.race_margin && has_graphs_ ? kAloneUs : 0.0;
  const bool hopeless = timed.warmup_us < kUnlimited && timed.warmup_us > kHopeless * limit_us + alone_us;
  if (!hopeless) {
    HONE_TRY(select_timing_method(timed, settings, incumbent ? incumbent->time_us : kUnlimited));
  }
  readings = device_.readings();
  Samples samples(1);
  const Clock::time_point begin = Clock::now();
  const auto elapsed_us = [begin] { return std::chrono::duration<double, std::micro>(Clock::now() - begin).count(); };
  const double warmed_us = std::chrono::duration<double, std::micro>(begin - warming).count() / std::max(1, settings.warmup_runs);
  bool lost = false;
  while (const int batch = lost || timed.unmended > 0       ? 0
                           : hopeless && samples[0].empty() ? 1
                                                            : next_batch(samples, settings, elapsed_us())) {
    // Flushing the cache between samples can cost more than they do.
    const double batch_us = (samples[0].empty() ? warmed_us : elapsed_us() / static_cast<double>(samples[0].size())) * batch;
    const auto take = [&]() -> Result<Samples> {
      report_turn(0, batch_us);
      HONE_ASSIGN(std::vector<double> taken, sample(timed, batch, settings.flush_cache));
      return Samples{std::move(taken)};
    };
    HONE_ASSIGN(const auto taken, accepted(readings, take));
    append(samples, taken);
    lost = fastest(samples[0]) > limit_us && (hopeless || static_cast<int>(samples[0].size()) >= settings.race_samples);
  }
  Timing timing;
  timing.measurement = summarize(std::move(samples[0]));
  timing.measurement.by_graph = timed.graph != nullptr;
  if (settings.objective.needs_energy() && !lost && timed.unmended == 0) {
    HONE_ASSIGN(const bool in_race, measure_energy(timed, settings, incumbent, timing.measurement));
    lost = !in_race;
  }
  timing.measurement.raced_out = lost;
  HONE_ASSIGN(timing.validation, check_timed(timed, lost));
  return timing;
}

Result<Validation> Bench::Impl::check_timed(const Subject& subject, bool lost) {
  Validation validation;
  Verdict verdict;
  std::optional<std::string> found = subject.harm;
  if (!found) {
    // What lies further off is the audit's to see, once for the whole trial.
    std::vector<Frozen> near = bands(kFirst);
    if (subject.graph) {
      add_bands(near, call_arena_, call_owners_);
      add_bands(near, call_workspaces_, call_workspace_owners_);
    }
    HONE_ASSIGN(found, damage(near));
  }
  if (!found && subject.unmended > 0) {
    HONE_ASSIGN(found, damage(written_by_none(false)));  // wrong because the inputs are others now, say
  }
  if (found) {
    verdict = {Outcome::kIllegalAccess, *std::move(found)};
  } else if (subject.unmended > 0) {
    verdict = {Outcome::kRace,
               fmt::format(
                   "{} elements that held a wrong value before a run still held it after the run (a sample of elements in each of {} runs)",
                   subject.unmended, subject.runs)};
  } else if (!lost) {
    HONE_ASSIGN(verdict, compare_outputs(Run{}, validation.max_error));
    if (verdict.ok() && subject.graph) {
      HONE_ASSIGN(verdict, check_calls());
    }
    verdict.outcome = verdict.outcome == Outcome::kWrongResult ? Outcome::kRace : verdict.outcome;
  }
  validation.outcome = verdict.outcome;
  if (!verdict.ok()) {
    validation.detail = "correct in validation, wrong in timing: " + verdict.detail;
    HONE_TRY(repair());
  }
  return validation;
}

Result<Validation> Bench::Impl::repeat(const LoadedKernel& kernel, const Configuration& configuration, int launches, double seconds) {
  constexpr int kLeast = 3;
  HONE_ASSIGN(Subject repeated, ready_subject(kernel, configuration));
  // An application's workspaces hold what the launch before has left there.
  std::erase_if(repeated.preparations, [](const Preparation& step) { return step.kind == Preparation::Kind::kScramble; });
  const Clock::time_point begin = Clock::now();
  int batch = 1;
  for (int done = 0; repeated.unmended == 0 && done < launches; done += batch, batch = std::min(2 * batch, 16)) {
    const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    if (done >= kLeast && spent >= seconds) {
      break;
    }
    batch = std::min(batch, launches - done);
    report_turn(0, done == 0 ? 0.0 : 1e6 * spent / done * batch);
    HONE_TRY(sample(repeated, batch, false));
  }
  return check_timed(repeated, false);
}

Result<Counters> Bench::Impl::count(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings) {
  HONE_ASSIGN(const Subject counted, ready_subject(kernel, configuration));
  return device_.count(time_request(counted, 1, settings.flush_cache));
}

}  // namespace hone
