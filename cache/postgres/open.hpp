#pragma once
// Opening a store on a server.

#include <memory>
#include <string>

#include "cache/postgres/postgres_database.hpp"
#include "cache/sql_store.hpp"
#include "engine/store/store.hpp"

namespace hone::cache {

/// A connection to a store, whose tables are there and of today. Errors: as OpenServer.
Result<std::unique_ptr<PostgresDatabase>> open_server(const std::string& url, StoreMode mode);

/// Errors: as OpenServer.
Result<std::unique_ptr<StoreConnection>> connect_server(const std::string& url, StoreMode mode);

/// hone::OpenServer of engine/store/store_server.hpp.
Result<std::unique_ptr<Store>> open_postgres_store(const std::string& url, StoreMode mode, Trust trust, const StoreView& view);

}  // namespace hone::cache
