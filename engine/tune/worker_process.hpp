#pragma once
// A worker process as the tuner sees it: spawned, asked, watched, killed and reaped.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

#include "engine/tune/wire.hpp"
#include "hone/error.hpp"
#include "hone/worker.hpp"

namespace hone {

/// One process in a process group of its own (its compiler children die with it), joined by a socket pair.
/// Used by the thread that runs the io_context. Destruction kills the process.
class WorkerProcess {
 public:
  static Result<std::unique_ptr<WorkerProcess>> spawn(boost::asio::io_context& context, const std::filesystem::path& executable);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// The reply, or kTimeout (the deadline passed; the process was killed), or kDevice (it died; the message says how). The message of an
  /// error names the last stage that the worker reported.
  using Handler = std::function<void(Result<wire::Message>)>;

  /// Sends one request; only one may be under way. Each stage that the worker reports starts the deadline anew, or a shorter one that the
  /// worker names; none runs while it waits for its turn on the device.
  void request(const wire::Message& message, std::chrono::duration<double> deadline, Handler handler);

  [[nodiscard]] bool busy() const;
  [[nodiscard]] bool alive() const;

 private:
  struct State;
  explicit WorkerProcess(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace hone
