// The records of a store, as `hone records` shows and changes them.
#include <filesystem>

#include "engine/c/call.hpp"
#include "engine/store/record_history.hpp"
#include "engine/store/store.hpp"
#include "engine/store/store_server.hpp"

struct hone_records {
  struct Listed {
    hone::RecordInfo record;
    std::string shape;
  };
  std::vector<Listed> all;
};

namespace hone::c {
namespace {

static_assert(static_cast<int>(RecordState::kCandidate) == HONE_RECORD_CANDIDATE &&
              static_cast<int>(RecordState::kWithdrawn) == HONE_RECORD_WITHDRAWN);

/// A store that is there.
Result<std::unique_ptr<Store>> open_existing(const char* store, StoreMode mode) {
  const std::filesystem::path path = store == nullptr || *store == '\0' ? default_store_path() : std::filesystem::path(store);
  if (!may_have_store(path)) {
    return Error{ErrorCode::kNotFound, fmt::format("there is no store at {}: tuning makes one", path.string())};
  }
  return open_store(path, mode);
}

hone_record record_of(const hone_records::Listed& listed) {
  const RecordInfo& record = listed.record;
  return {.size = 0,
          .id = record.id,
          .generation = record.generation,
          .state = static_cast<std::int32_t>(record.state),
          .served = record.served ? 1 : 0,
          .kernel = record.kernel.c_str(),
          .source_hash = record.source_hash.c_str(),
          .dtypes = record.dtypes.c_str(),
          .shape = listed.shape.c_str(),
          .accuracy_bound = record.accuracy_bound.c_str(),
          .input_profile = record.input_profile.c_str(),
          .product = record.product.c_str(),
          .configuration = record.configuration.c_str(),
          .time_us = record.median_us,
          .default_us = record.default_us,
          .session = record.session,
          .created_at = record.created_at.c_str()};
}

Result<void> give(Result<std::int64_t> made, std::int64_t* generation) {
  HONE_ASSIGN(const std::int64_t number, std::move(made));
  if (generation != nullptr) {
    *generation = number;
  }
  return {};
}

}  // namespace
}  // namespace hone::c

using namespace hone;

hone_status hone_records_list(const char* store, const hone_records_options* options, hone_records** records, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::clear(records, "records");
    const hone_records_options chosen = c::read_struct(options, "options");
    HONE_ASSIGN(const std::unique_ptr<Store> opened, c::open_existing(store, StoreMode::kReadOnly));
    const StoreView view{.generation = chosen.generation == nullptr ? StoreView::kNewest : *chosen.generation,
                         .approved_only = chosen.approved_only != 0};
    HONE_ASSIGN(const std::int64_t newest, opened->generation());
    if (chosen.generation != nullptr && (*chosen.generation < 0 || *chosen.generation > newest)) {
      return Error{*chosen.generation < 0 ? ErrorCode::kInvalidArgument : ErrorCode::kNotFound,
                   fmt::format("the store has no generation {}; the newest is {}", *chosen.generation, newest)};
    }
    HONE_ASSIGN(std::vector<RecordInfo> history, opened->record_history(view));
    const std::string kernel = c::text_or_empty(chosen.kernel);
    auto listed = std::make_unique<hone_records>();
    for (RecordInfo& record : history) {
      if ((kernel.empty() || record.kernel == kernel) && (record.served || chosen.all != 0)) {
        std::string shape = text(record.shape);
        listed->all.push_back({std::move(record), std::move(shape)});
      }
    }
    *records = listed.release();
    return {};
  });
}
void hone_records_free(hone_records* records) { delete records; }
size_t hone_records_count(const hone_records* records) { return records == nullptr ? 0 : records->all.size(); }

hone_status hone_records_get(const hone_records* records, size_t index, hone_record* record, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(const auto* const listed, c::element(c::need(records, "records").all, index, "record"));
    c::write_struct(c::record_of(*listed), record, "record");
    return {};
  });
}

hone_status hone_records_set_state(const char* store, const int64_t* ids, size_t count, int32_t state, const char* reason,
                                   int64_t* generation, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    const std::span<const std::int64_t> records = c::need_all(ids, count, "ids");
    if (records.empty() || state < HONE_RECORD_CANDIDATE || state > HONE_RECORD_WITHDRAWN) {
      return Error{ErrorCode::kInvalidArgument, records.empty() ? "no record was named: hone_records_list has their numbers"
                                                                : fmt::format("{} is no state of a record (HONE_RECORD_...)", state)};
    }
    HONE_ASSIGN(const std::unique_ptr<Store> opened, c::open_existing(store, StoreMode::kReadWrite));
    return c::give(opened->set_record_state({records.begin(), records.end()}, static_cast<RecordState>(state), c::text_or_empty(reason)),
                   generation);
  });
}

hone_status hone_records_roll_back(const char* store, int64_t to_generation, const char* reason, int64_t* generation, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    HONE_ASSIGN(const std::unique_ptr<Store> opened, c::open_existing(store, StoreMode::kReadWrite));
    return c::give(opened->roll_back(to_generation, c::text_or_empty(reason)), generation);
  });
}

hone_status hone_records_generation(const char* store, int64_t* generation, hone_error** error) {
  return c::call(error, __func__, [&]() -> Result<void> {
    c::need(generation, "generation");
    HONE_ASSIGN(const std::unique_ptr<Store> opened, c::open_existing(store, StoreMode::kReadOnly));
    return c::give(opened->generation(), generation);
  });
}
