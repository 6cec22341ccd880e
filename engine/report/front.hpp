#pragma once
// Time against energy: of which configurations no other is better in both.

#include <span>
#include <vector>

#include "engine/device/trial.hpp"

namespace hone::report {

/// Among the right trials whose time and energy were measured to the end, those that none beats in both: the fastest first, the one with
/// the least energy last. Medians decide; intervals are for who reads it.
std::vector<std::size_t> time_energy_front(std::span<const Trial> trials);

}  // namespace hone::report
