// Brings a store up to date, one version after the other.

#include "cache/migrations.hpp"

#include <fmt/format.h>

#include <utility>

namespace hone::cache {
namespace {

constexpr std::string_view kUpgrading = "upgrade the schema";

/// Foreign keys are off while it lives: a table that is dropped to be rebuilt would take along all that refers to it. Inside a transaction
/// the pragma does nothing, so this comes before BEGIN.
class WithoutForeignKeys {
 public:
  static Result<WithoutForeignKeys> begin(const SqliteDatabase& database) {
    HONE_TRY(database.execute("PRAGMA foreign_keys=OFF", kUpgrading));
    HONE_ASSIGN(const std::int64_t on, database.scalar("PRAGMA foreign_keys", kUpgrading));
    if (on != 0) {
      return Error{ErrorCode::kStore, "cannot upgrade the schema inside of a transaction"};
    }
    return WithoutForeignKeys(database);
  }
  WithoutForeignKeys(WithoutForeignKeys&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  WithoutForeignKeys& operator=(WithoutForeignKeys&&) = delete;
  ~WithoutForeignKeys() {
    if (database_ != nullptr) {
      static_cast<void>(database_->execute("PRAGMA foreign_keys=ON", kUpgrading));
    }
  }

 private:
  explicit WithoutForeignKeys(const SqliteDatabase& database) : database_(&database) {}
  const SqliteDatabase* database_;
};

/// With foreign keys off nothing else would notice a row whose parent is lost.
Result<void> check_foreign_keys(const SqliteDatabase& database) {
  HONE_ASSIGN(const std::string table, database.scalar_text("PRAGMA foreign_key_check", kUpgrading));
  if (!table.empty()) {
    return Error{ErrorCode::kStore, fmt::format("cannot upgrade the schema: table {} of the store refers to missing rows. The store was "
                                                "damaged before and was not changed; restore a copy or start with a fresh one",
                                                table)};
  }
  return {};
}

}  // namespace

Result<void> migrate(const SqliteDatabase& database) {
  HONE_ASSIGN(const WithoutForeignKeys off, WithoutForeignKeys::begin(database));
  for (;;) {
    HONE_ASSIGN(Transaction transaction, Transaction::begin(database, kUpgrading));
    // Read under the lock: another process may have done this step meanwhile.
    HONE_ASSIGN(const std::int64_t version, database.scalar("PRAGMA user_version", "read the schema version"));
    if (version < 0 || version >= static_cast<std::int64_t>(migrations().size())) {
      return {};
    }
    HONE_TRY(database.execute(migrations()[static_cast<std::size_t>(version)], kUpgrading));
    HONE_TRY(check_foreign_keys(database));
    HONE_TRY(database.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, version + 1), kUpgrading));
    HONE_TRY(transaction.commit(kUpgrading));
  }
}

}  // namespace hone::cache
