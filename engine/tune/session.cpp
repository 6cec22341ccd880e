#include "engine/tune/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/replay/recorded_space.hpp"
#include "engine/space/default_position.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/final_round.hpp"
#include "engine/tune/searcher.hpp"
#include "engine/tune/transfer.hpp"

namespace hone {
namespace {

constexpr double kFinalsShare = 0.1;  // of a budget in seconds, kept for the final round
constexpr std::size_t kMostFinalists = 6;

class Session {
 public:
  Session(const TuneRequest& request, Store& store, LikelySpace spaces)
      : request_(request),
        store_(store),
        spaces_(std::move(spaces)),
        space_(*spaces_.legal()),
        key_(record_key(request.spec, request.problem, request.device.info,
                        purpose_within(request.measure.max_error, request.measure.given.digest))) {}

  Result<TuneReport> run(const Registry& registry) {
    HONE_ASSIGN(const StrategyPlugin* const plugin, registry.strategy(request_.strategy));
    HONE_TRY(resume());
    default_position_ = default_position(space_, default_configuration(space_.parameters()));
    HONE_ASSIGN(searcher_, Searcher::start(request_, spaces_, *plugin, store_, session_, default_position_));
    HONE_TRY(begin());  // after what may fail before a trial: it would leave an empty session behind
    tell_history();
    HONE_TRY(make_evaluator());
    Result<void> done = search_and_decide();
    if (!done && done.error().code == ErrorCode::kCancelled && request_.keep_best) {
      HONE_TRY(keep_best());
      return report_.best ? report() : Result<TuneReport>(std::move(done).error());
    }
    HONE_TRY(done);
    keep_model();
    return report();
  }

 private:
  /// A model that was learnt without transfer, or of a part of the space, would replace one that knows more. One that cannot be kept costs
  /// the next session a start, and this one nothing.
  void keep_model() {
    const bool whole = request_.restriction.empty() && (request_.likely != Likely::kOnly || !spaces_.narrows());
    const std::string model = request_.transfer && whole ? searcher_->save() : std::string();
    if (!model.empty()) {
      const Result<void> kept = store_.put_model(request_.spec.name, request_.strategy, model);
      report_.model_not_kept = kept ? "" : kept.error().message;
    }
  }

  Result<void> search_and_decide() {
    HONE_TRY(try_default());
    HONE_TRY(search());
    return final_round();
  }

  /// Who stops a session does not wait for a final round: the best so far, which won the races of the search, is kept as it was measured
  /// there.
  Result<void> keep_best() {
    report_.interrupted = true;
    const Trial* best = nullptr;
    for (const Trial& trial : trials_) {
      if (trial.outcome == Outcome::kOk && !trial.measurement.raced_out &&
          (best == nullptr || trial.measurement.median_us < best->measurement.median_us)) {
        best = &trial;
      }
    }
    if (best == nullptr) {
      return {};
    }
    report_.best = Measured{best->configuration, best->measurement};
    if (const Trial* standard = default_trial(); standard != nullptr && standard->outcome == Outcome::kOk) {
      report_.default_measured = Measured{standard->configuration, standard->measurement};
    }
    note_broken(*best);
    HONE_ASSIGN(const std::optional<Record> record, make_record(*best));
    HONE_ASSIGN(const bool written, store_.keep_record(session_, key_, *record));
    if (!written) {
      HONE_ASSIGN(report_.faster_record, store_.find_record(key_, request_.spec.parameters));
    }
    return {};
  }

  Result<SessionKey> session_key() const {
    HONE_ASSIGN(std::string settings, settings_text(request_));
    return SessionKey{key_, request_.strategy, std::move(settings), request_.seed};
  }

  Result<void> begin() {
    if (session_ == 0) {
      HONE_ASSIGN(const SessionKey key, session_key());
      HONE_ASSIGN(session_, store_.begin_session(key, text(request_.budget)));
    }
    return {};
  }

  /// Takes over what an earlier run of the session has left; nothing where there is none, and the session is 0.
  Result<void> resume() {
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
    report_.resumed_trials = static_cast<std::int64_t>(trials_.size());
    return {};
  }

  Result<void> make_evaluator() {
    if (request_.recorded != nullptr) {
      evaluator_ = make_replay_evaluator(*request_.recorded);
      return {};
    }
    HONE_ASSIGN(evaluator_, make_live_evaluator(request_, &store_));
    if (request_.budget.seconds) {
      evaluator_->set_end(*request_.budget.seconds - earlier_seconds_);
    }
    if (const Trial* standard = default_trial(); standard != nullptr && standard->outcome == Outcome::kOk) {
      evaluator_->set_normal(standard->seconds.total() - standard->seconds.compile);
    }
    return {};
  }

  void tell_history() {
    std::vector<Observation> observations;
    for (const Trial& trial : trials_) {
      observations.push_back(observation_of(trial));
    }
    searcher_->tell(observations);
  }

  /// Keeps a trial in memory and in the counts.
  void note(Trial trial) {
    ++report_.outcomes[trial.outcome];
    if (is_failure(trial.outcome) && report_.first_failure.empty()) {
      report_.first_failure = trial.detail;
    }
    if (trial.outcome == Outcome::kOk && !trial.measurement.raced_out && (!best_us_ || trial.measurement.median_us < *best_us_)) {
      constexpr double kProgress = 0.995;  // less is a tie
      improved_at_ = !best_us_ || trial.measurement.median_us < kProgress * *best_us_ ? trials_.size() : improved_at_;
      best_us_ = trial.measurement.median_us;
    }
    tried_.insert(trial.position);
    trials_.push_back(std::move(trial));
  }

  Result<void> record(std::vector<Trial> finished) {
    std::vector<Observation> observations;
    for (Trial& trial : finished) {
      HONE_TRY(store_.add_trial(session_, request_.spec.parameters, trial, elapsed()));
      add(report_.stages, trial.seconds);
      observations.push_back(observation_of(trial));
      note(std::move(trial));
      if (best_us_) {
        evaluator_->set_incumbent(*best_us_);
      }
      progress();
    }
    evaluator_->meanwhile([&] { searcher_->tell(observations); });
    return {};
  }

  static void add(StageSeconds& sum, const StageSeconds& trial) {
    sum.compile += trial.compile;
    sum.validate += trial.validate;
    sum.time += trial.time;
    sum.overhead += trial.overhead;
  }

  void progress() const {
    if (request_.on_progress) {
      const Trial* standard = default_trial();
      request_.on_progress({.trials = static_cast<std::int64_t>(trials_.size()),
                            .last_outcome = trials_.back().outcome,
                            .elapsed_seconds = elapsed(),
                            .default_us = standard != nullptr && standard->outcome == Outcome::kOk
                                              ? std::optional<double>(standard->measurement.median_us)
                                              : std::nullopt,
                            .best_us = best_us_});
    }
  }

  [[nodiscard]] double elapsed() const { return earlier_seconds_ + (evaluator_ ? evaluator_->elapsed() : 0.0); }

  [[nodiscard]] const Trial* default_trial() const {
    for (const Trial& trial : trials_) {
      if (trial.position == default_position_) {
        return &trial;
      }
    }
    return nullptr;
  }

  /// The default goes first: it sets the deadlines, and a kernel whose default fails is broken or misdescribed. Compilers that would idle
  /// meanwhile get proposals.
  Result<void> try_default() {
    if (default_trial() == nullptr) {
      tried_.insert(default_position_);
      evaluator_->submit({{default_position_, space_.at(default_position_)}});
      HONE_TRY(try_record());
      while (default_trial() == nullptr && evaluator_->in_flight() > 0) {
        if (request_.recorded == nullptr) {
          propose();
        }
        HONE_ASSIGN(std::vector<Trial> finished, evaluator_->wait(std::numeric_limits<double>::infinity()));
        HONE_TRY(record(std::move(finished)));
      }
    }
    const Trial* standard = default_trial();
    if (standard == nullptr || standard->outcome == Outcome::kOk || request_.recorded != nullptr) {
      return {};
    }
    const ErrorCode code = standard->outcome == Outcome::kCompileError ? ErrorCode::kCompile : ErrorCode::kBadKernel;
    const Error error{code,
                      fmt::format("{}: the default configuration ({}) ended as {}: {}", request_.spec.file,
                                  text(request_.spec.parameters, standard->configuration), name(standard->outcome), standard->detail)};
    HONE_TRY(store_.finish_session(session_, key_, std::nullopt, elapsed()));
    return error;
  }

  /// The problem's record comes next: what is found has to beat it side by side, or it stays the winner.
  Result<void> try_record() {
    if (!request_.transfer || trials_left() == 0) {
      return {};
    }
    HONE_ASSIGN(const std::optional<Record> known, store_.find_record(key_, request_.spec.parameters));
    const std::optional<Count> position = known ? space_.index(known->configuration) : std::nullopt;
    record_position_ = position;
    if (position && tried_.insert(*position).second) {
      evaluator_->submit({{*position, known->configuration}});
    }
    return {};
  }

  [[nodiscard]] double search_until() const {
    return request_.budget.seconds ? *request_.budget.seconds * (1.0 - kFinalsShare) : std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] std::size_t trials_left() const {
    if (!request_.budget.trials) {
      return std::numeric_limits<std::size_t>::max();
    }
    const std::int64_t used = static_cast<std::int64_t>(trials_.size() + evaluator_->in_flight());
    return static_cast<std::size_t>(std::max<std::int64_t>(0, *request_.budget.trials - used));
  }

  Result<void> search() {
    while (elapsed() < search_until()) {
      if (request_.stop.stop_requested()) {
        return cancelled();
      }
      propose();
      if (evaluator_->in_flight() == 0) {
        break;
      }
      HONE_ASSIGN(std::vector<Trial> finished, evaluator_->wait(search_until() - earlier_seconds_));
      HONE_TRY(record(std::move(finished)));
    }
    HONE_ASSIGN(std::vector<Trial> last, evaluator_->drain());
    return record(std::move(last));
  }

  /// Whether the likely configurations have had their share: a larger one where the second half of the trials still brought progress. What
  /// is left is enough to learn that an expectation is wrong, as the strategy knows what it has to beat. The rule looks at what is in the
  /// store alone, so that a resumed session is where it was.
  [[nodiscard]] bool likely_share_is_spent() const {
    const auto trials = static_cast<double>(trials_.size() + evaluator_->in_flight());
    const double of_seconds = request_.budget.seconds ? elapsed() / *request_.budget.seconds : 0.0;
    const double of_trials = request_.budget.trials ? trials / static_cast<double>(*request_.budget.trials) : 0.0;
    const double spent = std::max(of_seconds, of_trials);
    const bool levelled_off = trials >= 2.0 * static_cast<double>(improved_at_);
    return spent >= (levelled_off ? kLikelyShare : kMostLikelyShare);
  }

  /// Asks the strategy for as much as the evaluator can use. A proposal that is invalid or was tried loses its turn.
  void propose() {
    constexpr int kPatience = 3;
    for (int turn = 0; turn < kPatience; ++turn) {
      if (searcher_->can_widen() && (searcher_->exhausted() || likely_share_is_spent())) {
        evaluator_->meanwhile([&] { searcher_->widen(); });
      }
      if (searcher_->exhausted()) {
        return;
      }
      const std::size_t wanted = std::min(evaluator_->wanted(), trials_left());
      if (wanted == 0) {
        return;
      }
      std::vector<Count> positions;
      evaluator_->meanwhile([&] { positions = searcher_->ask(wanted); });
      std::vector<Proposal> proposals;
      for (const Count position : positions) {
        if (position < space_.size() && tried_.insert(position).second) {
          proposals.push_back({position, space_.at(position)});
        }
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

  /// All that may win, the fastest first; those that lost a race after them, as what they raced against may have been wrong.
  [[nodiscard]] std::vector<Candidate> finalists() const {
    constexpr std::size_t kEnough = 64;
    std::vector<Candidate> candidates;
    for (const Trial& trial : trials_) {
      if (trial.outcome == Outcome::kOk) {
        candidates.push_back({trial, trial.position == default_position_ || trial.position == record_position_});
      }
    }
    std::ranges::sort(candidates, {},
                      [](const Candidate& c) { return std::pair(c.trial.measurement.raced_out, c.trial.measurement.median_us); });
    const auto rest = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(candidates.size(), kEnough));
    candidates.erase(std::remove_if(rest, candidates.end(), [](const Candidate& c) { return !c.required; }), candidates.end());
    return candidates;
  }

  /// As many as are about as fast as the best.
  [[nodiscard]] std::size_t close_to_best(const std::vector<Candidate>& candidates) const {
    const auto close = std::ranges::count_if(candidates, [&](const Candidate& c) {
      return !c.trial.measurement.raced_out && c.trial.measurement.median_us <= *best_us_ * kFinalistMargin;
    });
    return std::min(static_cast<std::size_t>(close), kMostFinalists);
  }

  Result<void> final_round() {
    if (!best_us_) {
      HONE_TRY(store_.finish_session(session_, key_, std::nullopt, elapsed()));
      return {};
    }
    const std::vector<Candidate> candidates = finalists();
    HONE_ASSIGN(std::vector<Trial> results, evaluator_->finals(candidates, close_to_best(candidates)));
    std::vector<Trial> right;
    for (Trial& trial : results) {
      trial.final_round = true;
      HONE_TRY(store_.add_trial(session_, request_.spec.parameters, trial, elapsed()));
      if (trial.outcome != Outcome::kOk) {
        continue;  // wrong or crashed on fresh inputs: recorded as that, and no winner
      }
      if (trial.position == default_position_) {
        report_.default_measured = Measured{trial.configuration, trial.measurement};
      }
      right.push_back(std::move(trial));
    }
    HONE_ASSIGN(const std::optional<Record> known, store_.find_record(key_, request_.spec.parameters));
    std::optional<Record> record;
    if (const Trial* const winner = choose(right, known)) {
      HONE_ASSIGN(record, make_record(*winner));
      const bool beside_known = known && (is_among(results, *known) || is_among(right, *known));
      if (known && !beside_known && !replaces(*record, *known)) {
        report_.faster_record = known;
      }
      compared_with_ = beside_known ? std::optional(known->id) : std::nullopt;
    }
    HONE_TRY(store_.finish_session(session_, key_, report_.faster_record ? std::nullopt : record, elapsed(), compared_with_));
    return {};
  }

  static bool is_among(const std::vector<Trial>& trials, const Record& record) {
    return std::ranges::any_of(trials, [&](const Trial& trial) { return trial.configuration == record.configuration; });
  }

  /// The winner of the final round: the fastest, unless the problem's record is there and cannot be told from it, for a record changes
  /// hands only where intervals part. Notes those that cannot be told from the winner.
  const Trial* choose(const std::vector<Trial>& right, const std::optional<Record>& known) {
    const auto order = [](const Trial& trial) { return std::pair(trial.measurement.median_us, trial.position); };
    const auto fastest = std::ranges::min_element(right, {}, order);
    if (fastest == right.end()) {
      return nullptr;
    }
    const auto tied = [&](const Trial& trial) { return trial.measurement.ci95_low_us <= fastest->measurement.ci95_high_us; };
    const Trial* winner = &*fastest;
    for (const Trial& trial : right) {
      if (known && trial.configuration == known->configuration && tied(trial)) {
        winner = &trial;
      }
    }
    report_.best = Measured{winner->configuration, winner->measurement};
    note_broken(*winner);
    report_.readings = winner->readings;
    for (const Trial& trial : right) {
      if (&trial != winner && tied(trial)) {
        report_.tied.push_back({trial.configuration, trial.measurement});
      }
    }
    return winner;
  }

  void note_broken(const Trial& winner) {
    if (winner.position == default_position_) {
      return;  // it counts as likely
    }
    for (const std::size_t i : spaces_.broken(winner.configuration)) {
      report_.broken.push_back(spaces_.expectations()[i]);
    }
  }

  Result<std::optional<Record>> make_record(const Trial& winner) {
    Record record;
    record.configuration = winner.configuration;
    record.configuration_text = text(request_.spec.parameters, winner.configuration);
    record.measurement = winner.measurement;
    record.default_us = report_.default_measured ? report_.default_measured->measurement.median_us : 0.0;
    record.session = session_;
    record.trials = static_cast<std::int64_t>(trials_.size());
    record.artifact = winner.artifact;
    HONE_ASSIGN(const auto compiled,
                store_.find_compiled(compiled_key(request_.spec, request_.problem, record.configuration_text, request_.device.info)));
    if (compiled) {
      record.symbols = compiled->symbols;
    }
    record.environment = request_.device.info.environment;
    record.problem = request_.problem;
    return std::optional<Record>(std::move(record));
  }

  Result<TuneReport> report() {
    report_.session = session_;
    report_.device_id = request_.device.info.id;
    report_.product = request_.device.info.product;
    report_.cartesian = space_.cartesian();
    report_.valid = space_.size();
    report_.likely = spaces_.likely()->size();
    report_.contradiction = spaces_.contradiction();
    report_.not_shared = space_.figures().deferred;
    report_.seconds = elapsed();
    report_.device_idle = evaluator_->device_idle();
    searcher_->end();
    report_.faults = searcher_->faults();
    report_.strategy_seconds = searcher_->seconds();
    report_.prior_trials = searcher_->prior_trials();
    report_.notes = evaluator_->notes();
    if (only_the_default_was_tried()) {
      report_.notes.push_back(fmt::format(
          "nothing but the default was measured, which took {:.1f} s: a smaller --shape or a longer --budget leaves time to search",
          elapsed()));
    }
    if (report_.best && report_.default_measured) {
      report_.speedup = report_.default_measured->measurement.median_us / report_.best->measurement.median_us;
    }
    return std::move(report_);
  }

  /// A problem that is too large for the device and the budget looks like a search that found nothing.
  [[nodiscard]] bool only_the_default_was_tried() const {
    std::int64_t trials = 0;
    for (const auto& [outcome, count] : report_.outcomes) {
      trials += count;
    }
    const bool wanted_more = !request_.budget.trials || *request_.budget.trials > 1;
    return trials == 1 && space_.size() > 1 && wanted_more && !report_.interrupted;
  }

  const TuneRequest& request_;
  Store& store_;
  const LikelySpace spaces_;
  const SearchSpace& space_;  ///< the legal one, which positions are of
  RecordKey key_;
  std::optional<Searcher> searcher_;
  std::unique_ptr<Evaluator> evaluator_;
  std::int64_t session_ = 0;
  double earlier_seconds_ = 0.0;
  Count default_position_ = 0;
  std::optional<Count> record_position_;       ///< of the problem's record before this session
  std::optional<std::int64_t> compared_with_;  ///< the record that the winner was held against
  std::vector<Trial> trials_;
  std::set<Count> tried_;
  std::optional<double> best_us_;
  std::size_t improved_at_ = 0;  ///< trials before the one that was ahead of the best so far by more than noise
  TuneReport report_;
};

}  // namespace

Result<TuneReport> tune(const TuneRequest& request, Store& store, const Registry& registry) {
  HONE_ASSIGN(LikelySpace spaces, likely_space_of(request));
  return Session(request, store, std::move(spaces)).run(registry);
}

}  // namespace hone
