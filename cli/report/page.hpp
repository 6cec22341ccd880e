#pragma once
// A report of sessions as one page that needs nothing else: no network, no script.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/report/session_study.hpp"

namespace hone::cli::page {

/// The answer first, then how it came about; several sessions are compared at the top.
std::string report_page(std::span<const report::SessionStudy> studies);

/// The pictures of the page as files: (name without ending, SVG text).
std::vector<std::pair<std::string, std::string>> picture_files(std::span<const report::SessionStudy> studies);

/// What was won, in a sentence: "1.84× faster than the default: 84.21 µs instead of 155.0 µs".
std::string answer_text(const report::SessionStudy& study);

}  // namespace hone::cli::page
