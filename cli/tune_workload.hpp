#pragma once
// hone tune --workload: all problems of a workload under one budget.

#include "cli/options.hpp"
#include "cli/telemetry.hpp"

namespace hone::cli {

void add_workload_options(cxxopts::Options& options);
/// Errors: an option of a workload without one.
Result<void> check_workload_options(const cxxopts::ParseResult& arguments);

/// What --workload asks for. Errors: a file that is no workload, options of one problem beside it, nothing that could be tuned.
Result<Output> tune_workload(const cxxopts::ParseResult& arguments, Telemetry& telemetry);

}  // namespace hone::cli
