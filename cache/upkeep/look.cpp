// Facts of a store, faults in it, and what it need not keep.

#include <fmt/format.h>

#include "cache/code.hpp"
#include "cache/migrations.hpp"
#include "cache/upkeep/tables.hpp"
#include "engine/store/store_server.hpp"
#include "engine/store/store_upkeep.hpp"

namespace hone {
namespace {

using cache::Statement;

constexpr std::string_view kLooking = "look at the store", kPruning = "remove what nobody needs";
constexpr std::string_view kNeedless =
    "NOT IN (SELECT artifact FROM record UNION SELECT t.artifact FROM trial t JOIN session s ON s.id = t.session WHERE s.state <> 'done')";
// An unfinished session may still choose any of what it compiled, which may be in no trial yet.
constexpr std::string_view kOfBefore = "created_at < COALESCE((SELECT MIN(created_at) FROM session WHERE state <> 'done'), '~')";

/// Faults that SQLite finds: one a line.
Result<void> examine_file(const cache::Database& database, std::vector<std::string>& faults) {
  for (const auto& [pragma, what] : {std::pair("PRAGMA integrity_check", "the database is damaged: "),
                                     std::pair("PRAGMA foreign_key_check", "rows refer to others that are missing, in table ")}) {
    HONE_ASSIGN(Statement select, database.prepare(pragma));
    for (;;) {
      const Result<bool> row = select.step(kLooking);
      if (!row) {
        faults.push_back(row.error().message);
        break;
      }
      if (!*row) {
        break;
      }
      if (const std::string said = select.read_text(); said != "ok") {
        faults.push_back(what + said);
      }
    }
  }
  return {};
}

}  // namespace

Result<StoreFacts> store_facts(const std::filesystem::path& store) {
  HONE_ASSIGN(const auto connection, cache::connect_store(store, StoreMode::kReadOnly));
  const cache::Database& database = connection->database();
  const bool server = is_store_server(store);
  StoreFacts facts;
  facts.name = connection->place();
  HONE_ASSIGN(facts.database,
              database.scalar_text(
                  server ? "SELECT 'PostgreSQL ' || current_setting('server_version')" : "SELECT 'SQLite ' || sqlite_version()", kLooking));
  HONE_ASSIGN(facts.schema, database.scalar(server ? "SELECT schema_version FROM store" : "PRAGMA user_version", kLooking));
  HONE_ASSIGN(facts.bytes,
              database.scalar(server ? "SELECT CAST(COALESCE(SUM(pg_total_relation_size(c.oid)), 0) AS BIGINT) FROM pg_class c "
                                       "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'hone' AND c.relkind = 'r'"
                                     : "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
                              kLooking));
  const std::pair<std::int64_t*, const char*> counts[] = {
      {&facts.generation, "SELECT COALESCE(MAX(generation), 0) FROM change"},
      {&facts.sessions, "SELECT count(*) FROM session"},
      {&facts.unfinished, "SELECT count(*) FROM session WHERE state <> 'done'"},
      {&facts.trials, "SELECT count(*) FROM trial"},
      {&facts.records, "SELECT count(*) FROM record"},
      {&facts.portfolios, "SELECT count(*) FROM portfolio"},
      {&facts.artifacts, "SELECT count(*) FROM artifact"},
      {&facts.artifact_bytes, "SELECT CAST(COALESCE(SUM(length(bytes)), 0) AS BIGINT) FROM artifact"}};
  for (const auto& [count, sql] : counts) {
    HONE_ASSIGN(*count, database.scalar(sql, kLooking));
  }
  return facts;
}

Result<std::vector<std::string>> check_store(const std::filesystem::path& store) {
  HONE_ASSIGN(const auto connection, cache::connect_store(store, StoreMode::kReadOnly));
  const cache::Database& database = connection->database();
  std::vector<std::string> faults;
  if (!is_store_server(store)) {  // a server looks after its own
    HONE_TRY(examine_file(database, faults));
  }
  const cache::Table digests{.name = "artifact", .columns = {{"digest", "TEXT"}}};
  HONE_ASSIGN(Statement select, database.prepare("SELECT size, bytes FROM artifact WHERE digest = ?"));
  HONE_TRY(cache::each_row(database, digests, "SELECT digest FROM artifact ORDER BY digest", {}, [&](cache::Row& row) -> Result<void> {
    const std::string& digest = std::get<std::string>(row.front());
    select.text(digest);
    HONE_ASSIGN(const bool there, select.step(kLooking));
    const std::int64_t size = there ? select.read_integer() : 0;
    if (there && !cache::unpack_artifact(select.read_blob(), size, digest)) {
      faults.push_back(fmt::format("the compiled code {} is damaged: it is compiled anew when it is needed", digest));
    }
    select.reset();
    return {};
  }));
  const cache::Table missing{.name = "record", .columns = {{"id", "INTEGER"}, {"artifact", "TEXT"}}};
  HONE_TRY(cache::each_row(database, missing,
                           "SELECT id, artifact FROM record WHERE artifact <> '' AND artifact NOT IN (SELECT digest FROM artifact) "
                           "ORDER BY id",
                           {}, [&](cache::Row& row) -> Result<void> {
                             faults.push_back(fmt::format("record {} lacks its compiled code {}: it is compiled anew when it is needed",
                                                          std::get<std::int64_t>(row[0]), std::get<std::string>(row[1])));
                             return {};
                           }));
  return faults;
}

Result<Pruned> prune_store(const std::filesystem::path& store) {
  HONE_TRY(cache::connect_store(store, StoreMode::kReadOnly));  // one that is not there is not made
  HONE_ASSIGN(const auto connection, cache::connect_store(store, StoreMode::kReadWrite));
  const cache::Database& database = connection->database();
  HONE_ASSIGN(cache::Transaction transaction, cache::Transaction::begin(database, kPruning));
  Pruned pruned;
  if (is_store_server(store)) {  // before the first look: who keeps code takes rows of both tables, in the other order
    HONE_TRY(database.execute("LOCK TABLE artifact, compiled IN SHARE ROW EXCLUSIVE MODE", kPruning));
  }
  HONE_TRY(database.execute(
      fmt::format("DELETE FROM compiled WHERE artifact {} AND {} AND NOT {}", kNeedless, kOfBefore, cache::kInPortfolio), kPruning));
  const std::string needless = fmt::format("FROM artifact WHERE digest {} AND digest NOT IN (SELECT artifact FROM compiled)", kNeedless);
  HONE_ASSIGN(pruned.artifacts, database.scalar("SELECT count(*) " + needless, kPruning));
  HONE_ASSIGN(pruned.bytes, database.scalar("SELECT CAST(COALESCE(SUM(length(bytes)), 0) AS BIGINT) " + needless, kPruning));
  HONE_TRY(database.execute("DELETE " + needless, kPruning));
  if (is_store_server(store)) {  // of processes that were killed
    HONE_TRY(database.execute("DELETE FROM writer WHERE at < clock_timestamp() - INTERVAL '1 day'", kPruning));
    HONE_TRY(database.execute(fmt::format("DELETE FROM worker WHERE {} > 86400", database.seconds_since("seen_at")), kPruning));
    HONE_TRY(database.execute("DELETE FROM assignment WHERE session NOT IN (SELECT id FROM session WHERE state <> 'done')", kPruning));
  }
  HONE_TRY(transaction.commit(kPruning));
  if (!is_store_server(store)) {
    HONE_TRY(database.execute("VACUUM", kPruning));
  }
  return pruned;
}

}  // namespace hone
