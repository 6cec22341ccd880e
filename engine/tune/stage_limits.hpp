#pragma once
// How long a stage of a trial may take: what is normal for this kernel, and what is left of the budget.

#include <map>
#include <optional>
#include <string>

#include "engine/worker/replies.hpp"

namespace hone {

/// A candidate may take several times what the default took for the same stage. What the default has not shown is held against its longest
/// stage. No stage gets more than a share of what is left of the session, and none less than what a busy host needs for nothing at all.
class StageLimits {
 public:
  /// `on_host`: the device is the host's own cores, which others load too. `budget`: of the session, in seconds.
  StageLimits(bool on_host, std::optional<double> budget);

  /// A stage of the default's trial, or of the reference, took this long.
  void learn(const wire::Stage& stage, double seconds);
  /// The default's trial is over; it took this long in all.
  void learnt(double seconds);
  [[nodiscard]] bool knows_default() const { return default_seconds_ > 0.0; }
  [[nodiscard]] double default_seconds() const { return default_seconds_; }

  /// Seconds for a stage before trials, of a process that opens the device and fills its buffers. The reference of each problem counts for
  /// itself: that of a small one runs first, and in a later part of a session the default is known before any of them.
  [[nodiscard]] double preparing(const wire::Stage& stage) const;
  /// Seconds for a stage when `left` seconds of the session are left.
  [[nodiscard]] double stage(const wire::Stage& stage, double left) const;
  /// At least that, beside a process that runs the reference on the same device.
  [[nodiscard]] double beside_reference() const;
  /// For a whole trial.
  [[nodiscard]] double trial(double left) const;
  /// Before anything is known: to open the device, to compile and to run the reference, for a stage of the default's trial.
  [[nodiscard]] double patience() const { return patience_; }
  [[nodiscard]] double floor() const { return floor_; }

 private:
  /// Of all problems together.
  [[nodiscard]] double references() const;

  double floor_, patience_;
  std::map<std::string, double> work_, reference_;
  double longest_ = 0.0, longest_reference_ = 0.0, default_seconds_ = 0.0;
};

}  // namespace hone
