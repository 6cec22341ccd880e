#pragma once
// The schema on a server: that of a file, in PostgreSQL's words, so that there is one to keep.

#include <cstdint>
#include <string>
#include <string_view>

#include "cache/database.hpp"

namespace hone::cache {

/// Statements that define tables and indices, from SQLite's into PostgreSQL's.
std::string as_postgres(std::string_view sqlite);

/// The version of the store in the database; 0: there is none.
Result<std::int64_t> server_version(const Database& database);

/// Makes the store in the database, or brings an older one up to date. Safe against others who do the same at once.
Result<void> migrate_server(const Database& database);

}  // namespace hone::cache
