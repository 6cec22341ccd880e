// A worker's final round: candidates that want to win, held to all that the gate has and timed in turns.
#include <algorithm>
#include <limits>

#include "engine/kernel/configuration_text.hpp"
#include "engine/worker/measuring_worker.hpp"
#include "engine/worker/trial_reply.hpp"

namespace hone {

using wire::Message;

/// One that wants to win, loaded for the whole round: what it keeps from launch to launch meets other inputs.
struct MeasuringWorker::Contender {
  Configuration configuration;
  Compiled compiled;
  std::unique_ptr<LoadedKernel> kernel;
  TrialReply reply;
  [[nodiscard]] bool right() const { return kernel != nullptr && reply.trial.outcome == Outcome::kOk; }
};

Message MeasuringWorker::finals(const Message& request) {
  learn_default(request);
  std::vector<Contender> contenders;
  for (const Message& candidate : request.at("candidates")) {
    contenders.push_back({configuration_from(candidate), wire::compiled_from(candidate.at("compiled")), nullptr, {}});
  }
  bool complete = false;
  const bool again = request.value("again", false);  // they were found right, and only their times are wanted
  const Result<std::size_t> reached = again ? load_contenders(contenders) : validate_contenders(contenders, request.at("repeat_seconds"));
  if (!reached) {
    return {{"error", wire::to_message(reached.error())}};
  }
  bool fatal = *reached < contenders.size();
  std::vector<Trial> trials;
  std::vector<Bench::Finalist> finalists;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < std::min(contenders.size(), *reached + 1); ++i) {
    if (contenders[i].right()) {
      finalists.push_back({contenders[i].kernel.get(), contenders[i].configuration});
      places.push_back(i);
    }
    trials.push_back(contenders[i].reply.trial);
  }
  if (!fatal) {
    complete =
        finalists.empty() || time_finals(finalists, places, request.at("timing_seconds"), request.value("graphs", false), trials, fatal);
  }
  Message results = Message::array();
  for (const Trial& trial : trials) {
    results.push_back(wire::to_message(trial));
  }
  return {{"results", results}, {"fatal", fatal}, {"complete", complete && !fatal}};
}

Result<std::size_t> MeasuringWorker::load_contenders(std::vector<Contender>& contenders) {
  channel_.charge(std::nullopt);
  return each_contender(contenders, [this](Contender& contender) {
    contender.kernel = prepare(contender.compiled, contender.configuration, contender.reply);
    return contender.kernel != nullptr;
  });
}

/// On the inputs that are there, on those with a part changed where that is cheap, and on fresh ones with all that the gate has. Returns
/// who broke the device, or how many there are.
Result<std::size_t> MeasuringWorker::validate_contenders(std::vector<Contender>& contenders, double repeat_seconds) {
  constexpr double kCheap = 0.25;
  channel_.charge(std::nullopt);
  HONE_ASSIGN(std::size_t broken, each_contender(contenders, [this](Contender& contender) {
                contender.kernel = prepare(contender.compiled, contender.configuration, contender.reply);
                return contender.kernel != nullptr &&
                       check(*bench_, contender.configuration, *contender.kernel, input_seed_, "", contender.reply);
              }));
  // Once more, as the part that changes may be the one that somebody looks at.
  for (int varied = 0; varied < 2 && broken == contenders.size() && reseed_cost_ < kCheap; ++varied) {
    next_seed();
    HONE_TRY(bench_->vary(input_seed_));
    HONE_ASSIGN(broken, each_contender(contenders, [this](Contender& contender) {
                  return check(*bench_, contender.configuration, *contender.kernel, input_seed_,
                               "with a part of the inputs changed: ", contender.reply);
                }));
  }
  if (broken < contenders.size()) {
    return broken;
  }
  next_seed();
  HONE_TRY(draw());
  return each_contender(contenders, [this, repeat_seconds](Contender& contender) {
    constexpr int kLaunches = 256;
    is_default_ = contender.configuration == default_configuration(spec_.parameters);
    const bool right = validate(contender.compiled, contender.configuration, *contender.kernel, contender.reply) &&
                       deepen(contender.compiled, contender.configuration, Runs::kTwo, contender.reply) &&
                       repeat(contender.configuration, *contender.kernel, kLaunches, repeat_seconds, contender.reply);
    audit(contender.reply);
    return right;
  });
}

/// Calls `check` for each that is right so far, charged with what happens, until one breaks the device: its place, else how many there are.
Result<std::size_t> MeasuringWorker::each_contender(std::vector<Contender>& contenders, const std::function<bool(Contender&)>& check) {
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    Contender& contender = contenders[i];
    if (contender.reply.trial.outcome != Outcome::kOk) {
      continue;
    }
    channel_.charge(i);
    stage_ = "validating";
    channel_.stage(stage_);
    check(contender);
    if (contender.reply.fatal) {
      return i;
    }
  }
  channel_.charge(std::nullopt);
  return contenders.size();
}

bool MeasuringWorker::time_finals(const std::vector<Bench::Finalist>& finalists, const std::vector<std::size_t>& places,
                                  double seconds_each, bool graphs, std::vector<Trial>& trials, bool& fatal) {
  // Finalists differ by less than a race needs to tell.
  constexpr double kCloser = 0.4, kLeastSeconds = 0.02;
  MeasureSettings settings = settings_;
  settings.target_relative_ci *= kCloser;
  settings.graph_below_us = graphs ? std::numeric_limits<double>::max() : settings_.graph_below_us;
  settings.maximum_seconds = std::clamp(seconds_each, std::min(kLeastSeconds, settings_.maximum_seconds), settings_.maximum_seconds);
  const DeviceLock::Hold hold(lock_, channel_, true);
  stage_ = "warming up";
  std::size_t turn = 0;
  const OnTurn on_turn = [&](std::size_t finalist, double seconds) {
    turn = finalist;
    channel_.charge(places[finalist]);
    channel_.report({.name = stage_, .expected = seconds});
  };
  Readings readings;
  const auto measured = bench_->time_interleaved(finalists, settings, input_seed_, readings, on_turn);
  if (!measured) {
    TrialReply reply{trials[places[turn]], false};
    reply.fail(measured.error());
    fatal = reply.fatal;
    trials[places[turn]] = std::move(reply.trial);
    return false;
  }
  for (std::size_t k = 0; k < places.size(); ++k) {
    Trial& trial = trials[places[k]];
    const Timing& timing = (*measured)[k];
    trial.outcome = timing.validation.outcome;
    trial.detail = timing.validation.detail;
    trial.measurement = timing.validation.ok() ? timing.measurement : Measurement{};
    trial.readings = readings;
  }
  return true;
}

}  // namespace hone
