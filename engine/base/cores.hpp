#pragma once
// How much of the host is ours.

namespace hone {

/// The cores that this process may run on (its affinity, which taskset, Slurm and containers set); at least 1.
unsigned usable_cores();

}  // namespace hone
