#pragma once
// Lookups and launches of what is loaded.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hone/engine.hpp"

namespace hone::bench {

/// Nanoseconds of a lookup at so many threads, all at once: the best of 50 x 2,000 calls of the slowest thread.
Result<nlohmann::json> hot_lookups(Engine& engine, int threads);

/// Nanoseconds of a launch, as Hone does it and as the driver does (on cpu: the loaded code without Hone's checks), on a stream and under
/// capture.
Result<nlohmann::json> launches(Engine& engine, const std::string& store);

}  // namespace hone::bench
