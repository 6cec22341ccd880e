#include "engine/report/session_study.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/compare/space_table.hpp"
#include "engine/device/pass_launch.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/measure/measure.hpp"
#include "engine/report/front.hpp"
#include "engine/space/likely_space.hpp"

namespace hone::report {
namespace {

constexpr double kClearly = 1.01;  // less is no difference

bool measured_to_the_end(const Trial& trial) { return trial.outcome == Outcome::kOk && !trial.measurement.raced_out; }

/// The default is measured before anything else. Without the kernel file nobody knows its values.
std::optional<std::size_t> find_standard(const SessionSource& source) {
  const Configuration standard = source.spec != nullptr ? default_configuration(*source.spec) : Configuration();
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < source.trials.size(); ++i) {
    const Trial& trial = source.trials[i];
    if (source.spec != nullptr && trial.configuration == standard) {
      return trial.outcome == Outcome::kOk ? std::optional(i) : std::nullopt;
    }
    if (!first && trial.outcome == Outcome::kOk) {
      first = i;
    }
  }
  return first;  // where the default is not legal, the session begins with what is nearest to it
}

/// `record`: the text of the configuration that the session made the record, if any.
void find_winner(SessionStudy& study, const std::string& record) {
  const auto order = [&](std::size_t i) {
    const Trial& trial = study.trials[i];
    const std::optional<Figure> reached = study.objective.of(trial.measurement);
    return std::tuple(!trial.final_round, trial.measurement.raced_out, reached ? reached->value : std::numeric_limits<double>::infinity());
  };
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    if (study.trials[i].outcome == Outcome::kOk && (!study.winner || order(i) < order(*study.winner))) {
      study.winner = i;
    }
  }
  if (!study.winner) {
    return;
  }
  for (std::size_t i = 0; i < study.trials.size() && !record.empty(); ++i) {
    const Trial& trial = study.trials[i];
    if (trial.outcome == Outcome::kOk && trial.final_round == study.trials[*study.winner].final_round &&
        text(study.parameters, trial.configuration) == record) {
      study.winner = i;
      break;
    }
  }
  const Trial& winner = study.trials[*study.winner];
  study.final_round = winner.final_round;
  const std::optional<Figure> won = study.objective.of(winner.measurement);
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const Trial& trial = study.trials[i];
    const std::optional<Figure> reached = study.objective.of(trial.measurement);
    if (i != *study.winner && trial.final_round && trial.outcome == Outcome::kOk && won && reached && reached->low <= won->high &&
        won->low <= reached->high) {
      study.tied.push_back(i);
    }
  }
  std::ranges::sort(study.tied, {}, [&](std::size_t i) { return study.objective.of(study.trials[i].measurement)->value; });
  const std::optional<Figure> before = study.standard ? study.objective.of(study.trials[*study.standard].measurement) : std::nullopt;
  if (before && won) {
    study.speedup = before->value / won->value;
    study.speedup_low = before->low / won->high;
    study.speedup_high = before->high / won->low;
  }
}

void find_improvements(SessionStudy& study) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const Trial& trial = study.trials[i];
    if (measured_to_the_end(trial) && trial.measurement.median_us < best) {
      best = trial.measurement.median_us;
      study.improvements.push_back({i + 1, trial.elapsed_seconds, best});
    }
  }
  study.fastest_us = study.improvements.empty() ? 0.0 : best;
  constexpr double kFaster = 0.98;
  for (const Trial& trial : study.trials) {
    const bool unconfirmed = study.objective.is_time() && study.final_round && !trial.final_round && measured_to_the_end(trial);
    study.faster_in_search +=
        unconfirmed && trial.measurement.median_us < kFaster * study.trials[*study.winner].measurement.median_us ? 1 : 0;
  }
  for (const Improvement& improvement : study.improvements) {
    if (improvement.time_us <= best * kClearly) {
      study.trials_to_one_percent = improvement.trials;
      break;
    }
  }
}

/// All that the record holds, as if it had been tried.
std::vector<Trial> trials_of(const RecordedSpace& recorded) {
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < static_cast<std::size_t>(recorded.space().size()); ++i) {
    const RecordedTrial& known = *recorded.find(i);
    Trial& trial = trials.emplace_back();
    trial.configuration = recorded.space().at(i);
    trial.outcome = known.outcome;
    if (!known.samples_us.empty()) {
      trial.measurement = summarize(known.samples_us);
    }
  }
  return trials;
}

/// What the calculation needs: times, infinite where a configuration was not right.
compare::SpaceTable table_of(const std::vector<Trial>& trials) {
  compare::SpaceTable table;
  for (const Trial& trial : trials) {
    const bool right = trial.outcome == Outcome::kOk;
    table.time_us.push_back(right ? trial.measurement.median_us : std::numeric_limits<double>::infinity());
    if (right) {
      table.sorted.push_back(table.time_us.back());
    }
  }
  std::ranges::sort(table.sorted);
  return table;
}

/// `space`: all configurations; without it, those that were tried.
std::optional<RandomSearch> random_search(const SessionStudy& study, const std::vector<Trial>& space) {
  const compare::SpaceTable table = table_of(space.empty() ? study.trials : space);
  if (study.fastest_us <= 0.0 || table.sorted.empty()) {
    return std::nullopt;
  }

  RandomSearch random{.configurations = table.size(), .whole_space = !space.empty(), .best_us = table.best()};
  const double goal = study.fastest_us * kClearly;
  for (std::size_t draws = 1; draws <= std::min(study.trials.size(), table.size()); ++draws) {
    const double fraction = compare::expected_fraction(table, draws);
    random.expected_us.push_back(fraction > 0.0 ? table.best() / fraction : std::numeric_limits<double>::infinity());
    if (random.draws_to_winner == 0 && random.expected_us.back() <= goal) {
      random.draws_to_winner = draws;
    }
  }
  return random;
}

Verdict verdict_of(const ExpectationStudy& study) {
  if (study.meeting == 0 || study.breaking == 0 || !study.best_meeting_us) {
    return study.best_breaking_us && study.meeting > 0 ? Verdict::kWrong : Verdict::kUntested;
  }
  if (!study.best_breaking_us || *study.best_breaking_us > kClearly * *study.best_meeting_us) {
    return Verdict::kRight;
  }
  return *study.best_meeting_us > kClearly * *study.best_breaking_us ? Verdict::kWrong : Verdict::kNoDifference;
}

std::vector<ExpectationStudy> expectations_of(const SessionStudy& study, const KernelSpec& spec, const DeviceInfo& device) {
  Bindings fixed = bindings(study.session.problem);
  fixed.merge(bindings(device));
  std::vector<ExpectationStudy> all;
  for (const Constraint& expectation : spec.expectations) {
    ExpectationStudy& one = all.emplace_back(ExpectationStudy{.expectation = expectation});
    for (std::size_t i = 0; i < study.trials.size(); ++i) {
      const Trial& trial = study.trials[i];
      if (!has_time(trial.outcome)) {
        continue;
      }
      const bool breaks = !broken({expectation}, study.parameters, fixed, trial.configuration).empty();
      ++(breaks ? one.breaking : one.meeting);
      std::optional<double>& best = breaks ? one.best_breaking_us : one.best_meeting_us;
      if (trial.outcome == Outcome::kOk) {
        best = std::min(best.value_or(trial.measurement.median_us), trial.measurement.median_us);
      }
      one.broken_by_winner = one.broken_by_winner || (breaks && study.winner == i);
    }
    one.verdict = verdict_of(one);
  }
  return all;
}

std::vector<StageStudy> stages_of(const std::vector<Trial>& trials) {
  std::vector<StageStudy> stages{{"right", 0, {}}, {"lost a race", 0, {}}, {"too slow", 0, {}}, {"failed", 0, {}}};
  for (const Trial& trial : trials) {
    const bool right = trial.outcome == Outcome::kOk;
    StageStudy& stage = stages.at(right ? (trial.measurement.raced_out ? 1 : 0) : trial.outcome == Outcome::kTooSlow ? 2 : 3);
    ++stage.trials;
    stage.seconds.compile += trial.seconds.compile;
    stage.seconds.validate += trial.seconds.validate;
    stage.seconds.time += trial.seconds.time;
    stage.seconds.overhead += trial.seconds.overhead;
  }
  std::erase_if(stages, [](const StageStudy& stage) { return stage.trials == 0; });
  return stages;
}

DeviceStudy device_of(const std::vector<Trial>& trials) {
  DeviceStudy study;
  for (const Trial& trial : trials) {
    const Readings& read = trial.readings;
    study.discarded_samples += read.discarded_samples;
    study.throttle_reasons |= read.throttle_reasons;
    study.throttled_trials += throttle_words(read.throttle_reasons).empty() ? 0 : 1;
    if (read.sm_clock_mhz > 0.0) {
      study.lowest_mhz = study.readings == 0 ? read.sm_clock_mhz : std::min(study.lowest_mhz, read.sm_clock_mhz);
      study.highest_mhz = std::max(study.highest_mhz, read.sm_clock_mhz);
      study.hottest_c = std::max(study.hottest_c, read.temperature_c);
      study.highest_w = std::max(study.highest_w, read.power_w);
      ++study.readings;
    }
  }
  return study;
}

std::optional<double> noise_of(const std::vector<Trial>& trials) {
  std::vector<double> widths;
  for (const Trial& trial : trials) {
    if (measured_to_the_end(trial) && trial.measurement.median_us > 0.0) {
      widths.push_back((trial.measurement.ci95_high_us - trial.measurement.ci95_low_us) / 2.0 / trial.measurement.median_us);
    }
  }
  if (widths.empty()) {
    return std::nullopt;
  }
  const auto middle = widths.begin() + std::ssize(widths) / 2;
  std::ranges::nth_element(widths, middle);
  return *middle;
}

std::optional<double> per_nanosecond(const Expression& amount, const Problem& problem, double microseconds) {
  const Result<Value> value = amount.evaluate(bindings(problem));
  return value && value->real() > 0.0 ? std::optional(value->real() / microseconds * 1e-3) : std::nullopt;
}

std::vector<LimitStudy> limits_of(const SessionStudy& study, const SessionSource& source) {
  std::vector<LimitStudy> limits;
  std::vector<std::size_t> finalists = study.tied;
  for (const std::optional<std::size_t>& one : {study.winner, study.standard}) {
    if (one && std::ranges::find(finalists, *one) == finalists.end()) {
      finalists.insert(finalists.begin(), *one);
    }
  }
  for (const std::size_t trial : finalists) {
    const Trial& one = study.trials[trial];
    LimitStudy limit{.trial = trial, .place = {}, .occupancy = {}};
    limit.place = roofline::place_of(*source.spec, study.session.problem, one.measurement.median_us, source.peaks);
    const auto plan = source.device == nullptr ? Result<std::vector<PassLaunch>>(std::vector<PassLaunch>())
                                               : plan_launch(*source.spec, study.session.problem, one.configuration, *source.device);
    if (plan && one.resources.registers > 0) {
      limit.occupancy = roofline::occupancy(*plan, one.resources, *source.device);
    }
    if (limit.place || limit.occupancy) {
      limits.push_back(std::move(limit));
    }
  }
  return limits;
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames{"right", "wrong", "no difference", "untested"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::vector<std::string> throttle_words(std::uint64_t reasons) {
  // nvmlClocksEventReason*; idleness and clocks that somebody set are no trouble of the device's.
  static constexpr std::array<std::pair<std::uint64_t, std::string_view>, 6> kWords{{{0x4, "power cap"},
                                                                                     {0x8, "hardware slowdown"},
                                                                                     {0x20, "thermal slowdown (software)"},
                                                                                     {0x40, "thermal slowdown (hardware)"},
                                                                                     {0x80, "power brake"},
                                                                                     {0x10, "sync boost"}}};
  std::vector<std::string> words;
  for (const auto& [bit, word] : kWords) {
    if ((reasons & bit) != 0) {
      words.emplace_back(word);
    }
  }
  return words;
}

SessionStudy study(SessionSource source) {
  SessionStudy study;
  study.standard = find_standard(source);
  study.session = std::move(source.session);
  study.parameters = std::move(source.parameters);
  study.trials = std::move(source.trials);
  study.objective = objective_of(study.session.purpose);
  study.front = time_energy_front(study.trials);
  find_winner(study, source.record);
  find_improvements(study);
  const std::vector<Trial> space = source.recorded != nullptr ? trials_of(*source.recorded) : std::vector<Trial>();
  study.random = random_search(study, space);
  study.fastest_known_us = study.random && !space.empty() ? study.random->best_us : study.fastest_us;
  study.effects_of_whole_space = !space.empty();
  study.effects = effects_of(study.parameters, space.empty() ? study.trials : space,
                             study.standard ? &study.trials[*study.standard].configuration : nullptr);

  if (source.spec != nullptr && source.device != nullptr) {
    study.expectations = expectations_of(study, *source.spec, *source.device);
  }
  study.failures = failures_of(study.parameters, study.trials);
  study.stages = stages_of(study.trials);
  study.device = device_of(study.trials);
  study.typical_noise = noise_of(study.trials);
  if (source.spec != nullptr && study.winner) {
    const double time = study.trials[*study.winner].measurement.median_us;
    study.limits = limits_of(study, source);
    study.winner_gflops = per_nanosecond(source.spec->cost.flops, study.session.problem, time);
    study.winner_gbytes_per_second = per_nanosecond(source.spec->cost.bytes, study.session.problem, time);
  }
  return study;
}

}  // namespace hone::report
