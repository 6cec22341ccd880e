// Which of a few configurations is fastest? They are timed in turns, so that what changes over time changes for all of them.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>

#include "engine/measure/bench_impl.hpp"
#include "engine/measure/sampling.hpp"

namespace hone {

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
    report_turn(i, 0.0);
    use(finalists[i].configuration);
    HONE_TRY(ready_for_timing());
    subjects.push_back(subject(*finalists[i].kernel, finalists[i].configuration, std::move(counts[i])));
    HONE_TRY(warm_up(subjects.back(), std::max(1, settings.warmup_runs), settings.flush_cache));
    fastest_us = std::min(fastest_us, subjects.back().warmup_us);
  }
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    report_turn(i, 0.0);
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
Result<void> Bench::Impl::take_rounds(std::vector<Subject>& subjects, Samples& samples, const MeasureSettings& settings, std::uint64_t seed,
                                      Readings& readings) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> alive(subjects.size());
  std::iota(alive.begin(), alive.end(), std::size_t{0});
  const auto failed = [&](std::size_t i) { return subjects[i].unmended > 0 || subjects[i].harm.has_value(); };
  const auto of_alive = [&] {
    Samples taken;
    std::ranges::transform(alive, std::back_inserter(taken), [&](std::size_t i) { return samples[i]; });
    return taken;
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed_us = [begin] { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count(); };
  while (const int rounds = alive.empty() ? 0 : next_batch(of_alive(), settings, elapsed_us())) {
    const auto take = [&]() -> Result<Samples> {
      Samples batch(subjects.size());
      for (int round = 0; round < rounds; ++round) {
        std::vector<std::size_t> order = alive;
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) {
          if (!failed(i)) {
            report_turn(i, 0.0);
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
  Samples samples(finalists.size());
  HONE_TRY(take_rounds(subjects, samples, settings, seed, readings));
  std::vector<Timing> timed(finalists.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    timed[i].measurement = summarize(std::move(samples[i]));
    timed[i].measurement.by_graph = subjects[i].graph != nullptr;
  }
  if (settings.objective.needs_energy()) {
    HONE_TRY(measure_energies(subjects, settings, timed));
  }
  for (std::size_t i = 0; i < timed.size(); ++i) {
    HONE_TRY(face(subjects[i]));
    if (subjects[i].unmended == 0 && !subjects[i].harm) {
      // They share the buffers: what lies there is a finalist's own only after a run of its own.
      report_turn(i, 0.0);
      HONE_TRY(sample(subjects[i], 1, settings.flush_cache));
      HONE_TRY(run_on_own_buffers(subjects[i]));
    }
    HONE_ASSIGN(timed[i].validation, check_timed(subjects[i], false));
  }
  return timed;
}

}  // namespace hone
