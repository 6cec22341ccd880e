#include "engine/store/library_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

/// What sessions of the operation chose. A store that fails has nothing; choose() says so.
std::vector<OperationRecord> rows_for(const Operation& operation, const Problem& problem, const DeviceInfo& device, Store* store,
                                      const Lookup& lookup) {
  if (store == nullptr) {
    return {};
  }
  const Result<std::vector<OperationRecord>> rows =
      store->operation_records_of(operation_key(operation.name, problem, device, lookup.purpose));
  return rows ? *rows : std::vector<OperationRecord>();
}

/// Whether people pinned a record of the library for this very problem, of any version.
bool is_pinned(const LibraryKernel& library, const Problem& problem, const DeviceInfo& device, Store* store, const Lookup& lookup) {
  if (store == nullptr) {
    return false;
  }
  const Result<std::vector<std::string>> sources =
      store->pinned_sources(operation_key(std::string(library.name()), problem, device, lookup.purpose));
  return sources && !sources->empty();
}

}  // namespace

Result<const KernelSpec*> Libraries::spec(const LibraryKernel& kernel) {
  const std::lock_guard lock(mutex_);
  auto known = specs_.find(&kernel);
  if (known == specs_.end()) {
    known = specs_.emplace(&kernel, library_spec(kernel)).first;
  }
  return known->second ? Result<const KernelSpec*>(&known->second.value()) : known->second.error();
}

Result<OperationChoice> choose(const Operation& operation, const Problem& problem, const DeviceInfo& device, Store* store,
                               Libraries& libraries, const Lookup& lookup) {
  Operation all = operation;
  std::string missing;
  std::vector<OperationRecord> rows;
  for (const LibraryKernel* const library : libraries.kernels()) {
    if (library->operation() != operation.name) {
      continue;
    }
    rows = rows.empty() ? rows_for(operation, problem, device, store, lookup) : std::move(rows);
    const bool was_chosen = std::ranges::find(rows, library->name(), &OperationRecord::kernel) != rows.end();
    if (!was_chosen && !is_pinned(*library, problem, device, store, lookup)) {
      continue;
    }
    const Result<const KernelSpec*> spec = libraries.spec(*library);
    const auto own = std::ranges::find_if(
        rows, [&](const OperationRecord& row) { return row.kernel == library->name() && row.problem.shape == problem.shape; });
    if (spec) {
      all.implementations.push_back(*spec);
    }
    if (own != rows.end() && (!spec || own->source_hash != (*spec)->source_hash)) {
      missing = spec ? fmt::format("{} was chosen here in another version than is here, {}", library->name(), (*spec)->summary)
                     : fmt::format("{} was chosen here, and is missing: {}", library->name(), spec.error().message);
    }
  }
  HONE_ASSIGN(OperationChoice chosen, choose(all, problem, device, store, lookup));
  if (!missing.empty() && chosen.choice.why.empty()) {
    chosen.choice.why = fmt::format("{}; {} serves", missing, chosen.spec->name);
  }
  return chosen;
}

}  // namespace hone
