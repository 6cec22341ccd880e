#pragma once
// A session as a report shows it: what was won, how the search went, what the trials say.

#include <optional>
#include <string>
#include <vector>

#include "engine/report/effects.hpp"
#include "engine/report/failures.hpp"
#include "engine/roofline/occupancy.hpp"
#include "engine/roofline/peaks.hpp"
#include "engine/store/store.hpp"

namespace hone {
class RecordedSpace;
}

namespace hone::report {

/// What a study is made of. What is null is not known, and the study goes without.
struct SessionSource {
  SessionInfo session;
  std::vector<Parameter> parameters;
  std::vector<Trial> trials;                ///< in the order recorded
  const KernelSpec* spec = nullptr;         ///< the kernel as it was tuned
  const DeviceInfo* device = nullptr;       ///< on which it was tuned
  const RecordedSpace* recorded = nullptr;  ///< of a replayed session: every configuration with its outcome
  std::vector<roofline::Peak> peaks = {};   ///< of the device
  std::string record = {};                  ///< the configuration that it made the record; empty: it made none
};

/// The best so far changed.
struct Improvement {
  std::size_t trials = 0;         ///< after so many
  std::optional<double> seconds;  ///< into the session
  double time_us = 0.0;
};

enum class Verdict {
  kRight,         ///< what breaks it is slower than the fastest that meets it, or was left behind as too slow
  kWrong,         ///< the fastest that breaks it is faster by more than 1 % than any that meets it
  kNoDifference,  ///< both reach the same, within 1 %
  kUntested,      ///< nothing that breaks it was measured, or nothing that meets it
};
std::string_view name(Verdict verdict);

/// What the trials say of one of the kernel's expectations.
struct ExpectationStudy {
  Constraint expectation;
  std::size_t meeting = 0, breaking = 0;                              ///< trials with a time
  std::optional<double> best_meeting_us = {}, best_breaking_us = {};  ///< of the right ones
  bool broken_by_winner = false;
  Verdict verdict = Verdict::kUntested;
};

/// Where the seconds of the trials went.
struct StageStudy {
  std::string what;  ///< "right", "lost a race", "too slow", "failed"
  std::size_t trials = 0;
  StageSeconds seconds;
};

/// The device while it measured, over the trials with a reading. All zero where it has none.
struct DeviceStudy {
  std::size_t readings = 0;
  double lowest_mhz = 0.0, highest_mhz = 0.0;
  double hottest_c = 0.0, highest_w = 0.0;
  std::uint64_t throttle_reasons = 0;  ///< of any trial
  std::size_t throttled_trials = 0;
  std::int64_t discarded_samples = 0;
};

/// The calculated random search: the expected best after so many draws without replacement, failures included.
struct RandomSearch {
  std::size_t configurations = 0;        ///< it draws from
  bool whole_space = false;              ///< these are all there are, rather than those that the session tried
  double best_us = 0.0;                  ///< of these
  std::vector<double> expected_us = {};  ///< after 1, 2, ... as many draws as the session made trials
  std::size_t draws_to_winner = 0;       ///< until it is expected within 1 % of the session's fastest; 0: not within those draws
};

/// How far a configuration is from what the device allows.
struct LimitStudy {
  std::size_t trial = 0;
  std::optional<roofline::Place> place;          ///< nothing without the kernel's cost or the device's peaks
  std::optional<roofline::Occupancy> occupancy;  ///< nothing where the device has none
};

struct SessionStudy {
  SessionInfo session;
  std::vector<Parameter> parameters;
  std::vector<Trial> trials;
  Objective objective;                  ///< what the session minimized. What follows is of the time, but for winner, tied and speedup
  std::vector<std::size_t> front;       ///< time_energy_front(); empty where no energy was measured
  std::optional<std::size_t> standard;  ///< the default's trial, if it was right
  /// What the session made the record (of a tie, the record that was there stays), else the fastest right trial, of the final round where
  /// there was one.
  std::optional<std::size_t> winner;
  bool final_round = false;                      ///< the winner was measured beside the default
  std::vector<std::size_t> tied;                 ///< of the final round: those whose intervals reach the winner's
  double speedup = 0.0;                          ///< default / winner, of the objective; 0 without both
  double speedup_low = 0.0, speedup_high = 0.0;  ///< from the ends of both intervals
  std::vector<Improvement> improvements;
  double fastest_us = 0.0;                ///< of all right trials measured to the end; 0 without one
  double fastest_known_us = 0.0;          ///< the same, of a recorded space of all its configurations
  std::size_t faster_in_search = 0;       ///< right trials more than 2 % faster in the search than the winner in the final round
  std::size_t trials_to_one_percent = 0;  ///< until within 1 % of the fastest
  std::optional<RandomSearch> random;     ///< nothing without a winner
  Effects effects;                        ///< of the trials, or of all configurations of a recorded space
  bool effects_of_whole_space = false;
  std::vector<ExpectationStudy> expectations;
  std::vector<FailureKind> failures;
  std::vector<StageStudy> stages;
  DeviceStudy device;
  std::optional<double> typical_noise;  ///< median over right trials measured to the end of half the interval's width / median
  std::vector<LimitStudy> limits;       ///< of the default, the winner and what is tied with it; empty where nothing is known
  std::optional<double> winner_gflops, winner_gbytes_per_second;  ///< where the kernel states its cost
};

SessionStudy study(SessionSource source);

/// "power cap", "thermal slowdown", ...: NVML's reasons in words, as far as they slow a kernel down.
std::vector<std::string> throttle_words(std::uint64_t reasons);

}  // namespace hone::report
