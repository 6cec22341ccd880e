#pragma once
// The worker process, which runs everything that can crash or hang.

#include <filesystem>

#include "hone/registry.hpp"

namespace hone {

/// Where hone-worker is: $HONE_WORKER, beside the running executable, or where Hone was installed. Error: the places that were tried.
Result<std::filesystem::path> find_worker();

/// Serves requests on `socket` until its peer closes it: the body of the worker process. `registry` is what it has before a tuner names the
/// plugin of its device. Returns the process's exit code.
int serve_worker(int socket, Registry registry);

}  // namespace hone
