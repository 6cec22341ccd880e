#pragma once
// How many samples a timing takes.

#include <vector>

#include "engine/measure/measure.hpp"

namespace hone {

/// Times in microseconds, of each of the configurations that are timed together.
using Samples = std::vector<std::vector<double>>;

/// The number of samples to take next of each configuration; 0 if there are enough. It doubles from race_samples on, within the time that
/// is left. The time counts that was spent since the first sample (`elapsed_us`), not only the samples: on a host, flushing the cache takes
/// longer than a small kernel.
int next_batch(const Samples& samples, const MeasureSettings& settings, double elapsed_us);

void append(Samples& samples, const Samples& batch);

}  // namespace hone
