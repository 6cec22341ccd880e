// One store's finished sessions and winners into another.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <optional>

#include "cache/rows.hpp"
#include "cache/trust.hpp"
#include "cache/upkeep/tables.hpp"
#include "engine/store/store_upkeep.hpp"

namespace hone {
namespace cache {
namespace {

constexpr std::string_view kMerging = "bring the stores together";
using Ids = std::map<std::int64_t, std::int64_t>;  // of rows, in the one store and in the other
using Names = std::vector<std::string>;

const Names& record_key_columns() {
  static const Names names{"kernel",         "source_hash", "dtype",     "shape",  "input_profile", "objective",
                           "accuracy_bound", "layout",      "alignment", "device", "timing_profile"};
  return names;
}

std::string listed(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }
std::string equal_to(const Names& names) { return fmt::format("{} = ?", fmt::join(names, " = ? AND ")); }

std::vector<Cell> cells_of(const Table& table, const Row& row, const Names& names) {
  std::vector<Cell> cells;
  for (const std::string& name : names) {
    cells.push_back(row[table.at(name)]);
  }
  return cells;
}

double real_of(const Table& table, const Row& row, std::string_view column) {
  const auto* const real = std::get_if<double>(&row[table.at(column)]);
  return real == nullptr ? 0.0 : *real;
}

const std::string& text_of(const Table& table, const Row& row, std::string_view column) {
  return std::get<std::string>(row[table.at(column)]);
}
std::int64_t number_of(const Table& table, const Row& row, std::string_view column) {
  return std::get<std::int64_t>(row[table.at(column)]);
}

Record measured(const Table& table, const Row& row) {
  Record record;
  record.measurement.median_us = real_of(table, row, "median_us");
  record.measurement.ci95_low_us = real_of(table, row, "ci95_low_us");
  record.measurement.ci95_high_us = real_of(table, row, "ci95_high_us");
  record.measurement.by_graph = number_of(table, row, "by_graph") != 0;
  if (const auto* const samples = std::get_if<std::vector<std::byte>>(&row[table.at("samples")])) {
    record.measurement.samples_us = samples_from_bytes(*samples);
  }
  if (const auto* const energy = std::get_if<double>(&row[table.at("energy_j")])) {
    record.measurement.energy_j = Figure{*energy, real_of(table, row, "energy_low_j"), real_of(table, row, "energy_high_j")};
  }
  return record;
}

Objective objective_of(const Table& table, const Row& row) { return hone::objective_of({.objective = text_of(table, row, "objective")}); }

/// The newest row of each key, of a table with generations.
std::string newest(const Table& table, const Names& key, std::string_view where) {
  return fmt::format(
      "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY generation DESC) AS place FROM {}) AS ranked "
      "WHERE place = 1 AND {}",
      table.names(), listed(key), table.name, where);
}

class Merger {
 public:
  Merger(const Database& from, const Database& into, bool foreign_out, std::string name)
      : from_(from), into_(into), filter_(foreign_out), name_(std::move(name)) {}

  Result<Merged> all() {
    // Who tunes into the other store waits for one session at most, not for all.
    HONE_TRY(digests());
    HONE_TRY(sessions());
    HONE_ASSIGN(Transaction deciding, Transaction::begin(into_, kMerging));
    HONE_TRY(records());
    HONE_TRY(operation_records());
    HONE_TRY(portfolios());
    HONE_ASSIGN(merged_.unfinished, from_.scalar("SELECT count(*) FROM session WHERE state <> 'done'", kMerging));
    HONE_ASSIGN(merged_.generation, into_.scalar("SELECT COALESCE(MAX(generation), 0) FROM change", kMerging));
    HONE_TRY(deciding.commit(kMerging));
    return merged_;
  }

 private:
  Result<void> digests() {
    constexpr std::string_view kUsed = "WHERE id IN (SELECT {0} FROM session WHERE state = 'done' UNION SELECT {0} FROM record)";
    HONE_ASSIGN(Transaction transaction, Transaction::begin(into_, kMerging));
    HONE_TRY(by_digest("device", fmt::format(fmt::runtime(kUsed), "device"), devices_));
    HONE_TRY(by_digest("environment", fmt::format(fmt::runtime(kUsed), "environment"), environments_));
    return transaction.commit(kMerging);
  }

  Result<void> by_digest(const std::string& name, const std::string& condition, Ids& ids) {
    HONE_ASSIGN(const Table table, table_of_today(name));
    return each_row(from_, table, fmt::format("SELECT {} FROM {} {}", table.names(), name, condition), {}, [&](Row& row) -> Result<void> {
      const std::int64_t id = number_of(table, row, "id");
      const std::string digest = text_of(table, row, "digest");
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(table.at("id")));
      HONE_TRY(insert_row(into_, table.without("id"), row, "ON CONFLICT DO NOTHING"));
      HONE_ASSIGN(Statement select, into_.prepare(fmt::format("SELECT id FROM {} WHERE digest = ?", name)));
      select.text(digest);
      HONE_ASSIGN(ids[id], select.run_for_integer(kMerging));
      return {};
    });
  }

  /// Inserts a row under a number of its own.
  Result<std::int64_t> renumbered(const Table& table, Row row) {
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(table.at("id")));
    return insert_row(into_, table.without("id"), row, "RETURNING id");
  }

  Result<void> sessions() {
    const Names identity{"kernel", "source_hash", "dtype", "shape", "seed", "strategy", "created_at", "device", "environment"};
    HONE_ASSIGN(const Table table, table_of_today("session"));
    const std::string sql = fmt::format("SELECT {} FROM session WHERE state = 'done' ORDER BY id", table.names());
    return each_row(from_, table, sql, {}, [&](Row& row) -> Result<void> {
      const std::int64_t id = number_of(table, row, "id");
      row[table.at("device")] = devices_[number_of(table, row, "device")];
      row[table.at("environment")] = environments_[number_of(table, row, "environment")];
      HONE_ASSIGN(Transaction transaction, Transaction::begin(into_, kMerging));
      HONE_ASSIGN(Statement known, into_.prepare("SELECT id FROM session WHERE " + equal_to(identity)));
      for (const Cell& cell : cells_of(table, row, identity)) {
        bind_cell(known, cell);
      }
      HONE_ASSIGN(sessions_[id], known.run_for_integer(kMerging));
      if (sessions_[id] != 0) {
        return {};
      }
      HONE_ASSIGN(sessions_[id], renumbered(table, row));
      ++merged_.sessions;
      HONE_TRY(trials(id));
      HONE_TRY(controls(id));
      return transaction.commit(kMerging);
    });
  }

  Result<void> trials(std::int64_t session) {
    HONE_ASSIGN(const Table table, table_of_today("trial"));
    HONE_ASSIGN(const Table finals, table_of_today("final_measurement"));
    Ids ids;
    HONE_TRY(each_row(from_, table, fmt::format("SELECT {} FROM trial WHERE session = ? ORDER BY id", table.names()), {session},
                      [&](Row& row) -> Result<void> {
                        row[table.at("session")] = sessions_[session];
                        HONE_ASSIGN(ids[number_of(table, row, "id")], renumbered(table, row));
                        ++merged_.trials;
                        return {};
                      }));
    const std::string of_session = "WHERE trial IN (SELECT id FROM trial WHERE session = ?)";
    return each_row(from_, finals, fmt::format("SELECT {} FROM final_measurement {}", finals.names(), of_session), {session},
                    [&](Row& row) -> Result<void> {
                      row[finals.at("trial")] = ids[number_of(finals, row, "trial")];
                      HONE_TRY(insert_row(into_, finals, row));
                      return {};
                    });
  }

  Result<void> controls(std::int64_t session) {
    HONE_ASSIGN(const Table table, table_of_today("control"));
    return each_row(from_, table, fmt::format("SELECT {} FROM control WHERE session = ? ORDER BY id", table.names()), {session},
                    [&](Row& row) -> Result<void> {
                      row[table.at("session")] = sessions_[session];
                      HONE_TRY(renumbered(table, row));
                      return {};
                    });
  }

  Result<void> records() {
    HONE_ASSIGN(const Table table, table_of_today("record"));
    const std::string sql = fmt::format(
        "WITH stated AS (SELECT *, COALESCE((SELECT s.state FROM record_state s WHERE s.record = record.id ORDER BY s.generation DESC "
        "LIMIT 1), 'candidate') AS state FROM record), ranked AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS place "
        "FROM stated WHERE state <> 'withdrawn') SELECT {} FROM ranked WHERE place = 1 ORDER BY id",
        listed(record_key_columns()), kServedFirst, table.names());
    return each_row(from_, table, sql, {}, [&](Row& row) -> Result<void> {
      const auto session = sessions_.find(number_of(table, row, "session"));
      if (session == sessions_.end()) {
        return {};
      }
      row[table.at("session")] = session->second;
      row[table.at("device")] = devices_[number_of(table, row, "device")];
      row[table.at("environment")] = environments_[number_of(table, row, "environment")];
      HONE_ASSIGN(const bool wins, takes_place(table, row));
      return wins ? add_record(table, row) : Result<void>();
    });
  }

  /// Among the records of its key in the other store.
  Result<bool> takes_place(const Table& table, const Row& row) {
    const std::string sql = fmt::format(
        "WITH stated AS (SELECT *, COALESCE((SELECT s.state FROM record_state s WHERE s.record = record.id ORDER BY s.generation DESC "
        "LIMIT 1), 'candidate') AS state FROM record WHERE {}) SELECT {}, state FROM stated ORDER BY generation DESC, id DESC",
        equal_to(record_key_columns()), table.names());
    Table stated = table;
    stated.columns.push_back({"state", "TEXT"});
    bool wins = true, stands = false;
    HONE_TRY(each_row(into_, stated, sql, cells_of(table, row, record_key_columns()), [&](Row& other) -> Result<void> {
      const bool withdrawn = text_of(stated, other, "state") == "withdrawn";
      const bool same = text_of(stated, other, "configuration") == text_of(table, row, "configuration");
      const bool here = same && number_of(stated, other, "session") == number_of(table, row, "session");
      wins = wins && !here && !(same && withdrawn) &&
             (withdrawn || stands || replaces(measured(table, row), measured(stated, other), objective_of(table, row)));
      stands = stands || !withdrawn;
      return {};
    }));
    return wins;
  }

  Result<void> add_record(const Table& table, Row& row) {
    const std::string artifact = text_of(table, row, "artifact");
    if (!artifact.empty() && !filter_.passes(table, row)) {
      CodeFilter::leave_out(table, row);
      ++merged_.foreign;
    } else if (!artifact.empty()) {
      HONE_ASSIGN(const Table artifacts, table_of_today("artifact"));
      const auto add = [&](Row& one) -> Result<void> {
        HONE_TRY(insert_row(into_, artifacts, one, "ON CONFLICT DO NOTHING"));
        return {};
      };
      HONE_TRY(each_row(from_, artifacts, fmt::format("SELECT {} FROM artifact WHERE digest = ?", artifacts.names()), {artifact}, add));
    }
    HONE_ASSIGN(row[table.at("generation")], generation());
    HONE_TRY(renumbered(table, row));
    ++merged_.records;
    return {};
  }

  /// What the kernel of a row of `operation_record` takes in the other store; nothing where it has no record there.
  Result<std::optional<Record>> record_of(const Table& table, const Row& row) {
    HONE_ASSIGN(const Table records, table_of_today("record"));
    const std::string sql = fmt::format(
        "SELECT {} FROM record WHERE {} AND COALESCE((SELECT s.state FROM record_state s WHERE s.record = record.id ORDER BY "
        "s.generation DESC LIMIT 1), 'candidate') <> 'withdrawn' ORDER BY generation DESC, id DESC LIMIT 1",
        records.names(), equal_to(record_key_columns()));
    std::optional<Record> found;
    HONE_TRY(each_row(into_, records, sql, cells_of(table, row, record_key_columns()), [&](Row& record) -> Result<void> {
      found = measured(records, record);
      return {};
    }));
    return found;
  }

  /// Whether a row takes the place of one that stands; null: nothing does.
  using Beats = std::function<Result<bool>(const Row& row, const Row* standing)>;

  /// Adds the newest rows of a table with generations, where they say something else than what stands, and beat it.
  Result<void> add_newer(const Table& table, const Names& key, const Names& says, const std::string& where, const Beats& beats,
                         std::int64_t& added) {
    return each_row(from_, table, newest(table, key, where), {}, [&](Row& row) -> Result<void> {
      if (table.name == "operation_record") {
        row[table.at("device")] = devices_[number_of(table, row, "device")];
        const auto* const session = std::get_if<std::int64_t>(&row[table.at("session")]);
        const auto known = session == nullptr ? sessions_.end() : sessions_.find(*session);
        row[table.at("session")] = known == sessions_.end() ? Cell() : Cell(known->second);
      }
      std::optional<Row> standing;
      HONE_TRY(each_row(into_, table, newest(table, key, equal_to(key)), cells_of(table, row, key), [&](Row& other) -> Result<void> {
        standing = other;
        return {};
      }));
      if (standing && cells_of(table, row, says) == cells_of(table, *standing, says)) {
        return {};
      }
      HONE_ASSIGN(const bool wins, beats(row, standing ? &*standing : nullptr));
      if (wins) {
        HONE_ASSIGN(row[table.at("generation")], generation());
        HONE_TRY(insert_row(into_, table, row));
        ++added;
      }
      return {};
    });
  }

  Result<void> operation_records() {
    HONE_ASSIGN(const Table table, table_of_today("operation_record"));
    // A device of which no session ended has no number in the other store.
    const std::string known =
        "kernel <> '' AND device IN (SELECT device FROM session WHERE state = 'done' UNION SELECT device FROM record)";
    std::int64_t added = 0;
    return add_newer(
        table,
        {"operation", "dtype", "shape", "input_profile", "objective", "accuracy_bound", "layout", "alignment", "device", "timing_profile"},
        {"kernel", "source_hash"}, known,
        [&](const Row& row, const Row* standing) -> Result<bool> {
          HONE_ASSIGN(const std::optional<Record> own, record_of(table, row));
          if (!own || standing == nullptr) {
            return own.has_value();
          }
          HONE_ASSIGN(const std::optional<Record> other, record_of(table, *standing));
          return !other || replaces(*own, *other, objective_of(table, row));
        },
        added);
  }

  Result<void> portfolios() {
    HONE_ASSIGN(const Table table, table_of_today("portfolio"));
    return add_newer(
        table, {"operation", "dtype", "device", "statics", "shapes", "input_profile", "objective", "accuracy_bound", "timing_profile"},
        {"text"}, "text <> ''",
        [&](const Row& row, const Row* standing) -> Result<bool> {
          return standing == nullptr || text_of(table, row, "created_at") > text_of(table, *standing, "created_at");
        },
        merged_.portfolios);
  }

  /// One for all that this brings, made when the first of it comes.
  Result<std::int64_t> generation() {
    if (generation_ == 0) {
      HONE_ASSIGN(Statement insert, into_.prepare("INSERT INTO change (what, created_at) VALUES (?, ?) RETURNING generation"));
      insert.text("merged from " + name_).text(utc_now());
      HONE_ASSIGN(generation_, insert.run_for_integer(kMerging));
    }
    return generation_;
  }

  const Database& from_;
  const Database& into_;
  CodeFilter filter_;
  std::string name_;
  Ids devices_, environments_, sessions_;
  std::int64_t generation_ = 0;
  Merged merged_;
};

}  // namespace
}  // namespace cache

Result<Merged> merge_store(const std::filesystem::path& from, const std::filesystem::path& into) {
  HONE_ASSIGN(const auto source, cache::connect_store(from, StoreMode::kReadOnly));
  HONE_ASSIGN(const auto target, cache::connect_store(into, StoreMode::kReadWrite));
  if (source->place() == target->place()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} cannot be merged into itself", source->place())};
  }
  HONE_ASSIGN(cache::Transaction reading, cache::Transaction::begin(source->database(), cache::kMerging, cache::Writers::kRead));
  const bool foreign_out = cache::is_trusted(target->place()) && !cache::is_trusted(source->place());
  cache::Merger merger(source->database(), target->database(), foreign_out, source->place());
  return merger.all();
}

}  // namespace hone
