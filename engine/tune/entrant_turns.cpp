#include "engine/tune/entrant_turns.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "engine/tune/turns.hpp"

namespace hone {
namespace {

constexpr double kTick = 0.01;       // seconds between looks at the kernels that wait for their turn
constexpr double kSlice = 0.03;      // of a budget in seconds: the least that a turn lasts
constexpr double kLongSlice = 0.15;  // where processes end with a turn
constexpr std::size_t kSliceTrials = 4;
constexpr double kSmallPart = 0.1;  // of what is left: what a first share may take of a kernel that is far behind after initial trials

}  // namespace

Entrant* EntrantTurns::next() const {
  if (budget_.is_spent()) {
    return &entrants_.serving();
  }
  if (Entrant* const next = short_of(budget_.initial_trials(), false)) {
    return next;
  }
  if (Entrant* const next = short_of(budget_.first_share(), budget_.initial_trials() > 0)) {
    return next;
  }
  const std::optional<std::size_t> next = Turns::next(entrants_.runners(), budget_.remaining());
  return next ? &entrants_[*next] : nullptr;
}

/// One that has had fewer trials and is ready, else one that is not: what serves now before others. `with_care`: but for what is far
/// behind and would take much of what is left.
Entrant* EntrantTurns::short_of(std::size_t share, bool with_care) const {
  const std::vector<Runner> runners = entrants_.runners();
  Entrant* waiting = nullptr;
  for (const std::size_t i : entrants_.serving_first()) {
    Entrant& entrant = entrants_[i];
    const std::size_t has = entrant.session->trials().size();
    if (entrant.out || entrant.done || has >= share) {
      continue;
    }
    const double rest = static_cast<double>(share - has) * runners[i].seconds;
    if (with_care && rest > kSmallPart * budget_.remaining().seconds && Turns::is_far_behind(i, runners, budget_.remaining())) {
      continue;
    }
    if (!entrant.session->started() || !processes_.overlaps() || entrant.session->evaluator().can_measure()) {
      return &entrant;
    }
    waiting = waiting == nullptr ? &entrant : waiting;
  }
  return waiting;
}

bool EntrantTurns::must_wait_for(const Entrant& next) const {
  return processes_.overlaps() && !entrants_.one_at_a_time() && !next.session->evaluator().can_measure() &&
         next.session->evaluator().in_flight() > 0;
}

Result<void> EntrantTurns::wait_for(Entrant& next) {
  processes_.share_compilers(nullptr);
  processes_.feed_others(nullptr);
  return next.session->take(kTick);
}

/// In one turn.
std::size_t EntrantTurns::trials_for(const Entrant& entrant) const {
  const std::size_t share = budget_.is_initial(entrant) ? budget_.initial_trials() : budget_.first_share();
  const std::size_t has = entrant.session->trials().size();
  const std::size_t wanted = has < share ? share - has : kSliceTrials;
  const double left = std::max(budget_.remaining().trials, &entrant == &entrants_.serving() && !entrants_.knows_serving() ? 1.0 : 0.0);
  return left < static_cast<double>(wanted) ? static_cast<std::size_t>(left) : wanted;
}

Result<void> EntrantTurns::run(Entrant& entrant) {
  TuningSession& session = *entrant.session;
  const std::size_t before = session.trials().size(), wanted = trials_for(entrant);
  const double slice = budget_.is_initial(entrant) ? 0.0 : entrants_.one_at_a_time() ? kLongSlice : kSlice;
  const double begin = budget_.elapsed(), least = common_.budget.seconds.value_or(0.0) * slice;
  const bool whole = !processes_.overlaps() || entrants_.one_at_a_time() || common_.budget.trials;  // what it proposes it measures, too
  for (;;) {
    const std::size_t finished = session.trials().size() - before;
    const bool enough = finished >= wanted && (budget_.elapsed() - begin >= least || common_.budget.trials);
    if (enough || are_over() || session.default_error()) {
      break;
    }
    const std::size_t under_way = finished + session.evaluator().in_flight();
    if (!budget_.is_spent() && (!whole || under_way < std::max(wanted, finished + 1))) {
      session.allow(common_.budget.trials ? std::max(wanted, under_way) - under_way : std::numeric_limits<std::size_t>::max());
      session.propose(whole ? std::max(wanted, finished + 1) - under_way : std::numeric_limits<std::size_t>::max());
    }
    if (session.evaluator().in_flight() == 0) {
      entrant.done = true;  // nothing is left to propose
      break;
    }
    HONE_TRY(session.take(kTick));
    entrants_.tell_rivals();
    processes_.feed_others(&entrant);
  }
  return finish(entrant, whole);
}

/// What is on the device ends; where turns are whole, all that was proposed, unless the time is over.
Result<void> EntrantTurns::finish(Entrant& entrant, bool whole) {
  TuningSession& session = *entrant.session;
  while (whole && session.evaluator().in_flight() > 0 && !are_over()) {
    HONE_TRY(session.take(kTick));
  }
  session.evaluator().hold(true);
  while (session.evaluator().is_on_device() && !are_over()) {
    HONE_TRY(session.take(kTick));
    processes_.feed_others(&entrant);
  }
  return {};
}

}  // namespace hone
