#include "hone/lookup.hpp"

#include <algorithm>
#include <cmath>

#include "hone/search_space.hpp"
#include "hone/session.hpp"
#include "hone/static_fields.hpp"

namespace hone {

bool valid_for(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, const Configuration& configuration) {
  Bindings bound = bindings(problem);
  bound.merge(bindings(spec.parameters, configuration));
  bound.merge(bindings(device));
  return std::all_of(spec.constraints.begin(), spec.constraints.end(), [&](const Constraint& constraint) {
    const Result<Value> met = constraint.condition.evaluate(bound);
    return met && met->boolean();
  });
}

double shape_distance(const Shape& a, const Shape& b) {
  double distance = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    distance += std::abs(std::log(static_cast<double>(a[i].second) / static_cast<double>(b[i].second)));
  }
  return distance;
}

namespace {

bool may_launch(const Record& record) { return record.code == CodeState::kTrusted || record.code == CodeState::kNone; }

Result<std::optional<Record>> nearest_record(const KernelSpec& spec, const Problem& problem, const RecordKey& key, Store& store,
                                             const Lookup& lookup, std::string& why) {
  HONE_ASSIGN(std::vector<Record> records, store.records_of(key, spec.parameters));
  std::stable_sort(records.begin(), records.end(), [&](const Record& a, const Record& b) {
    return shape_distance(a.problem.shape, problem.shape) < shape_distance(b.problem.shape, problem.shape);
  });
  for (Record& record : records) {
    if (!same_code(spec, record.problem.shape, problem.shape) || !valid_for(spec, problem, key.device, record.configuration)) {
      continue;
    }
    if (lookup.launch && !may_launch(record)) {
      why = why.empty() ? store.refusal(record).message : why;
      continue;
    }
    return std::optional<Record>(std::move(record));
  }
  return std::optional<Record>();
}

Result<Configuration> fallback(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device) {
  Configuration standard = default_configuration(spec);
  if (valid_for(spec, problem, device, standard)) {
    return standard;
  }
  Bindings fixed = bindings(problem);
  fixed.merge(bindings(device));
  HONE_ASSIGN(const SearchSpace space, SearchSpace::build(spec.parameters, spec.constraints, fixed));
  return space.at(default_position(space, standard));
}

}  // namespace

Result<Choice> choose(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store, const Lookup& lookup) {
  std::string why;
  if (store != nullptr) {
    const RecordKey key = record_key(spec, problem, device, lookup.purpose);
    HONE_ASSIGN(std::optional<Record> found, store->find_record(key, spec.parameters));
    if (found && lookup.launch && found->code == CodeState::kBroken) {
      return store->refusal(*found);
    }
    const bool is_exact = found && (!lookup.launch || may_launch(*found));
    if (found && !is_exact) {
      why = store->refusal(*found).message;
    }
    if (!is_exact) {
      HONE_ASSIGN(found, nearest_record(spec, problem, key, *store, lookup, why));
    }
    if (found) {
      const Configuration configuration = found->configuration;
      return Choice{is_exact ? Source::kExact : Source::kNearest, configuration, std::move(found), std::move(why)};
    }
  }
  HONE_ASSIGN(Configuration configuration, fallback(spec, problem, device));
  return Choice{Source::kDefault, std::move(configuration), std::nullopt, std::move(why)};
}

}  // namespace hone
