#pragma once
// Decides whether a configuration is correct and how fast it is, on one problem and one open device.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/objective.hpp"
#include "engine/device/trial.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/measure/given.hpp"

namespace hone {

/// Median and the 95 % confidence interval of the median from order statistics (binomial; Hollander, Wolfe, Chicken 2013, 3.6).
/// With fewer than 6 samples the interval is [min, max].
Measurement summarize(std::vector<double> samples_us);

/// The error that a correct kernel with float accumulation may make in `dtype` on sums of `sum_length` random terms.
Tolerance tolerance(DType dtype, double sum_length);

/// The tolerance of an output: the author's bound (.absolute + .relative + .ulps) if it gives one, else MeasureSettings::max_error if it is
/// set, else the tolerance above. Errors: an expression that fails, a bound below 0.
Result<Tolerance> tolerance(const Bound& bound, DType dtype, double sum_length, const Bindings& problem, double max_error = 0.0);

/// How close to the best, as a factor of its time, a configuration is that may win: single measurements differ by about this much.
inline constexpr double kFinalistMargin = 1.03;

/// So much longer, in microseconds, a launch alone may take than the same kernel among many in a graph.
inline constexpr double kAloneUs = 10.0;

/// What candidates race against: the best right configuration so far.
struct Incumbent {
  double time_us = 0.0;         ///< the median of its time
  double value = 0.0;           ///< what it reaches of the objective; of time, the same
  double time_allowance = 1.0;  ///< so many times as long may take who could still be ahead by the objective
};

struct MeasureSettings {
  int warmup_runs = 2;
  int race_samples = 5;       ///< after this many samples a clearly slower configuration is dropped
  double race_margin = 1.10;  ///< clearly slower: even its fastest sample exceeds the incumbent's median by this factor
  int minimum_samples = 11, maximum_samples = 201;
  double target_relative_ci = 0.01;  ///< stop when half the interval's width is below this share of the median
  double maximum_seconds = 0.5;      ///< stop after this much time, with at least race_samples
  bool flush_cache = true;
  /// A kernel below this time is timed as calls of a graph, each on its own memory, so that event and launch overhead are not part
  /// of its time. A rival in a race is then timed the same way. 0: never.
  double graph_below_us = 20.0;
  /// Accuracy as a constraint: a float result may deviate by this share of the reference's answer plus the answers' root mean square,
  /// plus its own rounding. It replaces the default tolerance, not one stated in the file. 0: no such bound.
  double max_error = 0.0;
  Given given = {};  ///< inputs and answers for the problem itself, instead of random inputs and the reference's answers
  /// What is minimized. One that needs energy measures it after the time, in windows of back-to-back runs.
  Objective objective = {};
  /// Least length of such a window. It is longer where the counter's resolution would be more than half a percent of it.
  double energy_window_seconds = 0.1;
};

/// With what the objective needs: enough samples for a percentile's interval, and of single calls, since the mean over the calls of a graph
/// hides the slow ones.
MeasureSettings settings_for(const Objective& objective, MeasureSettings settings);

/// The values of a validation's inputs.
enum class InputProfile {
  kUsual,  ///< uniform in [-1, 1); integers in [-128, 127]
  kMixed,  ///< mostly kUsual; some large, tiny, zero of either sign, or equal to the previous element
  kLarge,  ///< up to 1024
  kTiny,   ///< about a millionth
  kZero,
  kNegativeZero,
  kEqual,         ///< one number everywhere
  kFew,           ///< -2, -1, 0, 1, 2 or what a scalar is: many are equal
  kOrdered,       ///< from -1 to 1 and back, or the other way
  kNegative,      ///< between -5 and -3
  kPositive,      ///< between 3 and 5
  kOtherScalars,  ///< usual inputs, but scalars that differ from their defaults: same sign, smaller
  kGreatScalars,  ///< the same, several times as large
  kOtherSigns,    ///< the same, with the opposite sign
};
std::string_view name(InputProfile profile);
/// All profiles except kUsual.
std::span<const InputProfile> provoking_profiles();
/// Whether this profile changes a kernel's inputs or scalars compared with kUsual.
bool differs(InputProfile profile, const KernelSpec& spec);

/// Outcome of a validation: kOk, kWrongResult, kRace, kIllegalAccess (it wrote outside its arguments), kLaunchFailure, kDeadlock.
struct Validation {
  Outcome outcome = Outcome::kOk;
  std::string detail;      ///< which argument, which element, what was expected, how many are wrong, the seed
  double max_error = 0.0;  ///< largest |out - reference| / allowed
  [[nodiscard]] bool ok() const { return outcome == Outcome::kOk; }
};

/// The number of runs of a validation. The first run detects wrong results. Only a second run detects reuse of data left by the first,
/// and reliance on more alignment than 16 bytes.
enum class Runs { kOne, kTwo };

/// The times, and whether the timed runs were correct.
struct Timing {
  Measurement measurement;
  Validation validation;
};

/// Called before each piece of timing with the index of the finalist that runs (0 if there is only one) and its estimated seconds (0 if
/// unknown).
using OnTurn = std::function<void(std::size_t finalist, double seconds)>;

/// The buffers of one problem: random inputs, poisoned outputs, guard bands around all of them, the reference's answer. Validation
/// continues during timing: outputs hold plausible wrong values before every timed run and are checked after it.
class Bench {
 public:
  /// `reference` is the compiled reference of the kernel. Errors: not enough memory (says how much is needed), a device failure,
  /// given arrays that cannot be used.
  static Result<std::unique_ptr<Bench>> create(Device& device, const KernelSpec& spec, const Problem& problem, const Compiled& reference,
                                               InputProfile profile = InputProfile::kUsual, double max_error = 0.0,
                                               const Given& given = {});
  ~Bench();

  /// Fills the inputs from `seed` (the reference's answer is kept while the seed stays the same), poisons outputs, runs, compares,
  /// checks the guard bands and inputs. With two runs and usual inputs, runs again on other buffers (for large problems: other outputs)
  /// that are aligned to 16 bytes only, and compares the two results bit by bit. For each pass that overlaps, runs once behind a kernel
  /// that is still writing the arguments. An Error means that the device or the reference failed.
  Result<Validation> validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed, Runs runs = Runs::kTwo);

  /// Whether the reference has an answer for the inputs of `seed`, without NaN. A profile without an answer does not apply to the kernel.
  Result<bool> has_answer(std::uint64_t seed);

  /// Changes a part of the inputs and computes their answer; `seed` then identifies these inputs. This detects kernels that cache results
  /// under a sample of their inputs: they return the results of the previous inputs.
  Result<void> vary(std::uint64_t seed);

  /// First cold run of an unknown configuration, and a second one if it took longer than `limit_us`. Returns the shorter time if both
  /// did and the device is not throttled, else nothing. Does not check results; audit() detects damage.
  Result<std::optional<Measurement>> look(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                                          double limit_us);

  /// Times it, and measures its energy if the objective needs that; an incumbent enables racing, by time and then by the objective.
  /// Errors: those of Device::energy; kUnavailable, the energy counter stands still.
  Result<Timing> time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                      const std::optional<Incumbent>& incumbent, Readings& readings, const OnTurn& on_turn = nullptr);

  /// Launches it `launches` times, or as often as `seconds` allow (at least 3 times), and checks each result. A defect that shows in
  /// one launch of k is detected with probability 1 - (1 - 1/k)^launches.
  Result<Validation> repeat(const LoadedKernel& kernel, const Configuration& configuration, int launches, double seconds,
                            const OnTurn& on_turn = nullptr);

  /// What the device's counters say of one launch. Errors: those of Device::count.
  Result<Counters> count(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings);

  struct Finalist {
    const LoadedKernel* kernel = nullptr;
    Configuration configuration;
  };
  /// Times the finalists in rounds, one sample of each in turn in an order shuffled by `seed`, so that drift affects all equally. Energy is
  /// measured in the same way, one window of each in turn.
  Result<std::vector<Timing>> time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings, std::uint64_t seed,
                                               Readings& readings, const OnTurn& on_turn = nullptr);

  /// Detects writes to memory that no kernel may write (guard bands, inputs, the reference's answers), describes and repairs
  /// them. Called after each trial, so the damage is attributed to the configuration that ran since the last audit.
  static Result<std::optional<std::string>> audit(std::span<Bench* const> benches);

  /// Fills the inputs from `seed` and computes the reference's answer, which validate() then reuses.
  Result<void> draw(std::uint64_t seed);
  /// The watcher is called with true before inputs are drawn or the reference runs, and with false after it.
  void watch_reference(std::function<void(bool begins)> watcher);
  /// Device memory of everything except workspaces.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Impl;
  explicit Bench(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
