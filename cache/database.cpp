#include "cache/database.hpp"

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

Statement::Statement(const Database& database, sqlite3_stmt* statement)
    : database_(&database), statement_(statement, PutBack{database.idle_.get()}) {}

Statement& Statement::text(std::string_view value) {
  // A null pointer would bind NULL.
  const char* data = value.data() == nullptr ? "" : value.data();
  bind_error_ |= sqlite3_bind_text64(statement_.get(), ++bound_, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::integer(std::int64_t value) {
  bind_error_ |= sqlite3_bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::real(double value) {
  bind_error_ |= sqlite3_bind_double(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::blob(std::span<const std::byte> value) {
  bind_error_ |= value.empty() ? sqlite3_bind_zeroblob(statement_.get(), ++bound_, 0)
                               : sqlite3_bind_blob64(statement_.get(), ++bound_, value.data(), value.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::null() {
  bind_error_ |= sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

Result<bool> Statement::step(std::string_view doing) {
  read_ = 0;
  if (bind_error_ != SQLITE_OK) {
    return Error{ErrorCode::kStore,
                 fmt::format("cannot {} in the store {}: a value is too large for SQLite", doing, database_->path_.string())};
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW || code == SQLITE_DONE) {
    return code == SQLITE_ROW;
  }
  return database_->error(doing);
}

Result<void> Statement::run(std::string_view doing) {
  HONE_TRY(step(doing));
  return {};
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = read_ = bind_error_ = 0;
}

std::string Statement::read_text() {
  const int column = read_++;
  const unsigned char* data = sqlite3_column_text(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes));
}

std::int64_t Statement::read_integer() { return sqlite3_column_int64(statement_.get(), read_++); }

double Statement::read_real(double if_null) {
  const int column = read_++;
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL ? if_null : sqlite3_column_double(statement_.get(), column);
}

std::vector<std::byte> Statement::read_blob() {
  const int column = read_++;
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::vector<std::byte>() : std::vector<std::byte>(data, data + bytes);
}

bool Statement::next_is_null() const { return sqlite3_column_type(statement_.get(), read_) == SQLITE_NULL; }

void Database::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }

Result<Database> Database::open(const std::filesystem::path& path, Access access, Patience patience) {
  const int flags = access == Access::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  // A plain path that begins with "file:" must not be read as a URI, hence absolute.
  const std::string name = access == Access::kImmutable ? immutable_uri(path) : std::filesystem::absolute(path).string();
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(path, handle, patience);
  if (code != SQLITE_OK) {
    return database.error("open the database");
  }
  sqlite3_busy_timeout(handle, static_cast<int>(patience));
  sqlite3_extended_result_codes(handle, 1);
  HONE_TRY(database.execute("PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON",
                            "configure the connection"));
  return database;
}

Header Database::header() const {
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

bool Database::writable() const { return sqlite3_db_readonly(handle_.get(), "main") == 0; }

Result<Statement> Database::prepare(std::string_view sql) const {
  if (sqlite3_stmt* const idle = idle_->take(sql)) {
    return Statement(*this, idle);
  }
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    return error("read the tables");
  }
  return Statement(*this, statement);
}

Result<void> Database::execute(const std::string& sql, std::string_view doing) const {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return error(doing);
  }
  return {};
}

Result<std::int64_t> Database::scalar(std::string_view sql, std::string_view doing) const {
  HONE_ASSIGN(Statement statement, prepare(sql));
  HONE_ASSIGN(const bool row, statement.step(doing));
  return row ? statement.read_integer() : 0;
}

Result<std::string> Database::scalar_text(std::string_view sql, std::string_view doing) const {
  HONE_ASSIGN(Statement statement, prepare(sql));
  HONE_ASSIGN(const bool row, statement.step(doing));
  return row ? statement.read_text() : std::string();
}

std::int64_t Database::changes() const { return sqlite3_changes64(handle_.get()); }
std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
int Database::last_code() const { return sqlite3_extended_errcode(handle_.get()); }

Error Database::error(std::string_view doing) const {
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

Result<bool> Database::try_begin(std::string_view doing, double seconds) const {
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

Result<Transaction> Transaction::begin(const Database& database, std::string_view doing) {
  const double patience = static_cast<double>(database.patience_) / 1e3;
  const double others_turn = database.patience_ == Patience::kLong ? 120.0 : patience;
  if (!QueuePlace::is_line(database.path_)) {
    HONE_ASSIGN(const bool begun, database.try_begin(doing, 0.0));
    if (begun) {
      return Transaction(database, std::nullopt);
    }
  }
  std::optional<QueuePlace> place = QueuePlace::join(database.path_);
  if (!place) {
    HONE_TRY(database.execute("BEGIN IMMEDIATE", doing));
    return Transaction(database, std::nullopt);
  }
  // Whoever is stopped in the line may have no transaction open.
  const bool moved = place->wait(patience);
  HONE_ASSIGN(const bool begun, database.try_begin(doing, moved ? others_turn : 0.0));
  return begun ? Result<Transaction>(Transaction(database, std::move(place))) : database.error(doing);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)), place_(std::move(other.place_)) {}

Transaction::~Transaction() {
  // SQLite has already rolled back where a write failed for want of space.
  if (database_ != nullptr && sqlite3_get_autocommit(database_->handle_.get()) == 0) {
    sqlite3_exec(database_->handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Result<void> Transaction::commit(std::string_view doing) {
  HONE_TRY(database_->execute("COMMIT", doing));
  database_ = nullptr;
  place_.reset();
  return {};
}

}  // namespace hone::cache
