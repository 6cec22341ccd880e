#include "engine/base/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace hone {
namespace {

/// Levenshtein distance, with two neighbours exchanged as one edit: the most frequent slip of fingers.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

/// What was meant by `given`: a known name a slip or two away, else one of which it is the beginning; null if nothing is like it.
const std::string* meant(std::string_view given, std::span<const std::string> known) {
  if (given.find_first_not_of("0123456789.-") == std::string_view::npos) {
    return nullptr;  // another number is no misspelling
  }
  const auto distance = [&](const std::string& name) { return std::pair(edit_distance(given, name), !name.starts_with(given)); };
  const auto nearest =
      std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (edit_distance(given, *nearest) <= std::max<std::size_t>(1, given.size() / 3)) {
    return &*nearest;
  }
  constexpr std::size_t kShortestBeginning = 3;
  const auto longer = std::find_if(known.begin(), known.end(), [&](const std::string& name) { return name.starts_with(given); });
  return given.size() >= kShortestBeginning && longer != known.end() ? &*longer : nullptr;
}

}  // namespace

std::string unknown_name(std::string_view what, std::string_view given, std::span<const std::string> known) {
  std::string message = fmt::format("unknown {} '{}'", what, given);
  if (known.empty()) {
    return message + fmt::format(": there is no {} to choose from", what);
  }
  if (const std::string* const name = meant(given, known)) {
    message += fmt::format("; did you mean '{}'?", *name);
  }
  return message + fmt::format(" (known: {})", fmt::join(known, ", "));
}

}  // namespace hone
