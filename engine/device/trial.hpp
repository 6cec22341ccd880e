#pragma once
// A trial: one configuration evaluated, and what came of it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernel/configuration_text.hpp"
#include "engine/space/search_space.hpp"

namespace hone {

/// What became of a configuration. The spellings of name() are those of the store and of every report.
enum class Outcome {
  kOk,            ///< right and timed
  kCompileError,  ///< the compiler rejected it
  kCompileTimeout,
  kStaticReject,  ///< the static gate: it cannot launch on this device (registers, shared memory, block size)
  kLaunchFailure,
  kIllegalAccess,  ///< a fault, a trap, a guard band overwritten, or a crash of the worker
  kTimeout,        ///< it hung, or was so slow that its deadline passed
  kDeadlock,       ///< the cpu device saw every thread of a block wait
  kWrongResult,
  kRace,     ///< repeats on the same inputs differed
  kTooSlow,  ///< one cold run was so far behind the fastest that it was left there: its time is known about, its results were not looked at
};
std::span<const Outcome> all_outcomes();
std::string_view name(Outcome outcome);
/// Whether a time is known: about for kTooSlow, of which nobody knows whether it is right. Only kOk can win.
constexpr bool has_time(Outcome outcome) { return outcome == Outcome::kOk || outcome == Outcome::kTooSlow; }
/// Whether something went wrong: one that was merely too slow did nothing wrong.
constexpr bool is_failure(Outcome outcome) { return !has_time(outcome); }
/// Whether it proves that the configuration must not be served, wherever the machine's own troubles may have caused the others.
constexpr bool is_wrong(Outcome outcome) {
  return outcome == Outcome::kWrongResult || outcome == Outcome::kRace || outcome == Outcome::kIllegalAccess ||
         outcome == Outcome::kDeadlock;
}
Result<Outcome> parse_outcome(std::string_view text);

/// What the compiler said of one configuration; the largest over its passes.
struct Resources {
  std::int64_t registers = 0;     ///< per thread
  std::int64_t spill_bytes = 0;   ///< stores + loads per thread
  std::int64_t stack_bytes = 0;   ///< per thread
  std::int64_t shared_bytes = 0;  ///< static + dynamic, per block
  double occupancy = 0.0;         ///< resident threads / most possible, 0 if not known
};

/// A value with its 95 % confidence interval.
struct Figure {
  double value = 0.0, low = 0.0, high = 0.0;
};

/// Statistics over the samples of one configuration, in microseconds.
struct Measurement {
  std::vector<double> samples_us;  ///< every accepted sample, in the order taken
  double median_us = 0.0;
  double ci95_low_us = 0.0, ci95_high_us = 0.0;  ///< of the median, from order statistics
  bool raced_out = false;                        ///< dropped after few samples: clearly slower than the incumbent
  bool by_graph = false;                         ///< each sample is the mean over the calls of a graph; else it is one call
  /// Joules of one run among many that follow one another; nothing where the objective did not ask for it.
  std::optional<Figure> energy_j = {};
};

/// The state of the device around a measurement; fields the device cannot read are 0.
struct Readings {
  double sm_clock_mhz = 0.0, memory_clock_mhz = 0.0;
  double temperature_c = 0.0, power_w = 0.0;
  std::uint64_t throttle_reasons = 0;  ///< NVML's clocks-event reasons
  int discarded_samples = 0;           ///< throttled samples that were thrown away
};

/// Seconds a trial cost, by stage. Compile seconds are one core's share of its batch.
struct StageSeconds {
  double compile = 0.0, validate = 0.0, time = 0.0, overhead = 0.0;
  [[nodiscard]] double total() const { return compile + validate + time + overhead; }
};

/// A configuration that is to be evaluated.
struct Proposal {
  Count position = 0;  ///< in the search space
  Configuration configuration;
};

struct Trial {
  Configuration configuration;
  Count position = 0;  ///< in the search space
  Outcome outcome = Outcome::kOk;
  std::string detail;  ///< the message of a failure
  Resources resources;
  Measurement measurement;  ///< empty unless kOk or kTooSlow, of which it is the cold run
  Readings readings;
  StageSeconds seconds;
  std::uint64_t input_seed = 0;  ///< of the inputs it was validated on
  double max_error = 0.0;        ///< largest |out - reference| / allowed error; right if <= 1
  std::string artifact;          ///< digest of the compiled code, empty if none
  bool final_round = false;      ///< measured again among the finalists
  bool is_as_it_was = false;     ///< of a final round that did not come to an end: as it was measured before, alone
  /// Read from a store: seconds into the session when it was recorded; nothing where an older Hone recorded it.
  std::optional<double> elapsed_seconds = {};
  /// Of a session on several devices: the id of the one that it ran on, and of the one that its final round ran on; else empty.
  std::string device = {}, final_device = {};
  double factor = 1.0;  ///< the measurement's median and interval are this times those of its samples (Control::factor)
};

/// A run of the control, the default configuration, on one of a session's devices.
struct Control {
  std::string device;       ///< its id
  Measurement measurement;  ///< as taken there; empty if it failed
  Readings readings;
  double factor = 1.0;  ///< from now on, times of this device are multiplied by this to compare them with those of the session's others
  std::string left;     ///< why the device left the session now; empty: it did not
};

}  // namespace hone
