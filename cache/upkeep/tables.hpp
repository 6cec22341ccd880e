#pragma once
// Rows of the store's tables as they are, from one database to another.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/database.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {

/// Of whichever kind. Errors: as open_store().
Result<std::unique_ptr<StoreConnection>> connect_store(const std::filesystem::path& store, StoreMode mode);

using Cell = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::byte>>;
using Row = std::vector<Cell>;

struct Column {
  std::string name, type;  ///< INTEGER, REAL, TEXT or BLOB
};

/// A table of the schema.
struct Table {
  std::string name;
  std::vector<Column> columns;
  [[nodiscard]] std::string names() const;  ///< "id, kernel, ..."
  [[nodiscard]] std::size_t at(std::string_view column) const;
  [[nodiscard]] Table without(std::string_view column) const;
};
/// As today's schema has it; there must be such a one.
Result<Table> table_of_today(const std::string& name);

void bind_cell(Statement& statement, const Cell& cell);
/// Calls `each` with the rows of `sql`, whose columns are the table's.
Result<void> each_row(const Database& database, const Table& table, const std::string& sql, const std::vector<Cell>& bound,
                      const std::function<Result<void>(Row& row)>& each);
/// Writes one; `ending` follows the values: "RETURNING id", "ON CONFLICT DO NOTHING". What it returns, else 0.
Result<std::int64_t> insert_row(const Database& database, const Table& table, const Row& row, std::string_view ending = "");

/// SQL: whether a portfolio has the configuration of a row of `compiled` among its members.
constexpr std::string_view kInPortfolio = "EXISTS (SELECT 1 FROM portfolio p WHERE p.text LIKE '%\"' || compiled.configuration || '\"%')";

/// Whether code may go into a store that counts all code as trusted, and what leaves it out of a row of `record`.
class CodeFilter {
 public:
  /// `foreign_out`: what is not this user's stays out.
  explicit CodeFilter(bool foreign_out);
  [[nodiscard]] bool passes(const Table& table, const Row& row) const;
  static void leave_out(const Table& record, Row& row);

 private:
  bool foreign_out_;
  std::optional<SealKey> key_;
};

}  // namespace hone::cache
