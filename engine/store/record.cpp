#include <cmath>

#include "engine/base/names.hpp"
#include "engine/store/store.hpp"

namespace hone {

std::string_view name(CodeState state) {
  switch (state) {
    case CodeState::kTrusted:
      return "trusted";
    case CodeState::kForeign:
      return "foreign";
    case CodeState::kBroken:
      return "broken";
    case CodeState::kNone:
      break;
  }
  return "none";
}

std::string_view name(RecordState state) {
  switch (state) {
    case RecordState::kApproved:
      return "approved";
    case RecordState::kPinned:
      return "pinned";
    case RecordState::kWithdrawn:
      return "withdrawn";
    case RecordState::kCandidate:
      break;
  }
  return "candidate";
}

Result<RecordState> parse_record_state(std::string_view text) {
  std::vector<std::string> known;
  for (const RecordState state : {RecordState::kCandidate, RecordState::kApproved, RecordState::kPinned, RecordState::kWithdrawn}) {
    if (name(state) == text) {
      return state;
    }
    known.emplace_back(name(state));
  }
  return Error{ErrorCode::kInvalidArgument, unknown_name("record state", text, known)};
}

bool replaces(const Record& candidate, const Record& standing, const Objective& objective) {
  const std::optional<Figure> now = objective.of(candidate.measurement), then = objective.of(standing.measurement);
  const bool was_measured = then && std::isfinite(then->value) && then->value > 0.0;
  if (!was_measured) {
    return true;  // what was never measured cannot be better
  }
  // A comparison with what is not a number is false: an interval that is none parts from nothing.
  return candidate.measurement.by_graph == standing.measurement.by_graph && now && now->high < then->low;
}

Objective objective_of(const Purpose& purpose) {
  const Result<Objective> known = parse_objective(purpose.objective);
  return known ? *known : Objective();
}

}  // namespace hone
