#pragma once
// What a session holds while it runs.

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/store/lookup.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/searcher.hpp"
#include "engine/tune/session.hpp"

namespace hone {

/// One tuning run of a kernel: what tune() runs from beginning to end, and a session of an operation in turns with those of other kernels.
class TuningSession {
 public:
  TuningSession(const TuneRequest& request, Store& store, LikelySpace spaces)
      : request_(request),
        store_(store),
        spaces_(std::move(spaces)),
        space_(*spaces_.legal()),
        key_(record_key(request.spec, request.problem, request.device.info,
                        purpose_within(request.measure.max_error, request.measure.given.digest, request.measure.objective))) {
    key_.device.id = device_ids(request);
  }
  /// All of it.
  Result<TuneReport> run(const Registry& registry);

  // In turns: open, start, submit_first; then propose and take as often as there is time; final_round or close; report.
  /// Takes over what an earlier run left, or begins; starts no process.
  Result<void> open(const Registry& registry);
  /// Starts the processes, `elapsed` seconds into the session that it is a part of; again after suspend().
  Result<void> start(double elapsed, const Beside& beside);
  [[nodiscard]] bool started() const { return evaluator_ != nullptr; }
  [[nodiscard]] Evaluator& evaluator() { return *evaluator_; }
  /// What an application gets for the problem without this session. It takes part where it is the choice of a portfolio or the record of
  /// the nearest shape: a record of the problem and the default do so anyway. After open.
  void set_serving(const Choice& now);
  /// The default, where it was not tried, the problem's record, and what serves.
  Result<void> submit_first();
  /// Asks the strategy for as much as the evaluator can use, and at most `most`.
  void propose(std::size_t most = std::numeric_limits<std::size_t>::max());
  /// Waits for a trial, at most `seconds`, and records what has finished.
  Result<void> take(double seconds);
  /// The time that another kernel of the operation reaches: candidates race against the faster of that and the own best. Operations are
  /// tuned for time alone.
  void set_rival(double time_us);
  /// How many more trials the operation's budget holds.
  void allow(std::size_t trials) { allowed_ = trials; }
  /// Waits for what is on the device, and forgets the rest.
  Result<void> drain();
  /// Ends the processes.
  void suspend();
  /// The final round, among the configurations of this kernel, and its record. `rounds`: how many kernels of the operation have one, at
  /// least 1; they share what timing may take.
  Result<void> final_round(std::size_t rounds = 1);
  /// Who stops a session does not wait for a final round: the best so far, which won the races of the search, is kept as it was measured
  /// there. Nothing where it has ended.
  Result<void> keep_best();
  /// Leaves the session as it is to whoever goes on with it. Nothing where it has ended.
  Result<void> release() { return has_ended_ ? Result<void>() : store_.release_session(session_, elapsed()); }
  /// Ends the session in the store without a record: another kernel of the operation is far ahead.
  Result<void> close();
  Result<TuneReport> report();
  /// A model that was learnt without transfer, or of a part of the space, would replace one that knows more. One that cannot be kept costs
  /// the next session a start, and this one nothing.
  void keep_model();

  [[nodiscard]] const RecordKey& key() const { return key_; }
  [[nodiscard]] std::int64_t session() const { return session_; }
  [[nodiscard]] const std::vector<Trial>& trials() const { return trials_; }
  /// The best so far, of the objective, among what was not withdrawn from the problem.
  [[nodiscard]] std::optional<double> best_us() const { return best_is_withdrawn_ ? std::nullopt : best_us_; }
  /// Whether its final round is over, or it was closed.
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  /// Whether people, or a check of its outputs, withdrew it from the problem, so that it is no record of it again.
  [[nodiscard]] bool is_withdrawn(const Configuration& configuration) const;
  [[nodiscard]] const std::map<Outcome, std::int64_t>& outcomes() const { return report_.outcomes; }
  [[nodiscard]] const Trial* default_trial() const;
  /// Whether the default, the record that the store has for the problem and what serves without one were tried.
  [[nodiscard]] bool tried_what_serves() const;
  [[nodiscard]] double elapsed() const { return earlier_seconds_ + (evaluator_ ? evaluator_->elapsed() : 0.0); }
  /// The winner of the final round, as it was measured there.
  [[nodiscard]] const std::optional<Trial>& winner() const { return winner_; }
  /// Why the default cannot be used, where it was tried.
  [[nodiscard]] std::optional<Error> default_error() const;

 private:
  Result<void> search_and_decide();
  Result<SessionKey> session_key() const;
  Result<void> begin();
  /// Takes over what an earlier run of the session has left; nothing where there is none, and the session is 0.
  Result<void> resume();
  Result<void> make_evaluator(const Beside& beside = {});
  /// What an earlier run of the session had measured, and did not live to record.
  void submit_leftovers();
  void tell_history();
  /// Keeps a trial in memory and in the counts.
  void note(Trial trial);
  Result<void> record(std::vector<Trial> finished);
  [[nodiscard]] const Objective& objective() const { return request_.measure.objective; }
  /// What a trial reached of the objective. One that lost its race by its time has a time alone: it counts as if its power, or the spread
  /// of its samples, was the default's.
  [[nodiscard]] double value_of(const Trial& trial) const;
  /// As a strategy is told.
  [[nodiscard]] Observation told(const Trial& trial) const;
  static void add(StageSeconds& sum, const StageSeconds& trial);
  /// Tells the evaluator what candidates race against: not before the default was measured alone, and nothing that was withdrawn, which
  /// would leave what is slower than it unmeasured.
  void race();
  void progress(SessionStage stage) const;
  void tell(SessionEvent::Step step, const Trial* trial = nullptr, const Control* control = nullptr) const;
  /// The default goes first: it sets the deadlines, and a kernel whose default fails is broken or misdescribed. Compilers that would idle
  /// meanwhile get proposals.
  Result<void> try_default();
  /// The problem's record comes next: what is found has to beat it side by side, or it stays the winner.
  Result<void> try_record();
  Result<void> find_serving();
  Result<void> note_what_serves(const Record& written);
  void note_failed_finalists(const std::vector<const Trial*>& failed);
  Result<void> leave_out_withdrawn(std::vector<Trial>& right);
  /// What serves without a record, also beyond a budget that is too short: a record that is slower would take its place.
  void try_serving();
  /// Submits it, unless it was tried or submitted.
  void try_now(Count position);
  [[nodiscard]] bool was_tried(Count position) const;
  /// Then, where something else than time is minimized, what is fastest as far as the store knows, and what the request names.
  Result<void> try_first();
  [[nodiscard]] double search_until() const;
  [[nodiscard]] std::size_t trials_left() const;
  Result<void> search();
  /// Whether the likely configurations have had their share: a larger one where the second half of the trials still brought progress. What
  /// is left is enough to learn that an expectation is wrong, as the strategy knows what it has to beat. The rule looks at what is in the
  /// store alone, so that a resumed session is where it was.
  [[nodiscard]] bool likely_share_is_spent() const;
  // session_winner.cpp
  /// Right, and not withdrawn unless all that is right is.
  [[nodiscard]] bool may_win(const Trial& trial) const;
  /// All that may win and the default, the fastest first; those that lost a race after them, as what they raced against may have been
  /// wrong.
  [[nodiscard]] std::vector<Candidate> finalists() const;
  /// As many as are about as fast as the best.
  [[nodiscard]] std::size_t close_to_best(const std::vector<Candidate>& candidates) const;
  /// A record that the session found to be wrong is not served any more, whoever wins.
  Result<void> withdraw_if_wrong(const std::vector<Trial>& trials, const Record& record);
  static bool is_among(const std::vector<Trial>& trials, const Record& record);
  /// The winner of the final round: the fastest, unless the problem's record is there and cannot be told from it, for a record changes
  /// hands only where intervals part. Notes those that cannot be told from the winner.
  const Trial* choose(const std::vector<Trial>& right, const std::optional<Record>& known);
  void note_broken(const Trial& winner);
  Result<std::optional<Record>> make_record(const Trial& winner);
  /// Where a trial that may become a record was measured.
  [[nodiscard]] const DeviceInfo& device_of(const Trial& trial) const;
  /// A problem that is too large for the device and the budget looks like a search that found nothing.
  [[nodiscard]] bool only_the_default_was_tried() const;

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
  std::string unmeasured_serving_;             ///< what serves where there is no record, and is not to be measured
  std::optional<Count> serving_position_;      ///< of what serves where there is no record
  std::optional<std::int64_t> compared_with_;  ///< the record that the winner was held against
  std::vector<Trial> trials_;
  std::set<Count> submitted_;  ///< to the present evaluator, before what the strategy proposed
  std::vector<Control> controls_;
  std::vector<std::string> withdrawn_;  ///< from the problem, before this session: configurations as their texts
  std::optional<double> best_us_;       ///< of the objective, in the units of Objective::of
  bool best_is_withdrawn_ = false;      ///< as nothing else was right so far
  double best_time_us_ = 0.0;           ///< the median of its time
  Objective::Powers powers_;            ///< of trials whose energy is known: over their time
  std::optional<double> rival_us_;      ///< of another kernel of the operation
  std::size_t allowed_ = std::numeric_limits<std::size_t>::max();
  std::size_t improved_at_ = 0;    ///< trials before the one that was ahead of the best so far by more than noise
  double improved_seconds_ = 0.0;  ///< when that was
  std::optional<Trial> winner_;
  bool has_ended_ = false;
  std::string final_device_;  ///< its id
  TuneReport report_;
};

}  // namespace hone
