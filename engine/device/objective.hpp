#pragma once
// What a session minimizes: a configuration's time, a percentile of it, the energy of a run, or the product of energy and time.

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/device/trial.hpp"

namespace hone {

struct Objective {
  enum class Kind {
    kTime,        ///< the median of the samples
    kPercentile,  ///< of the samples: what is seldom slower
    kEnergy,      ///< of one run, by the device's energy counter
    kEdp,         ///< the energy-delay product: energy times the median of the time
  };
  Kind kind = Kind::kTime;
  double percentile = 0.0;  ///< of kPercentile: 99 is the time that 99 of 100 runs keep to

  [[nodiscard]] bool needs_energy() const { return kind == Kind::kEnergy || kind == Kind::kEdp; }
  [[nodiscard]] bool is_time() const { return kind == Kind::kTime; }
  /// Of a measurement, with a 95 % interval: in us; of kEnergy in uJ, of kEdp in uJ * us. Nothing if it lacks what that takes: it was not
  /// timed, its energy was not measured, or it has too few samples for an interval of the percentile (least_samples()).
  [[nodiscard]] std::optional<Figure> of(const Measurement& measurement) const;
  /// How many samples give a 95 % interval: 1 but for a percentile.
  [[nodiscard]] int least_samples() const;
  /// Powers of configurations on one problem and device, in any unit: how many are known, that of the best one, the least.
  struct Powers {
    std::size_t count = 0;
    double best = 0.0, least = std::numeric_limits<double>::infinity();
  };
  /// A configuration that takes this many times the best one's time is not expected to win: whatever power it draws, or, once enough are
  /// known, with a fifth less than the least of them.
  [[nodiscard]] double time_allowance(const Powers& seen) const;

  friend bool operator==(const Objective&, const Objective&) = default;
};

/// As records are keyed and users type it: "time", "p99", "energy", "edp".
std::string name(const Objective& objective);
/// For people: "time", "99th percentile of time", "energy of a run", "energy-delay product".
std::string described(const Objective& objective);
/// Percentiles are p50.1 to p99.9. Errors: a name that is none (the known ones are listed).
Result<Objective> parse_objective(std::string_view text);
/// A value of Objective::of: "1.23 us", "4.56 mJ", "7.89 uJ s".
std::string objective_text(const Objective& objective, double value);

/// The percentile and its 95 % interval by order statistics, without assuming how the samples are distributed. Nothing if there are too few
/// for an upper end.
std::optional<Figure> percentile_of(std::span<const double> samples, double percentile);

}  // namespace hone
