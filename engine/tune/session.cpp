#include "engine/tune/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/replay/recorded_space.hpp"
#include "engine/space/default_position.hpp"
#include "engine/store/work_queue.hpp"
#include "engine/tune/transfer.hpp"
#include "engine/tune/tuning_session.hpp"

namespace hone {
namespace {

constexpr double kFinalsShare = 0.1;  // of a budget in seconds, kept for the final round

}  // namespace

Result<TuneReport> TuningSession::run(const Registry& registry) {
  HONE_TRY(open(registry));
  HONE_TRY(find_serving());
  HONE_TRY(make_evaluator());
  Result<void> done = search_and_decide();
  if (!done && done.error().code == ErrorCode::kCancelled) {
    HONE_TRY(request_.keep_best ? keep_best() : Result<void>());
    HONE_TRY(release());  // the same request goes on with it, also in this process
    return request_.keep_best && report_.best ? report() : Result<TuneReport>(std::move(done).error());
  }
  HONE_TRY(done);
  keep_model();
  return report();
}

Result<void> TuningSession::open(const Registry& registry) {
  HONE_ASSIGN(const StrategyPlugin* const plugin, registry.strategy(request_.strategy));
  HONE_ASSIGN(withdrawn_, store_.withdrawn_configurations(key_));
  HONE_TRY(resume());
  default_position_ = default_position(space_, default_configuration(space_.parameters()));
  HONE_ASSIGN(searcher_, Searcher::start(request_, spaces_, *plugin, store_, session_, default_position_));
  HONE_TRY(begin());  // after what may fail before a trial: it would leave an empty session behind
  tell(SessionEvent::Step::kBegan);
  tell_history();
  return {};
}

Result<void> TuningSession::start(double elapsed, const Beside& beside) {
  earlier_seconds_ = elapsed;
  return make_evaluator(beside);
}

Result<void> TuningSession::submit_first() {
  const bool begins = default_trial() == nullptr;
  if (begins) {
    submitted_.insert(default_position_);
    evaluator_->submit({{default_position_, space_.at(default_position_)}});
    HONE_TRY(try_record());
  }
  try_serving();
  return begins ? try_first() : Result<void>();
}

Result<void> TuningSession::find_serving() {
  if (request_.recorded != nullptr) {
    return {};
  }
  const Result<Choice> now = choose_recorded(request_.spec, request_.problem, request_.device.info, &store_, {.purpose = key_.purpose});
  if (!now && now.error().code == ErrorCode::kStore) {
    return now.error();
  }
  if (!now) {
    report_.notes.push_back("what serves now could not be looked up, and takes no part: " + now.error().message);
  } else {
    set_serving(*now);
  }
  return {};
}

void TuningSession::set_serving(const Choice& now) {
  if (request_.recorded != nullptr || (now.source != Source::kPredicted && now.source != Source::kNearest)) {
    return;
  }
  serving_position_ = request_.transfer ? space_.index(now.configuration) : std::nullopt;
  unmeasured_serving_ = serving_position_ ? "" : text(request_.spec.parameters, now.configuration);
}

bool TuningSession::was_tried(Count position) const { return std::ranges::find(trials_, position, &Trial::position) != trials_.end(); }

void TuningSession::try_now(Count position) {
  if (!was_tried(position) && submitted_.insert(position).second) {
    searcher_->take(position);
    evaluator_->submit({{position, space_.at(position)}});
  }
}

void TuningSession::try_serving() {
  if (serving_position_) {
    evaluator_->set_serving(*serving_position_);
    try_now(*serving_position_);
  }
}

Result<void> TuningSession::try_first() {
  constexpr std::size_t kMost = 4;
  std::vector<Count> first;
  if (!objective().is_time() && request_.transfer) {
    HONE_ASSIGN(first, fastest_known(key_, request_.spec, space_, store_, kMost));
  }
  if (const auto given = request_.first.find(request_.spec.name); given != request_.first.end()) {
    for (const Configuration& configuration : given->second) {
      if (const std::optional<Count> position = space_.index(configuration)) {
        first.push_back(*position);
      }
    }
  }
  if (request_.recorded == nullptr && request_.likely != Likely::kIgnore && spaces_.narrows()) {
    // What is likely and nearest to the default: that itself, where it is likely, and then it was submitted before.
    const SearchSpace& likely = *spaces_.likely();
    first.push_back(spaces_.to_legal(default_position(likely, default_configuration(likely.parameters()))));
  }
  for (const Count position : first) {
    if (trials_left() > 0) {
      try_now(position);
    }
  }
  return {};
}

Result<void> TuningSession::take(double seconds) {
  HONE_ASSIGN(std::vector<Trial> finished, evaluator_->wait(evaluator_->elapsed() + seconds));
  return record(std::move(finished));
}

void TuningSession::set_rival(double time_us) {
  rival_us_ = time_us;
  race();
}

void TuningSession::race() {
  if (evaluator_ && best_us_ && !best_is_withdrawn_) {
    const double best = std::min(*best_us_, rival_us_.value_or(*best_us_));
    evaluator_->set_incumbent({.time_us = objective().needs_energy() ? best_time_us_ : best,
                               .value = best,
                               .time_allowance = objective().time_allowance(powers_)});
  }
}

Result<void> TuningSession::drain() {
  HONE_ASSIGN(std::vector<Trial> last, evaluator_->drain());
  return record(std::move(last));
}

void TuningSession::suspend() {
  earlier_seconds_ = elapsed();
  evaluator_.reset();
}

Result<void> TuningSession::close() {
  HONE_TRY(store_.finish_session(session_, key_, std::nullopt, elapsed()));
  has_ended_ = true;
  tell(SessionEvent::Step::kEnded);
  return {};
}

std::optional<Error> TuningSession::default_error() const {
  const Trial* const standard = default_trial();
  if (standard == nullptr || standard->outcome == Outcome::kOk || request_.recorded != nullptr) {
    return std::nullopt;
  }
  // What stands in for a default that is not legal here, or was left out, may be wrong by itself; several devices are compared by it.
  const bool stands_in = standard->configuration != default_configuration(request_.spec.parameters);
  if (stands_in && request_.more_devices.empty() && !request_.workers) {
    return std::nullopt;
  }
  const ErrorCode code = standard->outcome == Outcome::kCompileError ? ErrorCode::kCompile : ErrorCode::kBadKernel;
  return Error{code, fmt::format("{}: the default configuration ({}) ended as {}: {}", request_.spec.file,
                                 text(request_.spec.parameters, standard->configuration), name(standard->outcome), standard->detail)};
}

void TuningSession::keep_model() {
  // What a strategy learnt of energy says nothing of times.
  const bool whole = objective().is_time() && request_.restriction.empty() && (request_.likely != Likely::kOnly || !spaces_.narrows());
  const std::string model = request_.transfer && whole ? searcher_->save() : std::string();
  if (!model.empty()) {
    const Result<void> kept = store_.put_model(request_.spec.name, request_.strategy, model);
    report_.model_not_kept = kept ? "" : kept.error().message;
  }
}

Result<void> TuningSession::search_and_decide() {
  HONE_TRY(try_default());
  HONE_TRY(search());
  if (request_.finish) {
    return final_round();
  }
  HONE_TRY(keep_best());
  return release();
}

Result<SessionKey> TuningSession::session_key() const {
  HONE_ASSIGN(std::string settings, settings_text(request_));
  return SessionKey{key_, request_.strategy, std::move(settings), request_.seed};
}

Result<void> TuningSession::begin() {
  if (session_ == 0) {
    HONE_ASSIGN(const SessionKey key, session_key());
    HONE_ASSIGN(session_, store_.begin_session(key, text(request_.budget)));
  }
  return {};
}

Result<void> TuningSession::resume() {
  if (!request_.resume) {
    return {};
  }
  HONE_ASSIGN(const SessionKey key, session_key());
  HONE_ASSIGN(const std::optional<SessionInfo> resumed, store_.resume_session(key));
  if (!resumed) {
    return {};
  }
  session_ = resumed->id;
  earlier_seconds_ = resumed->elapsed_seconds;
  HONE_ASSIGN(std::vector<Trial> history, store_.trials(session_, request_.spec.parameters));
  for (Trial& trial : history) {
    const std::optional<Count> position = space_.index(trial.configuration);
    if (!position) {
      return Error{ErrorCode::kStore, fmt::format("session {} holds a trial of {}, which is not in the search space", session_,
                                                  text(request_.spec.parameters, trial.configuration))};
    }
    trial.position = *position;
    note(std::move(trial));
  }
  HONE_ASSIGN(controls_, store_.controls(session_));
  report_.resumed_trials = static_cast<std::int64_t>(trials_.size());
  return {};
}

Result<void> TuningSession::make_evaluator(const Beside& beside) {
  submitted_.clear();
  if (request_.recorded != nullptr && !request_.workers) {
    evaluator_ = make_replay_evaluator(request_);
    return {};
  }
  Beside own = beside;
  own.session = session_;
  HONE_ASSIGN(evaluator_, make_live_evaluator(request_, &store_, own));
  if (request_.budget.seconds) {
    evaluator_->set_end(*request_.budget.seconds - earlier_seconds_);
  }
  if (const Trial* standard = default_trial(); standard != nullptr && standard->outcome == Outcome::kOk) {
    evaluator_->resume(*standard);
    submit_leftovers();
  }
  return {};
}

void TuningSession::submit_leftovers() {
  for (const Configuration& configuration : evaluator_->leftovers()) {
    const std::optional<Count> position = space_.index(configuration);
    if (position) {
      try_now(*position);
    }
  }
}

void TuningSession::tell_history() {
  std::vector<Observation> observations;
  for (const Trial& trial : trials_) {
    observations.push_back(told(trial));
  }
  searcher_->tell(observations);
}

double TuningSession::value_of(const Trial& trial) const {
  if (const std::optional<Figure> reached = objective().of(trial.measurement)) {
    return reached->value;
  }
  const Trial* const standard = default_trial();
  const std::optional<Figure> usual = standard != nullptr ? objective().of(standard->measurement) : std::nullopt;
  if (!usual || !(standard->measurement.median_us > 0.0)) {
    return std::numeric_limits<double>::infinity();  // a record need not have that of its default
  }
  const double slower = trial.measurement.median_us / standard->measurement.median_us;
  return usual->value * (objective().kind == Objective::Kind::kEdp ? slower * slower : slower);
}

Observation TuningSession::told(const Trial& trial) const {
  Observation observation = observation_of(trial);
  observation.time_us = has_time(trial.outcome) ? value_of(trial) : observation.time_us;
  return observation;
}

bool TuningSession::is_withdrawn(const Configuration& configuration) const {
  return !withdrawn_.empty() && std::ranges::find(withdrawn_, text(request_.spec.parameters, configuration)) != withdrawn_.end();
}

void TuningSession::note(Trial trial) {
  ++report_.outcomes[trial.outcome];
  if (is_failure(trial.outcome) && report_.first_failure.empty()) {
    report_.first_failure = trial.detail;
  }
  const double value = value_of(trial);
  const double power = trial.measurement.energy_j ? trial.measurement.energy_j->value / trial.measurement.median_us : 0.0;
  if (power > 0.0) {
    ++powers_.count;
    powers_.least = std::min(powers_.least, power);
  }
  const bool withdrawn = is_withdrawn(trial.configuration);
  const bool first = !best_us_ || (best_is_withdrawn_ && !withdrawn);
  if (trial.outcome == Outcome::kOk && !trial.measurement.raced_out && std::isfinite(value) &&
      (first || (withdrawn == best_is_withdrawn_ && value < *best_us_))) {
    constexpr double kProgress = 0.995;  // less is a tie
    if (first || value < kProgress * *best_us_) {
      improved_at_ = trials_.size();
      improved_seconds_ = trial.elapsed_seconds.value_or(earlier_seconds_);
    }
    best_us_ = value;
    best_is_withdrawn_ = withdrawn;
    best_time_us_ = trial.measurement.median_us;
    powers_.best = power;
  }
  trials_.push_back(std::move(trial));
}

Result<void> TuningSession::record(std::vector<Trial> finished) {
  for (Control& control : evaluator_->take_controls()) {
    HONE_TRY(store_.add_control(session_, control));
    tell(SessionEvent::Step::kControl, nullptr, &control);
    controls_.push_back(std::move(control));
  }
  std::vector<Observation> observations;
  for (Trial& trial : finished) {
    trial.elapsed_seconds = elapsed();
    HONE_TRY(store_.add_trial(session_, request_.spec.parameters, trial, *trial.elapsed_seconds));
    add(report_.stages, trial.seconds);
    observations.push_back(told(trial));
    note(std::move(trial));
    race();
    tell(SessionEvent::Step::kTrial, &trials_.back());
    progress(searcher_->sees_likely_alone() ? SessionStage::kLikely : SessionStage::kLegal);
  }
  evaluator_->meanwhile([&] { searcher_->tell(observations); });
  return {};
}

void TuningSession::add(StageSeconds& sum, const StageSeconds& trial) {
  sum.compile += trial.compile;
  sum.validate += trial.validate;
  sum.time += trial.time;
  sum.overhead += trial.overhead;
}

void TuningSession::progress(SessionStage stage) const {
  if (request_.on_progress) {
    const Trial* standard = default_trial();
    const auto read = std::find_if(trials_.rbegin(), trials_.rend(), [](const Trial& trial) { return trial.readings.sm_clock_mhz > 0.0; });
    request_.on_progress(
        {.trials = static_cast<std::int64_t>(trials_.size()),
         .last_outcome = trials_.back().outcome,
         .elapsed_seconds = elapsed(),
         .default_us = standard != nullptr && standard->outcome == Outcome::kOk ? std::optional<double>(value_of(*standard)) : std::nullopt,
         .best_us = best_us_,
         .configuration = trials_.empty() ? "" : text(request_.spec.parameters, trials_.back().configuration),
         .time_us = !trials_.empty() && has_time(trials_.back().outcome) ? std::optional(value_of(trials_.back())) : std::nullopt,
         .stage = stage,
         .outcomes = report_.outcomes,
         .improved_seconds = improved_seconds_,
         .readings = read == trials_.rend() ? Readings() : read->readings,
         .objective = objective()});
  }
}

void TuningSession::tell(SessionEvent::Step step, const Trial* trial, const Control* control) const {
  if (!request_.on_event) {
    return;
  }
  const Trial* const standard = default_trial();
  const bool decided = step == SessionEvent::Step::kEnded && report_.best;
  request_.on_event({.step = step,
                     .request = request_,
                     .session = session_,
                     .elapsed_seconds = elapsed(),
                     .pipeline = evaluator_ ? evaluator_->pipeline() : Pipeline(),
                     .busy_seconds = evaluator_ ? evaluator_->busy_seconds() : 0.0,
                     .default_us = standard != nullptr && standard->outcome == Outcome::kOk
                                       ? std::optional<double>(standard->measurement.median_us)
                                       : std::nullopt,
                     .best_us = decided    ? report_.best->measurement.median_us
                                : best_us_ ? std::optional<double>(best_time_us_)
                                           : std::nullopt,
                     .resumed_trials = report_.resumed_trials,
                     .trial = trial,
                     .control = control});
}

const Trial* TuningSession::default_trial() const {
  for (const Trial& trial : trials_) {
    if (trial.position == default_position_) {
      return &trial;
    }
  }
  return nullptr;
}

bool TuningSession::tried_what_serves() const {
  return default_trial() != nullptr && (!record_position_ || was_tried(*record_position_)) &&
         (!serving_position_ || was_tried(*serving_position_));
}

Result<void> TuningSession::try_default() {
  HONE_TRY(submit_first());
  while (default_trial() == nullptr && evaluator_->in_flight() > 0) {
    if (request_.recorded == nullptr) {
      propose();
    }
    HONE_ASSIGN(std::vector<Trial> finished, evaluator_->wait(std::numeric_limits<double>::infinity()));
    HONE_TRY(record(std::move(finished)));
  }
  if (std::optional<Error> error = default_error()) {
    HONE_TRY(close());
    return *std::move(error);
  }
  return {};
}

Result<void> TuningSession::try_record() {
  if (!request_.transfer || trials_left() == 0) {
    return {};
  }
  HONE_ASSIGN(const std::optional<Record> known, store_.find_record(key_, request_.spec.parameters));
  const std::optional<Count> position = known ? space_.index(known->configuration) : std::nullopt;
  record_position_ = position;
  if (position) {
    try_now(*position);
  }
  return {};
}

double TuningSession::search_until() const {
  const double finals = request_.finish ? kFinalsShare : 0.0;
  return request_.budget.seconds ? *request_.budget.seconds * (1.0 - finals) : std::numeric_limits<double>::infinity();
}

std::size_t TuningSession::trials_left() const {
  if (!request_.budget.trials) {
    return allowed_;
  }
  const std::int64_t used = static_cast<std::int64_t>(trials_.size() + evaluator_->in_flight());
  return std::min(allowed_, static_cast<std::size_t>(std::max<std::int64_t>(0, *request_.budget.trials - used)));
}

Result<void> TuningSession::search() {
  for (;;) {
    const bool is_over = elapsed() >= search_until();
    if (is_over && tried_what_serves()) {
      break;
    }
    if (request_.stop.stop_requested()) {
      return cancelled();
    }
    if (!is_over) {
      propose();
    }
    if (evaluator_->in_flight() == 0) {
      break;
    }
    const double until = is_over ? std::numeric_limits<double>::infinity() : search_until() - earlier_seconds_;
    HONE_ASSIGN(std::vector<Trial> finished, evaluator_->wait(until));
    HONE_TRY(record(std::move(finished)));
  }
  return drain();
}

bool TuningSession::likely_share_is_spent() const {
  const auto trials = static_cast<double>(trials_.size() + evaluator_->in_flight());
  const Budget &part = request_.budget, &all = request_.expected_budget;
  const double of_seconds = part.seconds ? elapsed() / std::max(*part.seconds, all.seconds.value_or(0.0)) : 0.0;
  const double of_trials = part.trials ? trials / static_cast<double>(std::max(*part.trials, all.trials.value_or(0))) : 0.0;
  const double spent = std::max(of_seconds, of_trials);
  const bool levelled_off = trials >= 2.0 * static_cast<double>(improved_at_);
  return spent >= (levelled_off ? kLikelyShare : kMostLikelyShare);
}

void TuningSession::propose(std::size_t most) {
  constexpr int kPatience = 3;
  for (int turn = 0; turn < kPatience; ++turn) {
    if (searcher_->can_widen() && (searcher_->exhausted() || likely_share_is_spent())) {
      evaluator_->meanwhile([&] { searcher_->widen(); });
    }
    if (searcher_->exhausted()) {
      return;
    }
    const std::size_t wanted = std::min({evaluator_->wanted(), trials_left(), most});
    if (wanted == 0) {
      return;
    }
    std::vector<Count> positions;
    evaluator_->meanwhile([&] { positions = searcher_->ask(wanted); });
    std::vector<Proposal> proposals;
    for (const Count position : positions) {
      proposals.push_back({position, space_.at(position)});
    }
    const bool progressed = !proposals.empty();
    evaluator_->submit(std::move(proposals));
    if (!progressed && evaluator_->in_flight() > 0) {
      return;  // it may be waiting for outcomes
    }
    if (!progressed && turn + 1 == kPatience && searcher_->can_widen()) {
      searcher_->widen();  // nobody can say of a space that is not exact that it is exhausted
      turn = -1;
    }
  }
}

std::string device_ids(const TuneRequest& request) {
  if (!request.own_devices) {
    return std::string(kAttachedDevices);
  }
  std::string ids = request.device.info.id;
  for (const DeviceInfo& info : request.more_devices) {
    ids += "," + info.id;
  }
  return ids;
}

Result<void> check_objective(const TuneRequest& request) {
  const Objective& objective = request.measure.objective;
  if (objective.is_time()) {
    return {};
  }
  if (!request.more_devices.empty() || request.workers) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("--objective {} is for one device of this host: what several measure is brought together by their times; give one "
                    "--device",
                    name(objective))};
  }
  if (request.recorded != nullptr) {
    return request.recorded->check_objective(objective);
  }
  return objective.needs_energy() ? request.device.plugin->check_energy_counter(request.device.info) : Result<void>();
}

Result<void> check_is_time(const Objective& objective, std::string_view what) {
  return objective.is_time()
             ? Result<void>()
             : Error{ErrorCode::kInvalidArgument,
                     fmt::format("--objective {}: {} for time alone; name one kernel and one shape", name(objective), what)};
}

Result<TuneReport> tune(const TuneRequest& request, Store& store, const Registry& registry) {
  HONE_TRY(check_objective(request));
  HONE_ASSIGN(LikelySpace spaces, likely_space_of(request));
  return TuningSession(request, store, std::move(spaces)).run(registry);
}

}  // namespace hone
