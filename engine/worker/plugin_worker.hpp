#pragma once
// The worker's side of a plugin: the shared object is opened here, and its strategies run here.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "engine/plugin/instance.hpp"
#include "engine/plugin/registry.hpp"
#include "engine/worker/space_wire.hpp"
#include "engine/worker/worker_channel.hpp"

namespace hone {

/// Has one plugin, and at most one running strategy of it at a time.
class PluginWorker {
 public:
  explicit PluginWorker(WorkerChannel& channel) : channel_(channel) {}

  /// Answers "open", which comes first, and all that may follow it.
  wire::Message answer(const wire::Message& request);

 private:
  wire::Message open(const wire::Message& request);
  wire::Message enumerate(const wire::Message& request) const;
  wire::Message compiler_version(const wire::Message& request) const;
  wire::Message energy_counter(const wire::Message& request) const;
  wire::Message keep_space(const wire::Message& request);
  wire::Message create(const wire::Message& request);
  /// Of a running strategy.
  wire::Message call(const std::string& function, const wire::Message& request);
  wire::Message answer_to(const std::string& operation, const wire::Message& request);
  [[nodiscard]] const DevicePlugin& device(const wire::Message& request) const;

  WorkerChannel& channel_;
  Registry registry_;
  std::map<std::uint64_t, wire::BuiltSpace> spaces_;
  std::unique_ptr<plugin_host::Instance> instance_;
  std::optional<plugin_host::Failure> tell_failure_;  ///< the first since the last reply
};

}  // namespace hone
