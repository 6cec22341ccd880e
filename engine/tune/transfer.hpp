#pragma once
// What is known of a kernel from elsewhere, as a strategy takes it.

#include <cstdint>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/plugin/strategy.hpp"
#include "engine/store/store.hpp"

namespace hone {

Observation observation_of(const Trial& trial);

/// The store's trials of the kernel for other shapes, dtypes and devices and in sessions other than `session`, as positions in `space`.
/// What is not in `space` is left out.
Result<std::vector<Prior>> priors(const KernelSpec& spec, const SearchSpace& space, Store& store, std::int64_t session);

/// The record by time of the problem of `key`, and the fastest trials that the store has of it on the same product, at most `most` of those
/// that are in `space`.
Result<std::vector<Count>> fastest_known(const RecordKey& key, const KernelSpec& spec, const SearchSpace& space, Store& store,
                                         std::size_t most);

}  // namespace hone
