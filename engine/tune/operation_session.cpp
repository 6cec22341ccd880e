#include "engine/tune/operation_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "engine/base/cores.hpp"
#include "engine/store/operation_lookup.hpp"
#include "engine/tune/entrants.hpp"
#include "engine/tune/kernel_final.hpp"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kTick = 0.01;                // seconds between looks at the kernels that wait for their turn
constexpr double kFinalShare = 0.1;           // of a budget in seconds, kept for the final round of one kernel,
constexpr double kSeveralFinalsShare = 0.15;  // and of several
constexpr double kTurnsShare = 0.05;          // of a budget, for the comparison of the kernels' winners
constexpr double kSlice = 0.03;               // of a budget in seconds: the least that a turn lasts
constexpr double kLongSlice = 0.15;           // where processes end with a turn
constexpr std::size_t kSliceTrials = 4;
constexpr std::size_t kInitialTrials = 2;  // trials of each kernel before any has more: its default, and what is expected of it
constexpr double kSmallPart = 0.1;         // of what is left: what a first share may take of a kernel that is far behind after those
constexpr std::size_t kAhead = 4;          // proposals compiled for a kernel that waits for its turn
constexpr double kBufferFactor = 4.0;      // of the arguments' bytes: answers, guard bands, what stands by
constexpr double kMemoryShare = 0.5;

class OperationSession {
 public:
  OperationSession(const OperationRequest& request, Store& store) : request_(request), store_(store) {}

  Result<OperationReport> run(const Registry& registry) {
    HONE_TRY(entrants_.enter(
        request_, store_, [this](const std::string& kernel, const Progress& progress) { note_progress(kernel, progress); },
        report_.kernels));
    HONE_TRY(open(registry));
    const Result<void> done = search_and_decide();
    if (!done && done.error().code == ErrorCode::kCancelled) {
      HONE_TRY(common().keep_best ? keep_best() : Result<void>());
      HONE_TRY(release());
      return common().keep_best && report_.winner ? report() : Result<OperationReport>(stopped_early(done.error()));
    }
    HONE_TRY(done);
    for (const auto& entrant : entrants_) {
      entrant->session->keep_model();
    }
    return report();
  }

 private:
  [[nodiscard]] const TuneRequest& common() const { return request_.common; }
  [[nodiscard]] bool overlaps() const { return common().device.info.compile_overlaps; }
  KernelReport& of(const Entrant& entrant) { return report_.kernels[entrant.place]; }

  // ---- who takes part ------------------------------------------------------------------------------------------------------------------

  Result<void> open(const Registry& registry) {
    for (const auto& entrant : entrants_) {
      HONE_TRY(entrant->session->open(registry));
      earlier_seconds_ = std::max(earlier_seconds_, entrant->session->elapsed());
    }
    HONE_TRY(find_serving());
    start_ = Clock::now();
    const auto memory = common().device.info.properties.find("memory");
    one_at_a_time_ = memory != common().device.info.properties.end() &&
                     kBufferFactor * entrants_.argument_bytes() > kMemoryShare * static_cast<double>(memory->second);
    return {};
  }

  /// The kernel that an application would get now, and its configuration.
  Result<void> find_serving() {
    const Lookup lookup{.purpose = entrants_.front().session->key().purpose, .portfolios = common().transfer};
    const Result<OperationChoice> now = hone::choose(*request_.operation, request_.problem, common().device.info, &store_, lookup);
    if (!now && now.error().code == ErrorCode::kStore) {
      return now.error();
    }
    if (!now) {
      report_.notes.push_back("what serves now could not be looked up, and takes no part: " + now.error().message);
      return {};
    }
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (entrants_[i].request.spec.name == now->spec->name) {
        serving_ = i;
        entrants_[i].session->set_serving(now->choice);
      }
    }
    return {};
  }

  /// What went wrong with one kernel leaves the others; what went wrong with the store, or was asked for, ends the session.
  Result<void> contain_failure(Entrant& entrant, const Result<void>& result) {
    if (result) {
      return {};
    }
    const ErrorCode code = result.error().code;
    if (code == ErrorCode::kCancelled || code == ErrorCode::kStore || code == ErrorCode::kIo) {
      return result;
    }
    entrant.out = true;
    of(entrant).part = Part::kFailed;
    of(entrant).why = result.error().message;
    first_failure_ = first_failure_ ? first_failure_ : result.error();
    if (entrant.session->started()) {
      entrant.session->suspend();
    }
    return {};
  }

  Result<void> start(Entrant& entrant) {
    HONE_TRY(entrant.session->start(elapsed(), {.evaluators = one_at_a_time_ ? 1 : static_cast<int>(entrants_.size()), .left = left_}));
    entrant.session->evaluator().hold(true);
    return entrant.session->submit_first();
  }

  // ---- the search ----------------------------------------------------------------------------------------------------------------------

  Result<void> search_and_decide() {
    HONE_TRY(drop());                     // of a session that goes on: their processes need not start
    if (!one_at_a_time_ && overlaps()) {  // else each starts with its first turn
      for (const std::size_t i : serving_first()) {
        Entrant& entrant = entrants_[i];
        HONE_TRY(entrant.out ? Result<void>() : contain_failure(entrant, start(entrant)));
      }
    }
    HONE_TRY(search());
    HONE_TRY(drain());
    return common().finish ? decide() : pause();
  }

  /// Why a session that was to keep its best has none.
  [[nodiscard]] Error stopped_early(const Error& asked) const {
    const std::string& serving = entrants_[serving_].request.spec.name;
    return knows_serving() || !common().keep_best
               ? asked
               : Error{ErrorCode::kCancelled, fmt::format("asked to stop before {}, which serves now, was measured: the trials so far are "
                                                          "kept, and nothing takes its place",
                                                          serving)};
  }

  Result<void> pause() {
    HONE_TRY(keep_best());
    return release();
  }

  /// The same request goes on with the sessions, also with one that failed: its next part knows that.
  Result<void> release() {
    for (const auto& entrant : entrants_) {
      HONE_TRY(entrant->session->release());
    }
    return {};
  }

  [[nodiscard]] double elapsed() const { return earlier_seconds_ + std::chrono::duration<double>(Clock::now() - start_).count(); }

  [[nodiscard]] Remaining remaining() const {
    const Budget& budget = common().budget;
    const double finals = entrants_.alive() > 1 ? kSeveralFinalsShare : kFinalShare;
    return {.seconds = budget.seconds ? *budget.seconds * (common().finish ? 1.0 - finals : 1.0) - elapsed() : kUnbounded,
            .trials = budget.trials ? static_cast<double>(*budget.trials) - static_cast<double>(entrants_.trials()) : kUnbounded};
  }

  [[nodiscard]] bool is_spent() const { return remaining().seconds <= 0.0 || remaining().trials <= 0.0; }
  /// Whether what serves without this session was tried: nothing may take its place before, however short the budget.
  [[nodiscard]] bool knows_serving() const {
    const Entrant& serving = entrants_[serving_];
    return serving.out || serving.done || serving.session->tried_what_serves();
  }
  [[nodiscard]] bool is_over() const { return is_spent() && knows_serving(); }

  [[nodiscard]] std::size_t first_share() const {
    double slowest = 0.0;
    for (const Runner& runner : entrants_.runners()) {
      slowest = std::max(slowest, runner.seconds);
    }
    return Turns::first_share(entrants_.size(), whole_budget(), slowest);
  }

  [[nodiscard]] Remaining whole_budget() const {
    const Budget& budget = common().budget;
    return {.seconds = budget.seconds.value_or(kUnbounded), .trials = budget.trials ? static_cast<double>(*budget.trials) : kUnbounded};
  }

  Result<void> search() {
    while (!is_over()) {
      if (common().stop.stop_requested()) {
        return cancelled();
      }
      HONE_TRY(drop());
      Entrant* const next = choose();
      if (next == nullptr) {
        return all_failed();
      }
      if (overlaps() && !one_at_a_time_ && !next->session->evaluator().can_measure() && next->session->evaluator().in_flight() > 0) {
        HONE_TRY(wait_for(*next));
        continue;
      }
      HONE_TRY(turn(*next));
    }
    return drop();
  }

  Result<void> all_failed() const {
    const bool failed = std::ranges::all_of(entrants_, &Entrant::out) && first_failure_;
    return failed ? Result<void>(*first_failure_) : Result<void>();
  }

  /// Those whose default fails, and those that are far behind.
  Result<void> drop() {
    const std::size_t share = first_share();
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      Entrant& entrant = entrants_[i];
      const bool serves = i == serving_ && !entrant.session->tried_what_serves();
      if (entrant.out) {
        continue;
      }
      if (std::optional<Error> error = entrant.session->default_error()) {
        HONE_TRY(contain_failure(entrant, *std::move(error)));
      } else if (!serves && entrant.session->trials().size() >= share && Turns::is_far_behind(i, entrants_.runners(), remaining())) {
        entrant.out = true;
        of(entrant).part = Part::kBehind;
        if (entrant.session->started()) {
          HONE_TRY(entrant.session->drain());
          entrant.session->suspend();
        }
      }
    }
    return {};
  }

  /// First the initial trials of each, then the first shares: what is far behind has no time to lose then, or the others have none.
  Entrant* choose() {
    if (is_spent()) {
      return &entrants_[serving_];
    }
    if (Entrant* const next = short_of(initial_trials(), false)) {
      return next;
    }
    if (Entrant* const next = short_of(first_share(), initial_trials() > 0)) {
      return next;
    }
    const std::optional<std::size_t> next = Turns::next(entrants_.runners(), remaining());
    return next ? &entrants_[*next] : nullptr;
  }

  /// The places of all: of what serves, then of the others in their order.
  [[nodiscard]] std::vector<std::size_t> serving_first() const {
    std::vector<std::size_t> order{serving_};
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (i != serving_) {
        order.push_back(i);
      }
    }
    return order;
  }

  /// 0: none. It costs what it takes to change kernels, and under a budget of trials nothing is won by it.
  [[nodiscard]] std::size_t initial_trials() const {
    return one_at_a_time_ || common().budget.trials ? 0 : std::min(kInitialTrials, first_share());
  }

  /// One that has had fewer trials and is ready, else one that is not: what serves now before others. `with_care`: but for what is far
  /// behind and would take much of what is left.
  Entrant* short_of(std::size_t share, bool with_care) {
    const std::vector<Runner> runners = entrants_.runners();
    Entrant* waiting = nullptr;
    for (const std::size_t i : serving_first()) {
      Entrant& entrant = entrants_[i];
      const std::size_t has = entrant.session->trials().size();
      if (entrant.out || entrant.done || has >= share) {
        continue;
      }
      const double rest = static_cast<double>(share - has) * runners[i].seconds;
      if (with_care && rest > kSmallPart * remaining().seconds && Turns::is_far_behind(i, runners, remaining())) {
        continue;
      }
      if (!entrant.session->started() || !overlaps() || entrant.session->evaluator().can_measure()) {
        return &entrant;
      }
      waiting = waiting == nullptr ? &entrant : waiting;
    }
    return waiting;
  }

  /// Looks after all while the next one is not ready.
  Result<void> wait_for(Entrant& next) {
    share_compilers(nullptr);
    feed_others(nullptr);
    return contain_failure(next, next.session->take(kTick));
  }

  /// All compile ahead; who has the turn gets the most of it.
  void share_compilers(const Entrant* active) {
    const auto alive = entrants_.alive();
    const auto cores = static_cast<std::size_t>(compile_workers(common()));
    const bool all_begin = active == nullptr || active->session->trials().empty() || is_initial(*active);
    for (const auto& entrant : entrants_) {
      if (!entrant->out && entrant->session->started()) {
        const std::size_t even = std::max<std::size_t>(1, cores / std::max<std::size_t>(1, alive));
        const std::size_t own = cores > alive ? cores - (alive - 1) : 1;
        entrant->session->evaluator().set_compilers(all_begin ? even : entrant.get() == active ? own : 1);
      }
    }
  }

  /// Those that wait for their turn go on compiling what they will begin with, where that does not disturb the timing.
  void feed_others(const Entrant* active) {
    for (const auto& entrant : entrants_) {
      if (entrant.get() == active || entrant->out || !entrant->session->started()) {
        continue;
      }
      entrant->session->evaluator().poll();
      const std::size_t waiting = entrant->session->evaluator().in_flight();
      if (overlaps() && !common().budget.trials && !entrant->done && waiting < kAhead && !is_spent()) {
        entrant->session->propose(kAhead - waiting);
      }
    }
  }

  Result<void> activate(Entrant& entrant) {
    for (const auto& other : entrants_) {
      if (other.get() != &entrant && one_at_a_time_ && other->session->started()) {
        other->session->suspend();
      }
    }
    if (!entrant.session->started()) {
      HONE_TRY(start(entrant));
    }
    share_compilers(&entrant);
    entrant.session->evaluator().hold(false);
    return {};
  }

  Result<void> turn(Entrant& entrant) {
    HONE_TRY(contain_failure(entrant, activate(entrant)));
    if (entrant.out) {
      return {};
    }
    const double begin = elapsed();
    const std::size_t before = entrant.session->trials().size();
    HONE_TRY(contain_failure(entrant, run_turn(entrant, before)));
    entrant.turn_seconds += elapsed() - begin;
    entrant.turn_trials += entrant.session->trials().size() - before;
    entrants_.tell_rivals();
    return {};
  }

  [[nodiscard]] bool is_initial(const Entrant& entrant) const { return entrant.session->trials().size() < initial_trials(); }

  [[nodiscard]] std::size_t turn_trials(const Entrant& entrant) const {
    const std::size_t share = is_initial(entrant) ? initial_trials() : first_share(), has = entrant.session->trials().size();
    const std::size_t wanted = has < share ? share - has : kSliceTrials;
    const double left = std::max(remaining().trials, &entrant == &entrants_[serving_] && !knows_serving() ? 1.0 : 0.0);
    return left < static_cast<double>(wanted) ? static_cast<std::size_t>(left) : wanted;
  }

  Result<void> run_turn(Entrant& entrant, std::size_t before) {
    TuningSession& session = *entrant.session;
    const std::size_t wanted = turn_trials(entrant);
    const double slice = is_initial(entrant) ? 0.0 : one_at_a_time_ ? kLongSlice : kSlice;
    const double begin = elapsed(), least = common().budget.seconds.value_or(0.0) * slice;
    const bool whole = !overlaps() || one_at_a_time_ || common().budget.trials;  // what is proposed is measured in this turn
    for (;;) {
      const std::size_t finished = session.trials().size() - before;
      const bool enough = finished >= wanted && (elapsed() - begin >= least || common().budget.trials);
      if (enough || is_over() || session.default_error()) {
        break;
      }
      const std::size_t under_way = finished + session.evaluator().in_flight();
      if (!is_spent() && (!whole || under_way < std::max(wanted, finished + 1))) {
        session.allow(common().budget.trials ? std::max(wanted, under_way) - under_way : std::numeric_limits<std::size_t>::max());
        session.propose(whole ? std::max(wanted, finished + 1) - under_way : std::numeric_limits<std::size_t>::max());
      }
      if (session.evaluator().in_flight() == 0) {
        entrant.done = true;  // nothing is left to propose
        break;
      }
      HONE_TRY(session.take(kTick));
      entrants_.tell_rivals();
      feed_others(&entrant);
    }
    return finish_turn(entrant, whole);
  }

  /// What is on the device ends; where turns are whole, all that was proposed, unless the time is over.
  Result<void> finish_turn(Entrant& entrant, bool whole) {
    TuningSession& session = *entrant.session;
    while (whole && session.evaluator().in_flight() > 0 && !is_over()) {
      HONE_TRY(session.take(kTick));
    }
    session.evaluator().hold(true);
    while (session.evaluator().is_on_device() && !is_over()) {
      HONE_TRY(session.take(kTick));
      feed_others(&entrant);
    }
    return {};
  }

  Result<void> drain() {
    for (const auto& entrant : entrants_) {
      if (!entrant->out && entrant->session->started()) {
        HONE_TRY(contain_failure(*entrant, entrant->session->drain()));
      }
    }
    return {};
  }

  // ---- the final rounds ----------------------------------------------------------------------------------------------------------------

  Result<void> decide() {
    const std::optional<double> best = entrants_.best_us();
    const auto is_close = [&best](const std::unique_ptr<Entrant>& entrant) {
      const std::optional<double>& own = entrant->session->best_us();
      return !entrant->out && own && *own <= kFinalMargin * *best;
    };
    const auto rounds = static_cast<std::size_t>(std::ranges::count_if(entrants_, is_close));
    std::vector<Entrant*> finalists;
    Result<void> final_rounds;  // the last one that failed
    for (const auto& entrant : entrants_) {
      of(*entrant).best_us = entrant->session->best_us();
      if (is_close(entrant)) {
        const Result<void> done = final_round(*entrant, rounds);
        HONE_TRY(contain_failure(*entrant, done));
        final_rounds = done ? final_rounds : done;
      } else {
        of(*entrant).part = entrant->out ? of(*entrant).part : Part::kBehind;
        HONE_TRY(entrant->session->close());
        continue;
      }
      if (!entrant->out && entrant->session->winner()) {
        finalists.push_back(entrant.get());
      }
    }
    return finalists.empty() ? final_rounds : crown(finalists);
  }

  Result<void> final_round(Entrant& entrant, std::size_t rounds) {
    HONE_TRY(activate(entrant));
    HONE_TRY(entrant.session->final_round(rounds));
    entrant.session->evaluator().hold(true);
    of(entrant).part = Part::kFinalist;
    if (entrant.session->winner()) {
      entrant.measured = entrant.session->winner()->measurement;
      of(entrant).best_us = entrant.measured->median_us;
    }
    return {};
  }

  /// The fastest of the kernels' winners becomes what serves the operation.
  Result<void> crown(const std::vector<Entrant*>& finalists) {
    if (finalists.empty()) {
      return {};
    }
    HONE_ASSIGN(const std::optional<OperationRecord> standing, store_.find_operation_record(key()));
    std::vector<KernelFinalist> timed;
    for (Entrant* const entrant : finalists) {
      const KernelSpec& spec = entrant->request.spec;
      const bool serves = standing && standing->kernel == spec.name && standing->source_hash == spec.source_hash;
      timed.push_back({.measured = *entrant->measured, .serves_already = serves, .time_again = [entrant](double seconds, bool graphs) {
                         return samples_again(*entrant, seconds, graphs);
                       }});
    }
    if (!one_at_a_time_) {
      HONE_TRY(time_in_turns(timed, kTurnsShare * common().budget.seconds.value_or(elapsed())));
    }
    for (std::size_t i = 0; i < finalists.size(); ++i) {
      of(*finalists[i]).beside_others = timed[i].measured;
      of(*finalists[i]).best_us = timed[i].measured.median_us;
    }
    const Entrant& winner = *finalists[*pick(timed)];
    of(winner).part = Part::kWon;
    report_.winner = winner.place;
    return keep(winner);
  }

  static Result<std::vector<double>> samples_again(Entrant& entrant, double seconds, bool graphs) {
    HONE_ASSIGN(const std::vector<Trial> timed, entrant.session->evaluator().time_again({*entrant.session->winner()}, seconds, graphs));
    std::vector<double> samples;
    for (const Trial& trial : timed) {
      samples.insert(samples.end(), trial.measurement.samples_us.begin(), trial.measurement.samples_us.end());
    }
    return samples;
  }

  [[nodiscard]] RecordKey key() const {
    return operation_key(request_.operation->name, request_.problem, common().device.info, entrants_.front().session->key().purpose);
  }

  Result<void> keep(const Entrant& winner) {
    OperationRecord record;
    record.kernel = winner.request.spec.name;
    record.source_hash = winner.request.spec.source_hash;
    record.session = winner.session->session();
    return store_.put_operation_record(key(), record);
  }

  /// Of a session that was asked to stop: each kernel's best so far, and which is the fastest where nothing is known yet.
  Result<void> keep_best() {
    report_.interrupted = true;
    const Entrant* best = nullptr;
    if (!knows_serving()) {
      return {};  // a kernel with a record would take its place, however slow
    }
    for (const auto& entrant : entrants_) {
      const std::optional<double>& own = entrant->session->best_us();
      of(*entrant).best_us = own;
      if (own && of(*entrant).part != Part::kFailed) {
        HONE_TRY(entrant->session->keep_best());
        of(*entrant).part = Part::kBehind;
        best = best == nullptr || *own < *best->session->best_us() ? entrant.get() : best;
      }
    }
    if (best == nullptr) {
      return {};
    }
    of(*best).part = Part::kWon;
    report_.winner = best->place;
    HONE_ASSIGN(const std::optional<OperationRecord> standing, store_.find_operation_record(key()));
    return standing ? Result<void>() : keep(*best);
  }

  // ---- what is said of it --------------------------------------------------------------------------------------------------------------

  void note_progress(const std::string& kernel, const Progress& progress) {
    if (common().on_progress) {
      Progress all = progress;
      all.kernel = kernel;
      all.trials = static_cast<std::int64_t>(entrants_.trials());
      all.elapsed_seconds = elapsed();
      all.default_us = entrants_.default_us();
      all.best_us = entrants_.best_us();
      all.outcomes = entrants_.outcomes();
      if (all.best_us != best_us_seen_) {
        best_us_seen_ = all.best_us;
        improved_seconds_ = all.elapsed_seconds;
      }
      all.improved_seconds = improved_seconds_;
      common().on_progress(all);
    }
  }

  Result<OperationReport> report() {
    report_.seconds = elapsed();
    report_.trials = static_cast<std::int64_t>(entrants_.trials());
    report_.default_us = entrants_.default_us().value_or(0.0);
    for (const auto& entrant : entrants_) {
      HONE_ASSIGN(of(*entrant).tuned, entrant->session->report());
      for (const std::string& note : of(*entrant).tuned->notes) {
        report_.notes.push_back(fmt::format("{}: {}", entrant->request.spec.name, note));
      }
    }
    const auto& standard = of(entrants_.front()).tuned->default_measured;
    report_.default_us = standard ? standard->measurement.median_us : report_.default_us;
    if (report_.winner) {
      report_.speedup = report_.default_us / report_.kernels[*report_.winner].best_us.value_or(kUnbounded);
    }
    return std::move(report_);
  }

  const OperationRequest& request_;
  Store& store_;
  OperationReport report_;
  Entrants entrants_;
  std::optional<double> best_us_seen_;  ///< what was reported last
  double improved_seconds_ = 0.0;       ///< when it came
  double earlier_seconds_ = 0.0;
  Clock::time_point start_ = Clock::now();
  std::size_t serving_ = 0;  ///< the place of the kernel that an application would get now
  std::shared_ptr<std::set<std::string>> left_ = std::make_shared<std::set<std::string>>();  ///< Beside::left
  bool one_at_a_time_ = false;                                                               ///< memory holds the buffers of one kernel
  std::optional<Error> first_failure_;
};

}  // namespace

std::string_view name(Part part) {
  switch (part) {
    case Part::kWon:
      return "won";
    case Part::kFinalist:
      return "finalist";
    case Part::kBehind:
      return "behind";
    case Part::kFailed:
      return "failed";
    case Part::kIllegal:
      break;
  }
  return "illegal";
}

Result<OperationReport> tune(const OperationRequest& request, Store& store, const Registry& registry) {
  HONE_TRY(check_is_time(request.common.measure.objective, "operations are tuned"));
  return OperationSession(request, store).run(registry);
}

}  // namespace hone
