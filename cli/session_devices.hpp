#pragma once
// What a session runs on: devices of this host, and those of workers that are attached to its store.

#include <cxxopts.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/plugin/registry.hpp"
#include "engine/tune/session.hpp"

namespace hone::cli {

/// --workers.
void add_workers_option(cxxopts::Options& options);

struct SessionDevices {
  std::vector<Registry::Found> devices;     ///< at least one; of `own` false, what the workers have
  std::optional<std::string> workers = {};  ///< the store whose workers take part
  bool own = true;
};
/// --device and --workers; without either `otherwise`, else the best device that is here. With --workers alone no device of this host takes
/// part, and a worker is waited for. Errors: as Registry::devices and attached_device; the store is a file.
Result<SessionDevices> find_session_devices(const cxxopts::ParseResult& arguments, const std::string& otherwise = "");

/// Has the request run on them.
void set_devices(TuneRequest& request, const SessionDevices& chosen);

}  // namespace hone::cli
