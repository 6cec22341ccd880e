#pragma once
// How much a kernel launches at a problem, and how evenly that fills a device.

#include <optional>

#include "engine/kernel/kernel_spec.hpp"

namespace hone {

struct LaunchSize {
  double blocks = 1.0;  ///< of the pass that has most
  /// Wave quantization: the logarithm to the base 2 of what whole waves take over what the same work takes where all multiprocessors end
  /// together, from 0 to 1. A wave has one block for each multiprocessor. It is that of the first pass of which a larger device would have
  /// more blocks, if there is one: those take one piece of work after another, and a wave has one for each. Else it is that of the pass
  /// that has most. Blocks that share their pieces evenly, as those of stream-K, have no waves; what is said of them is a number like any.
  double tail = 0.0;
  friend bool operator==(const LaunchSize&, const LaunchSize&) = default;
};

/// Under bindings of problem, configuration and device, which it leaves as they were. Nothing where an expression fails, or there is no
/// block.
std::optional<LaunchSize> launch_size(const KernelSpec& spec, Bindings& bound);

}  // namespace hone
