#pragma once
// A worker process as the tuner sees it: spawned, asked, watched, killed and reaped.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "engine/worker/child_process.hpp"
#include "engine/worker/replies.hpp"
#include "engine/worker/wire.hpp"
#include "hone/error.hpp"

namespace hone {

/// How long a request may take.
struct RequestLimits {
  /// Seconds that a stage may take; asked again while it lasts. A stage of waiting for the device is asked for every so many seconds, and
  /// may go on where this is infinite.
  std::function<double(const wire::Stage&)> stage;
  /// Of the whole request, but for waiting: a process that reports stage after stage ends too.
  double total = std::numeric_limits<double>::infinity();
  /// A process that works on the host's cores and had less than this share of one was not given the time, and is granted twice as much. 0:
  /// never.
  double cpu_share = 0.0;
  /// What a stage took, once it is over.
  std::function<void(const wire::Stage&, double seconds)> took = nullptr;

  /// The same for every stage and for the whole.
  static RequestLimits all(double seconds) {
    return {.stage = [seconds](const wire::Stage&) { return seconds; }};
  }
};

/// One process in a process group of its own (its compiler children die with it), joined by a socket pair.
/// Used by the thread that runs the io_context. Destruction kills the process; it is reaped without anybody waiting for it, as a device can
/// take seconds to let go of what ran on it.
class WorkerProcess {
 public:
  static Result<std::unique_ptr<WorkerProcess>> spawn(boost::asio::io_context& context, const WorkerCommand& command);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Sends one request; only one may be under way. `read` turns the reply into a value. `handler` gets it, or kTimeout (a limit passed; the
  /// process was killed), or kDevice (it died, or sent what `read` does not take and was killed). The message of an error names the last
  /// stage.
  template <class T>
  void request(const wire::Message& message, RequestLimits limits, Result<T> (*read)(const wire::Message&),
               std::function<void(Result<T>)> handler) {
    const auto value = std::make_shared<std::optional<T>>();
    ask(
        message, std::move(limits),
        [value, read](const wire::Message& reply) -> Result<void> {
          HONE_ASSIGN(*value, read(reply));
          return {};
        },
        [value, handler = std::move(handler)](const Result<void>& done) {
          handler(done ? Result<T>(std::move(**value)) : Result<T>(done.error()));
        });
  }

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
  /// The last that it reported.
  [[nodiscard]] const wire::Stage& stage() const;

 private:
  using Reader = std::function<Result<void>(const wire::Message&)>;
  using Handler = std::function<void(Result<void>)>;
  void ask(const wire::Message& message, RequestLimits limits, Reader read, Handler handler);

  struct State;
  explicit WorkerProcess(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace hone
