#pragma once
// What a strategy is told of the same kernel on other devices.

#include "engine/compare/space_table.hpp"

namespace hone::compare {

struct PriorSet {
  std::string source;  ///< the space it comes from; empty for none and for all
  std::vector<Prior> priors;
};

/// What the runs on tables[target] are given, one set after the other. None if `transfer` wants another device and there is none.
/// Transfer::kShuffled gives them as they are: shuffled() is for each run anew.
std::vector<PriorSet> prior_sets(const std::vector<SpaceTable>& tables, std::size_t target, Transfer transfer);

/// The outcomes of each prior, dealt out anew to its positions.
std::vector<Prior> shuffled(std::vector<Prior> priors, std::uint64_t seed);

}  // namespace hone::compare
