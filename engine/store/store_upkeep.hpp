#pragma once
// What operators do with whole stores: look, check, make smaller, copy, bring together. A store is a file or a URL (store_server.hpp).

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hone/error.hpp"

namespace hone {

struct StoreFacts {
  std::string name;      ///< without a password
  std::string database;  ///< "SQLite 3.40.1", "PostgreSQL 15.8"
  std::int64_t schema = 0, generation = 0;
  std::int64_t sessions = 0, unfinished = 0, trials = 0, records = 0, portfolios = 0;
  std::int64_t artifacts = 0, artifact_bytes = 0;  ///< compiled code, compressed
  std::int64_t bytes = 0;                          ///< of the whole
};
/// Errors: as open_store().
Result<StoreFacts> store_facts(const std::filesystem::path& store);

/// What is wrong with a store: damage to the database, code that is damaged or missing. Errors: as open_store().
Result<std::vector<std::string>> check_store(const std::filesystem::path& store);

struct Pruned {
  std::int64_t artifacts = 0, bytes = 0;
};
/// Removes the compiled code that no record, no portfolio and no unfinished session needs. Records, trials and times stay. Errors: as
/// open_store().
Result<Pruned> prune_store(const std::filesystem::path& store);

enum class CopyWhat {
  kAll,     ///< a backup
  kServed,  ///< what an application looks up: records with their code and history, which kernel serves, portfolios
};
/// Makes a file of a store, as it is at one moment, with the same numbers, generations, states and seals. It is there whole or not at all.
/// kServed replaces such a file, and programs that have it open go on with the new one. Code that is not this user's is left out where
/// all that `file` holds would count as trusted. Errors: kInvalidArgument, `file` is there (kAll), or holds trials or unfinished sessions
/// that would be lost; as open_store().
Result<void> copy_store(const std::filesystem::path& store, const std::filesystem::path& file, CopyWhat what);

struct Merged {
  std::int64_t sessions = 0, trials = 0, records = 0, portfolios = 0;  ///< that were added
  std::int64_t unfinished = 0;                                         ///< sessions that were left: they go on where they are
  std::int64_t foreign = 0;     ///< records that were added without their code, since it is not this user's and `into` is trusted
  std::int64_t generation = 0;  ///< of `into`; unchanged where nothing was added to what it serves
};
/// Adds what `from` has and `into` lacks: finished sessions with their trials, and what is served, where nothing stands in `into` or
/// what stands is slower (Store::finish_session's rule). Seals stay those of who made the code. Merging twice adds nothing. Each
/// session is added whole or not at all, and so is all that is served; after a failure the same merge goes on. Errors: as open_store().
Result<Merged> merge_store(const std::filesystem::path& from, const std::filesystem::path& into);

}  // namespace hone
