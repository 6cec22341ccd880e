#include "engine/tune/request_limits.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace hone {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kCpuShare = 0.5;      // of a core: a candidate of the cpu device that had less was not given the time it was granted
constexpr double kLockPatience = 5.0;  // seconds in which nobody else has the device and a worker still says that it waits for it

void learn_reference(StageLimits& limits, const wire::Stage& stage, double seconds) {
  if (stage.kind == wire::Stage::Kind::kReference) {
    limits.learn(stage, seconds);
  }
}

}  // namespace

RequestLimits preparing_limits(StageLimits& limits, IsTaken is_taken) {
  return {.stage =
              [&limits, is_taken = std::move(is_taken)](const wire::Stage& stage) {
                return stage.kind != wire::Stage::Kind::kWaiting ? limits.preparing(stage) : is_taken() ? kNever : kLockPatience;
              },
          .took = [&limits](const wire::Stage& stage, double seconds) { learn_reference(limits, stage, seconds); }};
}

RequestLimits trial_limits(StageLimits& limits, IsTaken is_taken, const Patience& patience) {
  using Clock = std::chrono::steady_clock;
  const double least = std::max(patience.floor, patience.beside ? limits.beside_reference() : 0.0);
  const auto left = [begin = Clock::now(), within = patience.within] {
    return std::max(0.0, within - std::chrono::duration<double>(Clock::now() - begin).count());
  };
  return {.stage =
              [&limits, is_taken = std::move(is_taken), least, left](const wire::Stage& stage) {
                return stage.kind == wire::Stage::Kind::kWaiting ? (is_taken() ? kNever : kLockPatience)
                                                                 : std::max(least, limits.stage(stage, left()));
              },
          .total = std::max(2.0 * patience.floor, patience.total) + (patience.beside ? limits.beside_reference() : 0.0),
          .cpu_share = patience.on_host ? kCpuShare : 0.0,
          .took =
              [&limits](const wire::Stage& stage, double seconds) {
                learn_reference(limits, stage, seconds);
                if (!limits.knows_default() && stage.kind == wire::Stage::Kind::kWork) {
                  limits.learn(stage, seconds);
                }
              }};
}

}  // namespace hone
