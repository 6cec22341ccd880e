#pragma once
// What choosing among the members of portfolios that came with Hone takes, on no device.

#include <nlohmann/json.hpp>

#include "hone/error.hpp"

namespace hone::bench {

/// Of each portfolio of the H200, milliseconds to choose for a problem that was not asked for before: of shapes drawn from its range, the
/// median and what nine tenths take. Reading its text is not counted: binding a kernel does.
Result<nlohmann::json> predicted_lookups();

}  // namespace hone::bench
