#pragma once
// hone tune --shapes: a portfolio for a range of shapes.

#include "cli/options.hpp"
#include "cli/telemetry.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {

void add_range_options(cxxopts::Options& options);
/// Errors: an option of ranges without --shapes.
Result<void> check_range_options(const cxxopts::ParseResult& arguments);

/// What --shapes asks for; `common` has what every session of it takes.
Result<Output> tune_range(const cxxopts::ParseResult& arguments, const Operation& operation, TuneRequest common, Telemetry& telemetry);

/// An operation of one kernel.
Operation alone(const KernelSpec& spec);

}  // namespace hone::cli
