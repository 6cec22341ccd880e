#include "engine/device/trial.hpp"

#include <algorithm>
#include <array>

#include "engine/base/names.hpp"

namespace hone {
namespace {

constexpr std::array kOutcomes{
    Outcome::kOk,           Outcome::kCompileError,  Outcome::kCompileTimeout,
    Outcome::kStaticReject, Outcome::kLaunchFailure, Outcome::kIllegalAccess,
    Outcome::kTimeout,      Outcome::kDeadlock,      Outcome::kWrongResult,
    Outcome::kRace,         Outcome::kTooSlow,
};
constexpr std::array<std::string_view, kOutcomes.size()> kNames{
    "ok",      "compile_error", "compile_timeout", "static_reject", "launch_failure", "illegal_access",
    "timeout", "deadlock",      "wrong_result",    "race",          "too_slow",
};

}  // namespace

std::span<const Outcome> all_outcomes() { return kOutcomes; }
std::string_view name(Outcome outcome) { return kNames.at(static_cast<std::size_t>(outcome)); }

Result<Outcome> parse_outcome(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) {
    return Error{ErrorCode::kInvalidArgument, unknown_name("outcome", text, std::vector<std::string>(kNames.begin(), kNames.end()))};
  }
  return kOutcomes.at(static_cast<std::size_t>(found - kNames.begin()));
}

}  // namespace hone
