#pragma once
// The settings of a portfolio's rule, from its measurements.

#include "engine/store/portfolio.hpp"

namespace hone {

/// The settings under which the rule, each point left out in turn, chooses best, with the spread and the deviation that it then has.
RuleSettings fit_settings(const Portfolio& portfolio);

}  // namespace hone
