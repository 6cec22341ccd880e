#include "tests/cli/store_rows.hpp"

#include <sqlite3.h>

namespace hone::test {

std::vector<std::string> query(const std::string& store, const std::string& sql) {
  std::vector<std::string> rows;
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(store.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    sqlite3_busy_timeout(database, 10000);
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK) {
      while (sqlite3_step(statement) == SQLITE_ROW) {
        std::string row;
        for (int column = 0; column < sqlite3_column_count(statement); ++column) {
          const unsigned char* text = sqlite3_column_text(statement, column);
          row += (column == 0 ? "" : "|") + std::string(text == nullptr ? "" : reinterpret_cast<const char*>(text));
        }
        rows.push_back(row);
      }
    }
    sqlite3_finalize(statement);
  }
  sqlite3_close(database);
  return rows;
}

std::vector<std::string> recorded(const std::string& store) {
  return query(store, "SELECT session, position, configuration, outcome, median_us, created_at, hex(samples) FROM trial ORDER BY id");
}

}  // namespace hone::test
