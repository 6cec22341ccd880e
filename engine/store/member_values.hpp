#pragma once
// How much the configurations of a portfolio's members differ.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

/// The values of a configuration, "bm=64,async=true", each with its name, in its order. Without a sign all is the value.
std::vector<std::pair<std::string_view, std::string_view>> named_values(std::string_view configuration);

/// The same, for comparisons.
struct MemberValues {
  std::vector<std::uint32_t> words;  ///< the same number where configurations have the same text
  std::vector<double> logarithms;    ///< to the base 2; not a number for what is no number above 0
};

/// Of several configurations, which are then compared with each other.
std::vector<MemberValues> values_of(std::span<const std::string_view> configurations);

/// How much two configurations of a kernel differ: for each value that differs 1/2 and, of numbers, 1/6 for each power of two (at most
/// three), else 1/6. Infinite: they have not as many values.
double difference(const MemberValues& a, const MemberValues& b);

}  // namespace hone
