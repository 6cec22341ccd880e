#pragma once
// What NVRTC's log says: the resources of each kernel, and the first errors.

#include <map>
#include <string>
#include <string_view>

#include "engine/device/trial.hpp"

namespace hone::cuda {

/// Resources by symbol, from the lines that `--ptxas-options=-v` adds. Spills of called functions count for their kernel.
std::map<std::string, Resources, std::less<>> parse_resources(std::string_view log);

/// The first `limit` errors with the lines that explain them, and how many more there are. Empty if the log holds none.
std::string first_errors(std::string_view log, int limit = 3);

}  // namespace hone::cuda
