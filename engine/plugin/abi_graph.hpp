#pragma once
// A graph of calls on a plugin's device.

#include <memory>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/plugin/abi_kernel.hpp"

namespace hone::plugin_host {

class AbiGraph final : public CallGraph {
 public:
  /// `host` is the same device, for what is done to the arguments before a run. Errors: kUnavailable, it has no graphs or cannot make this
  /// one.
  static Result<std::unique_ptr<CallGraph>> create(std::shared_ptr<const OpenDevice> device, Device& host, const AbiKernel& kernel,
                                                   std::span<const GraphCall> calls);
  AbiGraph(std::shared_ptr<const OpenDevice> device, Device& host, void* handle, std::span<const GraphCall> calls);
  AbiGraph(const AbiGraph&) = delete;
  AbiGraph& operator=(const AbiGraph&) = delete;
  ~AbiGraph() override;

  Result<TimedRuns> time(int samples, std::uint64_t seed) override;

 private:
  std::shared_ptr<const OpenDevice> device_;
  Device& host_;
  void* handle_;
  std::vector<Preparation> preparations_;
  std::vector<Watch> watches_;
};

}  // namespace hone::plugin_host
