#include "engine/tune/trial_times.hpp"

#include <algorithm>

namespace hone {

void TrialTimes::add(const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    trials_ += 1;
    is_any_right_ = is_any_right_ || trial.outcome == Outcome::kOk;
    if (const std::optional<double> end = trial.elapsed_seconds) {
      timed_ += 1;
      start_ = std::max(0.0, std::min(start_.value_or(*end), *end - trial.seconds.validate - trial.seconds.time));
      first_ = std::min(first_, *end);
      last_ = std::max(last_, *end);
    }
  }
}

double TrialTimes::seconds(double session_seconds) const {
  const auto count = static_cast<double>(trials_);
  return timed_ == trials_ && last_ > first_ ? (last_ - first_) * count / (count - 1.0) : session_seconds - start_.value_or(0.0);
}

}  // namespace hone
