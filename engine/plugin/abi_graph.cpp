#include "engine/plugin/abi_graph.hpp"

#include <cmath>

#include "engine/plugin/host_fallback.hpp"

namespace hone::plugin_host {

Result<std::unique_ptr<CallGraph>> AbiGraph::create(std::shared_ptr<const OpenDevice> device, Device& host, const AbiKernel& kernel,
                                                    std::span<const GraphCall> calls) {
  const hone_device& table = device->table();
  if (table.create_graph == nullptr) {
    return device_error(table, "create_graph", ErrorCode::kUnavailable, "the device has no graphs");
  }
  std::vector<void* const*> arguments;
  for (const GraphCall& call : calls) {
    arguments.push_back(call.arguments.data());
  }
  HONE_ASSIGN(void* const handle, make(table, "create_graph", ErrorCode::kUnavailable, [&](void** made, hone_message* message) {
                return table.create_graph(device->handle(), kernel.handle(), arguments.data(), arguments.size(), made, message);
              }));
  return std::unique_ptr<CallGraph>(std::make_unique<AbiGraph>(std::move(device), host, handle, calls));
}

AbiGraph::AbiGraph(std::shared_ptr<const OpenDevice> device, Device& host, void* handle, std::span<const GraphCall> calls)
    : device_(std::move(device)), host_(host), handle_(handle) {
  for (const GraphCall& call : calls) {
    preparations_.insert(preparations_.end(), call.preparations.begin(), call.preparations.end());
    watches_.insert(watches_.end(), call.watches.begin(), call.watches.end());
  }
}

AbiGraph::~AbiGraph() {
  guarded_end([this] { device_->table().destroy_graph(handle_); });
}

Result<TimedRuns> AbiGraph::time(int samples, std::uint64_t seed) {
  const hone_device& table = device_->table();
  TimedRuns runs;
  for (int sample = 0; sample < samples; ++sample) {
    const Spots spots = spots_of_run(seed, static_cast<std::uint64_t>(sample));
    HONE_TRY(prepare_run(host_, preparations_, watches_, spots));
    double us = 0.0;
    HONE_TRY(call(table, "time_graph", ErrorCode::kLaunch, [&](hone_message* message) { return table.time_graph(handle_, &us, message); }));
    if (!(us > 0.0 && std::isfinite(us))) {
      return device_error(table, "time_graph", ErrorCode::kPlugin, fmt::format("a call took {} us", us));
    }
    runs.us.push_back(us);
    HONE_ASSIGN(const std::uint64_t unmended, host_.unmended(watches_, spots));
    runs.unmended += unmended;
  }
  return runs;
}

}  // namespace hone::plugin_host
