// Portfolios: one text for a range of shapes.

#include <fmt/format.h>

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {

Result<std::int64_t> SqlStore::put_portfolio(const PortfolioKey& key, const std::string& text) {
  constexpr std::string_view kDoing = "write a portfolio";
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<std::int64_t> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing));
    HONE_ASSIGN(Statement same,
                database().prepare(
                    "SELECT generation, CASE WHEN shapes = ?5 AND text = ?10 THEN 1 ELSE 0 END FROM portfolio WHERE operation = ?1 "
                    "AND dtype = ?2 AND device = ?3 AND statics = ?4 AND input_profile = ?6 AND objective = ?7 AND accuracy_bound = ?8 "
                    "AND timing_profile = ?9 ORDER BY generation DESC, 2 DESC LIMIT 1"));
    same.text(key.operation).text(key.dtypes).text(key.device).text(key.statics).text(key.range);
    bind_purpose(same, key.purpose);
    same.text(text);
    HONE_ASSIGN(const bool stands, same.step(kDoing));
    if (stands) {
      const std::int64_t standing = same.read_integer();
      if (same.read_integer() != 0) {
        return standing;
      }
    }
    HONE_ASSIGN(const std::int64_t generation,
                begin_generation(fmt::format("portfolio of {} {} for {}", key.operation, key.dtypes, key.device)));
    HONE_ASSIGN(Statement insert, database().prepare("INSERT INTO portfolio (operation, dtype, device, statics, shapes, input_profile, "
                                                     "objective, accuracy_bound, timing_profile, generation, text, created_at) "
                                                     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    insert.text(key.operation).text(key.dtypes).text(key.device).text(key.statics).text(key.range);
    bind_purpose(insert, key.purpose);
    insert.integer(generation).text(text).text(utc_now());
    HONE_TRY(insert.run(kDoing));
    HONE_TRY(transaction.commit(kDoing));
    return generation;
  });
}

Result<void> SqlStore::restore_portfolios(std::int64_t generation, std::int64_t now) {
  HONE_ASSIGN(
      Statement restore,
      database().prepare(
          "INSERT INTO portfolio (operation, dtype, device, statics, shapes, input_profile, objective, accuracy_bound, timing_profile, "
          "generation, text, created_at) SELECT operation, dtype, device, statics, shapes, input_profile, objective, accuracy_bound, "
          "timing_profile, ?2, COALESCE((SELECT e.text FROM portfolio e WHERE e.operation = p.operation AND e.dtype = p.dtype AND "
          "e.device = p.device AND e.statics = p.statics AND e.shapes = p.shapes AND e.input_profile = p.input_profile AND "
          "e.objective = p.objective AND e.accuracy_bound = p.accuracy_bound AND e.timing_profile = p.timing_profile AND "
          "e.generation <= ?1 ORDER BY e.generation DESC LIMIT 1), ''), ?3 "
          "FROM (SELECT DISTINCT operation, dtype, device, statics, shapes, input_profile, objective, accuracy_bound, timing_profile "
          "FROM portfolio WHERE generation > ?1) p"));
  restore.integer(generation).integer(now).text(utc_now());
  return restore.run("roll back portfolios");
}

Result<std::vector<StoredPortfolio>> SqlStore::read_portfolios(const PortfolioKey* only) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  const std::string where = only == nullptr
                                ? ""
                                : "operation = ?2 AND (dtype = ?3 OR ?3 = '') AND device = ?4 AND input_profile = ?5 AND objective = ?6 "
                                  "AND accuracy_bound = ?7 AND timing_profile = ?8 AND ";
  HONE_ASSIGN(Statement select,
              database().prepare("SELECT operation, dtype, device, statics, shapes, input_profile, objective, accuracy_bound, "
                                 "timing_profile, generation, text, created_at FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY operation, "
                                 "dtype, device, statics, shapes, input_profile, objective, accuracy_bound, timing_profile ORDER BY "
                                 "generation DESC) AS place FROM portfolio WHERE " +
                                 where +
                                 "generation <= ?1) AS ranked WHERE place = 1 AND text <> '' ORDER BY operation, dtype, device, "
                                 "generation DESC"));
  select.integer(view_.generation);
  if (only != nullptr) {
    select.text(only->operation).text(only->dtypes).text(only->device);
    bind_purpose(select, only->purpose);
  }
  std::vector<StoredPortfolio> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("look up portfolios"));
    if (!row) {
      return all;
    }
    StoredPortfolio& stored = all.emplace_back();
    stored.key.operation = select.read_text();
    stored.key.dtypes = select.read_text();
    stored.key.device = select.read_text();
    stored.key.statics = select.read_text();
    stored.key.range = select.read_text();
    stored.key.purpose = read_purpose(select);
    stored.generation = select.read_integer();
    stored.text = select.read_text();
    stored.created_at = select.read_text();
  }
}

Result<std::vector<StoredPortfolio>> SqlStore::find_portfolios(const PortfolioKey& key) {
  // Nobody approves a portfolio.
  return view_.approved_only ? std::vector<StoredPortfolio>() : read_portfolios(&key);
}

Result<std::vector<StoredPortfolio>> SqlStore::portfolios() { return read_portfolios(nullptr); }

}  // namespace hone::cache
