#pragma once
// How much the configurations of a portfolio's members differ.

#include <string_view>
#include <vector>

namespace hone {

/// The values of a configuration, "bm=64,async=true", in its order. Words are told apart by their text.
struct MemberValues {
  std::vector<std::string_view> texts;  ///< parts of the configuration's text, which must live as long
  std::vector<double> logarithms;       ///< to the base 2; not a number for a word
};

MemberValues values_of(std::string_view configuration);

/// How much two configurations of a kernel differ: for each value that differs 1/2 and, of numbers, 1/6 for each power of two (at most
/// three), else 1/6. Infinite: they have not as many values.
double difference(const MemberValues& a, const MemberValues& b);

}  // namespace hone
