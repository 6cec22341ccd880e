#include "plugins/cuda/call_graph.hpp"

#include <fmt/format.h>

namespace hone::cuda {
namespace {

constexpr unsigned int kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING: a capture must not meet what others do on the null stream
constexpr int kCaptureThreadLocal = 1;    // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

/// A stream of its own for one capture.
class CaptureStream {
 public:
  explicit CaptureStream(const DriverApi& api) : api_(api), status_(api.stream_create(&stream_, kNonBlocking)) {}
  ~CaptureStream() {
    if (status_ == status::kSuccess) {
      api_.stream_destroy(stream_);
    }
  }
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;

  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] StreamHandle handle() const { return stream_; }

 private:
  const DriverApi& api_;
  StreamHandle stream_ = nullptr;
  Status status_;
};

/// The calls as a graph; the caller destroys it.
Result<GraphHandle> captured(const DriverApi& api, const LoadedKernel& kernel, std::span<const GraphCall> calls) {
  const CaptureStream stream(api);
  Status status = stream.status();
  if (status == status::kSuccess) {
    status = api.stream_begin_capture(stream.handle(), kCaptureThreadLocal);
  }
  if (status != status::kSuccess) {
    return driver_error(api, status, "no capture on the device", ErrorCode::kUnavailable);
  }
  Result<void> launched;
  for (const GraphCall& call : calls) {
    launched = launched ? kernel.launch(stream.handle(), call.arguments) : launched;
  }
  GraphHandle graph = nullptr;
  status = api.stream_end_capture(stream.handle(), &graph);
  if (status == status::kSuccess && launched) {
    return graph;
  }
  if (graph != nullptr) {
    api.graph_destroy(graph);
  }
  if (!launched) {
    return Error{launched.error().code == ErrorCode::kDevice ? ErrorCode::kDevice : ErrorCode::kUnavailable, launched.error().message};
  }
  return driver_error(api, status, "the calls cannot be captured", ErrorCode::kUnavailable);
}

}  // namespace

Result<std::unique_ptr<CudaCallGraph>> CudaCallGraph::capture(CudaDevice& device, std::shared_ptr<PrimaryContext> context,
                                                              const LoadedKernel& kernel, std::span<const GraphCall> calls) {
  const DriverApi& api = context->api();
  const ContextScope scope(*context);
  HONE_ASSIGN(const GraphHandle graph, captured(api, kernel, calls));
  GraphExecHandle executable = nullptr;
  const Status status = api.graph_instantiate(&executable, graph, 0);
  api.graph_destroy(graph);
  if (status != status::kSuccess) {
    return driver_error(api, status, fmt::format("a graph of {} calls cannot be made", calls.size()), ErrorCode::kUnavailable);
  }
  return std::unique_ptr<CudaCallGraph>(new CudaCallGraph(device, std::move(context), executable, calls));
}

CudaCallGraph::CudaCallGraph(CudaDevice& device, std::shared_ptr<PrimaryContext> context, GraphExecHandle graph,
                             std::span<const GraphCall> calls)
    : device_(device), context_(std::move(context)), graph_(graph), calls_(calls.size()) {
  for (const GraphCall& call : calls) {
    preparations_.insert(preparations_.end(), call.preparations.begin(), call.preparations.end());
    watches_.insert(watches_.end(), call.watches.begin(), call.watches.end());
  }
}

CudaCallGraph::~CudaCallGraph() {
  const ContextScope scope(*context_);
  context_->api().graph_exec_destroy(graph_);
}

Result<TimedRuns> CudaCallGraph::time(int samples, std::uint64_t seed) {
  const auto run = [this](StreamHandle stream) -> Result<void> {
    const Status status = context_->api().graph_launch(graph_, stream);
    return status == status::kSuccess ? Result<void>() : driver_error(context_->api(), status, "a graph of calls cannot be launched");
  };
  HONE_ASSIGN(TimedRuns runs, device_.time_each(samples, {preparations_, watches_, seed, true}, run));
  for (double& us : runs.us) {
    us /= static_cast<double>(calls_);
  }
  return runs;
}

}  // namespace hone::cuda
