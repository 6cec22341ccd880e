#pragma once
// What a search may cost.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hone/error.hpp"
#include "hone/export.h"

namespace hone {

/// The limit of a session: seconds, trials or both (the first one reached ends it). Trials and seconds of a resumed session
/// count.
struct Budget {
  std::optional<double> seconds = std::nullopt;
  std::optional<std::int64_t> trials = std::nullopt;
};

/// "30s", "5m", "1h", "200trials", or two joined by a comma.
HONE_API Result<Budget> parse_budget(std::string_view text);
HONE_API std::string text(const Budget& budget);

}  // namespace hone
