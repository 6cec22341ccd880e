#pragma once
// How alike configurations are, for designs that have all parts of each parameter's values equally often.

#include <vector>

#include "hone/plugin.hpp"
#include "search/candidates.hpp"

namespace hone::search {

/// The terms of one dimension of the wrap-around discrepancy (Hickernell 1998, doi:10.1090/S0025-5718-98-00894-1): for each parameter 1/4
/// where two configurations have the same value, less the further apart the values are, and 0 for half the range, which ends where it
/// begins. So no value is preferred, unlike in designs of largest distances, which lie in the corners. A value is placed by the share of
/// the candidates that have a smaller one.
class Balance {
 public:
  Balance(plugin::Space space, const Candidates& candidates);
  [[nodiscard]] float likeness(const plugin::Digits& a, const plugin::Digits& b) const;

 private:
  /// By parameter and digit; for labels empty.
  std::vector<std::vector<float>> places_;
};

}  // namespace hone::search
