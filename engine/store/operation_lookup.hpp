#pragma once
// Which kernel of an operation serves a problem, and with which configuration.

#include "engine/kernel/operation.hpp"
#include "engine/store/lookup.hpp"

namespace hone {

struct OperationChoice {
  const KernelSpec* spec = nullptr;
  Problem problem;  ///< as the kernel has it
  Choice choice;
  bool compared = false;  ///< a session of the operation held its kernels against each other for this very problem
};

/// Of the exact records: a pinned one; else that of the kernel that a session of the operation chose, or of another one that was tuned
/// since and is clearly faster; where no such session was, the fastest. Without exact records: the member of a
/// portfolio that its rule expects to be fastest. Without a portfolio: what the kernel has that was chosen for the nearest tuned shape, or
/// the nearest record of all kernels, where that is near. Else the member of a portfolio for similar problems; without one that record,
/// however far. Without any: the default of the first kernel that is legal, in the operation's order. Ties go by that
/// order, so that the same store gives the same answer everywhere. `store` may be null. Errors: as choose() of one kernel; no kernel has
/// the dtype, or a valid configuration.
Result<OperationChoice> choose(const Operation& operation, const Problem& problem, const DeviceInfo& device, Store* store,
                               const Lookup& lookup = {});

/// The implementations that take the dtype and the extents, in the operation's order, each with the problem as it has it. Errors: there is
/// none.
Result<std::vector<Implementation>> implementations_for(const Operation& operation, const Problem& problem);

}  // namespace hone
