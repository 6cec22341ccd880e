#pragma once
// A worker process as the tuner sees it: spawned, asked, watched, killed and reaped.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "engine/worker/child_process.hpp"
#include "engine/worker/requests.hpp"
#include "hone/error.hpp"

namespace hone {

/// One process in a process group of its own (its compiler children die with it), joined by a socket pair.
/// Used by the thread that runs the io_context. Destruction kills the process; it is reaped without anybody waiting for it, as a device can
/// take seconds to let go of what ran on it.
class WorkerProcess final : public Requests {
 public:
  static Result<std::unique_ptr<WorkerProcess>> spawn(boost::asio::io_context& context, const WorkerCommand& command);
  ~WorkerProcess() override;
  /// The same process for whoever runs another io_context; this object has none any more. Null, and nothing changed, if it is not sound or
  /// its standard error is kept.
  std::unique_ptr<WorkerProcess> move_to(boost::asio::io_context& context);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Sends what is not answered, without waiting; what the socket does not take goes with the next request. A process that has ended is
  /// noticed by that.
  void post(const wire::Message& message);

  /// Kills it now; `gone` is called once it is reaped, or after `patience` seconds if it will not go.
  void kill(double patience, std::function<void()> gone);

  [[nodiscard]] bool busy() const;
  [[nodiscard]] bool alive() const;
  /// It waits for a request. One that has ended since its last reply, or has sent more than that, is not to be asked again.
  [[nodiscard]] bool is_sound() const;
  /// How it ended: "was killed by signal 11 (Segmentation fault)". Empty while it lives.
  [[nodiscard]] const std::string& end() const;
  /// What it called itself last (prctl(PR_SET_NAME)), also after its end: which function of somebody else's runs. Empty if nobody knows.
  [[nodiscard]] std::string called() const;
  /// The end of what it wrote to its standard error, in one line; empty unless its command keeps that.
  [[nodiscard]] std::string last_errors() const;
  [[nodiscard]] const wire::Stage& stage() const override;

 private:
  void ask(const wire::Message& message, RequestLimits limits, Reader read, Handler handler) override;

  struct State;
  explicit WorkerProcess(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace hone
