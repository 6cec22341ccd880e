#include "engine/tune/operation_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/store/operation_lookup.hpp"
#include "engine/tune/entrant_processes.hpp"
#include "engine/tune/entrant_turns.hpp"
#include "engine/tune/entrants.hpp"
#include "engine/tune/operation_budget.hpp"
#include "engine/tune/operation_winner.hpp"

namespace hone {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

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
  KernelReport& of(const Entrant& entrant) { return report_.kernels[entrant.place]; }

  // ---- who takes part ------------------------------------------------------------------------------------------------------------------

  Result<void> open(const Registry& registry) {
    for (const auto& entrant : entrants_) {
      HONE_TRY(entrant->session->open(registry));
      budget_.go_on_after(entrant->session->elapsed());
    }
    HONE_TRY(find_serving());
    budget_.begin();
    return {};
  }

  /// The kernel that an application would get now, and its configuration.
  Result<void> find_serving() {
    const Lookup lookup{.purpose = entrants_.front().session->key().purpose, .portfolios = common().transfer};
    const Result<OperationChoice> now = choose(*request_.operation, request_.problem, common().device.info, &store_, lookup);
    if (!now && now.error().code == ErrorCode::kStore) {
      return now.error();
    }
    if (!now) {
      report_.notes.push_back("what serves now could not be looked up, and takes no part: " + now.error().message);
      return {};
    }
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (entrants_[i].request.spec.name == now->spec->name) {
        entrants_.set_serving(i);
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

  // ---- the search ----------------------------------------------------------------------------------------------------------------------

  Result<void> search_and_decide() {
    HONE_TRY(drop());                                           // of a session that goes on: their processes need not start
    if (!entrants_.one_at_a_time() && processes_.overlaps()) {  // else each starts with its first turn
      for (const std::size_t i : entrants_.serving_first()) {
        Entrant& entrant = entrants_[i];
        HONE_TRY(entrant.out ? Result<void>() : contain_failure(entrant, processes_.start(entrant)));
      }
    }
    HONE_TRY(search());
    HONE_TRY(drain());
    return common().finish ? decide() : pause();
  }

  /// Why a session that was to keep its best has none.
  [[nodiscard]] Error stopped_early(const Error& asked) const {
    const std::string& serving = entrants_.serving().request.spec.name;
    return entrants_.knows_serving() || !common().keep_best
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

  Result<void> search() {
    while (!turns_.are_over()) {
      if (common().stop.stop_requested()) {
        return cancelled();
      }
      HONE_TRY(drop());
      Entrant* const next = turns_.next();
      if (next == nullptr) {
        return all_failed();
      }
      if (turns_.must_wait_for(*next)) {
        HONE_TRY(contain_failure(*next, turns_.wait_for(*next)));
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
    const std::size_t share = budget_.first_share();
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      Entrant& entrant = entrants_[i];
      const bool serves = &entrant == &entrants_.serving() && !entrant.session->tried_what_serves();
      if (entrant.out) {
        continue;
      }
      if (std::optional<Error> error = entrant.session->default_error()) {
        HONE_TRY(contain_failure(entrant, *std::move(error)));
      } else if (!serves && entrant.session->trials().size() >= share &&
                 Turns::is_far_behind(i, entrants_.runners(), budget_.remaining())) {
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

  Result<void> turn(Entrant& entrant) {
    HONE_TRY(contain_failure(entrant, processes_.activate(entrant)));
    if (entrant.out) {
      return {};
    }
    const double begin = budget_.elapsed();
    const std::size_t before = entrant.session->trials().size();
    HONE_TRY(contain_failure(entrant, turns_.run(entrant)));
    entrant.turn_seconds += budget_.elapsed() - begin;
    entrant.turn_trials += entrant.session->trials().size() - before;
    entrants_.tell_rivals();
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
    return finalists.empty() ? final_rounds : winner_.crown(finalists);
  }

  Result<void> final_round(Entrant& entrant, std::size_t rounds) {
    HONE_TRY(processes_.activate(entrant));
    HONE_TRY(entrant.session->final_round(rounds));
    entrant.session->evaluator().hold(true);
    of(entrant).part = Part::kFinalist;
    if (entrant.session->winner()) {
      entrant.measured = entrant.session->winner()->measurement;
      of(entrant).best_us = entrant.measured->median_us;
    }
    return {};
  }

  /// Of a session that was asked to stop. Nothing before what serves was tried: a kernel with a record would take its place, however slow.
  Result<void> keep_best() {
    report_.interrupted = true;
    return entrants_.knows_serving() ? winner_.keep_best() : Result<void>();
  }

  // ---- what is said of it --------------------------------------------------------------------------------------------------------------

  void note_progress(const std::string& kernel, const Progress& progress) {
    if (common().on_progress) {
      Progress all = progress;
      all.kernel = kernel;
      all.trials = static_cast<std::int64_t>(entrants_.trials());
      all.elapsed_seconds = budget_.elapsed();
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
    report_.seconds = budget_.elapsed();
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
  OperationBudget budget_{request_.common, entrants_};
  EntrantProcesses processes_{request_.common, entrants_, budget_};
  EntrantTurns turns_{request_.common, entrants_, budget_, processes_};
  OperationWinner winner_{request_, store_, entrants_, budget_, report_};
  std::optional<double> best_us_seen_;  ///< what was reported last
  double improved_seconds_ = 0.0;       ///< when it came
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
