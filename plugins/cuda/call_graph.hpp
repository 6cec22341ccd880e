#pragma once
// Calls of a kernel as a CUDA graph: the host launches them all at once.

#include <memory>
#include <span>
#include <vector>

#include "plugins/cuda/cuda_device.hpp"

namespace hone::cuda {

class CudaCallGraph final : public CallGraph {
 public:
  /// Errors: kUnavailable, a call cannot be captured.
  static Result<std::unique_ptr<CudaCallGraph>> capture(CudaDevice& device, std::shared_ptr<PrimaryContext> context,
                                                        const LoadedKernel& kernel, std::span<const GraphCall> calls);
  ~CudaCallGraph() override;
  CudaCallGraph(const CudaCallGraph&) = delete;
  CudaCallGraph& operator=(const CudaCallGraph&) = delete;

  Result<TimedRuns> time(int samples, std::uint64_t seed) override;

 private:
  CudaCallGraph(CudaDevice& device, std::shared_ptr<PrimaryContext> context, GraphExecHandle graph, std::span<const GraphCall> calls);

  CudaDevice& device_;
  std::shared_ptr<PrimaryContext> context_;
  GraphExecHandle graph_;
  std::vector<Preparation> preparations_;  ///< of all calls
  std::vector<Watch> watches_;
  std::size_t calls_;
};

}  // namespace hone::cuda
