#pragma once
// How much a kernel launches at a problem, and how evenly that fills a device.

#include <optional>

#include "engine/kernel/kernel_spec.hpp"

namespace hone {

struct LaunchSize {
  double blocks = 1.0;  ///< of the pass that has most
  /// Wave quantization: the logarithm to the base 2 of what whole waves take over what the same work takes where all multiprocessors end
  /// together, from 0 to 1. A wave has one block for each multiprocessor. Blocks that take one piece of work after another, of which a
  /// larger device would have more, have one piece each in a wave.
  double tail = 0.0;
  friend bool operator==(const LaunchSize&, const LaunchSize&) = default;
};

/// Under bindings of problem, configuration and device, which it leaves as they were. Nothing where an expression fails, or there is no
/// block.
std::optional<LaunchSize> launch_size(const KernelSpec& spec, Bindings& bound);

}  // namespace hone
