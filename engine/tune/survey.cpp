#include "engine/tune/survey.hpp"

#include <algorithm>
#include <utility>

#include "engine/kernel/configuration_text.hpp"
#include "engine/tune/compile_missing.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/worker/reference_compiler.hpp"
#include "engine/worker/stopwatch.hpp"
#include "engine/worker/worker.hpp"

namespace hone {
namespace {

constexpr double kSurveyStart = 60.0;  // to open a device that others use, and for each step of compiling a reference
constexpr double kSurveyStage = 5.0, kSurveyReference = 60.0, kSurveyTurn = 600.0;
constexpr double kSurveyExpected = 4.0;          // times what the worker expects of a piece of timing
constexpr std::chrono::milliseconds kPoll{500};  // that a request to stop may wait

/// Many shapes matter more here than the last percent of one.
MeasureSettings survey_settings(MeasureSettings settings) {
  settings.minimum_samples = std::min(settings.minimum_samples, 7);
  settings.maximum_samples = std::min(settings.maximum_samples, 21);
  settings.target_relative_ci = std::max(settings.target_relative_ci, 0.02);
  settings.maximum_seconds = std::min(settings.maximum_seconds, 0.05);
  return settings;
}

RequestLimits survey_limits() {
  return {.stage = [](const wire::Stage& stage) {
    return stage.kind == wire::Stage::Kind::kWaiting ? kSurveyTurn
           : stage.kind == wire::Stage::Kind::kReference
               ? kSurveyReference
               : std::min(stage.within.value_or(kSurveyReference), kSurveyStage + kSurveyExpected * stage.expected);
  }};
}

}  // namespace

Survey::Survey(const TuneRequest& common, const KernelSpec& spec, Store& store) : common_(common), spec_(spec), store_(store) {}

CompiledKey Survey::key_of(const Problem& problem, const std::string& configuration) const {
  return compiled_key(spec_, problem, configuration, common_.device.info);
}

Result<void> Survey::start(const Problem& problem) {
  if (worker_ && worker_->is_sound()) {
    return {};
  }
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  HONE_ASSIGN(worker_, WorkerProcess::spawn(context_, executable));
  wire::Message message = worker_setup(common_.device, spec_, problem, survey_settings(common_.measure), common_.seed);
  message["measure"] = true;
  message["near"] = common_.beside_others;
  message["generation"] = generation_++;
  std::optional<Result<wire::Done>> answer;
  worker_->request<wire::Done>(message, RequestLimits::all(kSurveyStart), wire::read_done,
                               [&answer](Result<wire::Done> reply) { answer = std::move(reply); });
  while (!answer) {
    context_.restart();
    context_.run_one();
  }
  HONE_ASSIGN(const wire::Done done, *std::move(answer));
  return done.error ? Result<void>(*done.error) : Result<void>();
}

template <class Reply>
Result<Reply> Survey::ask(const wire::Message& message, Result<Reply> (*read)(const wire::Message&)) {
  std::optional<Result<Reply>> answer;
  worker_->request<Reply>(message, survey_limits(), read, [&answer](Result<Reply> reply) { answer = std::move(reply); });
  while (!answer && !common_.stop.stop_requested()) {
    context_.restart();
    context_.run_one_for(kPoll);
  }
  if (!answer) {
    worker_.reset();
    return cancelled();
  }
  return *std::move(answer);
}

Result<Compiled> Survey::reference(const Problem& problem) {
  const CompiledKey key = key_of(problem, "reference");
  HONE_ASSIGN(std::optional<Compiled> known, store_.find_compiled(key));
  if (known) {
    return *std::move(known);
  }
  HONE_ASSIGN(const std::filesystem::path executable, find_worker());
  std::optional<Result<Compiled>> compiled;
  HONE_ASSIGN(const auto compiler,
              ReferenceCompiler::start(
                  context_, executable, worker_setup(common_.device, spec_, problem, MeasureSettings(), common_.seed),
                  [] { return RequestLimits::all(kSurveyStart); }, [&compiled](Result<Compiled> done) { compiled = std::move(done); }));
  while (!compiled && !common_.stop.stop_requested()) {
    context_.restart();
    context_.run_one_for(kPoll);
  }
  if (!compiled) {
    return cancelled();
  }
  if (*compiled) {
    HONE_TRY(store_.put_compiled(key, **compiled));
  }
  return *std::move(compiled);
}

Result<std::optional<Compiled>> Survey::standard(const Problem& problem) {
  const Configuration standard = default_configuration(spec_.parameters);
  HONE_TRY(compile_missing(common_.device, spec_, problem, {standard}, store_, common_.compile_workers, common_.stop));
  return store_.find_compiled(key_of(problem, text(spec_.parameters, standard)));
}

void Survey::prepare(const Problem& problem, Gate gate) {
  const Stopwatch watch;
  const Result<Compiled> reference = this->reference(problem);
  if (reference && start(problem)) {
    const Result<wire::Done> moved = ask({{"op", "prepare survey"},
                                          {"problem", wire::to_message(problem)},
                                          {"reference", wire::to_message(*reference)},
                                          {"full_gate", gate == Gate::kFull}},
                                         &wire::read_done);
    if (!moved) {
      worker_.reset();
    }
  }
  prepared_seconds_ += watch.seconds();
}

Surveyed Survey::measure(const Problem& problem, const std::vector<Configuration>& candidates, double seconds, Gate gate) {
  const Stopwatch watch;
  Surveyed all;
  all.ended = reach(problem, candidates, seconds, gate, all.trials);
  for (Trial& trial : all.trials) {
    trial.final_round = gate == Gate::kFull && trial.outcome == Outcome::kOk;
  }
  if (!all.trials.empty()) {
    const Result<void> kept = keep(problem, all.trials, watch.seconds() + std::exchange(prepared_seconds_, 0.0));
    all.ended = all.ended ? kept : all.ended;
  }
  return all;
}

Result<void> Survey::reach(const Problem& problem, const std::vector<Configuration>& candidates, double seconds, Gate gate,
                           std::vector<Trial>& trials) {
  HONE_ASSIGN(const Compiled reference, this->reference(problem));
  HONE_ASSIGN(MissingCode missing,
              compile_missing(common_.device, spec_, problem, candidates, store_, common_.compile_workers, common_.stop));
  trials = std::move(missing.failed);
  std::vector<Configuration> left;
  std::ranges::copy_if(candidates, std::back_inserter(left), [&](const Configuration& candidate) {
    return std::ranges::find(trials, candidate, &Trial::configuration) == trials.end();
  });
  std::optional<Compiled> standard;
  if (gate == Gate::kFull) {
    HONE_ASSIGN(standard, this->standard(problem));
  }
  double spent = 0.0;
  for (bool goes_on = true; goes_on && !left.empty();) {
    HONE_TRY(start(problem));
    wire::Message entries = wire::Message::array();
    for (const Configuration& candidate : left) {
      const std::string configuration = text(spec_.parameters, candidate);
      HONE_ASSIGN(const std::optional<Compiled> compiled, store_.find_compiled(key_of(problem, configuration)));
      if (!compiled) {
        return cancelled();
      }
      entries.push_back({{"configuration", configuration}, {"compiled", wire::to_message(*compiled)}});
    }
    wire::Message request{{"op", "survey"},
                          {"problem", wire::to_message(problem)},
                          {"reference", wire::to_message(reference)},
                          {"candidates", std::move(entries)},
                          {"seconds", seconds - spent},
                          {"full_gate", gate == Gate::kFull}};
    if (standard) {
      request["default"] = wire::to_message(*standard);
    }
    const Stopwatch asked;
    const Result<wire::SurveyResult> reply = ask(request, &wire::read_survey);
    spent += asked.seconds();
    if (reply && reply->error) {
      return *reply->error;
    }
    std::vector<Trial> reached;
    if (reply) {
      reached = reply->trials;
      if (reply->fatal) {
        worker_.reset();
      }
    } else {
      const std::optional<std::size_t> culprit = worker_ ? worker_->stage().finalist : std::nullopt;
      worker_.reset();
      if (!culprit || *culprit >= left.size()) {
        return reply.error();
      }
      // What was timed before it went down with the process: the others are asked again.
      std::swap(left.front(), left[*culprit]);
      Trial& trial = reached.emplace_back();
      trial.outcome = reply.error().code == ErrorCode::kTimeout ? Outcome::kTimeout : Outcome::kIllegalAccess;
      trial.detail = reply.error().message;
    }
    goes_on = (!reply || reply->fatal) && spent < seconds;
    const std::size_t count = std::min(reached.size(), left.size());
    for (std::size_t i = 0; i < count; ++i) {
      reached[i].configuration = left[i];
      trials.push_back(std::move(reached[i]));
    }
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return {};
}

Result<void> Survey::keep(const Problem& problem, std::vector<Trial>& trials, double seconds) {
  const RecordKey key = record_key(spec_, problem, common_.device.info, purpose_within(common_.measure.max_error));
  HONE_ASSIGN(const std::string settings, settings_text(common_));
  HONE_ASSIGN(const std::int64_t session,
              store_.begin_session({key, std::string(kSurveyStrategy), settings, common_.seed}, text(common_.budget)));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].position = i;
    HONE_TRY(store_.add_trial(session, spec_.parameters, trials[i], seconds));
  }
  HONE_TRY(store_.finish_session(session, key, std::nullopt, seconds));
  return {};
}

}  // namespace hone
