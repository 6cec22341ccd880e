#pragma once
// What an application gets for the problems of a workload, before a run and after it, and how long that takes.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/store/library_lookup.hpp"
#include "engine/store/operation_lookup.hpp"
#include "engine/tune/workload_session.hpp"

namespace hone {

/// Sessions of one item in this run, by kernel.
using ItemSessions = std::map<std::string, std::int64_t>;

class WorkloadAccount {
 public:
  WorkloadAccount(const WorkloadRequest& request, Store& store);

  [[nodiscard]] const Purpose& purpose() const { return purpose_; }

  /// The store as it was before the records of these sessions; null where they have none, and the store itself is as it was.
  [[nodiscard]] Result<std::unique_ptr<Store>> store_before(const std::set<std::int64_t>& sessions) const;
  /// What an application gets for the item from `store`.
  [[nodiscard]] Result<OperationChoice> look_up(const WorkloadItem& item, Store& store);

  /// Into the report: what served before and what serves now, as the item's sessions measured them. Where they did not measure what served
  /// before, the default that would run without any record takes its place, and `why` says so.
  Result<void> account(const WorkloadItem& item, const OperationChoice& before, const ItemSessions& sessions, ItemReport& report);

  /// A choice as it is reported, without a time.
  static Served served(const OperationChoice& choice);
  /// As the item's session measured it last: in the final round, where it was in that. Nothing: not measured.
  [[nodiscard]] Result<std::optional<Served>> measured(const OperationChoice& choice, const ItemSessions& sessions) const;

 private:
  const WorkloadRequest& request_;
  Store& store_;
  Purpose purpose_;
  Libraries libraries_;
};

}  // namespace hone
