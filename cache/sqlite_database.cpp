#include "cache/sqlite_database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

namespace hone::cache {
namespace {

std::uint32_t big_endian(std::span<const unsigned char, 4> bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

/// "file:" URI of a path, so that immutable=1 can be asked for; every byte but the plainest is escaped.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_');
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + "?immutable=1";
}

/// Also where a write failed and nobody passes on why: of a log file SQLite keeps the number to itself.
bool disk_is_full(int code, int system_error) {
  const bool no_room = system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
  return (code & 0xff) == SQLITE_FULL || ((code & 0xff) == SQLITE_IOERR && no_room) || (code == SQLITE_IOERR_WRITE && system_error == 0);
}

/// What the system said; SQLite passes it on for statements, but for a COMMIT only the file knows.
int system_errno(sqlite3* handle) {
  int number = sqlite3_system_errno(handle);
  if (number == 0) {
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &number);
  }
  return number;
}

std::string advice(int code, int system_error) {
  if (disk_is_full(code, system_error)) {
    return "the disk is full (or failed, or a quota or file size limit is reached). Earlier trials are safe; free space, or set "
           "HONE_STORE "
           "to a "
           "path on another disk";
  }
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
      return "the file is corrupt. Move it away to start with a fresh store, or restore a copy";
    case SQLITE_NOTADB:
      return "the file is not a SQLite database, or its beginning was overwritten. Choose another path for the store, or move the file "
             "away";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process has locked the store for a long time. It may be stopped in the middle of a write: let it continue, or end it";
    case SQLITE_READONLY:
      return "the store is read-only. Make the file and its directory writable, or set HONE_STORE to another path";
    case SQLITE_CANTOPEN:
      return "the file cannot be opened. Check that it exists and that you may read it and its directory";
    default:
      return {};
  }
}

}  // namespace

IdleStatements::~IdleStatements() {
  for (sqlite3_stmt* const statement : all_) {
    sqlite3_finalize(statement);
  }
}

sqlite3_stmt* IdleStatements::take(std::string_view sql) {
  const auto at = std::ranges::find_if(all_, [&](sqlite3_stmt* statement) { return sql == sqlite3_sql(statement); });
  if (at == all_.end()) {
    return nullptr;
  }
  sqlite3_stmt* const taken = *at;
  all_.erase(at);
  return taken;
}

void IdleStatements::put(sqlite3_stmt* statement) noexcept {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (all_.size() >= kMost) {
    sqlite3_finalize(all_.front());
    all_.erase(all_.begin());
  }
  all_.push_back(statement);
}

/// Goes back to those that are idle.
class SqliteStatement final : public StatementDriver {
 public:
  SqliteStatement(const SqliteDatabase& database, sqlite3_stmt* statement) : database_(&database), statement_(statement) {}
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;
  ~SqliteStatement() override { database_->idle_->put(statement_); }

  void bind_text(int at, std::string_view value) override {
    // A null pointer would bind NULL.
    const char* data = value.data() == nullptr ? "" : value.data();
    bind_error_ |= sqlite3_bind_text64(statement_, at, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  void bind_integer(int at, std::int64_t value) override { bind_error_ |= sqlite3_bind_int64(statement_, at, value); }
  void bind_real(int at, double value) override { bind_error_ |= sqlite3_bind_double(statement_, at, value); }
  void bind_blob(int at, std::span<const std::byte> value) override {
    bind_error_ |= value.empty() ? sqlite3_bind_zeroblob(statement_, at, 0)
                                 : sqlite3_bind_blob64(statement_, at, value.data(), value.size(), SQLITE_TRANSIENT);
  }
  void bind_null(int at) override { bind_error_ |= sqlite3_bind_null(statement_, at); }

  Result<bool> step(std::string_view doing) override {
    if (bind_error_ != SQLITE_OK) {
      return Error{ErrorCode::kStore,
                   fmt::format("cannot {} in the store {}: a value is too large for SQLite", doing, database_->path_.string())};
    }
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW || code == SQLITE_DONE) {
      return code == SQLITE_ROW;
    }
    return database_->error(doing);
  }
  void reset() override {
    sqlite3_reset(statement_);
    bind_error_ = 0;
  }

  [[nodiscard]] bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  [[nodiscard]] std::string_view bytes(int column) const override {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const int size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? std::string_view() : std::string_view(data, static_cast<std::size_t>(size));
  }
  [[nodiscard]] std::int64_t integer(int column) const override { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] double real(int column) const override { return sqlite3_column_double(statement_, column); }

 private:
  const SqliteDatabase* database_;
  sqlite3_stmt* statement_;
  int bind_error_ = 0;
};

void SqliteDatabase::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }

Result<SqliteDatabase> SqliteDatabase::open(const std::filesystem::path& path, Access access, Patience patience) {
  const int flags = access == Access::kWrite || access == Access::kMemory ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                                          : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  // A plain path that begins with "file:" must not be read as a URI, hence absolute.
  const std::string name = access == Access::kMemory      ? ":memory:"
                           : access == Access::kImmutable ? immutable_uri(path)
                                                          : std::filesystem::absolute(path).string();
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  SqliteDatabase database(path, handle, patience);
  if (code != SQLITE_OK) {
    return database.error("open the database");
  }
  sqlite3_busy_timeout(handle, static_cast<int>(patience));
  sqlite3_extended_result_codes(handle, 1);
  HONE_TRY(database.execute("PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON",
                            "configure the connection"));
  return database;
}

Header SqliteDatabase::header() const {
  Header header;
  sqlite3_file* file = nullptr;
  std::error_code failure;
  // Not SQLite's xFileSize, to which a file of one byte is empty.
  const std::uintmax_t size = std::filesystem::file_size(path_, failure);
  if (failure || sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == nullptr ||
      file->pMethods == nullptr) {
    return header;
  }
  header.empty = size == 0;
  std::array<unsigned char, 100> bytes{};
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  if (size < bytes.size() || file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0) != SQLITE_OK ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return header;
  }
  header.sqlite = true;
  header.wal = bytes[19] == 2;
  header.user_version = big_endian(std::span<const unsigned char, 4>(&bytes[60], 4));
  header.application_id = big_endian(std::span<const unsigned char, 4>(&bytes[68], 4));
  return header;
}

bool SqliteDatabase::writable() const { return sqlite3_db_readonly(handle_.get(), "main") == 0; }

Result<Statement> SqliteDatabase::prepare(std::string_view sql) const {
  if (sqlite3_stmt* const idle = idle_->take(sql)) {
    return Statement(std::make_unique<SqliteStatement>(*this, idle));
  }
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    return error("read the tables");
  }
  return Statement(std::make_unique<SqliteStatement>(*this, statement));
}

Result<void> SqliteDatabase::execute(const std::string& sql, std::string_view doing) const {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return error(doing);
  }
  return {};
}

std::int64_t SqliteDatabase::changes() const { return sqlite3_changes64(handle_.get()); }
std::string SqliteDatabase::seconds_since(std::string_view column) const {
  return fmt::format("(julianday('now') - julianday({})) * 86400", column);
}

std::string SqliteDatabase::now() const { return "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"; }

Result<void> SqliteDatabase::copy_into(const SqliteDatabase& to) const {
  sqlite3_backup* const backup = sqlite3_backup_init(to.handle_.get(), "main", handle_.get(), "main");
  if (backup == nullptr) {
    return to.error("copy a store");
  }
  sqlite3_backup_step(backup, -1);
  return sqlite3_backup_finish(backup) == SQLITE_OK ? Result<void>() : to.error("copy a store");
}

int SqliteDatabase::last_code() const { return sqlite3_extended_errcode(handle_.get()); }

Error SqliteDatabase::error(std::string_view doing) const {
  if (handle_ == nullptr) {
    return {ErrorCode::kStore, fmt::format("cannot {} in the store {}: out of memory", doing, path_.string())};
  }
  const int code = last_code();
  const int system_error = system_errno(handle_.get());
  std::string cause = advice(code, system_error);
  if ((code & 0xff) == SQLITE_IOERR && !disk_is_full(code, system_error)) {
    cause = system_error == 0 ? "the disk reported an error" : fmt::format("the disk reported an error: {}", std::strerror(system_error));
  }
  const std::string detail = fmt::format("SQLite {}: {}", code, sqlite3_errmsg(handle_.get()));
  const bool disk = disk_is_full(code, system_error) || (code & 0xff) == SQLITE_IOERR;
  return {disk ? ErrorCode::kIo : ErrorCode::kStore,
          cause.empty() ? fmt::format("cannot {} in the store {}: {}", doing, path_.string(), detail)
                        : fmt::format("cannot {} in the store {}: {} ({})", doing, path_.string(), cause, detail)};
}

Result<bool> SqliteDatabase::try_begin(std::string_view doing, double seconds) const {
  constexpr auto kPause = std::chrono::microseconds(200);
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    // SQLite's own pauses grow to a tenth of a second, longer than the transaction that it waits for.
    sqlite3_busy_timeout(handle_.get(), 0);
    const int code = sqlite3_exec(handle_.get(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    sqlite3_busy_timeout(handle_.get(), static_cast<int>(patience_));
    if (code == SQLITE_OK) {
      return true;
    }
    if ((code & 0xff) != SQLITE_BUSY) {
      return error(doing);
    }
    if (std::chrono::steady_clock::now() >= until) {
      return false;
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<void> SqliteDatabase::begin(std::string_view doing, Writers writers) const {
  if (writers == Writers::kRead) {
    return execute("BEGIN", doing);
  }
  const double patience = static_cast<double>(patience_) / 1e3;
  const double others_turn = patience_ == Patience::kLong ? 120.0 : patience;
  if (!QueuePlace::is_line(path_)) {
    HONE_ASSIGN(const bool begun, try_begin(doing, 0.0));
    if (begun) {
      return {};
    }
  }
  std::optional<QueuePlace> place = QueuePlace::join(path_);
  if (!place) {
    return execute("BEGIN IMMEDIATE", doing);
  }
  // Whoever is stopped in the line may have no transaction open.
  const bool moved = place->wait(patience);
  HONE_ASSIGN(const bool begun, try_begin(doing, moved ? others_turn : 0.0));
  if (!begun) {
    return error(doing);
  }
  turn_ = std::make_unique<QueuePlace>(std::move(*place));
  return {};
}

Result<void> SqliteDatabase::commit(std::string_view doing) const {
  HONE_TRY(execute("COMMIT", doing));
  turn_.reset();
  return {};
}

void SqliteDatabase::roll_back() const {
  // SQLite has already rolled back where a write failed for want of space.
  if (sqlite3_get_autocommit(handle_.get()) == 0) {
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  turn_.reset();
}

}  // namespace hone::cache
