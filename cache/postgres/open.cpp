#include "cache/postgres/open.hpp"

#include <fmt/format.h>

#include <utility>

#include "cache/migrations.hpp"
#include "cache/postgres/postgres_database.hpp"
#include "cache/postgres/schema.hpp"
#include "cache/sql_store.hpp"
#include "cache/trust.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cache {
namespace {

class ServerConnection final : public StoreConnection {
 public:
  ServerConnection(std::string place, std::unique_ptr<PostgresDatabase> database)
      : place_(std::move(place)), database_(std::move(database)) {}
  [[nodiscard]] const Database& database() const override { return *database_; }
  [[nodiscard]] std::string place() const override { return place_; }
  [[nodiscard]] double lease_seconds() const override { return hone::lease_seconds(); }
  [[nodiscard]] bool has_heartbeats() const override { return true; }
  Result<void> prepare_read() override { return {}; }  // the connection comes back by itself

 private:
  std::string place_;
  std::unique_ptr<PostgresDatabase> database_;
};

Result<void> check_role(const Database& database, const std::string& place) {
  HONE_ASSIGN(const std::int64_t writes, database.scalar("SELECT has_table_privilege('hone.session', 'INSERT') AND NOT pg_is_in_recovery()",
                                                         "read the role's rights"));
  if (writes == 0) {
    HONE_ASSIGN(const std::string role, database.scalar_text("SELECT CAST(current_user AS TEXT)", "read the role's rights"));
    return Error{ErrorCode::kStore, fmt::format("the store {} is read-only for the role {}: use a role with the right to write "
                                                "(docs/fleet.md), or set HONE_STORE to another store",
                                                place, role)};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<PostgresDatabase>> open_server(const std::string& url, StoreMode mode) {
  const std::string place = store_name(url);
  HONE_ASSIGN(std::unique_ptr<PostgresDatabase> database, PostgresDatabase::open(url));
  HONE_ASSIGN(std::int64_t version, server_version(*database));
  const auto current = static_cast<std::int64_t>(schema_version());
  if (mode == StoreMode::kReadWrite && version < current) {
    HONE_TRY(migrate_server(*database));
    HONE_ASSIGN(version, server_version(*database));  // a newer Hone may have come first
  }
  if (version > current) {
    return Error{ErrorCode::kStore,
                 fmt::format("the store {} was made by a newer Hone (schema {}, this one knows {}): update Hone", place, version, current)};
  }
  if (mode == StoreMode::kReadOnly && version == 0) {
    return Error{ErrorCode::kNotFound, fmt::format("no store in the database {}: nothing has been tuned into it yet", place)};
  }
  if (mode == StoreMode::kReadOnly && version < current) {
    return Error{ErrorCode::kStore, fmt::format("the store {} was made by an older Hone (schema {}, this one has {}): who may write it "
                                                "upgrades it by tuning into it",
                                                place, version, current)};
  }
  if (mode == StoreMode::kReadWrite) {
    HONE_TRY(check_role(*database, place));
  }
  return database;
}

Result<std::unique_ptr<StoreConnection>> connect_server(const std::string& url, StoreMode mode) {
  HONE_ASSIGN(std::unique_ptr<PostgresDatabase> database, open_server(url, mode));
  if (mode == StoreMode::kReadWrite) {
    HONE_TRY(database->mark_commits());
  }
  return std::unique_ptr<StoreConnection>(std::make_unique<ServerConnection>(store_name(url), std::move(database)));
}

Result<std::unique_ptr<Store>> open_postgres_store(const std::string& url, StoreMode mode, Trust trust, const StoreView& view) {
  HONE_ASSIGN(std::unique_ptr<StoreConnection> connection, connect_server(url, mode));
  const bool trusted = trust == Trust::kAll || is_trusted(connection->place());
  return std::unique_ptr<Store>(std::make_unique<SqlStore>(std::move(connection), mode, trusted, view));
}

}  // namespace hone::cache
