// A worker's survey: configurations timed at one problem after another. Validation is short: one run is held against the reference, and
// what is timed is looked at as always. Asked for the full gate, it is that of what could win a session.
#include <algorithm>
#include <utility>

#include "engine/kernel/configuration_text.hpp"
#include "engine/worker/measuring_worker.hpp"
#include "engine/worker/stopwatch.hpp"
#include "engine/worker/trial_reply.hpp"

namespace hone {

using wire::Message;

Message MeasuringWorker::survey(const Message& request) {
  Stopwatch beside;  // validating and timing: with the first candidate what is made for all of them
  learn_default(request);
  const bool full_gate = request.value("full_gate", false);
  const bool is_there = std::exchange(moved_, std::nullopt) == Moved{wire::problem_from(request.at("problem")), full_gate};
  if (const Result<void> moved = is_there ? Result<void>() : move_to(request, full_gate); !moved) {
    return {{"error", wire::to_message(moved.error())}};
  }
  const double seconds = request.at("seconds");
  const Stopwatch watch;
  std::optional<Incumbent> incumbent;
  Message results = Message::array();
  bool fatal = false;
  for (const Message& candidate : request.at("candidates")) {
    if (fatal || (!results.empty() && watch.seconds() >= seconds)) {
      break;
    }
    channel_.charge(results.size());
    TrialReply reply;
    survey_one(candidate, incumbent, full_gate, reply);
    reply.trial.seconds.overhead = std::max(0.0, beside.seconds() - reply.trial.seconds.validate - reply.trial.seconds.time);
    beside = Stopwatch();
    const Measurement& measured = reply.trial.measurement;
    if (reply.trial.outcome == Outcome::kOk && !measured.raced_out) {
      const double best_us = std::min(measured.median_us, incumbent ? incumbent->time_us : measured.median_us);
      incumbent = Incumbent{.time_us = best_us, .value = best_us};
    }
    fatal = reply.fatal;
    results.push_back(wire::to_message(reply.trial));
  }
  channel_.charge(std::nullopt);
  return {{"results", std::move(results)}, {"fatal", fatal}};
}

Message MeasuringWorker::prepare_survey(const Message& request) {
  moved_.reset();
  const bool full_gate = request.value("full_gate", false);
  if (const Result<void> moved = move_to(request, full_gate); !moved) {
    return {{"error", wire::to_message(moved.error())}};
  }
  moved_ = Moved{problem_, full_gate};
  return {{"ready", true}};
}

Result<void> MeasuringWorker::move_to(const Message& request, bool full_gate) {
  channel_.charge(std::nullopt);
  stage_ = "making the buffers";
  channel_.stage(stage_);
  bench_.reset();  // two problems may not fit
  for (std::vector<Small>* const problems : {&ragged_, &regular_, &provoking_}) {
    problems->clear();
  }
  problem_ = wire::problem_from(request.at("problem"));
  reference_ = wire::compiled_from(request.at("reference"));
  HONE_ASSIGN(bench_, Bench::create(*device_, spec_, problem_, reference_, InputProfile::kUsual, settings_.max_error));
  HONE_TRY(full_gate ? add_small_problems() : Result<void>());
  watch_reference(*bench_, problem_);
  for (Small& ragged : ragged_) {
    watch_reference(*ragged.bench, ragged.problem);
  }
  next_seed();
  HONE_TRY(draw());
  if (!process_) {
    process_ = ProcessState::now(watches_threads_);
  }
  return {};
}

void MeasuringWorker::survey_one(const Message& candidate, const std::optional<Incumbent>& incumbent, bool full_gate, TrialReply& reply) {
  constexpr int kLaunches = 32;
  constexpr double kSeconds = 0.02;
  const Configuration configuration = configuration_from(candidate);
  const Compiled compiled = wire::compiled_from(candidate.at("compiled"));
  stage_ = "validating";
  channel_.stage(stage_);
  const auto kernel = prepare(compiled, configuration, reply);
  if (!kernel) {
    return;
  }
  is_default_ = configuration == default_configuration(spec_.parameters);
  const Stopwatch watch;
  const bool stays = full_gate || !incumbent || look(configuration, *kernel, *incumbent, reply);
  const bool right = stays && (full_gate ? validate_all(compiled, configuration, *kernel, reply)
                                         : check(*bench_, configuration, *kernel, input_seed_, "", reply, Runs::kOne));
  reply.trial.seconds.validate = watch.seconds();
  if (right && time(configuration, *kernel, incumbent, reply) && full_gate && deepen(compiled, configuration, Runs::kTwo, reply)) {
    repeat(configuration, *kernel, kLaunches, kSeconds, reply);
  }
  audit(reply);
  if (!has_time(reply.trial.outcome)) {
    reply.trial.measurement = {};
  }
}

}  // namespace hone
