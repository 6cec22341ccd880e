#include "engine/tune/count_configurations.hpp"

#include <limits>

#include "engine/tune/evaluator.hpp"
#include "engine/tune/scratch_store.hpp"

namespace hone {
namespace {

Result<std::vector<Counted>> try_each(Evaluator& evaluator, const std::vector<Configuration>& configurations) {
  std::vector<Proposal> proposals;
  for (const Configuration& configuration : configurations) {
    proposals.push_back({static_cast<Count>(proposals.size()), configuration});
  }
  std::vector<Counted> counted(proposals.size());
  evaluator.submit(proposals);
  for (std::size_t finished = 0; finished < counted.size();) {
    HONE_ASSIGN(std::vector<Trial> trials, evaluator.wait(std::numeric_limits<double>::infinity()));
    finished += trials.size();
    for (Trial& trial : trials) {
      counted[static_cast<std::size_t>(trial.position)].trial = std::move(trial);
    }
  }
  return counted;
}

}  // namespace

Result<std::vector<Counted>> count_configurations(const TuneRequest& request, const std::vector<Configuration>& configurations) {
  HONE_ASSIGN(const ScratchStore scratch, ScratchStore::create());  // keeps the code from the trial to the counting
  HONE_ASSIGN(const auto evaluator, make_live_evaluator(request, &scratch.store()));
  HONE_ASSIGN(std::vector<Counted> counted, try_each(*evaluator, configurations));
  for (Counted& one : counted) {
    one.notes = evaluator->notes();
    if (one.trial.outcome != Outcome::kOk) {
      continue;
    }
    Result<Counters> counters = evaluator->count(one.trial);
    if (counters) {
      one.counters = std::move(counters).value();
    } else {
      one.refused = counters.error().message;
    }
  }
  return counted;
}

}  // namespace hone
