#include "engine/store/lookup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/kernel/operation.hpp"
#include "engine/kernel/static_fields.hpp"
#include "engine/space/default_position.hpp"
#include "engine/space/search_space.hpp"
#include "engine/store/portfolio_lookup.hpp"

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
    const bool is_same = a[i].second == b[i].second;  // also 0, of which there is no factor
    distance += is_same ? 0.0 : std::abs(std::log(static_cast<double>(a[i].second) / static_cast<double>(b[i].second)));
  }
  return distance;
}

bool are_near(const Shape& a, const Shape& b) { return shape_distance(a, b) <= std::log(4.0); }

namespace {

bool may_launch(const Record& record) { return record.code == CodeState::kTrusted || record.code == CodeState::kNone; }

Result<std::optional<Record>> nearest_record(const KernelSpec& spec, const Problem& problem, const RecordKey& key, Store& store,
                                             const Lookup& lookup, std::string& why) {
  if (!spec.listed.empty()) {
    return std::optional<Record>();  // it has what is listed for this problem, and not the values of another's record
  }
  HONE_ASSIGN(const std::vector<std::string> withdrawn, store.withdrawn_configurations(key));
  HONE_ASSIGN(std::vector<Record> records, store.records_of(key, spec.parameters));
  std::erase_if(records, [&](const Record& record) { return std::ranges::find(withdrawn, record.configuration_text) != withdrawn.end(); });
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

}  // namespace

Result<Configuration> default_for(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device) {
  Configuration standard = default_configuration(spec);
  if (valid_for(spec, problem, device, standard)) {
    return standard;
  }
  Bindings fixed = bindings(problem);
  fixed.merge(bindings(device));
  HONE_ASSIGN(const SearchSpace space, SearchSpace::build(spec.parameters, spec.constraints, fixed));
  return space.at(default_position(space, standard));
}

namespace {

/// "softmax f32 was tuned for NVIDIA H100, and not for NVIDIA H200", or that it was tuned here for other shapes; empty if it was tuned
/// nowhere. What cannot be read says nothing.
std::string elsewhere(const KernelSpec& spec, const RecordKey& key, Store& store) {
  if (const Result<std::vector<Record>> here = store.records_of(key, spec.parameters); here && !here->empty()) {
    return fmt::format("{} {} was tuned here for other shapes, and none of their configurations can serve {}", spec.name,
                       name(key.problem.dtype), text(key.problem.shape));
  }
  std::vector<std::string> products;
  const Result<std::vector<DeviceInfo>> devices = store.devices();
  for (const DeviceInfo& device : devices ? *devices : std::vector<DeviceInfo>()) {
    RecordKey there = key;
    there.device = device;
    const Result<std::vector<Record>> records = store.records_of(there, spec.parameters);
    if (records && !records->empty() && std::ranges::find(products, device.product) == products.end()) {
      products.push_back(device.product);
    }
  }
  if (products.empty()) {
    return "";
  }
  const bool here_too = std::ranges::find(products, key.device.product) != products.end();
  return fmt::format("{} {} was tuned for {}, and not for {}{}", spec.name, name(key.problem.dtype), fmt::join(products, ", "),
                     key.device.product, here_too ? " in its present state (another partition, or other resources)" : "");
}

/// What portfolios predict; nothing where none fits. `why`, to which this adds: of what was passed over before.
Result<std::optional<Choice>> predicted(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store,
                                        const Lookup& lookup, Match match, std::string& why) {
  const Implementation only{&spec, problem};
  std::string of_similar;  // why those for similar problems do not serve is of no interest
  std::string& reason = match == Match::kSame ? why : of_similar;
  HONE_ASSIGN(std::optional<PortfolioPick> picked,
              pick_from_portfolios(operation_of(spec), {&only, 1}, device, store, lookup, match, reason));
  if (!picked) {
    return std::optional<Choice>();
  }
  Choice choice{.source = Source::kPredicted, .configuration = std::move(picked->configuration), .record = {}};
  choice.prediction = picked->prediction;
  choice.why = why;
  return std::optional(std::move(choice));
}

/// What the store has for the problem; nothing where no record fits.
Result<std::optional<Choice>> recorded(const KernelSpec& spec, const Problem& problem, const RecordKey& key, Store& store,
                                       const Lookup& lookup, std::string& why) {
  HONE_ASSIGN(std::optional<Record> found, store.find_record(key, spec.parameters));
  const bool is_exact = found && (!lookup.launch || may_launch(*found));
  if (found && !is_exact) {
    why = store.refusal(*found).message;
  }
  if (found && lookup.launch && found->code == CodeState::kBroken) {
    return std::optional(Choice{.source = Source::kExact, .configuration = found->configuration, .record = std::move(found), .why = why});
  }
  if (!is_exact) {
    HONE_ASSIGN(std::optional<Choice> choice, predicted(spec, problem, key.device, &store, lookup, Match::kSame, why));
    if (choice) {
      return choice;
    }
    HONE_ASSIGN(found, nearest_record(spec, problem, key, store, lookup, why));
    if (!found || !are_near(found->problem.shape, problem.shape)) {
      HONE_ASSIGN(choice, predicted(spec, problem, key.device, &store, lookup, Match::kSimilar, why));
      if (choice) {
        return choice;
      }
    }
  }
  if (!found) {
    return std::optional<Choice>();
  }
  const Configuration configuration = found->configuration;
  return std::optional(Choice{
      .source = is_exact ? Source::kExact : Source::kNearest, .configuration = configuration, .record = std::move(found), .why = why});
}

}  // namespace

Result<Choice> choose_recorded(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store,
                               const Lookup& lookup) {
  Choice standard;
  if (store != nullptr) {
    const RecordKey key = record_key(spec, problem, device, lookup.purpose);
    Result<std::optional<Choice>> found = recorded(spec, problem, key, *store, lookup, standard.why);
    if (!found && !lookup.without_store) {
      return std::move(found).error();
    }
    if (!found) {
      standard.why = standard.store_failure = found.error().message;
    } else if (*found && lookup.launch && (*found)->record && (*found)->record->code == CodeState::kBroken) {
      return Error{ErrorCode::kStore, (*found)->why};
    } else if (*found) {
      return **std::move(found);
    } else {
      standard.elsewhere = elsewhere(spec, key, *store);
      return standard;
    }
  }
  for (const Match match : {Match::kSame, Match::kSimilar}) {
    HONE_ASSIGN(std::optional<Choice> shipped, predicted(spec, problem, device, nullptr, lookup, match, standard.why));
    if (shipped) {
      shipped->store_failure = standard.store_failure;
      return *std::move(shipped);
    }
  }
  return standard;
}

Result<Choice> choose(const KernelSpec& spec, const Problem& problem, const DeviceInfo& device, Store* store, const Lookup& lookup) {
  HONE_ASSIGN(Choice choice, choose_recorded(spec, problem, device, store, lookup));
  if (choice.source == Source::kDefault) {
    HONE_ASSIGN(choice.configuration, default_for(spec, problem, device));
  }
  return choice;
}

}  // namespace hone
