#pragma once
// The code of a portfolio's members: compiled ahead of time, so that no application waits for a compiler.

#include <stop_token>
#include <string>
#include <vector>

#include "engine/kernel/operation.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/store/portfolio.hpp"
#include "engine/store/store.hpp"

namespace hone {

struct WarmReport {
  std::size_t members = 0, compiled = 0;  ///< of the members, those that were not in the store yet
  std::vector<std::string> failures;      ///< of members that did not compile, or that today's kernels do not have
};

/// Puts the code of every member into the store, where it is missing: in worker processes, `workers` of them (0: one for each core).
/// Asked to stop, it returns what it has. Errors: the store or the workers fail.
Result<WarmReport> warm(const Portfolio& portfolio, const Operation& operation, const Registry::Found& device, Store& store, int workers,
                        const std::stop_token& stop = {});
/// The code is for problems of these dtypes and STATIC fields, which may differ from those that the portfolio is for. Without members that
/// are legal for none of them; of extents, only those that are `given` are known.
Result<WarmReport> warm(const Portfolio& portfolio, const Operation& operation, const Problem& like, const Shape& given,
                        const Registry::Found& device, Store& store, int workers, const std::stop_token& stop = {});

/// Of the members' code, as far as the store has it: each is compiled for some shape at which it was measured. Errors: the store fails.
Result<double> code_bytes(const Portfolio& portfolio, const Operation& operation, const DeviceInfo& device, Store& store);

}  // namespace hone
