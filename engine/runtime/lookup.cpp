#include "hone/lookup.hpp"

#include <algorithm>
#include <cmath>

#include "hone/search_space.hpp"
#include "hone/session.hpp"

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

Result<std::optional<Record>> nearest_record(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store& store) {
  HONE_ASSIGN(std::vector<Record> records, store.records_of(record_key(spec, problem, device), spec.parameters));
  std::stable_sort(records.begin(), records.end(), [&](const Record& a, const Record& b) {
    return shape_distance(a.problem.shape, problem.shape) < shape_distance(b.problem.shape, problem.shape);
  });
  for (Record& record : records) {
    if (valid_for(spec, problem, device, record.configuration)) {
      return std::optional<Record>(std::move(record));
    }
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

Result<Choice> choose(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store) {
  if (store != nullptr) {
    HONE_ASSIGN(std::optional<Record> exact, store->find_record(record_key(spec, problem, device), spec.parameters));
    const bool is_exact = exact.has_value();
    if (!is_exact) {
      HONE_ASSIGN(exact, nearest_record(spec, problem, device, *store));
    }
    if (exact) {
      const Configuration configuration = exact->configuration;
      return Choice{is_exact ? Source::kExact : Source::kNearest, configuration, std::move(exact)};
    }
  }
  HONE_ASSIGN(Configuration configuration, fallback(spec, problem, device));
  return Choice{Source::kDefault, std::move(configuration), std::nullopt};
}

}  // namespace hone
