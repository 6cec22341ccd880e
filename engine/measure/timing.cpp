// How fast is a configuration? Batches of samples until the confidence interval is narrow, the time is spent, or the race is lost.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "engine/measure/bench_impl.hpp"
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
  const double slack = 2.0 * slack_;
  std::vector<Watch> made;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.is_watched()) {
      made.push_back({.address = addresses[i],
                      .element = slot.element,
                      .expected = slot.expected,
                      .count = slot.count,
                      .relative = slack * slot.tolerance.relative,
                      .absolute = slack * (slot.tolerance.absolute_rms * slot.rms + slot.tolerance.absolute),
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

Result<void> Bench::Impl::warm_up(Subject& subject, int runs, bool flush) {
  if (runs > 0) {
    HONE_ASSIGN(const std::vector<double> taken, sample(subject, runs, flush));
    subject.warmup_us = fastest(taken);
  }
  return {};
}

void Bench::Impl::take_turn(std::size_t finalist, double us) const {
  if (on_turn_) {
    on_turn_(finalist, us * 1e-6);
  }
}

Result<std::vector<double>> Bench::Impl::sample(Subject& subject, int samples, bool flush) {
  const std::uint64_t seed = random_bits(*inputs_seed_, ++timings_);
  TimeRequest request;
  request.kernel = subject.kernel;
  request.arguments = arguments_[kFirst];
  request.preparations = subject.preparations;
  request.watches = subject.watches;
  request.seed = seed;
  request.samples = samples;
  request.flush_cache = flush;
  HONE_ASSIGN(TimedRuns taken, subject.graph ? subject.graph->time(samples, seed) : device_.time(request));
  if (taken.us.size() != static_cast<std::size_t>(samples)) {
    return Error{ErrorCode::kPlugin, "device " + device_.info().id + " returned another number of samples than was asked for"};
  }
  subject.unmended += taken.unmended;
  subject.runs += taken.us.size();
  return std::move(taken.us);
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

Result<std::optional<Measurement>> Bench::Impl::look(const LoadedKernel& kernel, const Configuration& configuration,
                                                     const MeasureSettings& settings, double limit_us) {
  constexpr int kLooks = 2;  // what a first launch takes for itself (its code has to come, say) is not the kernel's time
  use(configuration);
  HONE_TRY(ready_for_timing());
  HONE_ASSIGN(std::vector<std::size_t> counts, workspace_counts(configuration));
  HONE_TRY(fit_workspaces(counts));
  Subject seen = subject(kernel, configuration, std::move(counts));
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
                                 std::optional<double> incumbent_us, Readings& readings) {
  use(configuration);
  HONE_TRY(ready_for_timing());
  HONE_ASSIGN(std::vector<std::size_t> counts, workspace_counts(configuration));
  HONE_TRY(fit_workspaces(counts));
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  const double limit_us = incumbent_us ? *incumbent_us * settings.race_margin : kUnlimited;
  const Clock::time_point warming = Clock::now();
  Subject timed = subject(kernel, configuration, std::move(counts));
  HONE_TRY(warm_up(timed, settings.warmup_runs, settings.flush_cache));
  // The incumbent of a short kernel was timed in a graph, and a warm-up run is not.
  const double alone_us = limit_us < settings.graph_below_us * settings.race_margin && has_graphs_ ? kAloneUs : 0.0;
  const bool hopeless = timed.warmup_us < kUnlimited && timed.warmup_us > kHopeless * limit_us + alone_us;
  if (!hopeless) {
    HONE_TRY(select_timing_method(timed, settings, incumbent_us.value_or(kUnlimited)));
  }
  readings = device_.readings();
  std::vector<std::vector<double>> samples(1);
  const Clock::time_point begin = Clock::now();
  const double warmed_us = std::chrono::duration<double, std::micro>(begin - warming).count() / std::max(1, settings.warmup_runs);
  bool lost = false;
  while (const int batch = lost || timed.unmended > 0 ? 0 : hopeless && samples[0].empty() ? 1 : next_batch(samples, settings, begin)) {
    // Flushing the cache between samples can cost more than they do.
    const double spent_us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    const double batch_us = (samples[0].empty() ? warmed_us : spent_us / static_cast<double>(samples[0].size())) * batch;
    const auto take = [&]() -> Result<std::vector<std::vector<double>>> {
      take_turn(0, batch_us);
      HONE_ASSIGN(std::vector<double> taken, sample(timed, batch, settings.flush_cache));
      return std::vector<std::vector<double>>{std::move(taken)};
    };
    HONE_ASSIGN(const auto taken, accepted(readings, take));
    append(samples, taken);
    lost = fastest(samples[0]) > limit_us && (hopeless || static_cast<int>(samples[0].size()) >= settings.race_samples);
  }
  Timing timing;
  HONE_ASSIGN(timing.validation, check_timed(timed, lost));
  timing.measurement = summarize(std::move(samples[0]));
  timing.measurement.raced_out = lost;
  timing.measurement.by_graph = timed.graph != nullptr;
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
  use(configuration);
  HONE_TRY(ready_for_timing());
  HONE_ASSIGN(std::vector<std::size_t> counts, workspace_counts(configuration));
  HONE_TRY(fit_workspaces(counts));
  Subject repeated = subject(kernel, configuration, std::move(counts));
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
    take_turn(0, done == 0 ? 0.0 : 1e6 * spent / done * batch);
    HONE_TRY(sample(repeated, batch, false));
  }
  return check_timed(repeated, false);
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
    take_turn(i, 0.0);
    use(finalists[i].configuration);
    HONE_TRY(ready_for_timing());
    subjects.push_back(subject(*finalists[i].kernel, finalists[i].configuration, std::move(counts[i])));
    HONE_TRY(warm_up(subjects.back(), std::max(1, settings.warmup_runs), settings.flush_cache));
    fastest_us = std::min(fastest_us, subjects.back().warmup_us);
  }
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    take_turn(i, 0.0);
    HONE_TRY(face(subjects[i]));
    HONE_TRY(select_timing_method(subjects[i], settings, fastest_us));
  }
  if (!has_graphs_) {  // found out with the third of five, say
    std::ranges::for_each(subjects, [](Subject& finalist) { finalist.graph.reset(); });
  }
  return subjects;
}

/// One sample of a finalist, and whether it was right: what it damages must not be its rivals' fault.
Result<double> Bench::Impl::sample_finalist(Subject& finalist, const MeasureSettings& settings) {
  HONE_TRY(face(finalist));
  HONE_ASSIGN(const std::vector<double> one, sample(finalist, 1, settings.flush_cache));
  std::vector<Frozen> watched = bands(kFirst);
  watched.insert(watched.end(), inputs_[kFirst].begin(), inputs_[kFirst].end());
  HONE_ASSIGN(finalist.harm, damage(watched));
  if (finalist.harm) {
    HONE_TRY(repair());
    HONE_TRY(ready_for_timing());
    HONE_TRY(fill_call_sets());
  }
  return one.front();
}

/// Rounds of one turn each, in an order shuffled anew, until it is enough or fewer than two are left that were right so far.
Result<void> Bench::Impl::take_rounds(std::vector<Subject>& subjects, std::vector<std::vector<double>>& samples,
                                      const MeasureSettings& settings, std::uint64_t seed, Readings& readings) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> alive(subjects.size());
  std::iota(alive.begin(), alive.end(), std::size_t{0});
  const auto failed = [&](std::size_t i) { return subjects[i].unmended > 0 || subjects[i].harm.has_value(); };
  const auto of_alive = [&] {
    std::vector<std::vector<double>> taken;
    std::ranges::transform(alive, std::back_inserter(taken), [&](std::size_t i) { return samples[i]; });
    return taken;
  };
  const Clock::time_point begin = Clock::now();
  while (const int rounds = alive.empty() ? 0 : next_batch(of_alive(), settings, begin)) {
    const auto take = [&]() -> Result<std::vector<std::vector<double>>> {
      std::vector<std::vector<double>> batch(subjects.size());
      for (int round = 0; round < rounds; ++round) {
        std::vector<std::size_t> order = alive;
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) {
          if (!failed(i)) {
            take_turn(i, 0.0);
            HONE_ASSIGN(const double one, sample_finalist(subjects[i], settings));
            batch[i].push_back(one);
          }
        }
      }
      return batch;
    };
    HONE_ASSIGN(const auto batch, accepted(readings, take));
    append(samples, batch);
    std::erase_if(alive, failed);
  }
  return {};
}

/// The calls of a graph have memory of their own, so the problem's holds what somebody else left: right by the answer that all have, or
/// another's.
Result<void> Bench::Impl::run_on_own_buffers(Subject& subject) {
  if (answer_fields_.empty() || subject.graph == nullptr) {
    return {};
  }
  std::unique_ptr<CallGraph> graph = std::move(subject.graph);
  const Result<std::vector<double>> run = sample(subject, 1, false);
  subject.graph = std::move(graph);
  return run ? Result<void>() : run.error();
}

Result<std::vector<Timing>> Bench::Impl::time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings,
                                                          std::uint64_t seed, Readings& readings) {
  if (finalists.empty()) {
    return std::vector<Timing>();
  }
  HONE_TRY(ready_for_timing());
  HONE_ASSIGN(auto subjects, warm_up_finalists(finalists, settings));
  readings = device_.readings();
  std::vector<std::vector<double>> samples(finalists.size());
  HONE_TRY(take_rounds(subjects, samples, settings, seed, readings));
  std::vector<Timing> timed(finalists.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    timed[i].measurement = summarize(std::move(samples[i]));
    timed[i].measurement.by_graph = subjects[i].graph != nullptr;
    HONE_TRY(face(subjects[i]));
    if (subjects[i].unmended == 0 && !subjects[i].harm) {
      // They share the buffers: what lies there is a finalist's own only after a run of its own.
      take_turn(i, 0.0);
      HONE_TRY(sample(subjects[i], 1, settings.flush_cache));
      HONE_TRY(run_on_own_buffers(subjects[i]));
    }
    HONE_ASSIGN(timed[i].validation, check_timed(subjects[i], false));
  }
  return timed;
}

}  // namespace hone
