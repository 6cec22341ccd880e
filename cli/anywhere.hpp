#pragma once
// Devices that need not be here: --arch.

#include "cli/options.hpp"

namespace hone::cli {

void add_arch_option(cxxopts::Options& options);

/// What find_target finds or, with --arch, a device of this architecture that the store knows (one with a record of the problem before
/// others), else a typical one. `store` may be null. Errors: --device beside --arch, an architecture that no plugin knows.
Result<Target> find_target_anywhere(const cxxopts::ParseResult& arguments, const Subject& subject, Store* store);

}  // namespace hone::cli
