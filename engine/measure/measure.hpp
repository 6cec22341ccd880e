#pragma once
// Is a configuration right, and how fast is it: on one problem, on one open device.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/device/trial.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/measure/given.hpp"

namespace hone {

/// Median and the 95 % confidence interval of the median from order statistics (binomial; Hollander, Wolfe, Chicken 2013, 3.6).
/// With fewer than 6 samples the interval is [min, max].
Measurement summarize(std::vector<double> samples_us);

/// The error a right kernel with float accumulation may make in `dtype` on sums of `sum_length` random terms.
Tolerance tolerance(DType dtype, double sum_length);

/// The author's bound where it gives a distance (the sum of what is given, in steps of the type for ulps), else that of above.
/// Between the two stands MeasureSettings::max_error. Errors: an expression that fails, a bound below 0.
Result<Tolerance> tolerance(const Bound& bound, DType dtype, double sum_length, const Bindings& problem, double max_error = 0.0);

/// How close to the best, as a factor of its time, a configuration is that may win: single measurements differ by about this much.
inline constexpr double kFinalistMargin = 1.03;

struct MeasureSettings {
  int warmup_runs = 2;
  int race_samples = 5;       ///< after this many samples a clearly slower configuration is dropped
  double race_margin = 1.10;  ///< clearly slower: even its fastest sample exceeds the incumbent's median by this factor
  int minimum_samples = 11, maximum_samples = 201;
  double target_relative_ci = 0.01;  ///< stop once the interval's half width is below this share of the median
  double maximum_seconds = 0.5;      ///< and in any case after this much time, but not below race_samples
  bool flush_cache = true;
  /// What takes less is timed as calls of a graph, each on memory of its own: events, and the way from one launch to the next, are then no
  /// part of its time. So is what races against it, so that both are timed alike. 0: never.
  double graph_below_us = 20.0;
  /// Accuracy as a constraint: a result of a float type is right if it is off by no more than this share of the reference's answer plus the
  /// answers' root mean square, beside its own rounding. Instead of the usual tolerance, where the file states none. 0: no such bound.
  double max_error = 0.0;
  Given given = {};  ///< inputs and answers for the problem itself, instead of drawn ones and the reference's
};

/// What the inputs of a validation look like.
enum class InputProfile {
  kUsual,  ///< uniform in [-1, 1), of integers in [-128, 127]
  kMixed,  ///< mostly that; here and there large, tiny, a zero of either sign, or equal to the element before
  kLarge,  ///< up to 1024
  kTiny,   ///< about a millionth
  kZero,
  kNegativeZero,
  kEqual,         ///< one number everywhere
  kOrdered,       ///< from -1 to 1 and back, or the other way
  kNegative,      ///< between -5 and -3
  kPositive,      ///< between 3 and 5
  kOtherScalars,  ///< the usual draw, but scalars other than their defaults: of the same sign, and smaller
  kGreatScalars,  ///< several times as large
  kOtherSigns,    ///< of the other sign
};
std::string_view name(InputProfile profile);
/// All but the usual one.
std::span<const InputProfile> provoking_profiles();
/// Whether a kernel's inputs of this profile are others than the usual: it has scalars to change, or inputs to draw.
bool differs(InputProfile profile, const KernelSpec& spec);

/// Outcome of a validation: kOk, kWrongResult, kRace, kIllegalAccess (it wrote where it may not), kLaunchFailure, kDeadlock.
struct Validation {
  Outcome outcome = Outcome::kOk;
  std::string detail;      ///< which argument, which element, what was expected, how many are wrong, the seed
  double max_error = 0.0;  ///< largest |out - reference| / allowed
  [[nodiscard]] bool ok() const { return outcome == Outcome::kOk; }
};

/// How often a validation runs a configuration. What it has left behind shows in a second run alone, and so does that it needs more
/// alignment than it may; the first finds what is wrong in itself.
enum class Runs { kOne, kTwo };

/// Times, and whether what was timed was right.
struct Timing {
  Measurement measurement;
  Validation validation;
};

/// Called before each piece of timing: which of the finalists runs (0 where there is one), and about how many seconds it takes, 0 if
/// unknown.
using OnTurn = std::function<void(std::size_t finalist, double seconds)>;

/// The buffers of one problem: random inputs, poisoned outputs, guard bands around all, the reference's answer. Validation does not end
/// where timing begins: outputs hold a plausible wrong answer before every timed run and are looked at after it.
class Bench {
 public:
  /// `reference` is the compiled reference of the kernel. Errors: not enough memory (says how much is needed), a device failure,
  /// what is given and cannot be used.
  static Result<std::unique_ptr<Bench>> create(Device& device, const KernelSpec& spec, const Problem& problem, const Compiled& reference,
                                               InputProfile profile = InputProfile::kUsual, double max_error = 0.0,
                                               const Given& given = {});
  ~Bench();

  /// Fills the inputs from `seed` (the reference's answer is kept while the seed stays the same), poisons outputs, runs, compares,
  /// checks the guard bands and inputs; of two runs, with the usual inputs, once more on other buffers (of large problems: other outputs),
  /// at addresses that are multiples of 16 bytes and no more, and compares the two results bit by bit; and once behind a late writer for
  /// each pass that overlaps. An Error means that the device itself failed, or the reference.
  Result<Validation> validate(const LoadedKernel& kernel, const Configuration& configuration, std::uint64_t seed, Runs runs = Runs::kTwo);

  /// Whether the reference has an answer to the inputs of `seed`: none of it is NaN. A profile without one is not for this kernel.
  Result<bool> has_answer(std::uint64_t seed);

  /// Changes a part of the inputs and computes the answer to them: `seed` then is that of these inputs. What keeps its results by a look at
  /// its inputs gives those of the inputs before.
  Result<void> vary(std::uint64_t seed);

  /// A first look at one that nothing is known of: a cold run, and a second one where that took longer than `limit_us`. Its shorter time if
  /// both did and the device is not throttled, else nothing. Results are not looked at; what it damages, audit() finds.
  Result<std::optional<Measurement>> look(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                                          double limit_us);

  /// Times it; `incumbent_us` enables racing.
  Result<Timing> time(const LoadedKernel& kernel, const Configuration& configuration, const MeasureSettings& settings,
                      std::optional<double> incumbent_us, Readings& readings, const OnTurn& on_turn = nullptr);

  /// Launches it `launches` times, or as often as `seconds` allow but 3 times at least, and looks at each result. A defect that shows in
  /// one launch of k is found with a probability of 1 - (1 - 1/k)^launches.
  Result<Validation> repeat(const LoadedKernel& kernel, const Configuration& configuration, int launches, double seconds,
                            const OnTurn& on_turn = nullptr);

  struct Finalist {
    const LoadedKernel* kernel = nullptr;
    Configuration configuration;
  };
  /// Times the finalists in rounds, one sample of each in turn in an order shuffled by `seed`, so that drift hits all alike.
  Result<std::vector<Timing>> time_interleaved(std::span<const Finalist> finalists, const MeasureSettings& settings, std::uint64_t seed,
                                               Readings& readings, const OnTurn& on_turn = nullptr);

  /// Whether anything of the benches was written that no kernel may write: guard bands, inputs, the reference's answers. Says what, and
  /// mends it. For after a trial: what is found is charged to whoever ran since the last time.
  static Result<std::optional<std::string>> audit(std::span<Bench* const> benches);

  /// Fills the inputs from `seed` and computes the reference's answer, which validate() then finds done.
  Result<void> draw(std::uint64_t seed);
  /// Called with true before the reference runs, whoever asks for it, and with false after it.
  void watch_reference(std::function<void(bool begins)> watcher);
  /// Device memory of all but the workspaces.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Impl;
  explicit Bench(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
