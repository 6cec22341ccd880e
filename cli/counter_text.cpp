#include "cli/counter_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "cli/present.hpp"

namespace hone::cli {
namespace {

constexpr std::size_t kMostStalls = 4;
constexpr double kLeastStall = 0.01;

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

/// Thousands, millions, ... in three digits.
std::string scaled_text(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 5> kPrefixes{"", "k", "M", "G", "T"};
  std::size_t power = 0;
  for (; value >= 999.5 && power + 1 < kPrefixes.size(); ++power) {
    value /= 1000.0;
  }
  const int decimals = power == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}{}{}", value, decimals, power > 0 || !unit.empty() ? " " : "", kPrefixes[power], unit);
}

/// What several counters say, joined; those that are not known are left out.
class CounterLine {
 public:
  explicit CounterLine(const Counters& counters) : counters_(counters) {}
  CounterLine& add(std::string_view name) {
    const CounterKind* const kind = find_counter_kind(name);
    if (const auto value = counters_.find(name)) {
      text_ += fmt::format("{}{} {}", text_.empty() ? "" : ", ", value_text(*kind, *value), kind->meaning);
    }
    return *this;
  }
  [[nodiscard]] std::string labelled(std::string_view label) const { return text_.empty() ? "" : fmt::format("{:<14} {}\n", label, text_); }

 private:
  const Counters& counters_;
  std::string text_;
};

/// What warps spent their time on, the most first.
std::string stall_lines(const Counters& counters) {
  std::vector<std::pair<double, const CounterKind*>> stalls;
  for (const CounterKind& kind : counter_kinds()) {
    const auto value = counters.find(kind.name);
    if (kind.name.starts_with("stall_") && value && *value >= kLeastStall) {
      stalls.emplace_back(*value, &kind);
    }
  }
  std::ranges::stable_sort(stalls, std::greater<>(), &std::pair<double, const CounterKind*>::first);
  stalls.resize(std::min(stalls.size(), kMostStalls));
  std::string lines;
  for (const auto& [share, kind] : stalls) {
    lines += fmt::format("{:<14} {} {}\n", lines.empty() ? "  warps were" : "", percent(share), kind->meaning);
  }
  return lines;
}

}  // namespace

Json json(const Counters& counters) {
  Json values = Json::object();
  for (const CounterKind& kind : counter_kinds()) {
    if (const auto value = counters.find(kind.name)) {
      values[std::string(kind.name)] = *value;
    }
  }
  return values;
}

std::string bytes_text(double bytes) { return scaled_text(bytes, "B"); }

std::string value_text(const CounterKind& kind, double value) {
  switch (kind.unit) {
    case CounterUnit::kBytes:
      return bytes_text(value);
    case CounterUnit::kMicroseconds:
      return duration(value);
    case CounterUnit::kShare:
      return percent(value);
    case CounterUnit::kCount:
      break;
  }
  return scaled_text(value, "");
}

std::string counter_lines(const Counters& counters) {
  const auto line = [&] { return CounterLine(counters); };
  return fmt::format("{:<14} {}, in {} launches\n", "counters", counters.source, counters.launches) +
         line().add("time_us").labelled("  time") +
         line().add("dram_read_bytes").add("dram_write_bytes").add("dram_share").labelled("  DRAM") +
         line().add("l2_read_bytes").add("l2_write_bytes").add("l2_share").add("l2_hit_rate").labelled("  L2") +
         line().add("l1_hit_rate").labelled("  L1") + line().add("tensor_pipe").add("fma_pipe").labelled("  pipes") +
         line().add("instructions").add("issue_slots").labelled("  instructions") + line().add("occupancy").labelled("  occupancy") +
         line().add("shared_wavefronts").add("shared_conflicts").labelled("  shared memory") + stall_lines(counters);
}

}  // namespace hone::cli
