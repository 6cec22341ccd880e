#pragma once
// How much of the host is ours.

#include <string_view>
#include <vector>

namespace hone {

/// The cores that this process may run on (its affinity, which taskset, Slurm and containers set); at least 1.
unsigned usable_cores();
/// Their numbers; empty where they cannot be had.
std::vector<int> usable_core_numbers();
/// The calling thread, and those that it starts, run on these cores alone, as far as they may already. None, or none that it may use:
/// nothing changes.
void run_on(const std::vector<int>& cores);
/// The cores of a list as Linux writes it: "0-3,8". What is no such list is empty.
std::vector<int> parse_cores(std::string_view list);

}  // namespace hone
