#include "cache/database.hpp"

namespace hone::cache {

Statement& Statement::text(std::string_view value) {
  driver_->bind_text(++bound_, value);
  return *this;
}

Statement& Statement::integer(std::int64_t value) {
  driver_->bind_integer(++bound_, value);
  return *this;
}

Statement& Statement::real(double value) {
  driver_->bind_real(++bound_, value);
  return *this;
}

Statement& Statement::blob(std::span<const std::byte> value) {
  driver_->bind_blob(++bound_, value);
  return *this;
}

Statement& Statement::null() {
  driver_->bind_null(++bound_);
  return *this;
}

Result<bool> Statement::step(std::string_view doing) {
  read_ = 0;
  return driver_->step(doing);
}

Result<void> Statement::run(std::string_view doing) {
  HONE_TRY(step(doing));
  return {};
}

Result<std::int64_t> Statement::run_for_integer(std::string_view doing) {
  HONE_ASSIGN(const bool row, step(doing));
  const std::int64_t value = row ? read_integer() : 0;
  reset();
  return value;
}

void Statement::reset() {
  driver_->reset();
  bound_ = read_ = 0;
}

std::string Statement::read_text() { return std::string(driver_->bytes(read_++)); }

std::int64_t Statement::read_integer() { return driver_->integer(read_++); }

double Statement::read_real(double if_null) {
  const int column = read_++;
  return driver_->is_null(column) ? if_null : driver_->real(column);
}

std::vector<std::byte> Statement::read_blob() {
  const std::string_view bytes = driver_->bytes(read_++);
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

bool Statement::next_is_null() const { return driver_->is_null(read_); }

Result<std::int64_t> Database::scalar(std::string_view sql, std::string_view doing) const {
  HONE_ASSIGN(Statement statement, prepare(sql));
  return statement.run_for_integer(doing);
}

Result<std::string> Database::scalar_text(std::string_view sql, std::string_view doing) const {
  HONE_ASSIGN(Statement statement, prepare(sql));
  HONE_ASSIGN(const bool row, statement.step(doing));
  return row ? statement.read_text() : std::string();
}

Result<Transaction> Transaction::begin(const Database& database, std::string_view doing, Writers writers) {
  HONE_TRY(database.begin(doing, writers));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) {
    database_->roll_back();
  }
}

Result<void> Transaction::commit(std::string_view doing) {
  HONE_TRY(database_->commit(doing));
  database_ = nullptr;
  return {};
}

}  // namespace hone::cache
