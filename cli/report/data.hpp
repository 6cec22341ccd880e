#pragma once
// A report for programs and spreadsheets: JSON, CSV, and a few lines for the terminal.

#include <span>
#include <string>

#include "cli/options.hpp"
#include "engine/report/session_study.hpp"

namespace hone::cli::page {

Json json(const report::SessionStudy& study);
/// A row for each trial, a column c.NAME for each parameter of any of the sessions, with a header (RFC 4180).
std::string csv(std::span<const report::SessionStudy> studies);
/// The answer in a few lines, in ASCII.
std::string summary_text(const report::SessionStudy& study);

}  // namespace hone::cli::page
