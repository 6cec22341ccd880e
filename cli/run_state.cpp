#include "cli/run_state.hpp"

#include <array>
#include <string_view>

#include "hone/version.h"

namespace hone::cli {

void write_run_state(MetricsText& out, RunState state, double unix_seconds) {
  out.family("hone_build_info", MetricKind::kGauge, "The Hone that writes this.");
  out.sample({{"version", HONE_VERSION}}, 1.0);
  out.family("hone_updated_timestamp_seconds", MetricKind::kGauge, "When this was written. A run that was killed stops writing.");
  out.sample({}, unix_seconds);
  out.family("hone_run_state", MetricKind::kGauge, "What this run is at: 1 for one of the states.");
  constexpr std::array<std::string_view, 4> kNames{"running", "done", "interrupted", "failed"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    out.sample({{"state", kNames.at(i)}}, static_cast<std::size_t>(state) == i ? 1.0 : 0.0);
  }
}

}  // namespace hone::cli
