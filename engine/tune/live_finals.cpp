// The final round of trials on a real device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/tune/live_evaluator.hpp"

namespace hone {
namespace {

constexpr double kFinalsBeyond = 0.2;  // of a budget, that the final round may last beyond it
constexpr double kFinalsSlack = 4.0;   // seconds beyond that: what a round needs however short the budget
constexpr int kMostFaultless = 2;
constexpr double kRepeatShare = 0.05;                       // of a session, for the repeated launches of its finalists
constexpr double kLeastRepeat = 0.005, kMostRepeat = 0.05;  // seconds of one of them
constexpr double kFinalTimingShare =
    0.1;  // of a session's budget, or of how long it has lasted, for the timing of all finalists, of all its kernels
constexpr double kFinalistTrials = 2.0;   // times the default's trial that one finalist of a round costs
constexpr double kEnergyWindows = 40.0;   // of the least length, that the energy of one finalist costs: 24, and the first steps
constexpr double kTrialsOfBudget = 20.0;  // of the default that a budget holds at least, for a session to end within its bound

}  // namespace

Result<std::vector<Trial>> LiveEvaluator::finals(const std::vector<Candidate>& candidates, std::size_t most, double share) {
  if (attached_) {
    attached_->recorded();
  }
  const double until = end_ + kFinalsBeyond * std::abs(end_) + kFinalsSlack;
  FinalRound round(candidates, most);
  int faultless = 0;  // rounds that broke off without anybody to blame
  for (std::vector<std::size_t> places = round.next(); !places.empty(); places = round.next()) {
    if (elapsed() >= until || faultless == kMostFaultless) {
      std::vector<Trial> results = round.as_they_were();  // measured one by one: less comparable, and all there is time for
      for (Trial& trial : results) {
        trial.is_as_it_was = trial.outcome == Outcome::kOk;
      }
      return results;
    }
    if (elapsed() + finalist_seconds() * static_cast<double>(places.size()) > until) {
      round.narrow();
      places = round.next();
    }
    HONE_TRY(await_bench());
    const DeviceLane& bench = front();
    HONE_ASSIGN(wire::Message message, finals_message(round, places, share));
    const Result<wire::FinalsResult> reply = converse(message, finals_limit(until, places.size()), places);
    if (failure_) {
      return *failure_;
    }
    if (reply) {
      if (!round.take(places, reply->trials, reply->complete)) {
        ++faultless;
        front().workers->retire(false);
      } else if (reply->fatal) {
        front().workers->retire(false);
      }
      continue;
    }
    if (!takes_part(bench) || bench.vacant) {
      continue;  // a worker left, which is nobody's fault: another one goes on
    }
    faultless += blame(reply.error(), round, places) ? 0 : 1;
    front().workers->retire(reply.error().code == ErrorCode::kTimeout);
  }
  std::vector<Trial> results = round.results();
  for (Trial& trial : results) {
    trial.final_device = several() ? front().info.id : "";
  }
  return results;
}

Result<std::vector<Trial>> LiveEvaluator::time_again(const std::vector<Trial>& trials, double seconds_each, bool graphs) {
  HONE_TRY(await_bench());
  wire::Message candidates = wire::Message::array();
  std::vector<std::size_t> places;
  for (const Trial& trial : trials) {
    HONE_ASSIGN(wire::Message candidate, candidate_message(trial));
    candidates.push_back(std::move(candidate));
    places.push_back(places.size());
  }
  const wire::Message message{
      {"op", "finals"}, {"candidates", std::move(candidates)}, {"timing_seconds", seconds_each}, {"again", true}, {"graphs", graphs}};
  const double limit = 4.0 * limits_.floor() + kFinalistTrials * limits_.default_seconds() * static_cast<double>(trials.size());
  HONE_ASSIGN(wire::FinalsResult reply, converse(message, limit, places));
  return std::move(reply.trials);
}

Result<wire::Message> LiveEvaluator::candidate_message(const Trial& trial) {
  if (request_.recorded != nullptr) {
    return wire::Message{{"configuration", text(request_.spec.parameters, trial.configuration)}};
  }
  HONE_ASSIGN(const Compiled compiled, compiled_of(trial));
  return wire::Message{{"configuration", text(request_.spec.parameters, trial.configuration)}, {"compiled", wire::to_message(compiled)}};
}

Result<wire::Message> LiveEvaluator::finals_message(const FinalRound& round, const std::vector<std::size_t>& places, double share) {
  wire::Message candidates = wire::Message::array();
  for (const std::size_t place : places) {
    const Trial& trial = round.trial(place);
    HONE_ASSIGN(wire::Message candidate, candidate_message(trial));
    candidates.push_back(std::move(candidate));
  }
  const double repeat = std::clamp(kRepeatShare * elapsed() / static_cast<double>(places.size()), kLeastRepeat, kMostRepeat);
  const double timing = share * kFinalTimingShare * (end_ < kNever ? end_ : elapsed()) / static_cast<double>(places.size());
  wire::Message message{{"op", "finals"}, {"candidates", std::move(candidates)}, {"repeat_seconds", repeat}, {"timing_seconds", timing}};
  if (request_.recorded == nullptr) {
    HONE_ASSIGN(const std::optional<Compiled> standard, default_code_ ? default_code_ : find_cached(key_of(default_text())));
    if (standard) {
      message["default"] = wire::to_message(*standard);
    }
  }
  return message;
}

double LiveEvaluator::finalist_seconds() const {
  const MeasureSettings& measure = request_.measure;
  return kFinalistTrials * limits_.default_seconds() +
         (measure.objective.needs_energy() ? kEnergyWindows * measure.energy_window_seconds : 0.0);
}

double LiveEvaluator::finals_limit(double until, std::size_t finalists) const {
  const bool slow = limits_.default_seconds() * kTrialsOfBudget > end_;
  const double needed = slow || request_.measure.objective.needs_energy() ? 2.0 * finalist_seconds() * static_cast<double>(finalists) : 0.0;
  return std::max({until - elapsed(), 4.0 * limits_.floor(), needed});
}

template <class T>
Result<T> LiveEvaluator::ask(const wire::Message& message, RequestLimits limits, Result<T> (*read)(const wire::Message&)) {
  std::optional<Result<T>> answer;
  DeviceLane& lane = front();
  lane.workers->worker().request<T>(message, std::move(limits), read, [&answer](Result<T> reply) { answer = std::move(reply); });
  while (!answer && !failure_ && takes_part(lane) && !lane.vacant) {
    context_.restart();
    context_.run_one();
  }
  if (failure_) {
    return *failure_;
  }
  return answer ? std::move(*answer) : Error{ErrorCode::kDevice, lane.info.id + " left the session in its final round"};
}

Result<wire::FinalsResult> LiveEvaluator::converse(const wire::Message& message, double total, const std::vector<std::size_t>& places) {
  DeviceLane& lane = front();
  wire::Message asked = message;
  RequestLimits limits = trying(lane, total, std::max(left(), total), asked);
  Result<wire::FinalsResult> answer = ask(asked, std::move(limits), wire::read_finals);
  const std::optional<std::size_t> finalist =
      takes_part(lane) && !lane.vacant && !failure_ ? lane.workers->worker().stage().finalist : std::optional<std::size_t>();
  blamed_ = finalist && *finalist < places.size() ? finalist : std::nullopt;
  return answer;
}

Result<Counters> LiveEvaluator::count(const Trial& trial) {
  constexpr double kSeconds = 120.0, kRuns = 200.0;  // that opening the profiler may take; more than counters need
  HONE_TRY(await_bench());
  HONE_ASSIGN(wire::Message message, candidate_message(trial));
  message["op"] = "count";
  const double limit = kSeconds + kRuns * trial.measurement.median_us * 1e-6;
  message["total"] = limit;
  Result<wire::CountResult> reply = ask(message, RequestLimits::all(limit), wire::read_count);
  if (!reply) {
    front().workers->retire(reply.error().code == ErrorCode::kTimeout);
    return reply.error();
  }
  return std::move(reply->counters);
}

bool LiveEvaluator::blame(const Error& error, FinalRound& round, const std::vector<std::size_t>& places) const {
  if (!blamed_) {
    return false;
  }
  round.drop(places[*blamed_], error.code == ErrorCode::kTimeout ? Outcome::kTimeout : Outcome::kIllegalAccess, error.message);
  return true;
}

Result<void> LiveEvaluator::await_bench() {
  follow_departures();
  HONE_TRY(front().workers->revive());
  while ((front().vacant || !front().workers->ready()) && !failure_) {
    HONE_TRY(front().workers->revive());
    context_.restart();
    context_.run_one();
  }
  return failure_ ? Result<void>(*failure_) : Result<void>();
}

Result<Compiled> LiveEvaluator::compiled_of(const Trial& trial) {
  HONE_ASSIGN(auto cached, find_cached(key_of(text(request_.spec.parameters, trial.configuration))));
  if (!cached) {
    return Error{ErrorCode::kStore, fmt::format("the store has lost the compiled code {} of a finalist", trial.artifact)};
  }
  return *std::move(cached);
}

}  // namespace hone
