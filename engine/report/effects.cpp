#include "engine/report/effects.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace hone::report {
namespace {

constexpr std::size_t kMostObservations = 2000;
constexpr double kLeastPair = 0.005;
constexpr std::uint64_t kSampleSeed = 1;

std::size_t place_of(const Parameter& parameter, const Value& value) {
  return static_cast<std::size_t>(std::ranges::find(parameter.values, value) - parameter.values.begin());
}

/// Trials whose time is known, or a random sample of them.
std::vector<const Trial*> timed(std::span<const Trial> trials) {
  std::vector<const Trial*> all, sample;
  for (const Trial& trial : trials) {
    if (has_time(trial.outcome) && trial.measurement.median_us > 0.0) {
      all.push_back(&trial);
    }
  }
  std::mt19937_64 random(kSampleSeed);
  std::ranges::sample(all, std::back_inserter(sample), static_cast<std::ptrdiff_t>(kMostObservations), random);
  return sample;
}

/// Of the values that were measured alone: about others the trials say nothing.
class Table {
 public:
  Table(const std::vector<Parameter>& parameters, const std::vector<const Trial*>& trials) : kept_(parameters.size()) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      kept_[p].assign(parameters[p].values.size(), kNone);
      std::vector<double> positions;
      for (const Trial* const trial : trials) {
        kept_[p].at(place_of(parameters[p], trial->configuration.values.at(p))) = 0;
      }
      std::uint16_t next = 0;
      for (std::size_t v = 0; v < kept_[p].size(); ++v) {
        if (kept_[p][v] != kNone) {
          kept_[p][v] = next++;
          positions.push_back(parameters[p].values[v].real());
        }
      }
      const bool ordered = parameters[p].kind == ParameterKind::kInteger || parameters[p].kind == ParameterKind::kReal;
      observations_.sizes.push_back(next);
      observations_.positions.push_back(ordered ? std::move(positions) : std::vector<double>());
    }
    for (const Trial* const trial : trials) {
      for (std::size_t p = 0; p < parameters.size(); ++p) {
        observations_.digits.push_back(kept_[p].at(place_of(parameters[p], trial->configuration.values.at(p))));
      }
      observations_.figures.push_back(std::log(trial->measurement.median_us));
    }
  }

  [[nodiscard]] double quantile(double part) const {
    std::vector<double> figures = observations_.figures;
    const auto at = figures.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(figures.size() - 1));
    std::ranges::nth_element(figures, at);
    return *at;
  }
  [[nodiscard]] Importance shares(double most) const {
    Observations capped = observations_;
    for (double& figure : capped.figures) {
      figure = std::min(figure, most);
    }
    return importance(capped);
  }
  /// The place of a value among those that were measured; nothing if it was not.
  [[nodiscard]] std::optional<std::size_t> place(std::size_t parameter, std::size_t value) const {
    const std::uint16_t at = kept_[parameter][value];
    return at == kNone ? std::nullopt : std::optional<std::size_t>(at);
  }

 private:
  static constexpr std::uint16_t kNone = std::numeric_limits<std::uint16_t>::max();
  std::vector<std::vector<std::uint16_t>> kept_;
  Observations observations_;
};

void count(ParameterStudy& study, const Parameter& parameter, std::span<const Trial> trials) {
  for (const Value& value : parameter.values) {
    study.values.push_back({.text = text(parameter, value)});
  }
  for (const Trial& trial : trials) {
    ValueStudy& value = study.values.at(place_of(parameter, trial.configuration.values.at(study.index)));
    if (trial.outcome == Outcome::kTooSlow) {
      ++value.too_slow;
    } else if (is_failure(trial.outcome)) {
      ++value.failed;
    } else {
      ++value.right;
      if (!trial.measurement.raced_out) {
        value.best_us = std::min(value.best_us.value_or(trial.measurement.median_us), trial.measurement.median_us);
      }
    }
  }
  for (const Trial& trial : trials) {  // values that only lost races reach what their race showed
    ValueStudy& value = study.values.at(place_of(parameter, trial.configuration.values.at(study.index)));
    if (trial.outcome == Outcome::kOk && trial.measurement.raced_out && !value.best_us) {
      value.best_us = trial.measurement.median_us;
    }
  }
}

std::vector<Reach> reach_of(const std::vector<ParameterStudy>& order, std::span<const Trial> trials, const Configuration& standard) {
  std::vector<Reach> reach(order.size() + 1);
  for (std::size_t free = 0; free < reach.size(); ++free) {
    reach[free].free = free;
  }
  for (const Trial& trial : trials) {
    if (trial.outcome != Outcome::kOk || trial.measurement.raced_out) {
      continue;
    }
    std::size_t needed = order.size();  // the first so many parameters have to be free for it
    while (needed > 0 && trial.configuration.values.at(order[needed - 1].index) == standard.values.at(order[needed - 1].index)) {
      --needed;
    }
    for (std::size_t free = needed; free < reach.size(); ++free) {
      ++reach[free].right;
      reach[free].best_us = std::min(reach[free].best_us.value_or(trial.measurement.median_us), trial.measurement.median_us);
    }
  }
  return reach;
}

/// The share that tells good configurations apart, where the forest explains that.
double chosen(const Effects& effects, double at_top, double all) { return effects.explains_top() || !effects.explains() ? at_top : all; }

void add_pairs(Effects& effects, const Importance& all, const Importance& top) {
  for (const PairShare& pair : all.pairs) {
    const auto same =
        std::ranges::find_if(top.pairs, [&](const PairShare& other) { return other.first == pair.first && other.second == pair.second; });
    for (ParameterStudy& study : effects.parameters) {
      const bool member = study.index == pair.first || study.index == pair.second;
      study.joint += member ? pair.share : 0.0;
      study.joint_at_top += member ? same->share : 0.0;
    }
    if (std::max(pair.share, same->share) >= kLeastPair) {
      effects.pairs.push_back({pair.first, pair.second, pair.share, same->share});
    }
  }
  std::ranges::stable_sort(effects.pairs, std::ranges::greater(),
                           [&](const PairStudy& pair) { return chosen(effects, pair.share_at_top, pair.share); });
}

/// Shares, and the order that follows from them.
void weigh(Effects& effects, const Table& table) {
  const Importance all = table.shares(std::numeric_limits<double>::infinity()), top = table.shares(table.quantile(Effects::kTop));
  effects.explained = all.explained;
  effects.explained_at_top = top.explained;
  effects.rest = all.rest;
  effects.rest_at_top = top.rest;
  for (ParameterStudy& study : effects.parameters) {
    study.share = all.parameters[study.index];
    study.share_at_top = top.parameters[study.index];
    for (std::size_t v = 0; v < study.values.size(); ++v) {
      const std::optional<std::size_t> place = table.place(study.index, v);
      if (place && effects.explains()) {
        study.values[v].effect = std::exp(all.effects[study.index][*place]);
      }
    }
  }
  add_pairs(effects, all, top);
  std::ranges::stable_sort(effects.parameters, std::ranges::greater(), [&](const ParameterStudy& study) {
    return chosen(effects, study.share_at_top + study.joint_at_top, study.share + study.joint);
  });
}

}  // namespace

Effects effects_of(const std::vector<Parameter>& parameters, std::span<const Trial> trials, const Configuration* standard) {
  Effects effects;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    count(effects.parameters.emplace_back(ParameterStudy{.index = p}), parameters[p], trials);
  }
  const std::vector<const Trial*> known = timed(trials);
  effects.observations = known.size();
  if (known.size() >= kFewestForShares) {
    weigh(effects, Table(parameters, known));
  }
  if (standard != nullptr) {
    effects.reach = reach_of(effects.parameters, trials, *standard);
  }
  return effects;
}

}  // namespace hone::report
