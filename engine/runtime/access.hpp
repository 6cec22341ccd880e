#pragma once
// What another language's interface reaches behind the handles of C++.

#include "engine/runtime/engine_core.hpp"
#include "hone/engine.hpp"

namespace hone {

class Access {
 public:
  static EngineCore& core(const Engine& engine) { return *engine.core_; }
  /// What all handles of a problem share.
  static const Prepared& prepared(const Kernel& kernel) { return *kernel.prepared_; }
  /// Kernel::launch of types that are known at run time alone; a pointer's address is that of a detail::PassedSpan where `span` says so.
  static Result<void> launch(const Kernel& kernel, void* stream, void* const* addresses, std::span<const detail::Passed> kinds) {
    return kernel.launch_passed(stream, addresses, {kinds, Kernel::signature(kinds)});
  }
};

}  // namespace hone
