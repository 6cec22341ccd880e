#include "engine/tune/entrants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "engine/kernel/kernel_problem.hpp"

namespace hone {
namespace {

constexpr double kBufferFactor = 4.0;  // of the arguments' bytes: answers, guard bands, what stands by
constexpr double kMemoryShare = 0.5;

Error nobody_can_enter(const OperationRequest& request, const std::vector<KernelReport>& reports) {
  std::vector<std::string> reasons;
  for (const KernelReport& kernel : reports) {
    reasons.push_back(fmt::format("{}: {}", kernel.spec->name, kernel.why));
  }
  return {ErrorCode::kEmptySpace,
          fmt::format("no kernel of {} can be tuned for {} {} on {}: {}", request.operation->name, name(request.problem.dtype),
                      text(request.problem.shape), request.common.device.info.id, fmt::join(reasons, "; "))};
}

Result<std::unique_ptr<Entrant>> make_entrant(const OperationRequest& request, const KernelSpec& spec, Store& store,
                                              const Entrants::OnProgress& on_progress) {
  HONE_ASSIGN(Problem problem, problem_for(spec, request.problem));
  auto entrant = std::make_unique<Entrant>();
  entrant->request = request.common;
  entrant->request.spec = spec;
  entrant->request.operation = request.operation->name;
  entrant->request.problem = std::move(problem);
  entrant->request.on_progress = [on_progress, kernel = spec.name](const Progress& progress) { on_progress(kernel, progress); };
  HONE_ASSIGN(LikelySpace spaces, likely_space_of(entrant->request));
  entrant->session = std::make_unique<TuningSession>(entrant->request, store, std::move(spaces));
  return entrant;
}

}  // namespace

Result<void> Entrants::enter(const OperationRequest& request, Store& store, const OnProgress& on_progress,
                             std::vector<KernelReport>& reports) {
  for (const KernelSpec* const spec : request.operation->implementations) {
    KernelReport& report = reports.emplace_back();
    report.spec = spec;
    Result<std::unique_ptr<Entrant>> made = make_entrant(request, *spec, store, on_progress);
    if (!made) {
      report.why = made.error().message;
      continue;
    }
    report.part = Part::kBehind;  // until it is more: a session may be stopped before anything of it was right
    all_.push_back(*std::move(made));
    all_.back()->place = reports.size() - 1;
  }
  const auto memory = request.common.device.info.properties.find("memory");
  one_at_a_time_ = memory != request.common.device.info.properties.end() &&
                   kBufferFactor * argument_bytes() > kMemoryShare * static_cast<double>(memory->second);
  return all_.empty() ? Result<void>(nobody_can_enter(request, reports)) : Result<void>();
}

bool Entrants::knows_serving() const { return serving().out || serving().done || serving().session->tried_what_serves(); }

std::vector<std::size_t> Entrants::serving_first() const {
  std::vector<std::size_t> order{serving_};
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (i != serving_) {
      order.push_back(i);
    }
  }
  return order;
}

std::size_t Entrants::alive() const { return static_cast<std::size_t>(std::ranges::count(all_, false, &Entrant::out)); }

std::size_t Entrants::trials() const {
  std::size_t sum = 0;
  for (const auto& entrant : all_) {
    sum += entrant->session->trials().size();
  }
  return sum;
}

std::map<Outcome, std::int64_t> Entrants::outcomes() const {
  std::map<Outcome, std::int64_t> sums;
  for (const auto& entrant : all_) {
    for (const auto& [outcome, count] : entrant->session->outcomes()) {
      sums[outcome] += count;
    }
  }
  return sums;
}

double Entrants::argument_bytes() const {
  double bytes = 0.0;
  for (const auto& entrant : all_) {
    bytes += hone::argument_bytes(entrant->request.spec, entrant->request.problem);
  }
  return bytes;
}

std::optional<double> Entrants::best_us(const Entrant* left_out) const {
  std::optional<double> best;
  for (const auto& entrant : all_) {
    const std::optional<double>& own = entrant->session->best_us();
    if (entrant.get() != left_out && own && (!best || *own < *best)) {
      best = own;
    }
  }
  return best;
}

std::optional<double> Entrants::default_us() const {
  const Trial* const tried = front().session->default_trial();
  return tried != nullptr && tried->outcome == Outcome::kOk ? std::optional(tried->measurement.median_us) : std::nullopt;
}

std::vector<Runner> Entrants::runners() const {
  std::vector<Runner> runners;
  for (const auto& entrant : all_) {
    Runner& runner = runners.emplace_back();
    double seconds = 0.0;
    for (const Trial& trial : entrant->session->trials()) {
      const bool counts = trial.outcome == Outcome::kOk && !entrant->session->is_withdrawn(trial.configuration);
      runner.times_us.push_back(counts ? trial.measurement.median_us : std::numeric_limits<double>::infinity());
      seconds += trial.seconds.total() - trial.seconds.compile;
    }
    runner.seconds = seconds / std::max(1.0, static_cast<double>(runner.times_us.size()));
    if (entrant->turn_trials > 0) {
      runner.seconds = std::max(runner.seconds, entrant->turn_seconds / static_cast<double>(entrant->turn_trials));
    }
    runner.can_go_on = !entrant->out && !entrant->done;
  }
  return runners;
}

void Entrants::tell_rivals() const {
  for (const auto& entrant : all_) {
    if (const std::optional<double> best = best_us(entrant.get()); best && !entrant->out) {
      entrant->session->set_rival(*best);
    }
  }
}

}  // namespace hone
