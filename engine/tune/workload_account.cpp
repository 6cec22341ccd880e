#include "engine/tune/workload_account.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

WorkloadAccount::WorkloadAccount(const WorkloadRequest& request, Store& store)
    : request_(request),
      store_(store),
      purpose_(purpose_within(request.common.measure.max_error, request.common.measure.given.digest)),
      libraries_(request.common.device.plugin->libraries()) {}

Result<std::unique_ptr<Store>> WorkloadAccount::store_before(const std::set<std::int64_t>& sessions) const {
  if (sessions.empty()) {
    return std::unique_ptr<Store>();
  }
  HONE_ASSIGN(const std::vector<RecordInfo> records, store_.record_history({}));
  std::int64_t first = StoreView::kNewest;
  for (const RecordInfo& record : records) {
    first = sessions.contains(record.session) ? std::min(first, record.generation) : first;
  }
  return first == StoreView::kNewest
             ? std::unique_ptr<Store>()
             : open_store(request_.store, StoreMode::kReadOnly, Trust::kOwn, {.generation = first - 1, .approved_only = false});
}

Result<OperationChoice> WorkloadAccount::look_up(const WorkloadItem& item, Store& store) {
  return choose(*item.operation, item.problem, request_.common.device.info, &store, libraries_, {.purpose = purpose_});
}

Served WorkloadAccount::served(const OperationChoice& choice) {
  return {.source = choice.choice.source,
          .kernel = choice.spec->name,
          .configuration = text(choice.spec->parameters, choice.choice.configuration),
          .time_us = 0.0};
}

Result<std::optional<Served>> WorkloadAccount::measured(const OperationChoice& choice, const ItemSessions& sessions) const {
  const auto session = sessions.find(choice.spec->name);
  if (session == sessions.end()) {
    return std::optional<Served>();
  }
  HONE_ASSIGN(const std::vector<Trial> trials, store_.trials(session->second, choice.spec->parameters));
  const auto found = std::ranges::find(trials, choice.choice.configuration, &Trial::configuration);
  if (found == trials.end() || found->outcome != Outcome::kOk) {
    return std::optional<Served>();
  }
  Served timed = served(choice);
  timed.time_us = found->measurement.median_us;
  return std::optional(std::move(timed));
}

Result<void> WorkloadAccount::account(const WorkloadItem& item, const OperationChoice& before, const ItemSessions& sessions,
                                      ItemReport& report) {
  HONE_ASSIGN(const OperationChoice now, look_up(item, store_));
  HONE_ASSIGN(report.after, measured(now, sessions));
  HONE_ASSIGN(report.before, measured(before, sessions));
  if (!report.before) {
    HONE_ASSIGN(const OperationChoice untuned,
                choose(*item.operation, item.problem, request_.common.device.info, nullptr, {.purpose = purpose_, .portfolios = false}));
    HONE_ASSIGN(report.before, measured(untuned, sessions));
    report.why = report.before ? fmt::format("{} of {} served before and could not be measured: before is the default",
                                             served(before).configuration, before.spec->name)
                               : "nothing that served before could be measured";
  }
  return {};
}

}  // namespace hone
