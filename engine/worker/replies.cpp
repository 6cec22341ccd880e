#include "engine/worker/replies.hpp"

#include <fmt/format.h>

#include "engine/worker/fields.hpp"

namespace hone::wire {
namespace {

constexpr std::size_t kMostName = 512;
constexpr std::int64_t kMostFinalists = 1 << 20;

/// A right trial without a time would be the fastest of all, and one that was too slow seem to be.
Result<void> check_timed(const Trial& trial) {
  if (!has_time(trial.outcome)) {
    return {};
  }
  const Measurement& measured = trial.measurement;
  if (measured.samples_us.empty() || measured.median_us <= 0.0 || measured.ci95_low_us > measured.median_us ||
      measured.ci95_high_us < measured.median_us) {
    return Error{ErrorCode::kDevice, fmt::format("a trial that ended as {} has no time", name(trial.outcome))};
  }
  return {};
}

Result<Result<Compiled>> read_compiled_or_error(const Message& message) {
  if (message.is_object() && message.contains("compiled")) {
    HONE_ASSIGN(Compiled compiled, read_compiled(message.at("compiled")));
    return Result<Compiled>(std::move(compiled));
  }
  Fields fields(message);
  const Message& why = fields.object("error");
  if (fields.error()) {
    return *fields.error();
  }
  Error error;
  HONE_TRY(read_error(why, error));
  return Result<Compiled>(std::move(error));
}

}  // namespace

Message to_message(const Stage& stage) {
  Message message{{"stage", stage.name}};
  if (stage.kind != Stage::Kind::kWork) {
    message["kind"] = static_cast<int>(stage.kind);
  }
  if (stage.within) {
    message["within"] = *stage.within;
  }
  if (stage.expected > 0.0) {
    message["expected"] = stage.expected;
  }
  if (stage.finalist) {
    message["finalist"] = *stage.finalist;
  }
  return message;
}

bool is_stage(const Message& message) { return message.is_object() && message.contains("stage"); }

Result<Stage> read_stage(const Message& message) {
  Fields fields(message);
  Stage stage;
  stage.name = readable(fields.text("stage"), kMostName);
  if (fields.has("kind")) {
    stage.kind = static_cast<Stage::Kind>(fields.integer("kind", 0, static_cast<std::int64_t>(Stage::Kind::kWaiting)));
  }
  if (fields.has("within")) {
    stage.within = fields.number("within");
  }
  if (fields.has("expected")) {
    stage.expected = fields.number("expected");
  }
  if (fields.has("finalist")) {
    stage.finalist = static_cast<std::size_t>(fields.integer("finalist", 0, kMostFinalists));
  }
  return fields.error() ? Result<Stage>(*fields.error()) : Result<Stage>(std::move(stage));
}

Result<Done> read_done(const Message& message) {
  Fields fields(message);
  Done done;
  if (fields.has("error")) {
    HONE_TRY(read_error(message.at("error"), done.error.emplace()));
    return done;
  }
  const bool ready = fields.boolean("ready");
  done.bytes = fields.has("bytes") ? fields.natural("bytes") : 0;
  if (!ready) {
    fields.refuse("ready", "is false");
  }
  return fields.error() ? Result<Done>(*fields.error()) : Result<Done>(std::move(done));
}

Result<TrialResult> read_trial(const Message& message) {
  TrialResult result;
  HONE_TRY(fill_from(message, result.trial));
  HONE_TRY(check_timed(result.trial));
  Fields fields(message);
  result.fatal = fields.boolean("fatal");
  result.blameless = fields.boolean("blameless");
  result.asks_default = fields.boolean("asks_default");
  result.dropped = fields.texts("dropped");
  result.held = fields.texts("held");
  result.notes = fields.texts("notes");
  return fields.error() ? Result<TrialResult>(*fields.error()) : Result<TrialResult>(std::move(result));
}

Result<FinalsResult> read_finals(const Message& message) {
  Fields fields(message);
  FinalsResult result;
  result.fatal = fields.boolean("fatal");
  result.complete = fields.boolean("complete");
  const Message& entries = fields.array("results");
  if (fields.error()) {
    return *fields.error();
  }
  for (const Message& entry : entries) {
    HONE_TRY(fill_from(entry, result.trials.emplace_back()));
    if (result.complete) {
      HONE_TRY(check_timed(result.trials.back()));
    }
  }
  return result;
}

Result<SurveyResult> read_survey(const Message& message) {
  Fields fields(message);
  SurveyResult result;
  if (fields.has("error")) {
    HONE_TRY(read_error(message.at("error"), result.error.emplace()));
    return result;
  }
  result.fatal = fields.boolean("fatal");
  const Message& entries = fields.array("results");
  if (fields.error()) {
    return *fields.error();
  }
  for (const Message& entry : entries) {
    HONE_TRY(fill_from(entry, result.trials.emplace_back()));
    HONE_TRY(check_timed(result.trials.back()));
  }
  return result;
}

Result<CountResult> read_count(const Message& message) {
  Fields fields(message);
  if (fields.has("error")) {
    Error error;
    HONE_TRY(read_error(message.at("error"), error));
    return CountResult{std::move(error)};
  }
  const Message& counters = fields.object("counters");
  if (fields.error()) {
    return *fields.error();
  }
  HONE_ASSIGN(Counters read, read_counters(counters));
  return CountResult{std::move(read)};
}

Result<CompileResult> read_compile(const Message& message) {
  Fields fields(message);
  CompileResult result;
  result.seconds = fields.number("seconds");
  const Message& entries = fields.array("results");
  if (fields.error()) {
    return *fields.error();
  }
  for (const Message& entry : entries) {
    HONE_ASSIGN(Result<Compiled> one, read_compiled_or_error(entry));
    result.results.push_back(std::move(one));
  }
  return result;
}

Result<ReadResult> read_reading(const Message& message) {
  Fields fields(message);
  if (fields.has("error")) {
    Error error;
    HONE_TRY(read_error(message.at("error"), error));
    return ReadResult{std::move(error)};
  }
  const auto* spec = fields.binary("spec");
  return fields.error() ? Result<ReadResult>(*fields.error()) : Result<ReadResult>(ReadResult{std::string(spec->begin(), spec->end())});
}

}  // namespace hone::wire
