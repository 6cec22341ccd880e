#pragma once
// How a comparison looks: JSON, a table for the terminal, a page for the browser.

#include <filesystem>
#include <vector>

#include "cli/options.hpp"
#include "engine/compare/compare.hpp"

namespace hone::cli {

std::string_view name(CostUnit unit);
std::string_view name(Transfer transfer);

/// Places in CompareReport::strategies, best first: by the mean at the middle budget.
std::vector<std::size_t> ranking(const CompareReport& report);

Json comparison_json(const CompareRequest& request, const CompareReport& report);
std::string comparison_text(const CompareRequest& request, const CompareReport& report);
/// One self-contained page.
std::string comparison_html(const CompareRequest& request, const CompareReport& report);
Json traces_json(const CompareRequest& request, const CompareReport& report);

}  // namespace hone::cli
