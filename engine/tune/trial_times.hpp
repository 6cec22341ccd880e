#pragma once
// When the trials of a session were made, those of all its kernels together, in seconds since it began.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/device/trial.hpp"

namespace hone {

class TrialTimes {
 public:
  /// Of one kernel. An older Hone kept no times.
  void add(const std::vector<Trial>& trials);
  /// Until its first trial began; nothing where that is not known.
  [[nodiscard]] std::optional<double> start() const { return start_; }
  [[nodiscard]] std::int64_t trials() const { return trials_; }
  [[nodiscard]] bool is_any_right() const { return is_any_right_; }
  /// What the trials took, without what comes before the first and behind the last. `session_seconds` is of the whole session.
  [[nodiscard]] double seconds(double session_seconds) const;

 private:
  std::optional<double> start_;
  double first_ = std::numeric_limits<double>::infinity(), last_ = 0.0;
  std::int64_t trials_ = 0, timed_ = 0;
  bool is_any_right_ = false;
};

}  // namespace hone
