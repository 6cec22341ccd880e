#pragma once
// Which configuration serves a problem: the exact record, the nearest tuned shape's, or the default.

#include <optional>

#include "hone/engine.hpp"

namespace hone {

struct Choice {
  Source source = Source::kDefault;
  Configuration configuration;
  std::optional<Record> record;
};

/// Whether all constraints of the kernel hold.
bool valid_for(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, const Configuration& configuration);

/// Sum over the extents of |log(a / b)|: how far two shapes are apart, in factors.
double shape_distance(const Shape& a, const Shape& b);

/// `store` may be null. Errors: the store fails, or no configuration is valid.
Result<Choice> choose(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store);

}  // namespace hone
