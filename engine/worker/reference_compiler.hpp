#pragma once
// Compiles the reference in a process of its own.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "engine/worker/worker_process.hpp"

namespace hone {

/// Nothing here waits: it all happens while somebody runs the io_context.
class ReferenceCompiler {
 public:
  using Handler = std::function<void(Result<Compiled>)>;
  /// `setup` is the first request to every worker, without "measure". `limits` are of each of its two steps.
  static Result<std::unique_ptr<ReferenceCompiler>> start(boost::asio::io_context& context, const std::filesystem::path& executable,
                                                          wire::Message setup, std::function<RequestLimits()> limits, Handler handler);

 private:
  ReferenceCompiler(std::unique_ptr<WorkerProcess> process, Handler handler) : process_(std::move(process)), handler_(std::move(handler)) {}
  void compiled(const Result<wire::CompileResult>& reply) const;

  std::unique_ptr<WorkerProcess> process_;
  Handler handler_;
};

}  // namespace hone
