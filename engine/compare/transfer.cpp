#include "engine/compare/transfer.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "engine/compare/search_run.hpp"

namespace hone::compare {
namespace {

std::string label(const Parameter& parameter, std::size_t digit) {
  return parameter.labels.empty() ? parameter.values[digit].text() : parameter.labels[digit];
}

/// For a parameter of the target: where it is in the source, and for each value of there the place of that value here; -1 if it is not
/// listed.
struct Column {
  std::size_t parameter = 0;
  std::vector<int> digits;
};

Column column_of(const Parameter& wanted, std::size_t parameter, const Parameter& given) {
  Column column{.parameter = parameter, .digits = std::vector<int>(given.values.size(), -1)};
  for (std::size_t there = 0; there < given.values.size(); ++there) {
    for (std::size_t here = 0; here < wanted.values.size(); ++here) {
      column.digits[there] = label(wanted, here) == label(given, there) ? static_cast<int>(here) : column.digits[there];
    }
  }
  return column;
}

/// Empty if a parameter of the target is not one of the source.
std::vector<Column> columns_of(const SearchSpace& target, const SearchSpace& source) {
  std::vector<Column> columns;
  for (const Parameter& wanted : target.parameters()) {
    const auto given = std::ranges::find(source.parameters(), wanted.name, &Parameter::name);
    if (given == source.parameters().end()) {
      return {};
    }
    columns.push_back(column_of(wanted, static_cast<std::size_t>(given - source.parameters().begin()), *given));
  }
  return columns;
}

/// The best gets the time of the worst, and so on.
void mislead(std::vector<Observation>& observations) {
  std::vector<Observation*> timed;
  for (Observation& observation : observations) {
    if (observation.outcome == Outcome::kOk) {
      timed.push_back(&observation);
    }
  }
  std::ranges::stable_sort(timed, {}, [](const Observation* observation) { return observation->time_us; });
  for (std::size_t i = 0; i < timed.size() / 2; ++i) {
    std::swap(timed[i]->time_us, timed[timed.size() - 1 - i]->time_us);
  }
}

/// One name can stand for versions of a kernel: with other parameters a configuration of one is several of the other, or none.
bool same_kernel(const SpaceTable& a, const SpaceTable& b) {
  const auto names = [](const SpaceTable& table) {
    std::set<std::string> all;
    for (const Parameter& parameter : table.recorded->space().parameters()) {
      all.insert(parameter.name);
    }
    return all;
  };
  return a.kernel == b.kernel && names(a) == names(b);
}

Prior prior_of(const SpaceTable& target, const SpaceTable& source) {
  Prior prior{.device = source.recorded->device_name(), .dtype = {}, .shape = {}, .observations = {}};
  const SearchSpace& here = target.recorded->space();
  const SearchSpace& there = source.recorded->space();
  const std::vector<Column> columns = columns_of(here, there);
  std::vector<bool> known(target.size(), false);  // a source with more parameters names a configuration of here more than once
  Digits from(there.parameters().size()), to(columns.size());
  for (std::size_t i = 0; i < source.size() && !columns.empty(); ++i) {
    there.digits(i, from);
    bool listed = true;
    for (std::size_t p = 0; p < columns.size(); ++p) {
      const int digit = columns[p].digits[from[columns[p].parameter]];
      listed = listed && digit >= 0;
      to[p] = static_cast<std::uint16_t>(std::max(digit, 0));
    }
    const auto position = listed ? here.index(to) : std::nullopt;
    if (position && !known[static_cast<std::size_t>(*position)]) {
      known[static_cast<std::size_t>(*position)] = true;
      prior.observations.push_back(observation_of(source, i));
      prior.observations.back().position = *position;
    }
  }
  return prior;
}

}  // namespace

std::vector<Prior> shuffled(std::vector<Prior> priors, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (Prior& prior : priors) {
    for (std::size_t left = prior.observations.size(); left > 1; --left) {
      Observation &last = prior.observations[left - 1], &other = prior.observations[random() % left];
      std::swap(last, other);
      std::swap(last.position, other.position);
    }
  }
  return priors;
}

std::vector<PriorSet> prior_sets(const std::vector<SpaceTable>& tables, std::size_t target, Transfer transfer) {
  if (transfer == Transfer::kNone) {
    return {PriorSet{}};
  }
  std::vector<PriorSet> sets;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i == target || !same_kernel(tables[i], tables[target])) {
      continue;
    }
    Prior prior = prior_of(tables[target], tables[i]);
    if (prior.observations.empty()) {
      continue;
    }
    if (transfer == Transfer::kMisleading) {
      mislead(prior.observations);
    }
    if (transfer != Transfer::kAll || sets.empty()) {
      sets.push_back({.source = transfer == Transfer::kAll ? "" : tables[i].recorded->name(), .priors = {}});
    }
    sets.back().priors.push_back(std::move(prior));
  }
  return sets;
}

}  // namespace hone::compare
