#pragma once
// Which values of the last few parameters a condition allows: bit sets, equal ones shared.

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/space/hashing.hpp"

namespace hone::space {

/// A set of combinations of some parameters; the first parameter's digit counts most.
using TableId = std::uint32_t;
inline constexpr TableId kAll = 0;                   ///< every combination
inline constexpr TableId kNone = ~std::uint32_t{0};  ///< no combination

class TruthTables {
 public:
  /// The table of `combinations` bits.
  TableId intern(std::size_t combinations, std::vector<std::uint64_t> bits);
  /// Combinations in both; both are over the same parameters.
  TableId intersect(TableId a, TableId b);
  /// What is left once the first of the parameters has its `digit`-th of `values` values.
  TableId restrict_first(TableId table, std::size_t digit, std::size_t values);

 private:
  struct Table {
    std::size_t combinations = 0;
    std::vector<std::uint64_t> bits;
    /// For a first parameter of so many values: by digit. Tables of equal bits are one whatever their parameters, 2 x 4 and 4 x 2.
    std::map<std::size_t, std::vector<TableId>> children;
  };
  static constexpr std::size_t words(std::size_t combinations) { return (combinations + 63) / 64; }

  std::vector<Table> tables_{1};
  std::unordered_map<std::vector<std::uint64_t>, TableId, RangeHash> known_;
  std::unordered_map<std::uint64_t, TableId> intersected_;
};

}  // namespace hone::space
