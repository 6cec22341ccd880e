#include "engine/tune/evaluator.hpp"

namespace hone {

Result<Counters> Evaluator::count(const Trial& /*trial*/) { return Error{ErrorCode::kUnavailable, "a recorded space has no counters"}; }

}  // namespace hone
