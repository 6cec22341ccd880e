#include "engine/tune/stage_limits.hpp"

#include <algorithm>
#include <numeric>

namespace hone {
namespace {

constexpr double kFactor = 8.0;       // times what the default took: slower by that much is as good as hanging
constexpr double kLeastFactor = 4.0;  // times that, when the session is nearly over
constexpr double kReferenceFactor = 10.0;
constexpr double kExpectedFactor = 2.0;  // times what the worker expects of a piece of timing, from the pieces before it
constexpr double kShare = 0.25;          // of what is left of the session, for one stage
constexpr double kTrialShare = 0.5;
constexpr double kDeviceFloor = 0.4;  // seconds; the host only waits
constexpr double kHostFloor = 2.0;    // the candidate shares the cores with whatever else runs there
constexpr double kBesideFloors = 4.0, kBesideReferences = 2.0;
constexpr double kLeastPatience = 30.0, kMostPatience = 300.0;

double known(const std::map<std::string, double>& times, const std::string& name, double otherwise) {
  const auto found = times.find(name);
  return found == times.end() ? otherwise : found->second;
}

}  // namespace

StageLimits::StageLimits(bool on_host, std::optional<double> budget)
    : floor_(on_host ? kHostFloor : kDeviceFloor), patience_(std::clamp(budget.value_or(kMostPatience), kLeastPatience, kMostPatience)) {}

void StageLimits::learn(const wire::Stage& stage, double seconds) {
  if (stage.kind == wire::Stage::Kind::kWaiting) {
    return;
  }
  const bool reference = stage.kind == wire::Stage::Kind::kReference;
  double& longest = reference ? longest_reference_ : longest_;
  longest = std::max(longest, seconds);
  double& of_name = (reference ? reference_ : work_)[stage.name];
  of_name = std::max(of_name, seconds);
}

void StageLimits::learnt(double seconds) { default_seconds_ = std::max(seconds, 1e-6); }

double StageLimits::preparing(const wire::Stage& stage) const {
  const double own = stage.kind == wire::Stage::Kind::kReference ? known(reference_, stage.name, 0.0) : 0.0;
  return own > 0.0 ? std::max(kReferenceFactor * own, floor_) : patience_;
}

double StageLimits::stage(const wire::Stage& stage, double left) const {
  const double most = std::max(floor_, kShare * left);
  const double within = stage.within.value_or(patience_);
  if (stage.kind == wire::Stage::Kind::kReference) {
    // Until the default is known, those of small problems say nothing of the user's.
    const double longest = known(reference_, stage.name, knows_default() ? longest_reference_ : 0.0);
    return longest == 0.0 ? patience_ : std::clamp(kReferenceFactor * longest, floor_, std::max(most, 2.0 * longest));
  }
  if (!knows_default()) {
    return std::min(within, patience_);
  }
  const double normal = known(work_, stage.name, longest_);
  const double wanted = stage.expected > 0.0 ? floor_ + kExpectedFactor * stage.expected : kFactor * normal;
  // However little is left: a final round runs twice what a trial runs once, and the default must not fail for that.
  return std::min(within, std::clamp(wanted, floor_, std::max(most, kLeastFactor * normal)));
}

double StageLimits::references() const {
  return std::accumulate(reference_.begin(), reference_.end(), 0.0, [](double sum, const auto& one) { return sum + one.second; });
}

double StageLimits::beside_reference() const { return kBesideFloors * floor_ + kBesideReferences * references(); }

double StageLimits::trial(double left) const {
  if (!knows_default()) {
    return 2.0 * patience_;
  }
  // New inputs need all references once more, and that is no candidate's doing.
  return std::clamp(kFactor * default_seconds_, 2.0 * floor_, std::max(2.0 * floor_, kTrialShare * left)) + kReferenceFactor * references();
}

}  // namespace hone
