#pragma once
// What turns proposed configurations into trials.

#include <memory>
#include <optional>
#include <vector>

#include "hone/session.hpp"

namespace hone {

struct Proposal {
  Count position = 0;
  Configuration configuration;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// How many more proposals it can use now to keep the device busy.
  [[nodiscard]] virtual std::size_t wanted() const = 0;
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  /// The very first one is measured before any other.
  virtual void submit(std::vector<Proposal> proposals) = 0;
  /// Seconds since it was made; in a replay, the recorded seconds of what it answered.
  [[nodiscard]] virtual double elapsed() const = 0;
  /// Waits until a trial has finished or elapsed() reaches `until`, and returns the finished ones. An Error ends the session.
  virtual Result<std::vector<Trial>> wait(double until) = 0;
  /// Forgets what is not on the device yet and waits for the trial that is.
  virtual Result<std::vector<Trial>> drain() = 0;
  /// The fastest right configuration so far, for racing.
  virtual void set_incumbent(double time_us) = 0;
  /// Validates the finalists on fresh inputs and times them interleaved. One entry each: kOk with its new measurement, or why it failed.
  virtual Result<std::vector<Trial>> finals(const std::vector<Trial>& finalists) = 0;
  /// Share of the time since the first trial began in which the device had no trial.
  [[nodiscard]] virtual double device_idle() const = 0;
};

/// What a session that was asked to stop ends with.
inline Error cancelled() { return {ErrorCode::kCancelled, "the session was asked to stop; the same request goes on with it"}; }

/// Compiles in a pool of worker processes ahead of the one that measures.
Result<std::unique_ptr<Evaluator>> make_live_evaluator(const TuneRequest& request, Store* store);
/// Answers from a recorded space at once.
std::unique_ptr<Evaluator> make_replay_evaluator(const RecordedSpace& recorded);

}  // namespace hone
