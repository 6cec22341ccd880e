// Opening a store that is a file: what it is, whether it may be written, and that it is brought up to date; never a file of someone else
// touched.

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cache/migrations.hpp"
#include "cache/sql_store.hpp"
#include "cache/sqlite_database.hpp"
#include "cache/trust.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cache {
namespace {

namespace fs = std::filesystem;

// Before 3.51.3 a checkpoint beside a write of another connection could corrupt a WAL database. A rollback journal takes about 1 ms
// for a trial instead of 0.1 ms, which is little beside a compilation.
constexpr int kFirstSafeWal = 3'051'003;

struct Reading {
  SqliteDatabase database;
  bool immutable = false;                 ///< no lock is held: `stamp` tells whether the file is still the one that was opened
  std::filesystem::file_time_type stamp;  ///< of the last change
  std::int64_t version = 0;               ///< of the schema that it is read as
};

Error store_error(std::string message) { return {ErrorCode::kStore, std::move(message)}; }

/// Why `path` cannot be written, or empty. The mode bits count also for root, whom access() does not stop.
std::string read_only_reason(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return std::strerror(errno);
  }
  if ((status.st_mode & 0222) == 0) {
    return "its file mode allows no writes";
  }
  return access(path.c_str(), W_OK) == 0 ? std::string() : std::strerror(errno);
}

/// SQLite needs the directory as well, for its journal.
Result<void> check_writable(const fs::path& path) {
  std::error_code failure;
  if (fs::exists(path, failure)) {
    if (const std::string reason = read_only_reason(path); !reason.empty()) {
      return store_error(
          fmt::format("the store {} is read-only: {}. Make it writable, or set HONE_STORE to another path", path.string(), reason));
    }
  }
  if (const std::string reason = read_only_reason(path.parent_path()); !reason.empty()) {
    return store_error(
        fmt::format("the store {} is read-only: its directory cannot be written: {}. Make the directory writable, or set HONE_STORE "
                    "to another path",
                    path.string(), reason));
  }
  return {};
}

Error foreign(const fs::path& path, std::string_view why) {
  return store_error(fmt::format("{} is not a Hone store: {}. It was not changed; choose another path for the store", path.string(), why));
}

Result<void> check_version(const fs::path& path, std::int64_t version) {
  if (version > schema_version()) {
    return store_error(
        fmt::format("the store {} was made by a newer Hone (schema {}, this one knows {}): update Hone, or set HONE_STORE to another path",
                    path.string(), version, schema_version()));
  }
  return {};
}

/// By the first 100 bytes alone. A database that carries no application id needs a look at its tables as well.
Result<void> check_header(const fs::path& path, const Header& header) {
  if (header.empty) {
    return {};
  }
  if (!header.sqlite) {
    return foreign(path, "it is not a SQLite database");
  }
  if (header.application_id != kApplicationId && header.application_id != 0) {
    return foreign(path, fmt::format("it is a SQLite database of another program (application id {:#010x})", header.application_id));
  }
  return check_version(path, header.application_id == kApplicationId ? header.user_version : 0);
}

fs::path wal_of(const fs::path& path) { return path.string() + "-wal"; }

/// Opens for reading; a WAL database that nobody uses is opened as immutable, since SQLite would otherwise create its side files.
Result<Reading> open_quietly(const fs::path& path, Patience patience) {
  HONE_ASSIGN(SqliteDatabase database, SqliteDatabase::open(path, Access::kRead, patience));
  const Header header = database.header();
  HONE_TRY(check_header(path, header));
  std::error_code failure;
  Reading reading{
      .database = std::move(database), .immutable = header.wal && !fs::exists(wal_of(path), failure), .stamp = {}, .version = 0};
  if (reading.immutable) {
    reading.stamp = fs::last_write_time(path, failure);
    HONE_ASSIGN(reading.database, SqliteDatabase::open(path, Access::kImmutable, patience));
  }
  return reading;
}

Result<std::int64_t> schema_of(const SqliteDatabase& database) { return database.scalar("PRAGMA user_version", "read the schema version"); }

bool needs_recovery(int code) { return code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY; }

/// Reads the whole schema, which also finds a truncated file and a damaged first page. The number of tables, indices and so on.
Result<std::int64_t> schema_entries(const SqliteDatabase& database) {
  return database.scalar("SELECT count(*) FROM sqlite_schema", "read the schema");
}

/// Lets SQLite undo what a killed process left half written.
Result<void> recover(const fs::path& path, Patience patience) {
  if (const Result<void> writable = check_writable(path); !writable) {
    return store_error(fmt::format("a process was killed while writing the store {}; undoing its last write needs write access: {}",
                                   path.string(), writable.error().message));
  }
  HONE_ASSIGN(const SqliteDatabase database, SqliteDatabase::open(path, Access::kWrite, patience));
  HONE_TRY(schema_entries(database));
  return {};
}

/// Errors: a file of someone else. What it looks at is not changed.
Result<void> check_not_foreign(const fs::path& path, Patience patience) {
  HONE_ASSIGN(const Reading reading, open_quietly(path, patience));
  const Header header = reading.database.header();
  if (header.empty || header.application_id == kApplicationId) {
    return {};
  }
  const Result<std::int64_t> entries = schema_entries(reading.database);
  if (!entries) {
    return needs_recovery(reading.database.last_code())
               ? foreign(path, "it is a SQLite database in which another program's write is unfinished")
               : Result<void>(entries.error());
  }
  if (*entries != 0 || header.user_version != 0) {
    return foreign(path, fmt::format("it is a SQLite database with {} tables and indices of another program", *entries));
  }
  return {};
}

/// Every commit survives the death of the process in any of these modes; FULL and WAL's NORMAL also keep the file sound through a power
/// cut.
Result<void> set_journal(const SqliteDatabase& database) {
  const bool safe_wal = sqlite3_libversion_number() >= kFirstSafeWal;
  const std::string wanted = safe_wal ? "wal" : "delete";
  HONE_ASSIGN(std::string mode, database.scalar_text("PRAGMA journal_mode", "read the journal mode"));
  if (mode != wanted) {
    // Fails while others have the file open; then all go on in the mode that they share.
    if (const auto set = database.scalar_text("PRAGMA journal_mode=" + wanted, "set the journal mode")) {
      mode = *set;
    }
  }
  return database.execute(mode == "wal" ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", "configure the connection");
}

Result<Reading> open_for_writing(const fs::path& path, Patience patience = Patience::kLong) {
  std::error_code failure;
  if (fs::exists(path, failure)) {
    HONE_TRY(check_not_foreign(path, patience));
  } else {
    fs::create_directories(path.parent_path(), failure);
    if (failure) {
      return store_error(fmt::format("cannot create the directory {} for the store: {}. Set HONE_STORE to another path",
                                     path.parent_path().string(), failure.message()));
    }
  }
  HONE_TRY(check_writable(path));
  HONE_ASSIGN(SqliteDatabase database, SqliteDatabase::open(path, Access::kWrite, patience));
  if (!database.writable()) {
    return store_error(fmt::format("the store {} is read-only: SQLite cannot write it. Set HONE_STORE to another path", path.string()));
  }
  HONE_ASSIGN(const std::int64_t version, schema_of(database));
  HONE_TRY(check_version(path, version));
  HONE_TRY(schema_entries(database));
  if (version != schema_version()) {
    HONE_TRY(migrate(database));
  }
  // After a new store's schema, whose application id must be in the file itself: in WAL mode it would first be in the log alone.
  HONE_TRY(set_journal(database));
  return Reading{.database = std::move(database), .immutable = false, .stamp = {}, .version = schema_version()};
}

/// Opens a file that is known to be there for reading, without leaving anything beside it, and checks that it is a store. One of an
/// older schema is read as it is.
/// What a killed writer left half done is rolled back first, where the file may be written: without that nothing could be read.
Result<Reading> open_for_reading(const fs::path& path, Patience patience = Patience::kLong) {
  HONE_ASSIGN(Reading reading, open_quietly(path, patience));
  if (const auto entries = schema_entries(reading.database); !entries) {
    if (!needs_recovery(reading.database.last_code())) {
      return entries.error();
    }
    HONE_TRY(recover(path, patience));
    HONE_ASSIGN(reading, open_quietly(path, patience));
  }
  if (reading.database.header().empty) {
    return store_error(fmt::format("the store {} is empty: nothing was recorded there yet", path.string()));
  }
  HONE_ASSIGN(const std::int64_t version, schema_of(reading.database));
  HONE_TRY(check_version(path, version));
  reading.version = version;
  HONE_ASSIGN(const std::int64_t application, reading.database.scalar("PRAGMA application_id", "read the application id"));
  if (application != kApplicationId) {
    return foreign(path, "it is a SQLite database of another program");
  }
  if (version == 0) {  // whoever made it was killed before its tables were there
    return store_error(fmt::format("the store {} is empty: nothing was recorded there yet", path.string()));
  }
  if (version < schema_version()) {
    HONE_TRY(read_as_current(reading.database, static_cast<std::uint32_t>(version)));
  }
  return reading;
}

/// Whether the reading is still of the file as it is now.
Result<bool> is_current(const Reading& reading, const fs::path& path) {
  if (reading.immutable) {
    std::error_code failure;
    return !fs::exists(wal_of(path), failure) && fs::last_write_time(path, failure) == reading.stamp;
  }
  if (const auto entries = schema_entries(reading.database); !entries) {
    return needs_recovery(reading.database.last_code()) ? Result<bool>(false) : Result<bool>(entries.error());
  }
  // What reads an older schema as today's hides what an upgrade adds.
  HONE_ASSIGN(const std::int64_t version, schema_of(reading.database));
  return version == reading.version;
}

class FileConnection final : public StoreConnection {
 public:
  FileConnection(fs::path path, Reading reading) : path_(std::move(path)), reading_(std::move(reading)) {}
  [[nodiscard]] const Database& database() const override { return reading_.database; }
  [[nodiscard]] std::string place() const override { return path_.string(); }
  [[nodiscard]] double lease_seconds() const override { return 600.0; }  // longer than any trial takes
  Result<void> prepare_read() override {
    HONE_ASSIGN(const bool current, is_current(reading_, path_));
    if (!current) {
      HONE_ASSIGN(reading_, open_for_reading(path_, reading_.database.patience()));
    }
    return {};
  }

 private:
  fs::path path_;
  Reading reading_;
};

/// For writing if that takes no upgrade, else for reading. Who opens a store so can go on without it and does not wait long.
Result<Reading> open_as_it_is(const std::filesystem::path& file, StoreMode& mode) {
  HONE_ASSIGN(Reading reading, open_for_reading(file, Patience::kShort));
  mode = StoreMode::kReadOnly;
  if (reading.version == schema_version() && check_writable(file)) {
    if (Result<Reading> writing = open_for_writing(file, Patience::kShort)) {
      mode = StoreMode::kReadWrite;
      return writing;
    }
  }
  return reading;
}

}  // namespace

Result<std::unique_ptr<StoreConnection>> connect_file(const fs::path& path, StoreMode& mode) {
  std::error_code failure;
  // Resolved, since SQLite puts its journal beside the file and not beside a link to it.
  const fs::path file = fs::weakly_canonical(fs::absolute(path, failure), failure);
  if (path.empty() || failure) {
    return Error{ErrorCode::kStore,
                 fmt::format("'{}' cannot be the path of a store{}", path.string(), failure ? ": " + failure.message() : "")};
  }
  const fs::file_status status = fs::status(file, failure);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return Error{ErrorCode::kStore,
                 fmt::format("the store {} is not a file; give the path of a file, e.g. {}", file.string(), (file / "store.db").string())};
  }
  if (mode != StoreMode::kReadWrite && !fs::exists(status)) {
    return Error{ErrorCode::kNotFound, fmt::format("no store at {}: nothing has been tuned into it yet", file.string())};
  }
  HONE_ASSIGN(Reading reading, mode == StoreMode::kAsItIs     ? open_as_it_is(file, mode)
                               : mode == StoreMode::kReadOnly ? open_for_reading(file)
                                                              : open_for_writing(file));
  return std::unique_ptr<StoreConnection>(std::make_unique<FileConnection>(file, std::move(reading)));
}

}  // namespace hone::cache

namespace hone {

Result<std::unique_ptr<Store>> open_store(const std::filesystem::path& path, StoreMode mode, Trust trust, const StoreView& view) {
  if (is_store_server(path)) {
    const OpenServer open_server = store_server();
    return open_server != nullptr && mode != StoreMode::kAsItIs ? open_server(path.string(), mode, trust, view) : needs_a_file(path);
  }
  HONE_ASSIGN(std::unique_ptr<cache::StoreConnection> connection, cache::connect_file(path, mode));
  const std::string file = connection->place();
  const bool trusted = trust == Trust::kAll || cache::is_trusted(file);
  return std::unique_ptr<Store>(std::make_unique<cache::SqlStore>(std::move(connection), mode, trusted, view));
}

Result<void> check_store_writable(const std::filesystem::path& path) {
  if (is_store_server(path)) {
    HONE_TRY(open_store(path, StoreMode::kReadWrite));
    return {};
  }
  return cache::check_writable(std::filesystem::absolute(path));
}

std::filesystem::path default_store_path() {
  const char* const store = std::getenv("HONE_STORE");
  if (store != nullptr && *store != '\0') {
    return store;
  }
  return cache::data_directory() / "store.db";
}

}  // namespace hone
