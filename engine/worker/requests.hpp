#pragma once
// Whoever answers requests, one at a time: a process of this host, or a worker behind the queue of a store.

#include <functional>
#include <limits>
#include <memory>
#include <optional>

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

class Requests {
 public:
  virtual ~Requests() = default;

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
  /// The last that it reported.
  [[nodiscard]] virtual const wire::Stage& stage() const = 0;

 protected:
  using Reader = std::function<Result<void>(const wire::Message&)>;
  using Handler = std::function<void(Result<void>)>;

 private:
  virtual void ask(const wire::Message& message, RequestLimits limits, Reader read, Handler handler) = 0;
};

}  // namespace hone
