#pragma once
// The schema and its history.

#include <cstdint>
#include <span>

#include "cache/sqlite_database.hpp"

namespace hone::cache {

/// "HONE": what PRAGMA application_id says of every store.
constexpr std::uint32_t kApplicationId = 0x484F4E45;

/// The schema version that this Hone reads and writes.
std::uint32_t schema_version();

/// Brings an empty file or an older store up to date. Safe against other processes that do the same at once.
Result<void> migrate(const SqliteDatabase& database);

/// Lets the connection read a store of an older version, which stays as it is, with the queries of today's.
Result<void> read_as_current(const SqliteDatabase& database, std::uint32_t version);

/// The SQL of each version, for tests that make a store as an older Hone did.
std::span<const char* const> migrations();

}  // namespace hone::cache
