#pragma once
// The process that measures, as the evaluator sees it: from opening its device to taking trials.

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/tune/wire.hpp"
#include "engine/tune/worker_process.hpp"

namespace hone {

/// Starts everything at once: the device opens in one process while the reference compiles in another; then the first gets the buffers and
/// the reference, and takes requests. Nothing here waits: it all happens while somebody runs the io_context.
class MeasuringProcess {
 public:
  struct Events {
    std::function<void()> ready;                                 ///< it takes requests now
    std::function<void(Error)> failed;                           ///< it never will
    std::function<Result<void>(const Compiled&)> has_reference;  ///< the reference was compiled: to be kept
  };

  /// `setup` is the first request to every worker, without "measure".
  MeasuringProcess(boost::asio::io_context& context, std::filesystem::path executable, wire::Message setup, Events events);

  /// Begins, with the compiled reference where there is one.
  Result<void> start(const std::optional<Compiled>& reference);
  /// Begins again where the process is gone. The reference is kept.
  Result<void> revive();
  /// Kills the process.
  void drop() { worker_.reset(); }

  [[nodiscard]] bool alive() const { return worker_ != nullptr && worker_->alive(); }
  [[nodiscard]] bool ready() const { return alive() && stage_ == Stage::kReady; }
  /// Only when it is ready, and one at a time.
  void request(const wire::Message& message, std::chrono::duration<double> deadline, WorkerProcess::Handler handler) {
    worker_->request(message, deadline, std::move(handler));
  }

 private:
  /// The device opens, is open, gets the buffers and the reference, takes trials.
  enum class Stage { kOpening, kOpen, kFilling, kReady };

  bool failed(const Result<wire::Message>& reply, std::string_view what) const;
  Result<void> compile_reference();
  void reference_compiled(const Result<wire::Message>& reply);
  void make_bench();

  boost::asio::io_context& context_;
  std::filesystem::path executable_;
  wire::Message setup_;
  Events events_;
  std::unique_ptr<WorkerProcess> reference_compiler_, worker_;
  std::optional<wire::Message> reference_;  ///< compiled
  Stage stage_ = Stage::kOpening;
};

}  // namespace hone
