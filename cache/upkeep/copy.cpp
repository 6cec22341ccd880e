// Files made of stores: backups, and what applications pull.

#include <fmt/format.h>
#include <unistd.h>

#include <set>

#include "cache/sqlite_database.hpp"
#include "cache/trust.hpp"
#include "cache/upkeep/tables.hpp"
#include "engine/store/store_server.hpp"
#include "engine/store/store_upkeep.hpp"

namespace hone {
namespace cache {
namespace {

namespace fs = std::filesystem;

/// Under another name until it is whole.
struct Draft {
  fs::path path;
  explicit Draft(const fs::path& file) : path(fmt::format("{}.{}.part", file.string(), getpid())) { remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() { remove(); }
  void remove() const {
    std::error_code failure;
    fs::remove(path, failure);
  }
};

/// Errors: it is there and may not be replaced.
Result<void> check_place(const fs::path& file, CopyWhat what) {
  std::error_code failure;
  if (!fs::exists(file, failure)) {
    return {};
  }
  if (what == CopyWhat::kAll) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is there already: give another path", file.string())};
  }
  HONE_ASSIGN(const auto connection, connect_store(file, StoreMode::kReadOnly));
  constexpr std::string_view kDoing = "look at what would be replaced";
  HONE_ASSIGN(const std::int64_t trials, connection->database().scalar("SELECT count(*) FROM trial", kDoing));
  HONE_ASSIGN(const std::int64_t running, connection->database().scalar("SELECT count(*) FROM session WHERE state <> 'done'", kDoing));
  if (running > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} holds {} unfinished sessions, which a pull would lose: give another path", file.string(), running)};
  }
  if (trials > 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} holds {} trials, which a pull would lose: give another path, or bring the stores together with hone store "
                             "merge",
                             file.string(), trials)};
  }
  return {};
}

/// The draft becomes the store `file`.
Result<void> publish(const Draft& draft, const fs::path& file) {
  std::error_code failure;
  if (fs::exists(file, failure)) {  // programs have it open: another file in its place would not be theirs, but its log would be beside it
    HONE_ASSIGN(const SqliteDatabase from, SqliteDatabase::open(draft.path, Access::kRead));
    HONE_ASSIGN(const SqliteDatabase to, SqliteDatabase::open(file, Access::kWrite));
    return from.copy_into(to);
  }
  for (const char* const left : {"-journal", "-wal", "-shm"}) {  // of a store that somebody removed
    fs::remove(file.string() + left, failure);
  }
  fs::rename(draft.path, file, failure);
  return failure ? Result<void>(Error{ErrorCode::kIo, fmt::format("{} cannot be written: {}", file.string(), failure.message())})
                 : Result<void>();
}

/// What a file in WAL mode is at one moment: it is read without a lock where nobody else uses it, and somebody may begin to. False: it is
/// in another mode, or cannot be written.
Result<bool> take_snapshot(const fs::path& file, const Draft& draft) {
  HONE_ASSIGN(const SqliteDatabase live, SqliteDatabase::open(file, Access::kWrite));
  if (!live.writable() || !live.header().wal) {
    return false;
  }
  HONE_ASSIGN(const SqliteDatabase to, SqliteDatabase::open(draft.path, Access::kWrite));
  HONE_TRY(live.copy_into(to));
  return true;
}

class Copier {
 public:
  Copier(const Database& from, const Database& to, bool foreign_out) : from_(from), to_(to), filter_(foreign_out) {}

  Result<void> all(CopyWhat what) {
    const bool served = what == CopyWhat::kServed;
    for (const char* const name : {"device", "environment"}) {
      HONE_TRY(table(name, ""));
    }
    HONE_TRY(table("session", served ? "WHERE id IN (SELECT session FROM record UNION SELECT session FROM operation_record)" : ""));
    for (const char* const name : {"change", "record", "record_state", "operation_record", "portfolio"}) {
      HONE_TRY(table(name, ""));
    }
    if (served) {  // what no row of `record` ties to its code
      HONE_TRY(table("compiled", fmt::format("WHERE {} OR EXISTS (SELECT 1 FROM record r WHERE r.code_digest = '' AND r.artifact = "
                                             "compiled.artifact)",
                                             kInPortfolio)));
    } else {
      HONE_TRY(of_sessions());
      HONE_TRY(table("model", ""));
      HONE_TRY(table("compiled", ""));
    }
    return artifacts();
  }

 private:
  Result<void> table(const std::string& name, const std::string& condition, const std::vector<Cell>& bound = {}) {
    HONE_ASSIGN(const Table table, table_of_today(name));
    return each_row(from_, table, fmt::format("SELECT {} FROM {} {}", table.names(), name, condition), bound,
                    [&](Row& row) -> Result<void> {
                      if ((name == "record" || name == "compiled") && !filter_.passes(table, row)) {
                        if (name == "compiled") {
                          return {};
                        }
                        CodeFilter::leave_out(table, row);
                      }
                      if (name == "record" || name == "compiled") {
                        artifacts_.insert(std::get<std::string>(row[table.at("artifact")]));
                      }
                      if (name == "compiled") {  // an artifact comes before what refers to it
                        HONE_TRY(artifact(std::get<std::string>(row[table.at("artifact")])));
                      }
                      HONE_TRY(insert_row(to_, table, row));
                      return {};
                    });
  }

  /// One session at a time: their samples are most of a store.
  Result<void> of_sessions() {
    const Table ids{.name = "session", .columns = {{"id", "INTEGER"}}};
    return each_row(from_, ids, "SELECT id FROM session ORDER BY id", {}, [&](Row& session) -> Result<void> {
      HONE_TRY(table("trial", "WHERE session = ? ORDER BY id", session));
      HONE_TRY(table("final_measurement", "WHERE trial IN (SELECT id FROM trial WHERE session = ?)", session));
      return table("control", "WHERE session = ? ORDER BY id", session);
    });
  }

  Result<void> artifact(const std::string& digest) {
    return copied_.insert(digest).second ? table("artifact", "WHERE digest = ?", {digest}) : Result<void>();
  }

  Result<void> artifacts() {
    for (const std::string& digest : artifacts_) {
      HONE_TRY(artifact(digest));
    }
    return {};
  }

  const Database& from_;
  const Database& to_;
  CodeFilter filter_;
  std::set<std::string> artifacts_, copied_;
};

}  // namespace
}  // namespace cache

Result<void> copy_store(const std::filesystem::path& store, const std::filesystem::path& file, CopyWhat what) {
  constexpr std::string_view kDoing = "copy the store";
  std::error_code failure;
  const std::filesystem::path target = std::filesystem::weakly_canonical(std::filesystem::absolute(file, failure), failure);
  HONE_ASSIGN(auto from, cache::connect_store(store, StoreMode::kReadOnly));
  const std::string place = from->place();
  if (place == target.string()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} cannot be copied onto itself", target.string())};
  }
  HONE_TRY(cache::check_place(target, what));
  const cache::Draft snapshot(target.string() + ".snapshot");
  if (!is_store_server(store)) {
    HONE_ASSIGN(const bool taken, cache::take_snapshot(place, snapshot));
    if (taken) {
      HONE_ASSIGN(from, cache::connect_store(snapshot.path, StoreMode::kReadOnly));
    }
  }
  const cache::Draft draft(target);
  {
    HONE_ASSIGN(const auto to, cache::connect_store(draft.path, StoreMode::kReadWrite));
    HONE_ASSIGN(cache::Transaction reading, cache::Transaction::begin(from->database(), kDoing, cache::Writers::kRead));
    HONE_ASSIGN(cache::Transaction writing, cache::Transaction::begin(to->database(), kDoing));
    const bool foreign_out = cache::is_trusted(target) && !cache::is_trusted(place);
    HONE_TRY(cache::Copier(from->database(), to->database(), foreign_out).all(what));
    HONE_TRY(writing.commit(kDoing));
    // The draft is its file alone.
    HONE_TRY(to->database().scalar_text("PRAGMA journal_mode=delete", kDoing));
  }
  return cache::publish(draft, target);
}

}  // namespace hone
