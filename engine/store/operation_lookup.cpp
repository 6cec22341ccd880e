#include "engine/store/operation_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/kernel/kernel_problem.hpp"
#include "engine/store/portfolio_lookup.hpp"

namespace hone {
namespace {

bool is_for(const OperationRecord& row, const KernelSpec& spec) { return row.kernel == spec.name && row.source_hash == spec.source_hash; }

double value_of(const OperationChoice& candidate, const Objective& objective) {
  const std::optional<Figure> reached = objective.of(candidate.choice.record->measurement);
  return reached ? reached->value : std::numeric_limits<double>::infinity();
}

/// The best exact record that is pinned: people chose it, so that no session does.
const OperationChoice* pinned(std::vector<OperationChoice>& candidates, const Objective& objective) {
  OperationChoice* chosen = nullptr;
  for (OperationChoice& candidate : candidates) {
    const bool is_pinned = candidate.choice.source == Source::kExact && candidate.choice.record->state == RecordState::kPinned;
    if (is_pinned && (chosen == nullptr || value_of(candidate, objective) < value_of(*chosen, objective))) {
      chosen = &candidate;
      chosen->compared = true;
    }
  }
  return chosen;
}

/// The best exact record. The one that a session of the operation chose keeps its place until another kernel is tuned to something clearly
/// better: what was known to that session lost there, whatever it took when it was measured before.
const OperationChoice* exact(std::vector<OperationChoice>& candidates, const std::optional<OperationRecord>& row,
                             const Objective& objective) {
  OperationChoice* chosen = nullptr;
  for (OperationChoice& candidate : candidates) {
    if (candidate.choice.source == Source::kExact && row && is_for(*row, *candidate.spec)) {
      candidate.compared = true;
      chosen = &candidate;
    }
  }
  const bool was_compared = chosen != nullptr;
  for (OperationChoice& candidate : candidates) {
    if (candidate.choice.source != Source::kExact || &candidate == chosen) {
      continue;
    }
    candidate.compared = was_compared;
    const bool is_since = was_compared && candidate.choice.record->generation > row->generation;
    const bool better =
        chosen == nullptr || (was_compared ? is_since && replaces(*candidate.choice.record, *chosen->choice.record, objective)
                                           : value_of(candidate, objective) < value_of(*chosen, objective));
    chosen = better ? &candidate : chosen;
  }
  return chosen;
}

/// Where no record is of the problem itself. `rows` are of all shapes.
const OperationChoice* nearest(const std::vector<OperationChoice>& candidates, std::vector<OperationRecord> rows, const Problem& problem,
                               const Objective& objective) {
  const auto distance = [&](const Shape& shape) { return shape_distance(shape, problem.shape); };
  std::ranges::stable_sort(rows, {}, [&](const OperationRecord& row) { return distance(row.problem.shape); });
  for (const OperationRecord& row : rows) {
    const auto chosen = std::ranges::find_if(
        candidates, [&](const OperationChoice& candidate) { return candidate.choice.record && is_for(row, *candidate.spec); });
    if (chosen != candidates.end()) {
      return &*chosen;
    }
  }
  const OperationChoice* chosen = nullptr;
  const auto order = [&](const OperationChoice& candidate) {
    return std::pair(shape_distance(candidate.choice.record->problem.shape, candidate.problem.shape), value_of(candidate, objective));
  };
  for (const OperationChoice& candidate : candidates) {
    if (candidate.choice.record && (chosen == nullptr || order(candidate) < order(*chosen))) {
      chosen = &candidate;
    }
  }
  return chosen;
}

/// What a session of the operation says of the problem, or of any.
Result<std::vector<OperationRecord>> rows_of(const Operation& operation, const Problem& problem, const DeviceInfo& device, Store* store,
                                             const Lookup& lookup) {
  if (store == nullptr) {
    return std::vector<OperationRecord>();
  }
  Result<std::vector<OperationRecord>> rows = store->operation_records_of(operation_key(operation.name, problem, device, lookup.purpose));
  return rows || !lookup.without_store ? std::move(rows) : Result<std::vector<OperationRecord>>(std::vector<OperationRecord>());
}

/// The first that is legal, with what was said of records that were passed over.
Result<OperationChoice> default_of(const Operation& operation, std::vector<OperationChoice> candidates, const DeviceInfo& device) {
  std::string why;
  std::optional<ErrorCode> code;
  for (OperationChoice& candidate : candidates) {
    Result<Configuration> standard = default_for(*candidate.spec, candidate.problem, device);
    if (standard) {
      candidate.choice.configuration = *std::move(standard);
      return std::move(candidate);
    }
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", candidate.spec->name, standard.error().message);
    code = code.value_or(standard.error().code);
  }
  return Error{code.value(), fmt::format("no kernel of {} can run here: {}", operation.name, why)};
}

/// What a portfolio predicts; nothing where none fits. A store that fails is as none where the lookup says so.
Result<std::optional<OperationChoice>> predicted(const Operation& operation, const std::vector<Implementation>& all,
                                                 const DeviceInfo& device, Store* store, const Lookup& lookup, Match match) {
  std::string why;
  Result<std::optional<PortfolioPick>> found = pick_from_portfolios(operation.name, all, device, store, lookup, match, why);
  if (!found && lookup.without_store) {
    found = pick_from_portfolios(operation.name, all, device, nullptr, lookup, match, why);
  }
  HONE_ASSIGN(std::optional<PortfolioPick> picked, std::move(found));
  if (!picked) {
    return std::optional<OperationChoice>();
  }
  const Implementation& one = all[picked->implementation];
  OperationChoice chosen{one.spec, one.problem, {.source = Source::kPredicted, .configuration = {}, .record = {}}};
  chosen.choice.configuration = std::move(picked->configuration);
  chosen.choice.prediction = picked->prediction;
  chosen.choice.why = match == Match::kSame ? std::move(why) : "";
  return std::optional(std::move(chosen));
}

/// A single kernel's, which is not looked up a second time.
Result<OperationChoice> choose_one(const Implementation& only, const DeviceInfo& device, Store* store, const Lookup& lookup) {
  HONE_ASSIGN(Choice choice, choose(*only.spec, only.problem, device, store, lookup));
  const bool exact = choice.source == Source::kExact;
  return OperationChoice{only.spec, only.problem, std::move(choice), exact};
}

}  // namespace

Result<std::vector<Implementation>> implementations_for(const Operation& operation, const Problem& problem) {
  std::vector<Implementation> all;
  std::string why;
  for (const KernelSpec* const spec : operation.implementations) {
    Result<Problem> own = problem_for(*spec, problem);
    if (own) {
      all.push_back({spec, *std::move(own)});
    } else {
      why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", spec->name, own.error().message);
    }
  }
  if (all.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("no kernel of {} takes this problem: {}", operation.name, why)};
  }
  return all;
}

Result<OperationChoice> choose(const Operation& operation, const Problem& problem, const DeviceInfo& device, Store* store,
                               const Lookup& lookup) {
  HONE_ASSIGN(const std::vector<Implementation> all, implementations_for(operation, problem));
  if (operation.implementations.size() == 1) {
    return choose_one(all.front(), device, store, lookup);
  }
  HONE_ASSIGN(const std::vector<OperationRecord> rows, rows_of(operation, problem, device, store, lookup));
  std::vector<OperationChoice> candidates;
  Lookup records = lookup;
  records.portfolios = false;
  for (const Implementation& one : all) {
    HONE_ASSIGN(Choice choice, choose_recorded(*one.spec, one.problem, device, store, records));
    candidates.push_back({one.spec, one.problem, std::move(choice)});
  }
  const auto own = std::ranges::find(rows, problem.shape, [](const OperationRecord& row) { return row.problem.shape; });
  const Objective objective = objective_of(lookup.purpose);
  const OperationChoice* chosen = pinned(candidates, objective);
  if (chosen == nullptr) {
    chosen = exact(candidates, own == rows.end() ? std::nullopt : std::optional(*own), objective);
  }
  if (chosen == nullptr) {
    const auto serves = [&](Match match) -> Result<std::optional<OperationChoice>> {
      HONE_ASSIGN(std::optional<OperationChoice> picked, predicted(operation, all, device, store, lookup, match));
      if (picked) {
        picked->choice.store_failure = candidates.front().choice.store_failure;
      }
      return picked;
    };
    HONE_ASSIGN(std::optional<OperationChoice> picked, serves(Match::kSame));
    chosen = picked ? nullptr : nearest(candidates, rows, problem, objective);
    const bool is_near =
        chosen != nullptr && chosen->choice.record && are_near(chosen->choice.record->problem.shape, chosen->problem.shape);
    if (!picked && !is_near) {
      HONE_ASSIGN(picked, serves(Match::kSimilar));
    }
    if (picked) {
      return *std::move(picked);
    }
  }
  return chosen != nullptr ? Result<OperationChoice>(*chosen) : default_of(operation, std::move(candidates), device);
}

}  // namespace hone
