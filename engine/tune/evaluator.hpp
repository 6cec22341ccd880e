#pragma once
// What turns proposed configurations into trials.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/tune/session.hpp"
#include "engine/tune/session_event.hpp"

namespace hone {

/// One that may win, for the final round.
struct Candidate {
  Trial trial;
  bool required = false;  ///< the default, the standing record and what serves without one: the others are compared with them
};

/// Of several evaluators that take turns on the same devices.
struct Beside {
  int evaluators = 1;  ///< this one included
  /// The ids of the devices that left, which all of them keep to: their final rounds are on the same one.
  std::shared_ptr<std::set<std::string>> left = std::make_shared<std::set<std::string>>();
  std::int64_t session = 0;  ///< in the store, that the evaluator is for
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// How many more proposals it can use now to keep its devices busy.
  [[nodiscard]] virtual std::size_t wanted() const = 0;
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
  /// Where those in flight are.
  [[nodiscard]] virtual Pipeline pipeline() const { return {.measuring = in_flight()}; }
  /// The very first one is measured before any other.
  virtual void submit(std::vector<Proposal> proposals) = 0;
  /// Seconds since it was made; in a replay, the recorded seconds of what it answered.
  [[nodiscard]] virtual double elapsed() const = 0;
  /// Waits until a trial or a control has finished or elapsed() reaches `until`, and returns the finished trials. An Error ends the
  /// session.
  virtual Result<std::vector<Trial>> wait(double until) = 0;
  /// Runs `work`, a strategy's thinking say, while what was submitted goes on. `work` must not use the evaluator.
  virtual void meanwhile(const std::function<void()>& work) { work(); }
  /// Forgets what is not on the device yet and waits for the trial that is.
  virtual Result<std::vector<Trial>> drain() = 0;
  /// For racing.
  virtual void set_incumbent(const Incumbent& incumbent) = 0;
  /// When the session is to end, on the clock of elapsed(): no trial is granted more than a share of what is left, and drain() waits no
  /// longer.
  virtual void set_end(double /*seconds*/) {}
  /// What serves the problem now: once it is compiled it is measured before what waits, and has the default's time also when the session
  /// is to end.
  virtual void set_serving(Count /*position*/) {}
  /// The default's trial, where it ran in an earlier part of the session.
  virtual void resume(const Trial& /*standard*/) {}
  /// Configurations whose outcomes are known from an earlier run of the session, though it does not have them: they cost nothing.
  [[nodiscard]] virtual std::vector<Configuration> leftovers() const { return {}; }
  /// A device that took part, by its id; null: it is one of the request's.
  [[nodiscard]] virtual const DeviceInfo* device(const std::string& /*id*/) const { return nullptr; }
  /// On several devices: what their controls came to since it was last asked, and which devices left.
  virtual std::vector<Control> take_controls() { return {}; }
  /// Validates candidates on fresh inputs and times them interleaved. They come in order of preference; the first `most` take part, with
  /// all that are required. Who fails, crashes or hangs is dropped, and when none but the required are left, the next best come in. One
  /// entry for each that took part: kOk with its new measurement, or why it failed. `share`: of the time that such a round has for timing,
  /// below 1 where several evaluators of a session have one.
  virtual Result<std::vector<Trial>> finals(const std::vector<Candidate>& candidates, std::size_t most, double share) = 0;
  /// What the first trial brought to light that people should know.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  // ---- of one that takes turns with others on a device ----

  /// Lets what is under way go on, without waiting for it.
  virtual void poll() {}
  /// Held, it compiles and brings nothing to the device; what is there already ends.
  virtual void hold(bool /*held*/) {}
  /// How many processes may compile.
  virtual void set_compilers(std::size_t /*most*/) {}
  [[nodiscard]] virtual bool is_on_device() const { return false; }
  /// A trial is ready for a device that is ready for it, or would be but for hold().
  [[nodiscard]] virtual bool can_measure() const { return in_flight() > 0; }
  /// Times configurations that its final round found right again, interleaved, each for about so many seconds; with `graphs`, as graphs of
  /// calls whatever they take. For a comparison with another evaluator's.
  virtual Result<std::vector<Trial>> time_again(const std::vector<Trial>& trials, double /*seconds_each*/, bool /*graphs*/) {
    return trials;
  }

  /// What the device's counters say of a configuration that was found right (Device::count). The last that is asked of an evaluator.
  /// Errors: also those of a process that ended while it counted.
  virtual Result<Counters> count(const Trial& trial);

  /// Seconds, summed over the devices, in which they had a trial or a control.
  [[nodiscard]] virtual double busy_seconds() const { return 0.0; }
  /// Share of the time since the first trial began in which the device had no trial.
  [[nodiscard]] virtual double device_idle() const = 0;
};

/// What a session that was asked to stop ends with.
inline Error cancelled() { return {ErrorCode::kCancelled, "asked to stop before it was done"}; }

/// Processes that compile for a session. Where several devices measure, each keeps a core: what launches and times must not wait for a
/// compiler.
int compile_workers(const TuneRequest& request);

/// Compiles in a pool of worker processes ahead of those that measure, one on each of the request's devices.
Result<std::unique_ptr<Evaluator>> make_live_evaluator(const TuneRequest& request, Store* store, const Beside& beside = {});
/// Answers from the request's recorded space at once; on several devices as long as the recorded trials would take side by side.
std::unique_ptr<Evaluator> make_replay_evaluator(const TuneRequest& request);

}  // namespace hone
