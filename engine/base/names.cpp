#include "hone/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace hone {
namespace {

/// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string unknown_name(std::string_view what, std::string_view given, std::span<const std::string> known) {
  std::string message = fmt::format("unknown {} '{}'", what, given);
  if (known.empty()) {
    return message + fmt::format(": there is no {} to choose from", what);
  }
  const auto nearest = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(given, a) < edit_distance(given, b);
  });
  if (edit_distance(given, *nearest) <= std::max<std::size_t>(1, given.size() / 3)) {
    message += fmt::format("; did you mean '{}'?", *nearest);
  }
  return message + fmt::format(" (known: {})", fmt::join(known, ", "));
}

}  // namespace hone
