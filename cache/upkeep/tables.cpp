#include "cache/upkeep/tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "cache/migrations.hpp"
#include "cache/postgres/open.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cache {
namespace {

constexpr std::string_view kCopying = "copy rows";

Cell read_cell(Statement& row, const Column& column) {
  if (row.next_is_null()) {
    static_cast<void>(row.read_integer());
    return {};
  }
  if (column.type == "INTEGER") {
    return row.read_integer();
  }
  if (column.type == "REAL") {
    return row.read_real();
  }
  return column.type == "BLOB" ? Cell(row.read_blob()) : Cell(row.read_text());
}

/// Of an empty database with today's schema.
Result<std::vector<Table>> read_tables() {
  HONE_ASSIGN(const SqliteDatabase today, SqliteDatabase::open({}, Access::kMemory));
  HONE_TRY(migrate(today));
  HONE_ASSIGN(Statement select, today.prepare("SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c "
                                              "WHERE t.type = 'table' ORDER BY t.name, c.cid"));
  std::vector<Table> all;
  for (;;) {
    HONE_ASSIGN(const bool row, select.step(kCopying));
    if (!row) {
      return all;
    }
    if (std::string name = select.read_text(); all.empty() || all.back().name != name) {
      all.push_back({.name = std::move(name), .columns = {}});
    }
    std::string column = select.read_text();
    all.back().columns.push_back({std::move(column), select.read_text()});
  }
}

}  // namespace

Result<std::unique_ptr<StoreConnection>> connect_store(const std::filesystem::path& store, StoreMode mode) {
  return is_store_server(store) ? connect_server(store.string(), mode) : connect_file(store, mode);
}

std::string Table::names() const {
  std::vector<std::string> all;
  std::ranges::transform(columns, std::back_inserter(all), &Column::name);
  return fmt::format("{}", fmt::join(all, ", "));
}

std::size_t Table::at(std::string_view column) const {
  return static_cast<std::size_t>(std::ranges::find(columns, column, &Column::name) - columns.begin());
}

Table Table::without(std::string_view column) const {
  Table table = *this;
  std::erase_if(table.columns, [&](const Column& one) { return one.name == column; });
  return table;
}

Result<Table> table_of_today(const std::string& name) {
  static const Result<std::vector<Table>> all = read_tables();
  if (!all) {
    return all.error();
  }
  return *std::ranges::find(*all, name, &Table::name);
}

void bind_cell(Statement& statement, const Cell& cell) {
  if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
    statement.integer(*integer);
  } else if (const auto* const real = std::get_if<double>(&cell)) {
    statement.real(*real);
  } else if (const auto* const text = std::get_if<std::string>(&cell)) {
    statement.text(*text);
  } else if (const auto* const blob = std::get_if<std::vector<std::byte>>(&cell)) {
    statement.blob(*blob);
  } else {
    statement.null();
  }
}

Result<void> each_row(const Database& database, const Table& table, const std::string& sql, const std::vector<Cell>& bound,
                      const std::function<Result<void>(Row& row)>& each) {
  HONE_ASSIGN(Statement select, database.prepare(sql));
  for (const Cell& cell : bound) {
    bind_cell(select, cell);
  }
  for (;;) {
    HONE_ASSIGN(const bool there, select.step(kCopying));
    if (!there) {
      return {};
    }
    Row row;
    std::ranges::transform(table.columns, std::back_inserter(row), [&](const Column& column) { return read_cell(select, column); });
    HONE_TRY(each(row));
  }
}

Result<std::int64_t> insert_row(const Database& database, const Table& table, const Row& row, std::string_view ending) {
  std::string places = "?";
  for (std::size_t i = 1; i < row.size(); ++i) {
    places += ", ?";
  }
  HONE_ASSIGN(Statement insert,
              database.prepare(fmt::format("INSERT INTO {} ({}) VALUES ({}) {}", table.name, table.names(), places, ending)));
  for (const Cell& cell : row) {
    bind_cell(insert, cell);
  }
  return insert.run_for_integer(kCopying);
}

CodeFilter::CodeFilter(bool foreign_out) : foreign_out_(foreign_out) {
  if (Result<SealKey> key = SealKey::find(); foreign_out && key) {
    key_ = *key;
  }
}

bool CodeFilter::passes(const Table& table, const Row& row) const {
  const auto& digest = std::get<std::string>(row[table.at("code_digest")]);
  return !foreign_out_ || (key_ && !digest.empty() && std::get<std::string>(row[table.at("seal")]) == key_->seal(digest));
}

void CodeFilter::leave_out(const Table& record, Row& row) {
  for (const char* const column : {"artifact", "content", "code_digest", "seal"}) {
    row[record.at(column)] = std::string();
  }
  row[record.at("symbols")] = std::string("[]");
}

}  // namespace hone::cache
