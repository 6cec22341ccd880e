#pragma once
// The worker process, which runs everything that can crash or hang.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/library.hpp"
#include "engine/kernel/kernel_spec.hpp"
#include "engine/plugin/registry.hpp"

namespace hone {

class IdleWorkers;

/// Where hone-worker is: $HONE_WORKER, which must be one; else beside the library or the program, where they were installed together, where
/// Hone was configured to go, or beside a `hone` in PATH. Error: the places that were tried.
Result<std::filesystem::path> find_worker();

/// Serves requests on `socket` until its peer closes it: the body of the worker process. `registry` is what it has before a tuner names the
/// plugin of its device. Returns the process's exit code.
int serve_worker(int socket, Registry registry);

/// read_kernel_file in a worker process, with a deadline and limits of memory: for a file that nobody vouches for.
Result<KernelSpec> read_kernel_file_in_worker(const std::filesystem::path& file, const ReadOptions& options = {});

/// library_spec_for in a worker process, with a deadline: it opens the device, unless it is one of `idle_workers`. Errors: as there.
Result<KernelSpec> library_spec_in_worker(const LibraryKernel& library, const Registry::Found& device, const Problem& problem,
                                          IdleWorkers* idle_workers = nullptr);

}  // namespace hone
