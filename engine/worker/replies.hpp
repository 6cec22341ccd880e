#pragma once
// What workers answer, as values. A kernel can scribble over its process and make it send anything, so every reply is read here, once, and
// one of the wrong shape is an Error.

#include <optional>
#include <string>
#include <vector>

#include "engine/worker/wire.hpp"

namespace hone::wire {

/// What a worker says it does next. Not the end of a request.
struct Stage {
  enum class Kind { kWork, kReference, kWaiting } kind = Kind::kWork;
  std::string name;
  std::optional<double> within = std::nullopt;         ///< seconds, where the tuner would wait longer
  double expected = 0.0;                               ///< seconds it will take if all is well; 0: not known
  std::optional<std::size_t> finalist = std::nullopt;  ///< whose doing it is, by its place in the request for a final round
};
Message to_message(const Stage& stage);
[[nodiscard]] bool is_stage(const Message& message);
Result<Stage> read_stage(const Message& message);

/// Done, or why not.
struct Done {
  std::optional<Error> error;
  std::uint64_t bytes = 0;  ///< of device memory that its buffers take
};
Result<Done> read_done(const Message& message);

struct TrialResult {
  Trial trial;
  bool fatal = false;                     ///< the device is in an error state: the process must be replaced
  bool blameless = false;                 ///< it failed before the candidate had run: another process may try again
  bool asks_default = false;              ///< it is wrong for a kind of inputs that nobody has tried the default on: needed is its code
  std::vector<std::string> dropped = {};  ///< kinds of inputs that the default is wrong for, and no other is held to
  std::vector<std::string> held = {};     ///< kinds that it is right for
  std::vector<std::string> notes = {};    ///< for people
};
Result<TrialResult> read_trial(const Message& message);

/// One entry for each candidate up to the one that broke the device. Complete: those that are right were timed.
struct FinalsResult {
  std::vector<Trial> trials;
  bool fatal = false, complete = false;
};
Result<FinalsResult> read_finals(const Message& message);

/// One entry for each candidate that was reached, the last maybe the one that broke the device.
struct SurveyResult {
  std::optional<Error> error;  ///< the problem cannot be had at all
  std::vector<Trial> trials;
  bool fatal = false;
};
Result<SurveyResult> read_survey(const Message& message);

/// What a device's counters say of a configuration, or why they say nothing.
struct CountResult {
  Result<Counters> counters;
};
Result<CountResult> read_count(const Message& message);

struct CompileResult {
  std::vector<Result<Compiled>> results;
  double seconds = 0.0;
};
Result<CompileResult> read_compile(const Message& message);

/// A kernel file as the reading worker found it.
struct ReadResult {
  Result<std::string> spec;  ///< serialized
};
Result<ReadResult> read_reading(const Message& message);

}  // namespace hone::wire
