#pragma once
// A search space as a message: what it was built from, so that another process builds the same one and looks things up at full speed.

#include <memory>

#include "engine/space/likely_space.hpp"
#include "engine/worker/wire.hpp"

namespace hone::wire {

struct BuiltSpace {
  std::shared_ptr<const SearchSpace> space;
  std::shared_ptr<const LikelySpace> likely;  ///< what is expected of `space`, its legal one; null: nothing
};

/// `likely`: null, or what is expected of `space`.
Message to_message(const SearchSpace& space, const LikelySpace* likely);
/// Builds it. Errors: a message of another shape; kPlugin if what was built has other positions than the sender's.
Result<BuiltSpace> read_space(const Message& message);

}  // namespace hone::wire
