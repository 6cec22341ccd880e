#include "cli/anywhere.hpp"

#include "cli/registry.hpp"
#include "engine/store/store.hpp"

namespace hone::cli {
namespace {

/// A device of the store with this architecture: the one that has a record of the problem, else the latest.
Result<std::optional<DeviceInfo>> tuned_device(const std::string& architecture, const KernelSpec& spec, const Problem& problem,
                                               Store* store) {
  std::optional<DeviceInfo> found;
  if (store == nullptr) {
    return found;
  }
  HONE_ASSIGN(const std::vector<DeviceInfo> devices, store->devices());
  for (const DeviceInfo& device : devices) {
    if (device.architecture != architecture) {
      continue;
    }
    found = device;
    HONE_ASSIGN(const std::optional<Record> record, store->find_record(record_key(spec, problem, device), spec.parameters));
    if (record) {
      break;
    }
  }
  return found;
}

/// The device to compile for where it is not here: one that the store knows, else a typical one.
Result<Registry::Found> absent_device(const std::string& architecture, const KernelSpec& spec, const Problem& problem, Store* store) {
  HONE_ASSIGN(const std::optional<DeviceInfo> tuned, tuned_device(architecture, spec, problem, store));
  std::string reasons;
  for (const auto& plugin : registry().devices()) {
    if (tuned && tuned->plugin == plugin->name()) {
      return Registry::Found{plugin.get(), *tuned};
    }
    Result<DeviceInfo> typical = plugin->typical(architecture);
    if (typical && !tuned) {
      return Registry::Found{plugin.get(), *std::move(typical)};
    }
    if (!typical && typical.error().code != ErrorCode::kUnavailable) {
      reasons += (reasons.empty() ? "" : "; ") + typical.error().message;
    }
  }
  return Error{ErrorCode::kNotFound, reasons};
}

}  // namespace

void add_arch_option(cxxopts::Options& options) {
  options.add_options()("arch", "instead of --device: an architecture, which need not be on this machine, e.g. sm_90a",
                        cxxopts::value<std::string>(), "NAME");
}

Result<Target> find_target_anywhere(const cxxopts::ParseResult& arguments, const Subject& subject, Store* store) {
  if (arguments.count("arch") == 0) {
    return find_target(arguments, subject);
  }
  if (arguments.count("device") > 0) {
    return Error{ErrorCode::kInvalidArgument, "give --device for a device of this machine, or --arch for another one, not both"};
  }
  Target target;
  HONE_ASSIGN(target.problem, find_problem(arguments, subject));
  HONE_ASSIGN(target.device, absent_device(arguments["arch"].as<std::string>(), subject.spec, target.problem, store));
  return target;
}

}  // namespace hone::cli
