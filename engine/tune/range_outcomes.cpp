#include "engine/tune/range_outcomes.hpp"

#include <algorithm>

#include "engine/kernel/configuration_text.hpp"

namespace hone {

void RangeOutcomes::add(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    ++counts_[trial.outcome];
  }
  add_wrong(shape, spec, trials);
}

void RangeOutcomes::add_wrong(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials) {
  for (const Trial& trial : trials) {
    if (is_wrong(trial.outcome)) {
      ++wrong_of({.kernel = spec.name,
                  .configuration = text(spec.parameters, trial.configuration),
                  .shape = shape,
                  .outcome = trial.outcome,
                  .detail = trial.detail})
            .count;
    }
  }
}

void RangeOutcomes::add(const RangeOutcomes& other) {
  for (const auto& [outcome, count] : other.counts_) {
    counts_[outcome] += count;
  }
  for (const WrongTrials& theirs : other.wrong_) {
    WrongTrials first = theirs;
    first.count = 0;
    wrong_of(first).count += theirs.count;
  }
}

std::int64_t RangeOutcomes::trials() const {
  std::int64_t all = 0;
  for (const auto& [outcome, count] : counts_) {
    all += count;
  }
  return all;
}

WrongTrials& RangeOutcomes::wrong_of(const WrongTrials& first) {
  const auto known = std::ranges::find(wrong_, first.kernel, &WrongTrials::kernel);
  return known == wrong_.end() ? wrong_.emplace_back(first) : *known;
}

}  // namespace hone
