#pragma once
// What `hone tune` takes for every session, whatever it tunes.

#include "cli/options.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {

/// --budget, --seed, --strategy and the like.
void add_search_options(cxxopts::Options& options);

/// All that those options and those of timing and accuracy say: without kernel, problem, device, restriction and given arrays.
Result<TuneRequest> find_search(const cxxopts::ParseResult& arguments);

}  // namespace hone::cli
