#pragma once
// What a worker does with the work that it takes from a queue.

#include <cstdint>
#include <functional>

#include "engine/worker/wire.hpp"

namespace hone {

/// Nothing here waits: it all happens while somebody runs the io_context.
class WorkService {
 public:
  /// {"reply": ...}; {"error": ..., "stage": ...}, which is the work's doing; or {"unable": error}, which is not.
  using Answered = std::function<void(wire::Message)>;
  virtual ~WorkService() = default;

  /// Whether it was set up for an assignment before, and still is.
  [[nodiscard]] virtual bool knows(std::int64_t assignment) const = 0;
  /// `setup` is the first request to every worker process of the assignment, `reference` the compiled one, if it has one.
  virtual Result<void> set_up(std::int64_t assignment, wire::Message setup, const wire::Message& reference) = 0;
  /// One at a time, of an assignment that it knows.
  virtual void begin(std::int64_t assignment, const wire::Message& request, Answered answered) = 0;
  /// Ends what it is at; nobody waits for an answer.
  virtual void cancel() = 0;
};

}  // namespace hone
