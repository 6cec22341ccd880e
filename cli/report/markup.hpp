#pragma once
// Pieces of a page: headings, paragraphs, tables, figures. Everything that is passed as text is escaped.

#include <string>
#include <string_view>
#include <vector>

#include "cli/report/svg.hpp"

namespace hone::cli::page {

/// Rows of text; the first column names its row.
struct Table {
  std::string caption;  ///< for all readers
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> strong = {};  ///< rows that stand out
  std::vector<std::size_t> words = {};   ///< columns of text besides the first; the others are numbers
};

std::string html(const Table& table);
/// A picture with a sentence below it.
std::string figure(const Svg& svg, std::string_view caption);
std::string paragraph(std::string_view text);
/// "<h2 id=...>": levels 1 to 6.
std::string heading(int level, std::string_view text, std::string_view id = "");
/// A command to copy.
std::string command(std::string_view text);
/// Names with what they are.
std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs);
/// What opens at a click; printed open.
std::string details(std::string_view summary, const std::string& body);

/// The page around a body.
std::string document(std::string_view title, const std::string& body);

}  // namespace hone::cli::page
