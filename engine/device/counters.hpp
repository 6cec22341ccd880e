#pragma once
// What a device's own counters say of one launch of a kernel.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hone {

enum class CounterUnit {
  kCount,
  kBytes,
  kMicroseconds,
  kShare,  ///< 0 to 1
};

/// A counter that Hone knows. Its name is that of reports and of JSON.
struct CounterKind {
  std::string_view name;
  std::string_view meaning;  ///< for people: "read from DRAM"
  CounterUnit unit = CounterUnit::kCount;
};
/// In the order of reports. Those that begin with `stall_` are shares of the time that warps were resident.
std::span<const CounterKind> counter_kinds();
/// Null: Hone knows none of this name.
const CounterKind* find_counter_kind(std::string_view name);

/// Of all passes of one launch together.
struct Counters {
  std::map<std::string, double, std::less<>> values;  ///< by name of a CounterKind; what the device does not count is not there
  int launches = 0;                                   ///< that it took: a device has few counters at a time
  std::string source;                                 ///< what counted: "CUPTI 13.0, GH100"

  [[nodiscard]] std::optional<double> find(std::string_view name) const;
};

}  // namespace hone
