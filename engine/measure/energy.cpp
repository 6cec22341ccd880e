// How much energy does a run take? Runs follow one another while the device's energy counter is watched. A counter is brought up to date in
// steps, so a window begins and ends at one.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/measure/bench_impl.hpp"
#include "hone/random.h"

namespace hone {
namespace {

constexpr std::size_t kLeastWindows = 6;  // from six on, order statistics give a 95 % interval
constexpr std::size_t kMostWindows = 24;
constexpr std::size_t kWindowsOfATurn = 2;  // in a final round: its first step is waited for once
constexpr double kMostResolution = 0.005;   // of what a window counts; it is prolonged until the counter's step is less
constexpr double kLookSeconds = 1e-3;       // between two looks at the counter: an end of a window is known to this
constexpr double kLeastLooks = 4.0;         // in a window: of a kernel that takes longer than that, each run is one
constexpr double kStandsStill = 2.0;        // seconds of work without a step
constexpr int kMostLooks = 1 << 20;         // at a counter whose clock stands still, too
constexpr std::uint64_t kMostRuns = 1 << 16;
constexpr double kStepUs = 1e5;  // of a slow counter: the first is waited for

/// How long so many windows take, in microseconds.
double turn_us(const MeasureSettings& settings, double run_us, std::size_t windows) {
  return kStepUs + run_us + static_cast<double>(windows) * std::max(1e6 * settings.energy_window_seconds, (kLeastLooks + 1.0) * run_us);
}

}  // namespace

MeasureSettings settings_for(const Objective& objective, MeasureSettings settings) {
  settings.objective = objective;
  if (objective.kind == Objective::Kind::kPercentile) {
    constexpr int kMore = 4;  // times the least: the interval is narrower then
    settings.minimum_samples = std::max(settings.minimum_samples, objective.least_samples());
    settings.maximum_samples = std::max(settings.maximum_samples, kMore * objective.least_samples());
    settings.graph_below_us = 0.0;
  }
  return settings;
}

std::optional<Figure> Bench::Impl::EnergyWindows::estimate() const {
  if (joules.empty()) {
    return std::nullopt;
  }
  const Measurement spread = summarize(joules);
  return Figure{spread.median_us, spread.ci95_low_us * (1.0 - resolution), spread.ci95_high_us * (1.0 + resolution)};
}

bool Bench::Impl::EnergyWindows::enough(const MeasureSettings& settings) const {
  if (joules.size() < kLeastWindows) {
    return false;
  }
  const Measurement spread = summarize(joules);
  return joules.size() >= kMostWindows ||
         (spread.ci95_high_us - spread.ci95_low_us) / 2.0 <= settings.target_relative_ci * spread.median_us;
}

/// With what makes each run right: an argument that it changes in place, or expects to be zero, is put back. That counts as the run's.
Result<void> Bench::Impl::run_back_to_back(const Subject& subject, std::uint64_t runs) {
  for (std::uint64_t run = 0; run < runs; ++run) {
    for (const Preparation& step : subject.preparations) {
      if (step.kind == Preparation::Kind::kCopy) {
        HONE_TRY(device_.copy(step.destination, step.source, step.bytes));
      } else if (step.kind == Preparation::Kind::kZero) {
        HONE_TRY(device_.fill_on(nullptr, step.destination, step.bytes, 0));
      }
    }
    HONE_TRY(subject.kernel->launch(nullptr, arguments_[kFirst]));
  }
  return device_.synchronize();
}

Result<void> Bench::Impl::add_energy_windows(Subject& subject, double seconds, std::size_t count, EnergyWindows& windows,
                                             const std::function<bool()>& goes_on) {
  Spots spots = spots_of_run(*inputs_seed_, ++timings_);
  HONE_TRY(device_.spoil(subject.watches, spots));
  HONE_ASSIGN(EnergyReading last, device_.energy());
  EnergyReading begin;
  double stepped_at = last.seconds;
  std::uint64_t batch = 1, runs = 0;
  bool began = false;
  for (int look = 0; count > 0; ++look) {
    HONE_TRY(run_back_to_back(subject, batch));
    HONE_ASSIGN(const EnergyReading now, device_.energy());
    const bool stepped = now.joules > last.joules;
    const double took = now.seconds - last.seconds;
    runs += batch;
    if (took < kLookSeconds / 2.0 && batch < kMostRuns) {
      batch *= 2;
    }
    last = now;
    if (stepped) {
      const double counted = now.joules - begin.joules;
      const bool is_long = now.seconds - begin.seconds >= std::max(seconds, kLeastLooks * took);
      const bool ends = began && is_long && now.resolution_joules <= kMostResolution * counted;
      if (ends) {
        windows.joules.push_back(counted / static_cast<double>(runs));
        windows.resolution = std::max(windows.resolution, now.resolution_joules / counted);
        HONE_ASSIGN(const std::uint64_t unmended, device_.unmended(subject.watches, spots));
        subject.unmended += unmended;
        count = subject.unmended > 0 || (goes_on && !goes_on()) ? 0 : count - 1;
        if (count > 0) {
          // What looking takes counts for the next window: a thousandth of it.
          spots = spots_of_run(*inputs_seed_, ++timings_);
          HONE_TRY(device_.spoil(subject.watches, spots));
        }
      }
      if (ends || !began) {
        began = true;  // the step that ends a window begins the next one
        begin = now;
        runs = 0;
        look = 0;
      }
      stepped_at = now.seconds;
    } else if (now.seconds - stepped_at > kStandsStill || look >= kMostLooks) {
      return Error{ErrorCode::kUnavailable, fmt::format("the energy counter of {} did not move in {:.3g} s of work: use --objective time",
                                                        device_.info().id, now.seconds - stepped_at)};
    }
  }
  return {};
}

Result<bool> Bench::Impl::measure_energy(Subject& subject, const MeasureSettings& settings, const std::optional<Incumbent>& incumbent,
                                         Measurement& measurement) {
  EnergyWindows windows;
  bool lost = false;
  const auto goes_on = [&] {
    measurement.energy_j = windows.estimate();
    if (windows.enough(settings)) {
      return false;
    }
    report_turn(0, turn_us(settings, measurement.median_us, 1));
    const std::optional<Figure> so_far = settings.objective.of(measurement);
    // One window may be off by as much as one sample of time may, several by less; who is as close as a finalist goes on.
    const double several = 1.0 + (settings.race_margin - 1.0) / static_cast<double>(windows.joules.size());
    lost = incumbent && so_far && so_far->low > incumbent->value * std::max(several, kFinalistMargin);
    return !lost;
  };
  report_turn(0, turn_us(settings, measurement.median_us, 1));
  HONE_TRY(add_energy_windows(subject, settings.energy_window_seconds, kMostWindows, windows, goes_on));
  return !lost;
}

Result<void> Bench::Impl::measure_energies(std::vector<Subject>& subjects, const MeasureSettings& settings, std::vector<Timing>& timed) {
  std::vector<EnergyWindows> windows(subjects.size());
  const auto is_right = [&](std::size_t i) { return subjects[i].unmended == 0 && !subjects[i].harm; };
  const auto enough = [&] {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (is_right(i) && !windows[i].enough(settings)) {
        return false;
      }
    }
    return true;
  };
  while (!enough()) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (is_right(i)) {
        report_turn(i, turn_us(settings, timed[i].measurement.median_us, kWindowsOfATurn));
        HONE_TRY(face(subjects[i]));
        HONE_TRY(add_energy_windows(subjects[i], settings.energy_window_seconds, kWindowsOfATurn, windows[i]));
      }
    }
  }
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    timed[i].measurement.energy_j = windows[i].estimate();
  }
  return {};
}

}  // namespace hone
