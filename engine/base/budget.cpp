#include "hone/budget.hpp"

#include <fmt/format.h>

#include <charconv>

namespace hone {
namespace {

constexpr double kMost = 1e9;  // thirty years in seconds; what is more is a mistake

Error unreadable(std::string_view part) {
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("budget: '{}' cannot be read; give a time or trials, each once and less than 10^9, e.g. 30s, 5m, 200trials", part)};
}

}  // namespace

Result<Budget> parse_budget(std::string_view text) {
  Budget budget{.seconds = std::nullopt, .trials = std::nullopt};
  std::string_view rest = text;
  do {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    double number = 0.0;
    const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(part.data() + part.size() - end));
    if (status != std::errc() || !(number > 0.0 && number < kMost)) {
      return unreadable(part);
    }
    if (!budget.seconds && (unit == "s" || unit == "m" || unit == "h")) {
      budget.seconds = number * (unit == "s" ? 1.0 : unit == "m" ? 60.0 : 3600.0);
    } else if (!budget.trials && (unit == "trials" || unit == "trial") &&
               number == static_cast<double>(static_cast<std::int64_t>(number))) {
      budget.trials = static_cast<std::int64_t>(number);
    } else {
      return unreadable(part);
    }
  } while (!rest.empty());
  return budget;
}

std::string text(const Budget& budget) {
  std::string joined;
  if (budget.seconds) {
    joined = fmt::format("{}s", *budget.seconds);
  }
  if (budget.trials) {
    joined += fmt::format("{}{}trials", joined.empty() ? "" : ",", *budget.trials);
  }
  return joined;
}

}  // namespace hone
