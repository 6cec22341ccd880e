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

bool replaces(const Record& candidate, const Record& standing) {
  const Measurement &now = candidate.measurement, &then = standing.measurement;
  const bool was_measured = std::isfinite(then.median_us) && then.median_us > 0.0;
  if (!was_measured) {
    return true;  // what was never timed cannot be faster
  }
  // A comparison with what is not a number is false: an interval that is none parts from nothing.
  return now.by_graph == then.by_graph && now.ci95_high_us < then.ci95_low_us;
}

}  // namespace hone
