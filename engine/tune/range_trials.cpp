#include "engine/tune/range_trials.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "engine/base/parallel.hpp"
#include "engine/tune/operation_session.hpp"

namespace hone {

bool ends_all(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kStore || error.code == ErrorCode::kIo;
}

Result<bool> RangeTrials::survey(const Shape& shape, const PortfolioProposals::First& configurations, double seconds, Gate gate) {
  HONE_ASSIGN(const Problem problem, knowledge_.shapes().problem_at(shape));
  std::size_t count = 0;
  for (const auto& [kernel, own] : configurations) {
    count += own.size();
  }
  struct Surveyable {
    const KernelSpec& spec;
    const std::vector<Configuration>& candidates;
    Problem problem;
    Survey& survey;
  };
  std::vector<Surveyable> parts;
  for (const auto& [kernel, own] : configurations) {
    const KernelSpec& spec = *knowledge_.proposals().kernel_named(kernel);
    HONE_ASSIGN(Problem own_problem, problem_for(spec, problem));
    auto [one, is_new] = surveys_.try_emplace(kernel);
    if (is_new) {
      one->second = std::make_unique<Survey>(common_, spec, store_);
    }
    parts.push_back({spec, own, std::move(own_problem), *one->second});
  }
  if (parts.size() > 1) {  // what comes before the first candidate takes longer than to time a few
    monitor_.work_outside([&] {
      parallel_for(static_cast<int>(parts.size()), parts.size(), [&](std::size_t i) { parts[i].survey.prepare(parts[i].problem, gate); });
    });
  }
  bool is_any_right = false;
  std::vector<std::pair<const KernelSpec*, std::vector<Trial>>> timed;
  for (const Surveyable& part : parts) {
    const KernelSpec& spec = part.spec;
    const double share = static_cast<double>(part.candidates.size()) / static_cast<double>(std::max<std::size_t>(1, count));
    Surveyed surveyed = monitor_.work_outside([&] { return part.survey.measure(part.problem, part.candidates, share * seconds, gate); });
    gate == Gate::kFull ? outcomes_.add_wrong(shape, spec, surveyed.trials) : outcomes_.add(shape, spec, surveyed.trials);
    if (!surveyed.ended) {
      knowledge_.exclude(shape, spec, surveyed.trials);
      if (ends_all(surveyed.ended.error())) {
        return surveyed.ended.error();
      }
      continue;  // a session there says what it is, to whom it belongs
    }
    is_any_right = is_any_right || std::ranges::any_of(surveyed.trials, [](const Trial& trial) { return trial.outcome == Outcome::kOk; });
    timed.emplace_back(&spec, std::move(surveyed.trials));
  }
  for (const auto& [spec, trials] : timed) {
    if (is_any_right) {
      HONE_TRY(knowledge_.note(shape, *spec, trials));
    } else {
      knowledge_.exclude(shape, *spec, trials);
    }
  }
  if (is_any_right) {
    knowledge_.note_shape(shape, false);
  }
  return is_any_right;
}

Result<void> RangeTrials::search(const Shape& shape, PortfolioProposals::First first, const Budget& budget, bool keeps_record) {
  using Clock = std::chrono::steady_clock;
  TuneRequest common = common_;
  common.budget = budget;
  common.first = std::move(first);
  common.keeps_record = keeps_record;
  common.keep_best = false;
  common.on_progress = nullptr;
  common.idle_workers = &idle_workers_;
  HONE_ASSIGN(common.problem, knowledge_.shapes().problem_at(shape));
  const auto begin = Clock::now();
  TrialTimes times;
  HONE_TRY(operation_.implementations.size() == 1 ? search_one(shape, std::move(common), times)
                                                  : search_all(shape, std::move(common), times));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  knowledge_.shapes().note_session(shape, times.start(), times.seconds(seconds), times.trials());
  knowledge_.note_shape(shape, true);
  return {};
}

Result<void> RangeTrials::add(const Shape& shape, const KernelSpec& spec, std::int64_t session, TrialTimes& times) {
  HONE_ASSIGN(const std::vector<Trial> trials, store_.trials(session, spec.parameters));
  outcomes_.add(shape, spec, trials);
  times.add(trials);
  return knowledge_.note(shape, spec, trials);
}

Result<void> RangeTrials::search_one(const Shape& shape, TuneRequest one, TrialTimes& times) {
  one.spec = *operation_.implementations.front();
  HONE_ASSIGN(one.problem, problem_for(one.spec, one.problem));
  HONE_ASSIGN(const TuneReport report, monitor_.work_outside([&] { return tune(one, store_, registry_); }));
  return add(shape, one.spec, report.session, times);
}

Result<void> RangeTrials::search_all(const Shape& shape, TuneRequest common, TrialTimes& times) {
  const Problem problem = common.problem;
  const OperationRequest all{.operation = &operation_, .problem = problem, .common = std::move(common)};
  HONE_ASSIGN(const OperationReport report, monitor_.work_outside([&] { return tune(all, store_, registry_); }));
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.tuned) {
      HONE_TRY(add(shape, *kernel.spec, kernel.tuned->session, times));
    }
  }
  return {};
}

}  // namespace hone
