#include "engine/tune/portfolio_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iterator>
#include <latch>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/kernel/static_fields.hpp"
#include "engine/tune/compiled_ahead.hpp"
#include "engine/tune/evaluator.hpp"
#include "engine/tune/portfolio_checks.hpp"
#include "engine/tune/portfolio_choices.hpp"
#include "engine/tune/portfolio_comparisons.hpp"
#include "engine/tune/portfolio_neighbours.hpp"
#include "engine/tune/range_budget.hpp"
#include "engine/tune/range_lanes.hpp"
#include "engine/tune/warm.hpp"

namespace hone {
namespace {

using PortfolioClock = std::chrono::steady_clock;

constexpr std::size_t kFirstShapes = 5;  // by sessions, before anything else, as far as there are any that are worth one
// Of a budget. Choices that were not timed come first; while there are any, sessions have the rest.
constexpr double kCheckShare = 0.05, kChoiceShare = 0.6, kSessionShare = 0.5, kCompareShare = 0.25, kSurveyShare = 1.0;
// Once much is known: what is missing then are members (docs/results/untuned-h200-2026-11-30-fifth.md), and shapes at which the rule's
// first few were timed (docs/results/untuned-h200-2026-12-01-second.md#what-drawn-shapes-bring).
constexpr double kLaterChoiceShare = 0.15, kLaterSessionShare = 0.25, kLaterCompareShare = 0.15, kLaterNeighbourShare = 0.15;
constexpr std::size_t kLaterSurveyed = 8;                     // configurations, all members
constexpr std::size_t kCheckedAtOnce = 16;                    // members
constexpr double kChecksBeyond = 0.2, kLeastForChecks = 4.0;  // of a run's seconds, and seconds, that the last checks may take
constexpr double kCodeShare = 0.25;                           // of a budget, in which members' code may still be begun
constexpr int kCompiledInTurn = 2;                            // members by each process, until that is looked at again
constexpr std::size_t kNeighboursEach = 9;                    // of what is fast at a shape, the fastest among them
constexpr std::size_t kNeighboursAhead = 3;                   // shapes, for which code is compiled
constexpr std::size_t kMemberShare = 2;                       // quarters of what is surveyed, that members may have before others
constexpr std::size_t kChoicesEach = 32;                      // shapes, or so many new ones, until the rule is made again
constexpr int kPatience = 3;                                  // with failures in a row, and with turns that find nothing to do

class PortfolioSession {
 public:
  PortfolioSession(const PortfolioRequest& request, std::vector<TuneRequest> lanes, Store& store, const Registry& registry)
      : request_(request),
        store_(store),
        knowledge_(request, store),
        budget_(request, knowledge_.table(), knowledge_.shapes(), lanes.size(), [this] { return used(); }) {
    for (TuneRequest& own : lanes) {
      own.range = range_mark(request.range);
      if (own.on_event) {
        own.on_event = [this](const SessionEvent& event) {
          const std::lock_guard one_at_a_time(callback_mutex_);
          request_.common.on_event(event);
        };
      }
      RangeLane& lane = lanes_.emplace_back(std::move(own), *request.operation, store, registry, knowledge_, monitor_);
      lane.spending.emplace([this, &lane] { return spent_here(lane); },
                            std::vector<Activity>{{kCheckShare, [this, &lane] { return check_members(lane); }},
                                                  {kChoiceShare, [this, &lane] { return time_choices(lane); }},
                                                  {1.0, [this, &lane] { return explore(lane); }},
                                                  {kCompareShare, [this, &lane] { return compare(lane); }},
                                                  {0.0, [this, &lane] { return try_neighbours(lane); }},
                                                  {kSurveyShare, [this, &lane] { return survey_another(lane); }}});
    }
  }

  Result<PortfolioReport> run() {
    HONE_TRY(knowledge_.load());
    compiles_members_ = may_compile_ahead();
    run_all();
    if (thrown_) {
      std::rethrow_exception(thrown_);
    }
    HONE_TRY(ended_);
    const auto failed = std::ranges::find_if(lanes_, has_failed);
    if (failed != lanes_.end() && !knowledge_.has_own() && !stopped()) {
      return *failed->last_failure;
    }
    report_.interrupted = stopped();
    report_.nothing_left = !stopped() && budget_.spent() < 1.0 && std::ranges::all_of(lanes_, is_idle);
    return finish();
  }

 private:
  static bool has_failed(const RangeLane& lane) { return lane.failures_in_a_row >= kPatience; }
  static bool is_idle(const RangeLane& lane) { return lane.empty_turns >= kPatience; }

  void run_all() {
    std::latch compiles{1};
    std::optional<std::jthread> compiler;
    std::vector<std::jthread> others;
    try {
      if (compiles_members_) {
        compiler.emplace([this, &compiles](const std::stop_token& stop) { compile_members(compiles, stop); });
        compiles.wait();  // a lane with nothing else to do waits for it, if it is there
      }
      for (auto lane = std::next(lanes_.begin()); lane != lanes_.end(); ++lane) {
        others.emplace_back([this, &lane = *lane] { run(lane); });
      }
    } catch (...) {  // of those that run already none goes on
      const Monitor::Inside inside(monitor_);
      thrown_ = std::current_exception();
    }
    run(lanes_.front());
    others.clear();
    ahead_.stop();
  }

  void run(RangeLane& lane) {
    const Monitor::Inside inside(monitor_);
    try {
      take_turns(lane);
    } catch (...) {  // it would end the process from here
      thrown_ = std::current_exception();
    }
    if (has_failed(lane) && lanes_.size() > 1) {
      report_.failures.push_back(fmt::format("{} measures no more, after {} failures in a row: {}", device_ids(lane.common), kPatience,
                                             lane.last_failure->message));
    }
  }

  /// Surveys wait for the code of members that are known already, which they would compile a few at a time, while no device is busy:
  /// sessions go first.
  void compile_members(std::latch& began, const std::stop_token& stop) {
    const Monitor::Inside inside(monitor_);
    began.count_down();
    try {
      std::stop_source either;
      const std::stop_callback here(stop, [&either] { either.request_stop(); });
      const std::stop_callback asked(request_.common.stop, [&either] { either.request_stop(); });
      const int workers = std::max(1, compile_workers(request_.common) / 2);  // sessions compile, too
      Portfolio some = knowledge_.portfolio();
      some.points.clear();
      std::vector<PortfolioMember> left = std::exchange(some.members, {});
      for (bool works = true; works && !left.empty() && !either.stop_requested() && budget_.spent() < kCodeShare;) {
        const std::size_t count = std::min(left.size(), static_cast<std::size_t>(workers * kCompiledInTurn));
        some.members.assign(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
        left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count));
        // Whoever needs what fails here meets it again, and says where.
        works = monitor_.work_outside(
            [&] { return warm(some, *request_.operation, request_.common.device, store_, workers, either.get_token()).ok(); });
      }
    } catch (...) {  // it would end the process from here
      thrown_ = std::current_exception();
    }
    compiles_members_ = false;
  }

  /// Until the budget is spent, or nothing is left that this lane could do.
  void take_turns(RangeLane& lane) {
    while (!is_over(lane) && !stopped() && ended_ && !thrown_) {
      const std::optional<std::int64_t> trials_left = budget_.trials_left();
      if (trials_left && *trials_left < RangeBudget::kLeastTrials && monitor_.wait_for_another()) {  // others are at the last ones
        continue;
      }
      set_shares(*lane.spending);
      const Result<bool> done = lane.spending->next();
      if (!done) {
        if (done.error().code != ErrorCode::kCancelled) {
          ended_ = done.error();
        }
        return;
      }
      // What others measure may bring something to do.
      lane.empty_turns = *done || waits_for_code(lane) || monitor_.wait_for_another() ? 0 : lane.empty_turns + 1;
    }
  }

  // ---- how far it has come ----

  /// Of this run.
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(PortfolioClock::now() - start_).count(); }
  [[nodiscard]] RangeBudget::Used used() const {
    RangeBudget::Used all{knowledge_.earlier_seconds() + seconds(), knowledge_.earlier_trials()};
    for (const RangeLane& lane : lanes_) {
      all.trials += lane.trials.outcomes().trials();
    }
    return all;
  }
  /// By a lane in this run, in seconds or in trials, as the budget is.
  [[nodiscard]] double spent_here(const RangeLane& lane) const {
    return request_.budget.seconds ? seconds() : static_cast<double>(lane.trials.outcomes().trials());
  }
  [[nodiscard]] bool stopped() const { return request_.common.stop.stop_requested(); }
  [[nodiscard]] bool is_over(const RangeLane& lane) const { return budget_.spent() >= 1.0 || is_idle(lane) || has_failed(lane); }
  [[nodiscard]] bool has_begun() const { return knowledge_.table().rows().size() >= kFirstShapes && !compiles_members_; }
  /// Members' code: where there are any, something is measured at all, and that is not disturbed.
  [[nodiscard]] bool may_compile_ahead() const {
    return !knowledge_.portfolio().members.empty() && request_.common.device.info.compile_overlaps && !request_.common.workers &&
           request_.budget.trials.value_or(1) > 0;
  }

  void set_shares(Spending& spending) const {
    const bool is_late = knowledge_.table().has_many_shapes();
    spending.set_share(kChoices, is_late ? kLaterChoiceShare : kChoiceShare);
    spending.set_share(kSessions, !has_begun() || budget_.is_small() ? 1.0 : is_late ? kLaterSessionShare : kSessionShare);
    spending.set_share(kComparisons, is_late ? kLaterCompareShare : kCompareShare);
    spending.set_share(kNeighbours, is_late ? kLaterNeighbourShare : 0.0);
  }

  // ---- what it is spent on: each says whether there was something to do ----

  /// Members that have not passed the full gate yet.
  Result<bool> check_members(RangeLane& lane) {
    if (!has_begun()) {
      return false;
    }
    HONE_ASSIGN(const std::optional<std::size_t> checked, check_some(lane, checks_, budget_.session_seconds()));
    return checked.has_value();
  }

  /// Nothing if none is left; else how many were found wrong.
  Result<std::optional<std::size_t>> check_some(RangeLane& lane, PortfolioChecks& checks, double seconds) {
    const std::optional<PlannedCheck> next = checks.next(knowledge_.portfolio().members, kCheckedAtOnce);
    if (!next) {
      return std::optional<std::size_t>();
    }
    tell(next->survey.shape, true);
    const std::size_t before = knowledge_.table().wrong();
    const Result<bool> checked = lane.trials.survey(next->survey.shape, next->survey.first, seconds, Gate::kFull);
    checks.end(*next);
    HONE_TRY(checked);
    return std::optional(knowledge_.table().wrong() - before);
  }

  /// What is wrong makes room for others, which have to be checked in their turn.
  Result<void> check_the_rest() {
    const double begin = seconds();
    const double most = std::max(kLeastForChecks, kChecksBeyond * begin);
    const auto left = [&] {  // where trials alone are counted, all is checked, however slow the host is
      return request_.budget.seconds ? most - (seconds() - begin) : budget_.session_seconds();
    };
    const bool has_device = !request_.budget.trials || *request_.budget.trials > 0;  // else it is made of what the store has
    const auto able = std::ranges::find_if_not(lanes_, has_failed);
    const auto lane = able == lanes_.end() ? lanes_.begin() : able;
    knowledge_.prepare_to_finish();
    PortfolioChecks last{knowledge_.table(), knowledge_.shapes(), knowledge_.proposals()};  // what was proposed in vain has another chance
    std::size_t wrong = 0;
    while (has_device && !stopped() && left() > 0.0) {
      HONE_ASSIGN(const std::optional<std::size_t> found, check_some(*lane, last, left()));
      wrong += found.value_or(0);
      if (!found && wrong == 0) {
        break;
      }
      if (!found) {
        knowledge_.learn_as_set();
        wrong = 0;
      }
    }
    return {};
  }

  /// What the rule would choose and nobody has timed, at a shape that was measured before.
  Result<bool> time_choices(RangeLane& lane) {
    if (!has_begun() || knowledge_.rule() == nullptr || lane.failed_choices >= kPatience) {
      return false;
    }
    if (knowledge_.table().rows().size() >= knowledge_.portfolio().points.size() + kChoicesEach) {
      knowledge_.learn_as_set();
      if (knowledge_.rule() == nullptr) {
        return false;  // every member was found wrong since
      }
    }
    std::optional<PlannedSurvey> next;
    do {
      next = choices_.next(knowledge_.portfolio(), *knowledge_.rule(), budget_.most_surveyed(), budget_.session_seconds());
    } while (!next && !choices_.is_done() && !is_over(lane) && !stopped());
    if (next) {
      HONE_ASSIGN(const bool measured, survey(lane, next->shape, next->first));
      lane.failed_choices += measured ? 0 : 1;
      if (++timed_choices_ % kChoicesEach == 0) {
        knowledge_.learn_as_set();
      }
    }
    return next.has_value();
  }

  /// What a session would find is told by what was found nearby: where nobody has searched, what is known seems to be all there is. So
  /// once much is known, every other session goes where a launch does most, which is where applications spend their time.
  Result<bool> explore(RangeLane& lane) {
    const bool is_by_work = knowledge_.table().has_many_shapes() && explored_ % 2 == 1;
    const auto need = [&](const Shape& shape) { return is_by_work ? knowledge_.shapes().amount_at(shape) : knowledge_.need(shape); };
    const std::optional<Shape> shape = knowledge_.shapes().next_explored(budget_.session_seconds(), knowledge_.table(), need);
    explored_ += shape ? 1 : 0;
    HONE_TRY(shape ? search(lane, *shape) : Result<void>());
    return shape.has_value();
  }

  /// What may be better than a member, at a shape that was measured before.
  Result<bool> compare(RangeLane& lane) {
    if (compiles_members_ || knowledge_.rule() == nullptr || lane.failed_comparisons >= kPatience) {
      return false;
    }
    const Portfolio& portfolio = knowledge_.portfolio();
    comparisons_.plan(portfolio.members, budget_.session_seconds());
    comparisons_.add_winners(portfolio, *knowledge_.rule(), budget_.session_seconds());
    const std::optional<PlannedSurvey> next = comparisons_.next(budget_.most_surveyed());
    if (next) {
      HONE_ASSIGN(const bool measured, survey(lane, next->shape, next->first));
      lane.failed_comparisons += measured ? 0 : 1;
    }
    return next.has_value();
  }

  /// What is one parameter from the fastest at measured shapes, or from what is expected to be at others, once much is known. Its code is
  /// compiled meanwhile, where that does not disturb what is timed.
  Result<bool> try_neighbours(RangeLane& lane) {
    if (!tries_neighbours(lane)) {
      return false;
    }
    while (!ahead_.is_full()) {
      std::optional<PlannedSurvey> next =
          neighbours_.next(knowledge_.portfolio(), std::min(budget_.most_surveyed(), kNeighboursEach), budget_.session_seconds());
      if (!next) {
        break;
      }
      ahead_.add(*std::move(next));
    }
    const std::optional<CompiledAhead::Ready> ready = ahead_.take();
    if (!ready) {
      return false;
    }
    std::ranges::for_each(ready->failed, [this](const PortfolioMember& member) { neighbours_.give_up(member); });
    std::size_t count = 0;
    for (const auto& [kernel, configurations] : ready->plan.first) {
      count += configurations.size();
    }
    // Whoever needs what could not be compiled at all meets the error, too, and says where.
    bool works = ready->ended.ok();
    if (works && count > 1 && count <= budget_.most_surveyed()) {
      HONE_ASSIGN(works, survey(lane, ready->plan.shape, ready->plan.first));
    }
    lane.failed_neighbours += works ? 0 : 1;
    return true;
  }

  [[nodiscard]] bool tries_neighbours(const RangeLane& lane) const {
    return !compiles_members_ && !budget_.is_small() && knowledge_.table().has_many_shapes() && lane.failed_neighbours < kPatience;
  }

  /// Whether what is compiled may bring something to do; if so, after a moment.
  bool waits_for_code(const RangeLane& lane) {
    static constexpr std::chrono::milliseconds kMoment{20};
    const bool waits = tries_neighbours(lane) && !ahead_.is_empty();
    if (waits) {
      monitor_.work_outside([] { std::this_thread::sleep_for(kMoment); });
    }
    return waits;
  }

  /// What is promising at a new shape; where nothing of that can be timed, a session, which counts as a survey: it is all that can be had
  /// there.
  Result<bool> survey_another(RangeLane& lane) {
    if (compiles_members_) {
      return false;
    }
    const std::optional<Shape> shape = knowledge_.shapes().next_surveyed(budget_.session_seconds(), knowledge_.table());
    if (!shape) {
      return false;
    }
    HONE_ASSIGN(const Problem problem, knowledge_.shapes().problem_at(*shape));
    const bool is_late = knowledge_.table().has_many_shapes();
    const std::size_t most = is_late ? std::min(budget_.most_surveyed(), kLaterSurveyed) : budget_.most_surveyed();
    const std::size_t most_members = is_late ? most : most * kMemberShare / 4;
    HONE_ASSIGN(const bool measured, survey(lane, *shape, knowledge_.proposed(*shape, problem, most, most_members)));
    const bool is_any_left = budget_.trials_left().value_or(1) > 0;
    HONE_TRY(measured || !is_any_left ? Result<void>() : search(lane, *shape));
    return true;
  }

  // ---- a shape ----

  Result<bool> survey(RangeLane& lane, const Shape& shape, const PortfolioProposals::First& configurations) {
    tell(shape, true);
    const bool is_new = !knowledge_.table().holds(shape);
    std::size_t count = 0;
    for (const auto& [kernel, own] : configurations) {
      count += own.size();
    }
    const RangeBudget::Reservation here(budget_, shape, static_cast<std::int64_t>(count));
    HONE_ASSIGN(const bool is_any_right, lane.trials.survey(shape, configurations, budget_.survey_seconds(count)));
    if (is_any_right) {
      report_.measured += is_new ? 1 : 0;
      lane.failures_in_a_row = lane.failed_choices = lane.failed_comparisons = lane.failed_neighbours = 0;
    }
    return is_any_right;
  }

  /// Of a small range each shape is tuned. Elsewhere a record, which is the first to serve a shape, would hide what surveys find there, and
  /// be of a shorter session than anybody asked for.
  [[nodiscard]] bool keeps_records() const { return budget_.is_small(); }

  Result<void> search(RangeLane& lane, const Shape& shape) {
    tell(shape, false);
    HONE_ASSIGN(const Problem problem, knowledge_.shapes().problem_at(shape));
    const Budget budget = budget_.each();
    const RangeBudget::Reservation here(budget_, shape, budget.trials.value_or(0));
    const Result<void> done =
        lane.trials.search(shape, knowledge_.proposed(shape, problem, budget_.proposals_for(shape, budget), 0), budget, keeps_records());
    if (done) {
      lane.failures_in_a_row = 0;
      ++report_.measured;
      return {};
    }
    if (ends_all(done.error())) {
      return done;
    }
    report_.failures.push_back(fmt::format("{}: {}", text(shape), done.error().message));
    // An empty space says something about the shape; what else fails again and again is no matter of shapes, and another lane may do it.
    const bool is_of_shape = done.error().code == ErrorCode::kEmptySpace;
    const auto failed = failed_at_.emplace(text(shape), &lane).first;
    if (is_of_shape || lanes_.size() == 1 || failed->second != &lane) {
      knowledge_.shapes().refuse(shape);
    }
    lane.failures_in_a_row += is_of_shape ? 0 : 1;
    lane.last_failure = done.error();
    return {};
  }

  void tell(const Shape& shape, bool surveyed) {
    if (request_.on_progress) {
      const std::lock_guard one_at_a_time(callback_mutex_);
      request_.on_progress({knowledge_.table().rows().size(), shape, surveyed, used().seconds, knowledge_.portfolio().expected});
    }
  }

  // ---- the end ----

  Result<PortfolioReport> finish() {
    if (knowledge_.has_own()) {
      const Monitor::Inside inside(monitor_);
      const Result<void> checked = check_the_rest();
      HONE_TRY(checked || checked.error().code == ErrorCode::kCancelled ? Result<void>() : checked);
      report_.portfolio = knowledge_.finish();
    }
    for (const RangeLane& lane : lanes_) {
      report_.outcomes.add(lane.trials.outcomes());
    }
    if (report_.portfolio.members.empty()) {
      if (stopped()) {
        return cancelled_early();
      }
      return Error{ErrorCode::kEmptySpace, fmt::format("no shape of {} could be tuned: {}", text(request_.range), why_nothing())};
    }
    const RangeBudget::Used all = used();
    report_.portfolio.seconds =
        all.trials > knowledge_.earlier_trials() ? all.seconds : knowledge_.earlier_seconds();  // else what stands stays as it is
    report_.portfolio.trials = all.trials;
    const std::string written = text(report_.portfolio);
    HONE_TRY(parse_portfolio(written));  // what cannot be read must not take the place of what can
    HONE_ASSIGN(report_.generation, store_.put_portfolio(knowledge_.key(), written));
    HONE_ASSIGN(report_.code_bytes, code_bytes(report_.portfolio, *request_.operation, request_.common.device.info, store_));
    WantedShapes wanted = wanted_shapes(request_, knowledge_, report_.generation);
    report_.wants_tuning = wanted.wants_tuning;
    report_.unserved = wanted.unserved;
    report_.wanted = std::move(wanted.named);
    return std::move(report_);
  }

  [[nodiscard]] std::string why_nothing() const {
    if (!report_.failures.empty()) {
      return report_.failures.front();
    }
    if (!report_.outcomes.wrong().empty()) {
      const WrongTrials& wrong = report_.outcomes.wrong().front();
      return fmt::format("{} of {} trials were wrong; the first, {} {} at {}: {}, {}", wrong.count, report_.outcomes.trials(), wrong.kernel,
                         wrong.configuration, text(wrong.shape), name(wrong.outcome), wrong.detail);
    }
    return request_.held_out ? "none fits the device, --largest, --hold-out and the budget"
                             : "none fits the device, --largest and the budget";
  }
  [[nodiscard]] static Error cancelled_early() { return {ErrorCode::kCancelled, "asked to stop before anything was measured and checked"}; }

  const PortfolioRequest& request_;
  Store& store_;
  RangeKnowledge knowledge_;
  RangeBudget budget_;
  PortfolioChoices choices_{knowledge_.table(), knowledge_.shapes(), knowledge_.proposals()};
  PortfolioChecks checks_{knowledge_.table(), knowledge_.shapes(), knowledge_.proposals()};
  PortfolioComparisons comparisons_{knowledge_.table(), knowledge_.shapes(), knowledge_.proposals()};
  PortfolioNeighbours neighbours_{knowledge_.table(), knowledge_.shapes(), knowledge_.proposals()};
  static constexpr std::size_t kChoices = 1, kSessions = 2, kComparisons = 3, kNeighbours = 4;  // places among a lane's activities
  CompiledAhead ahead_{request_, knowledge_.shapes(), knowledge_.proposals(), store_, kNeighboursAhead};
  PortfolioReport report_;
  std::size_t timed_choices_ = 0, explored_ = 0;
  bool compiles_members_ = false;                      ///< ahead of surveys, which wait for it
  std::map<std::string, const RangeLane*> failed_at_;  ///< which lane failed first, by the text of the shape
  Result<void> ended_;                                 ///< by what ends all lanes
  std::exception_ptr thrown_;                          ///< in one of them
  Monitor monitor_;                                    ///< around all of this but the store
  std::mutex callback_mutex_;                          ///< lanes call the request's callbacks one at a time
  std::list<RangeLane> lanes_;                         ///< that stay where they are
  PortfolioClock::time_point start_ = PortfolioClock::now();
};

}  // namespace

std::string statics_text(const KernelSpec& definition, const ShapeRange& range) {
  Shape statics;
  for (const RangeAxis& axis : range.axes) {
    if (is_compiled_in(definition, axis.name)) {
      statics.emplace_back(axis.name, axis.least());
    }
  }
  return text(statics);
}

Result<PortfolioReport> tune(const PortfolioRequest& request, Store& store, const Registry& registry) {
  HONE_TRY(check_is_time(request.common.measure.objective, "ranges of shapes are tuned"));
  return PortfolioSession(request, lanes_of(request), store, registry).run();
}

}  // namespace hone
