#pragma once
// Compiles into a store what it lacks of a kernel.

#include <stop_token>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/store/store.hpp"
#include "engine/worker/wire.hpp"

namespace hone {

/// The first request to a worker of a kernel: what it compiles or measures. `shared_by`: kernels that are measured on the device at once.
wire::Message worker_setup(const Registry::Found& device, const KernelSpec& spec, const Problem& problem, const MeasureSettings& settings,
                           std::uint64_t seed, int shared_by = 1);

struct MissingCode {
  std::size_t compiled = 0;
  std::vector<Trial> failed;  ///< configuration, outcome, detail and seconds of what cannot be compiled
};

/// Those of the configurations whose code the store lacks, by as many processes as the host has cores, or `workers` (0: as many). Asked to
/// stop, it returns what it has. Errors: a worker cannot be started, the compiler is missing, a store failure.
Result<MissingCode> compile_missing(const Registry::Found& device, const KernelSpec& spec, const Problem& problem,
                                    const std::vector<Configuration>& configurations, Store& store, int workers,
                                    const std::stop_token& stop = {});

}  // namespace hone
