// Which kernel's record serves a problem of an operation.

#include <fmt/format.h>

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {
namespace {

/// operation, dtype, layout, alignment, device (its digest), the purpose. The shape is left to the caller.
void bind_operation(Statement& statement, const RecordKey& key) {
  statement.text(key.kernel).text(dtypes_text(key)).text(key.layout).integer(key.alignment).text(device_key(key.device).digest);
  bind_purpose(statement, key.purpose);
}

}  // namespace

Result<void> SqlStore::put_operation_record(const RecordKey& key, const OperationRecord& record) {
  constexpr std::string_view kDoing = "write which kernel serves an operation";
  HONE_TRY(check_key(key));
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<void> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing));
    HONE_ASSIGN(const std::int64_t device, device_row(key.device));
    HONE_ASSIGN(const std::int64_t generation, begin_generation(fmt::format("{} {} {} is served by {}", key.kernel, dtypes_text(key),
                                                                            text(key.problem.shape), record.kernel)));
    HONE_ASSIGN(Statement insert,
                database().prepare("INSERT INTO operation_record (operation, dtype, layout, alignment, device, "
                                   "input_profile, objective, accuracy_bound, timing_profile, shape, kernel, source_hash, "
                                   "session, created_at, generation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    insert.text(key.kernel).text(dtypes_text(key)).text(key.layout).integer(key.alignment).integer(device);
    bind_purpose(insert, key.purpose);
    insert.text(text(key.problem.shape)).text(record.kernel).text(record.source_hash).integer(record.session);
    insert.text(record.created_at.empty() ? utc_now() : record.created_at).integer(generation);
    HONE_TRY(insert.run(kDoing));
    return transaction.commit(kDoing);
  });
}

Result<std::vector<OperationRecord>> SqlStore::read_operation_records(const RecordKey& key, bool any_shape) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(
      Statement select,
      database().prepare(
          "SELECT shape, kernel, source_hash, session, created_at, generation FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
          "shape ORDER BY generation DESC) AS place FROM operation_record WHERE operation = ? AND "
          "dtype = ? AND layout = ? AND alignment = ? AND device = (SELECT id FROM device WHERE digest = ?) AND "
          "input_profile = ? AND objective = ? AND accuracy_bound = ? AND timing_profile = ? AND "
          "(CAST(?10 AS TEXT) IS NULL OR shape = ?10) AND generation <= ?11) AS ranked WHERE place = 1 AND kernel <> '' ORDER BY shape"));
  bind_operation(select, key);
  any_shape ? select.null() : select.text(text(key.problem.shape));
  select.integer(view_.generation);
  std::vector<OperationRecord> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("look up which kernel serves an operation"));
    if (!row) {
      return all;
    }
    OperationRecord record;
    record.problem.dtype = key.problem.dtype;
    HONE_ASSIGN(record.problem.shape, parse_shape(select.read_text()));
    record.kernel = select.read_text();
    record.source_hash = select.read_text();
    record.session = select.read_integer();
    record.created_at = select.read_text();
    record.generation = select.read_integer();
    all.push_back(std::move(record));
  }
}

Result<std::optional<OperationRecord>> SqlStore::find_operation_record(const RecordKey& key) {
  HONE_ASSIGN(std::vector<OperationRecord> found, read_operation_records(key, false));
  return found.empty() ? std::optional<OperationRecord>() : std::optional(std::move(found.front()));
}

Result<std::vector<OperationRecord>> SqlStore::operation_records_of(const RecordKey& key) { return read_operation_records(key, true); }

}  // namespace hone::cache
