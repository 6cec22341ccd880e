#include "engine/tune/entrant_processes.hpp"

#include <algorithm>
#include <cstddef>

#include "engine/tune/evaluator.hpp"

namespace hone {
namespace {

constexpr std::size_t kAhead = 4;  // proposals compiled for a kernel that waits for its turn

}  // namespace

Result<void> EntrantProcesses::start(Entrant& entrant) {
  const int evaluators = entrants_.one_at_a_time() ? 1 : static_cast<int>(entrants_.size());
  HONE_TRY(entrant.session->start(budget_.elapsed(), {.evaluators = evaluators, .left = left_}));
  entrant.session->evaluator().hold(true);
  return entrant.session->submit_first();
}

Result<void> EntrantProcesses::activate(Entrant& entrant) {
  for (const auto& other : entrants_) {
    if (other.get() != &entrant && entrants_.one_at_a_time() && other->session->started()) {
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

void EntrantProcesses::share_compilers(const Entrant* active) {
  const auto alive = entrants_.alive();
  const auto cores = static_cast<std::size_t>(compile_workers(common_));
  const bool all_begin = active == nullptr || active->session->trials().empty() || budget_.is_initial(*active);
  for (const auto& entrant : entrants_) {
    if (!entrant->out && entrant->session->started()) {
      const std::size_t even = std::max<std::size_t>(1, cores / std::max<std::size_t>(1, alive));
      const std::size_t own = cores > alive ? cores - (alive - 1) : 1;
      entrant->session->evaluator().set_compilers(all_begin ? even : entrant.get() == active ? own : 1);
    }
  }
}

void EntrantProcesses::feed_others(const Entrant* active) {
  for (const auto& entrant : entrants_) {
    if (entrant.get() == active || entrant->out || !entrant->session->started()) {
      continue;
    }
    entrant->session->evaluator().poll();
    const std::size_t waiting = entrant->session->evaluator().in_flight();
    if (overlaps() && !common_.budget.trials && !entrant->done && waiting < kAhead && !budget_.is_spent()) {
      entrant->session->propose(kAhead - waiting);
    }
  }
}

}  // namespace hone
