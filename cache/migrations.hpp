#pragma once
// The schema and its history.

#include <cstdint>

#include "cache/database.hpp"

namespace hone::cache {

/// "HONE": what PRAGMA application_id says of every store.
constexpr std::uint32_t kApplicationId = 0x484F4E45;

/// The schema version that this Hone reads and writes.
std::uint32_t schema_version();

/// Brings an empty file or an older store up to date. Safe against other processes that do the same at once.
Result<void> migrate(const Database& database);

}  // namespace hone::cache
