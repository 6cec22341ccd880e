#include "engine/tune/compiled_ahead.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/kernel/configuration_text.hpp"
#include "engine/tune/compile_missing.hpp"
#include "engine/tune/evaluator.hpp"

namespace hone {

void CompiledAhead::add(PlannedSurvey plan) {
  Waiting& one = waiting_.emplace_back(Waiting{std::move(plan), {}});
  if (request_.common.device.info.compile_overlaps && !request_.common.workers) {
    one.outcome = std::async(std::launch::async, [this, plan = one.plan, stop = stop_.get_token()] { return compile(plan, stop); });
  }
}

CompiledAhead::Outcome CompiledAhead::compile(const PlannedSurvey& plan, const std::stop_token& stop) const {
  const int workers = std::max(1, compile_workers(request_.common) / static_cast<int>(2 * most_));  // sessions compile, too
  Outcome outcome;
  const Result<Problem> problem = shapes_.problem_at(plan.shape);
  for (const auto& [kernel, configurations] : plan.first) {
    const KernelSpec& spec = *proposals_.kernel_named(kernel);
    const Result<Problem> own = problem ? problem_for(spec, *problem) : problem;
    const Result<MissingCode> missing =
        own ? compile_missing(request_.common.device, spec, *own, configurations, store_, workers, stop) : Result<MissingCode>(own.error());
    if (!missing) {
      outcome.ended = missing.error();
      return outcome;
    }
    for (const Trial& trial : missing->failed) {
      outcome.failed.push_back({kernel, text(spec.parameters, trial.configuration)});
    }
  }
  return outcome;
}

std::optional<CompiledAhead::Ready> CompiledAhead::take() {
  const auto found = std::ranges::find_if(waiting_, [this](const Waiting& one) {
    return !shapes_.is_reserved(one.plan.shape) &&
           (!one.outcome.valid() || one.outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  });
  if (found == waiting_.end()) {
    return std::nullopt;
  }
  Waiting one = std::move(*found);
  waiting_.erase(found);
  Outcome outcome = one.outcome.valid() ? one.outcome.get() : Outcome();
  Ready ready{std::move(one.plan), std::move(outcome.failed), std::move(outcome.ended)};
  for (auto& [kernel, configurations] : ready.plan.first) {
    const KernelSpec& spec = *proposals_.kernel_named(kernel);
    std::erase_if(configurations, [&, &kernel = kernel](const Configuration& configuration) {
      return std::ranges::find(ready.failed, PortfolioMember{kernel, text(spec.parameters, configuration)}) != ready.failed.end();
    });
  }
  std::erase_if(ready.plan.first, [](const auto& of_kernel) { return of_kernel.second.empty(); });
  return ready;
}

void CompiledAhead::stop() {
  stop_.request_stop();
  waiting_.clear();  // waits
}

}  // namespace hone
