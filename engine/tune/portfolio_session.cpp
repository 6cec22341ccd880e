#include "engine/tune/portfolio_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "engine/kernel/static_fields.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/tune/operation_session.hpp"
#include "engine/tune/portfolio_choices.hpp"
#include "engine/tune/portfolio_comparisons.hpp"
#include "engine/tune/portfolio_proposals.hpp"
#include "engine/tune/portfolio_shapes.hpp"
#include "engine/tune/portfolio_table.hpp"
#include "engine/tune/survey.hpp"
#include "engine/tune/warm.hpp"
#include "engine/worker/idle_workers.hpp"

namespace hone {
namespace {

using PortfolioClock = std::chrono::steady_clock;

constexpr std::size_t kFirstShapes = 5;  // explored before anything is surveyed
// Halving a shape's trials costs the choices 2 %, halving the shapes 8 % (docs/results/portfolios-2026-11-23.md).
constexpr double kShapes = 60.0;  // that a budget would be for, if all were explored
constexpr double kLeastEach = 0.9, kMostEach = 10.0;
constexpr double kStarts = 5.0;         // times what a session takes until its first trial begins, that it takes at least
constexpr double kFewestShapes = 10.0;  // that a budget is for, however long that is
constexpr std::int64_t kLeastTrials = 6;
constexpr double kExploreShare = 0.5;   // of a budget, for sessions that find configurations: the rest is for surveys of what was found
constexpr double kProposalShare = 0.4;  // of a session's trials, that what is known or expected may have: what is not shall be found, too
constexpr double kLeastProposals = 4.0, kMostProposals = 40.0;
constexpr std::size_t kSurveyed = 28;      // configurations that are timed at a surveyed shape, at most
constexpr std::size_t kLeastTime = 8;      // configurations: fewer have as much time as these
constexpr std::size_t kMemberShare = 2;    // quarters of what is surveyed, that members may have before others
constexpr double kChoiceShare = 0.6;       // of a budget, for choices that were not timed: while there are any, sessions have the rest
constexpr std::size_t kChoicesEach = 32;   // shapes, or so many new ones, until the rule is made again
constexpr double kCompareShare = 0.25;     // of a budget, for comparisons
constexpr double kSurveyShare = 0.3;       // of an exploring session's seconds, that a survey may take
constexpr double kLearnAgain = 1.5;        // times as many shapes as when it was last asked what a portfolio of them is like
constexpr std::size_t kMostPoints = 1536;  // that a portfolio keeps
constexpr int kPatienceWithShapes = 3;     // in a row that fail

/// When the trials of a session were made, those of all its kernels together, in seconds since it began. An older Hone kept no times.
class TrialTimes {
 public:
  /// Of one kernel.
  void add(const std::vector<Trial>& trials) {
    for (const Trial& trial : trials) {
      trials_ += 1;
      is_any_right_ = is_any_right_ || trial.outcome == Outcome::kOk;
      if (const std::optional<double> end = trial.elapsed_seconds) {
        timed_ += 1;
        start_ = std::max(0.0, std::min(start_.value_or(*end), *end - trial.seconds.validate - trial.seconds.time));
        first_ = std::min(first_, *end);
        last_ = std::max(last_, *end);
      }
    }
  }
  /// Until its first trial began; nothing where that is not known.
  [[nodiscard]] std::optional<double> start() const { return start_; }
  [[nodiscard]] std::int64_t trials() const { return trials_; }
  [[nodiscard]] bool is_any_right() const { return is_any_right_; }
  /// What the trials took, without what comes before the first and behind the last. `session_seconds` is of the whole session.
  [[nodiscard]] double seconds(double session_seconds) const {
    const auto count = static_cast<double>(trials_);
    return timed_ == trials_ && last_ > first_ ? (last_ - first_) * count / (count - 1.0) : session_seconds - start_.value_or(0.0);
  }

 private:
  std::optional<double> start_;
  double first_ = std::numeric_limits<double>::infinity(), last_ = 0.0;
  std::int64_t trials_ = 0, timed_ = 0;
  bool is_any_right_ = false;
};

class PortfolioSession {
 public:
  PortfolioSession(const PortfolioRequest& request, Store& store, const Registry& registry)
      : request_(request), store_(store), registry_(registry) {
    about_.operation = request.operation->name;
    about_.dtypes = name(request.dtypes);
    about_.range = request.range;
    key_ = portfolio_key(about_.operation, request.dtypes, request.common.device.info,
                         purpose_within(request.common.measure.max_error, request.common.measure.given.digest));
    key_.statics = statics_text(*request.operation->definition, request.range);
    key_.range = text(request.range);
    about_.product = key_.device;
    about_.architecture = request.common.device.info.architecture;
    about_.rule.reach.assign(static_cast<std::size_t>(std::ranges::count_if(request.range.axes, &RangeAxis::varies)),
                             RuleSettings::kUsualReach);
    for (const KernelSpec* const spec : request.operation->implementations) {
      about_.sources.emplace(spec->name, spec->source_hash);
    }
  }

  Result<PortfolioReport> run() {
    HONE_TRY(load());
    while (!is_over() && !stopped()) {
      const Result<void> done = step();
      if (!done && done.error().code == ErrorCode::kCancelled) {
        break;
      }
      HONE_TRY(done);
    }
    report_.interrupted = stopped();
    return finish();
  }

 private:
  // ---- what is known ----

  /// Whether it ran on this device, or on one that has the same share of the same product: another measures other times.
  [[nodiscard]] bool is_here(const SessionInfo& session) const {
    const DeviceInfo& device = request_.common.device.info;
    return session.product == device.product && session.mig_profile == device.mig_profile && session.share == device.share;
  }

  /// Trials of every session in the range, whoever ran it, what portfolios of it know that were made elsewhere, and what earlier runs have
  /// spent.
  Result<void> load() {
    HONE_ASSIGN(const std::vector<SessionInfo> sessions, store_.sessions());
    std::map<Shape, std::pair<double, TrialTimes>> searched;  // of all kernels: seconds, and when trials were made
    for (const KernelSpec* const spec : request_.operation->implementations) {
      for (const SessionInfo& session : sessions) {
        const Shape shape = ordered_as(request_.range, session.problem.shape);
        const bool fits = session.kernel == spec->name && session.source_hash == spec->source_hash && session.dtypes == about_.dtypes &&
                          is_here(session) && session.purpose == key_.purpose && distance(request_.range, shape) == 0.0;
        if (fits) {
          HONE_ASSIGN(const std::vector<Trial> trials, store_.trials(session.id, spec->parameters));
          HONE_TRY(note(shape, *spec, trials));
          if (session.strategy != kSurveyStrategy) {
            auto& [seconds, times] = searched[shape];
            seconds = std::max(seconds, session.elapsed_seconds);
            times.add(trials);
          }
        }
      }
    }
    for (const auto& [shape, session] : searched) {
      const auto& [seconds, times] = session;
      if (times.is_any_right()) {  // one that failed at once says nothing about trials
        shapes_.note_session(shape, times.start(), times.seconds(seconds), times.trials());
      }
    }
    if (request_.resume) {
      HONE_TRY(load_portfolios());
    }
    if (portfolio_.points.empty()) {
      learn();
    }
    for (const PortfolioPoint& point : portfolio_.points) {
      shapes_.note_time(point.shape, point.best_us);
    }
    return {};
  }

  /// The store's own comes before what came with Hone, and what it took is of the budget.
  Result<void> load_portfolios() {
    HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store_.find_portfolios(key_));
    for (const StoredPortfolio& one : stored) {
      const Result<Portfolio> earlier = parse_portfolio(one.text);
      if (one.key.range == key_.range && earlier) {
        about_.seconds = earlier->seconds;
        about_.trials = earlier->trials;
        has_own_ = go_on_from(*earlier) || has_own_;
      }
    }
    if (request_.common.transfer && key_.purpose == Purpose()) {
      if (const auto shipped = shipped_portfolio(key_, request_.range)) {
        go_on_from(shipped->portfolio());
      }
    }
    return {};
  }

  /// What is left of the measurements of an earlier portfolio, unless a kernel has changed since. The first one stands in for this
  /// session's own, to begin with: a rule takes seconds to fit.
  bool go_on_from(const Portfolio& earlier) {
    const bool is_current = std::ranges::all_of(earlier.sources, [&](const auto& source) {
      const auto own = about_.sources.find(source.first);
      return own != about_.sources.end() && own->second == source.second;
    });
    if (!is_current || earlier.points.empty() || earlier.members.empty()) {
      return false;
    }
    table_.add(earlier, [&](const Shape& shape) -> std::optional<PortfolioTable::There> {
      const Result<Problem> problem = shapes_.problem_at(shape);
      if (!problem) {
        return std::nullopt;
      }
      return PortfolioTable::There{work_of(*request_.operation->definition, *problem), proposals_.launches(earlier.members, *problem)};
    });
    if (portfolio_.points.empty()) {
      portfolio_ = earlier;
      learnt_ = portfolio_.points.size();
      rule_.emplace(portfolio_);
    }
    return true;
  }

  Result<void> note(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials) {
    HONE_ASSIGN(const Problem problem, shapes_.problem_at(shape));
    HONE_ASSIGN(const Problem own, problem_for(spec, problem));
    has_own_ = true;
    table_.add(shape, work_of(*request_.operation->definition, problem), spec, own, request_.common.device.info, trials);
    return {};
  }

  void learn() {
    portfolio_ = table_.portfolio(about_, request_.most_members);
    learnt_ = portfolio_.points.size();
    rule_.reset();
    if (!portfolio_.points.empty() && !portfolio_.members.empty()) {
      rule_.emplace(portfolio_);
    }
  }

  /// With the settings that the rule has.
  void learn_as_set() {
    portfolio_ = table_.portfolio_as_set(portfolio_, request_.most_members);
    rule_.emplace(portfolio_);
  }

  [[nodiscard]] double elapsed() const { return about_.seconds + std::chrono::duration<double>(PortfolioClock::now() - start_).count(); }
  [[nodiscard]] bool stopped() const { return request_.common.stop.stop_requested(); }
  /// The share of the budget that is spent.
  [[nodiscard]] double spent() const {
    const Budget& budget = request_.budget;
    const double of_seconds = budget.seconds ? elapsed() / *budget.seconds : 0.0;
    const auto trials = static_cast<double>(about_.trials + trials_);
    const double of_trials = !budget.trials ? 0.0 : *budget.trials == 0 ? 1.0 : trials / static_cast<double>(*budget.trials);
    return std::max(of_seconds, of_trials);
  }
  /// In seconds or in trials, as the budget is.
  [[nodiscard]] double spent_here() const {
    return request_.budget.seconds ? std::chrono::duration<double>(PortfolioClock::now() - start_).count() : static_cast<double>(trials_);
  }
  [[nodiscard]] bool is_over() const { return spent() >= 1.0 || exhausted_; }

  [[nodiscard]] Budget each() const {
    const Budget& budget = request_.budget;
    Budget one;
    if (request_.seconds_each > 0.0) {
      one.seconds = request_.seconds_each;
    } else if (budget.seconds) {
      one.seconds = seconds_for_shape(*budget.seconds, shapes_.start());
    }
    if (budget.trials) {
      one.trials = std::max(kLeastTrials, *budget.trials / static_cast<std::int64_t>(kShapes));
    }
    return one;
  }

  /// The members, what the rule expects to be fastest first.
  [[nodiscard]] std::vector<Opinion> ranked(const Shape& shape, const Problem& problem) const {
    return rule_->rank(shape, proposals_.launches(portfolio_.members, problem));
  }

  // ---- a shape ----

  [[nodiscard]] PortfolioProposals::First proposed(const Shape& shape, const Problem& problem, std::size_t most,
                                                   std::size_t most_members) const {
    return proposals_.at(shape, problem, portfolio_.points.empty() ? about_ : portfolio_, rule_ ? &*rule_ : nullptr, most, most_members);
  }

  /// How much a session at the shape could bring: what the rule expects of the best that is legal there, and its doubt, as logarithms.
  [[nodiscard]] double need(const Shape& shape) const {
    const Result<Problem> problem = shapes_.problem_at(shape);
    if (!rule_ || !problem) {
      return 0.0;
    }
    for (const Opinion& opinion : ranked(shape, *problem)) {
      if (proposals_.legal(portfolio_.members[opinion.member], *problem)) {
        return opinion.slowdown + opinion.doubt;
      }
    }
    return std::numeric_limits<double>::infinity();
  }

  Result<void> step() {
    const double session_seconds = each().seconds.value_or(kMostEach);
    const auto next_explored = [&] {
      return shapes_.next_explored(session_seconds, table_, [&](const Shape& shape) { return need(shape); });
    };
    if (table_.rows().size() >= kFirstShapes && chosen_ <= kChoiceShare * spent_here()) {
      HONE_ASSIGN(const bool done, time_choices(session_seconds));
      if (done) {
        return {};
      }
    }
    const bool is_turn_of_sessions = table_.rows().size() < kFirstShapes || explored_ <= kExploreShare * spent_here();
    std::optional<Shape> shape = is_turn_of_sessions ? next_explored() : std::nullopt;
    bool explores = shape.has_value();
    if (!shape && compared_ <= kCompareShare * spent_here()) {
      HONE_ASSIGN(const bool done, compare(session_seconds));
      if (done) {
        return {};
      }
    }
    if (!shape) {  // what sessions have no time for may be had by surveys, and the other way round
      shape = shapes_.next_surveyed(session_seconds, table_);
    }
    if (!shape && !is_turn_of_sessions) {
      shape = next_explored();
      explores = shape.has_value();
    }
    if (!shape) {
      HONE_ASSIGN(const bool done, compare(session_seconds));
      exhausted_ = !done && ++empty_turns_ >= kPatienceWithShapes;
      return {};
    }
    if (!explores) {
      HONE_ASSIGN(const bool done, survey(*shape));
      if (done) {
        return {};
      }
    }
    const double before = spent_here();
    HONE_ASSIGN(const Problem problem, shapes_.problem_at(*shape));
    const Result<void> done = measure(*shape, proposed(*shape, problem, proposals_for(*shape), 0), each());
    explored_ += spent_here() - before;
    return done;
  }

  /// That a session there begins with.
  [[nodiscard]] std::size_t proposals_for(const Shape& shape) const {
    const Budget budget = each();
    double trials = kMostProposals / kProposalShare;
    if (budget.seconds) {
      trials = shapes_.expected_trials(shape, *budget.seconds).value_or(trials);
    }
    if (budget.trials) {
      trials = std::min(trials, static_cast<double>(*budget.trials));
    }
    return static_cast<std::size_t>(std::clamp(kProposalShare * trials, kLeastProposals, kMostProposals));
  }

  /// Times what is promising at a shape. False where that cannot be had, and nothing is known of the shape.
  Result<bool> survey(const Shape& shape) {
    HONE_ASSIGN(const Problem problem, shapes_.problem_at(shape));
    const std::size_t most = most_surveyed();
    return survey(shape, proposed(shape, problem, most, most * kMemberShare / 4));
  }

  [[nodiscard]] std::size_t most_surveyed() const {
    return !request_.budget.trials
               ? kSurveyed
               : static_cast<std::size_t>(std::clamp<std::int64_t>(*request_.budget.trials - about_.trials - trials_, 1, kSurveyed));
  }

  /// At a shape that was measured before. False where each choice was timed, or nothing can be.
  Result<bool> time_choices(double session_seconds) {
    if (!rule_ || failed_choices_ >= kPatienceWithShapes) {
      return false;
    }
    const double before = spent_here();
    if (table_.rows().size() >= portfolio_.points.size() + kChoicesEach) {
      learn_as_set();
    }
    std::optional<PlannedSurvey> next;
    do {
      next = choices_.next(portfolio_, *rule_, most_surveyed(), session_seconds);
    } while (!next && !choices_.is_done() && !is_over() && !stopped());
    if (next) {
      HONE_ASSIGN(const bool measured, survey(next->shape, next->first));
      failed_choices_ += measured ? 0 : 1;
      if (++timed_choices_ % kChoicesEach == 0) {
        learn_as_set();
      }
    }
    chosen_ += spent_here() - before;
    return next.has_value();
  }

  /// At a shape that was measured before. False where nothing is left to compare, or nothing can be timed.
  Result<bool> compare(double session_seconds) {
    if (!rule_ || failed_comparisons_ >= kPatienceWithShapes) {
      return false;
    }
    const double before = spent_here();
    std::set<PortfolioMember> members(portfolio_.members.begin(), portfolio_.members.end());
    if (members != planned_) {
      planned_ = std::move(members);
      comparisons_.plan(portfolio_.members, session_seconds);
    }
    comparisons_.add_winners(portfolio_, *rule_, session_seconds);
    const std::optional<PlannedSurvey> next = comparisons_.next(most_surveyed());
    if (next) {
      HONE_ASSIGN(const bool measured, survey(next->shape, next->first));
      failed_comparisons_ += measured ? 0 : 1;
    }
    compared_ += spent_here() - before;
    return next.has_value();
  }

  /// False where nothing was right.
  Result<bool> survey(const Shape& shape, const PortfolioProposals::First& all) {
    HONE_ASSIGN(const Problem problem, shapes_.problem_at(shape));
    tell(shape, true);
    const bool is_measured = table_.holds(shape);
    std::size_t count = 0;
    for (const auto& [kernel, configurations] : all) {
      count += configurations.size();
    }
    const double share = static_cast<double>(std::max(count, kLeastTime)) / kSurveyed;
    const double seconds_each =
        share * kSurveyShare * each().seconds.value_or(kMostEach) / static_cast<double>(std::max<std::size_t>(1, count));
    bool is_any_right = false;
    std::vector<std::pair<const KernelSpec*, std::vector<Trial>>> timed;
    for (const auto& [kernel, configurations] : all) {
      const KernelSpec& spec = *proposals_.kernel_named(kernel);
      HONE_ASSIGN(const Problem own, problem_for(spec, problem));
      auto [one, is_new] = surveys_.try_emplace(kernel);
      if (is_new) {
        one->second = std::make_unique<Survey>(request_.common, spec, store_);
      }
      const double seconds = seconds_each * static_cast<double>(configurations.size());
      Result<std::vector<Trial>> trials = one->second->measure(own, configurations, seconds);
      if (!trials) {
        const ErrorCode code = trials.error().code;
        if (code == ErrorCode::kCancelled || code == ErrorCode::kStore || code == ErrorCode::kIo) {
          return trials.error();
        }
        continue;  // a session there says what it is, to whom it belongs
      }
      trials_ += static_cast<std::int64_t>(trials->size());
      is_any_right = is_any_right || std::ranges::any_of(*trials, [](const Trial& trial) { return trial.outcome == Outcome::kOk; });
      timed.emplace_back(&spec, *std::move(trials));
    }
    if (is_any_right) {  // else it is the shape's doing, more likely than all of theirs
      for (const auto& [spec, trials] : timed) {
        HONE_TRY(note(shape, *spec, trials));
      }
      report_.measured += is_measured ? 0 : 1;
      failures_in_a_row_ = failed_choices_ = failed_comparisons_ = empty_turns_ = 0;
      noted(shape, false);
    }
    return is_any_right;
  }

  void tell(const Shape& shape, bool surveyed) {
    if (request_.on_progress) {
      request_.on_progress({table_.rows().size(), shape, surveyed, elapsed(), portfolio_.expected});
    }
  }

  /// A shape was measured, by a session that looked for what is fast there or by a survey of what is known.
  void noted(const Shape& shape, bool explored) {
    const std::vector<PortfolioTable::Row>& rows = table_.rows();
    const auto row = std::ranges::find(rows, shape, &PortfolioTable::Row::shape);
    if (row != rows.end()) {
      shapes_.note_time(shape, row->best_us);
    }
    if (static_cast<double>(rows.size()) >= kLearnAgain * static_cast<double>(learnt_)) {
      learn();
    } else if (explored && rule_) {
      learn_as_set();
    }
  }

  Result<void> measure(const Shape& shape, PortfolioProposals::First first, const Budget& budget) {
    tell(shape, false);
    TuneRequest common = request_.common;
    common.budget = budget;
    common.first = std::move(first);
    common.keep_best = false;
    common.on_progress = nullptr;
    common.idle_workers = &idle_workers_;
    HONE_ASSIGN(common.problem, shapes_.problem_at(shape));
    const auto begin = PortfolioClock::now();
    TrialTimes times;
    const Result<void> done = request_.operation->implementations.size() == 1 ? measure_one(shape, std::move(common), times)
                                                                              : measure_all(shape, std::move(common), times);
    if (done) {
      const double seconds = std::chrono::duration<double>(PortfolioClock::now() - begin).count();
      shapes_.note_session(shape, times.start(), times.seconds(seconds), times.trials());
      failures_in_a_row_ = empty_turns_ = 0;
      ++report_.measured;
      noted(shape, true);
      return {};
    }
    const ErrorCode code = done.error().code;
    if (code == ErrorCode::kCancelled || code == ErrorCode::kStore || code == ErrorCode::kIo) {
      return done;
    }
    shapes_.refuse(shape);
    report_.failures.push_back(fmt::format("{}: {}", text(shape), done.error().message));
    // An empty space says something about the shape; what else fails again and again is no matter of shapes.
    failures_in_a_row_ += code == ErrorCode::kEmptySpace ? 0 : 1;
    exhausted_ = failures_in_a_row_ >= kPatienceWithShapes;
    return exhausted_ && !has_own_ ? done : Result<void>();
  }

  Result<void> add(const Shape& shape, const KernelSpec& spec, std::int64_t session, TrialTimes& times) {
    HONE_ASSIGN(const std::vector<Trial> trials, store_.trials(session, spec.parameters));
    trials_ += static_cast<std::int64_t>(trials.size());
    times.add(trials);
    return note(shape, spec, trials);
  }

  Result<void> measure_one(const Shape& shape, TuneRequest one, TrialTimes& times) {
    one.spec = *request_.operation->implementations.front();
    HONE_ASSIGN(one.problem, problem_for(one.spec, one.problem));
    HONE_ASSIGN(const TuneReport report, tune(one, store_, registry_));
    return add(shape, one.spec, report.session, times);
  }

  Result<void> measure_all(const Shape& shape, TuneRequest common, TrialTimes& times) {
    const Problem problem = common.problem;
    const OperationRequest all{.operation = request_.operation, .problem = problem, .common = std::move(common)};
    HONE_ASSIGN(const OperationReport report, tune(all, store_, registry_));
    for (const KernelReport& kernel : report.kernels) {
      if (kernel.tuned) {
        HONE_TRY(add(shape, *kernel.spec, kernel.tuned->session, times));
      }
    }
    return {};
  }

  // ---- the end ----

  Result<PortfolioReport> finish() {
    if (has_own_) {
      learn();
    }
    if (!has_own_ || portfolio_.members.empty()) {
      if (stopped()) {
        return cancelled_early();
      }
      return Error{ErrorCode::kEmptySpace, fmt::format("no shape of {} could be tuned{}", text(request_.range),
                                                       report_.failures.empty() ? ": none fits the device, --largest and the budget"
                                                                                : ": " + report_.failures.front())};
    }
    table_.judge(portfolio_, request_.most_members);
    portfolio_.seconds = elapsed();
    portfolio_.trials = about_.trials + trials_;
    std::map<std::string, std::string> sources;
    for (const PortfolioMember& member : portfolio_.members) {
      sources.emplace(member.kernel, about_.sources.at(member.kernel));
    }
    portfolio_.sources = std::move(sources);
    portfolio_ = thinned(std::move(portfolio_), kMostPoints);
    HONE_ASSIGN(report_.generation, store_.put_portfolio(key_, text(portfolio_)));
    HONE_ASSIGN(report_.code_bytes, code_bytes(portfolio_, *request_.operation, request_.common.device.info, store_));
    ask();
    report_.portfolio = std::move(portfolio_);
    return std::move(report_);
  }

  [[nodiscard]] static Error cancelled_early() { return {ErrorCode::kCancelled, "asked to stop before anything was measured"}; }

  /// Where the rule would like to know more.
  void ask() {
    constexpr std::size_t kNamed = 5;
    constexpr std::uint64_t kProbes = 256;
    std::size_t probes = 0, wanted = 0;
    for (std::uint64_t i = 0; i < kProbes; ++i) {
      const Shape shape = draw(request_.range, i);
      const Result<Problem> problem = shapes_.problem_at(shape);
      if (!problem || argument_bytes(*request_.operation->definition, *problem) > request_.most_bytes) {
        continue;
      }
      ++probes;
      for (const Opinion& opinion : ranked(shape, *problem)) {
        if (!proposals_.legal(portfolio_.members[opinion.member], *problem)) {
          continue;
        }
        const Prediction prediction{std::exp(opinion.slowdown), std::expm1(opinion.doubt), report_.generation, false, about_.product};
        if (prediction.wants_tuning() && !table_.holds(shape)) {
          ++wanted;
          report_.wanted.push_back({shape, prediction});
        }
        break;
      }
    }
    report_.wants_tuning = probes == 0 ? 0.0 : static_cast<double>(wanted) / static_cast<double>(probes);
    const auto need = [](const WantedShape& one) { return -one.prediction.slowdown * (1.0 + one.prediction.doubt); };
    std::ranges::stable_sort(report_.wanted, {}, need);
    report_.wanted.resize(std::min(kNamed, report_.wanted.size()));
  }

  const PortfolioRequest& request_;
  Store& store_;
  const Registry& registry_;
  PortfolioKey key_;
  Portfolio about_;  ///< all but members and points; its seconds and trials are those of earlier runs
  PortfolioTable table_;
  Portfolio portfolio_;  ///< of what is known now
  std::optional<PortfolioRule> rule_;
  PortfolioReport report_;
  PortfolioShapes shapes_{request_};
  PortfolioProposals proposals_{request_, table_, shapes_};
  PortfolioChoices choices_{table_, shapes_, proposals_};
  PortfolioComparisons comparisons_{table_, shapes_, proposals_};
  std::set<PortfolioMember> planned_;                       ///< that comparisons were planned for
  IdleWorkers idle_workers_;                                ///< for the sessions; surveys have their own processes
  std::map<std::string, std::unique_ptr<Survey>> surveys_;  ///< by kernel
  double explored_ = 0.0, chosen_ = 0.0, compared_ = 0.0;   ///< of spent_here(): by sessions, for choices, by comparisons
  std::int64_t trials_ = 0;                                 ///< of this run
  bool has_own_ = false;    ///< something of the table is not what came with Hone: that is not stored as it is
  std::size_t learnt_ = 0;  ///< points, when the rule was fitted last
  std::size_t timed_choices_ = 0;
  int failures_in_a_row_ = 0, failed_choices_ = 0, failed_comparisons_ = 0, empty_turns_ = 0;
  bool exhausted_ = false;
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

double seconds_for_shape(double budget_seconds, double start) {
  const double for_start = std::min(kStarts * start, budget_seconds / kFewestShapes);
  return std::clamp(std::max(for_start, budget_seconds / kShapes), kLeastEach, kMostEach);
}

Result<PortfolioReport> tune(const PortfolioRequest& request, Store& store, const Registry& registry) {
  HONE_TRY(check_is_time(request.common.measure.objective, "ranges of shapes are tuned"));
  return PortfolioSession(request, store, registry).run();
}

}  // namespace hone
