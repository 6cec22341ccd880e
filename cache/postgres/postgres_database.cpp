#include "cache/postgres/postgres_database.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "engine/store/store_server.hpp"

namespace hone::cache {
namespace {

// Of libpq's and PostgreSQL's own headers.
constexpr int kConnectionOk = 0;
constexpr int kCommandOk = 1, kTuplesOk = 2;
constexpr int kSqlState = 'C', kPrimaryMessage = 'M';
constexpr unsigned kBytea = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kFloat4 = 700, kFloat8 = 701;

constexpr int kWriteLock = 0x484F4E45;  // "HONE": of the advisory lock
constexpr auto kLongestRestart = std::chrono::seconds(30);

/// Big-endian, as the protocol has numbers.
template <class Unsigned>
std::string network_order(Unsigned value) {
  std::string bytes(sizeof value, '\0');
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes[i] = static_cast<char>(value >> (8 * (sizeof value - 1 - i)));
  }
  return bytes;
}

std::uint64_t host_order(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

/// What is no UTF-8, and the character 0, becomes U+FFFD: PostgreSQL refuses such texts. They come from compilers and drivers.
std::string clean_text(std::string_view text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c > 0; });
  if (plain) {
    return std::string(text);
  }
  const std::string json = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string clean = nlohmann::json::parse(json).get<std::string>();
  for (std::size_t at = 0; (at = clean.find('\0', at)) != std::string::npos;) {
    clean.replace(at, 1, "\xEF\xBF\xBD");
  }
  return clean;
}

/// libpq's messages have several lines, of which the later ones are hints and context.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\t', ' ');
  return text;
}

std::string_view advice_for(std::string_view state) {
  if (state == "42501") {
    return "the server's role may not do this: use a role with the right to write (docs/fleet.md), or open the store for reading";
  }
  if (state == "25006") {
    return "the server allows no writes here: it is a standby, or the role is read-only";
  }
  if (state == "55P03") {
    return "another process has held the store for a long time. It may be stopped in the middle of a write: let it continue, or end it";
  }
  if (state == "53100") {
    return "the server's disk is full. Earlier trials are safe";
  }
  if (state == "42P01" || state == "3F000") {
    return "the tables of the store are not there: another program may have removed them";
  }
  return {};
}

std::string_view connection_advice(std::string_view message) {
  const auto says = [&](std::string_view words) { return message.find(words) != std::string_view::npos; };
  if (says("password")) {
    return ". Give the password by PGPASSWORD or ~/.pgpass";
  }
  if (says("does not exist")) {
    return ". Make it with createdb or createuser, or correct the URL";
  }
  if (says("Connection refused") || says("No such file") || says("could not translate") || says("timeout") || says("No route")) {
    return ". Check host and port of the URL, and that the server runs";
  }
  return {};
}

bool can_read(const Libpq& pq, const std::string& parameters) {
  void* const read = pq.conninfoParse(parameters.c_str(), nullptr);
  if (read != nullptr) {
    pq.conninfoFree(read);
  }
  return read != nullptr;
}

/// Whether a transaction failed for others' sake and may be made again.
bool may_go_again(std::string_view state) { return state == "40P01" || state == "40001"; }

}  // namespace

std::string numbered_parameters(std::string_view sql) {
  std::string numbered;
  int largest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    quoted = sql[i] == '\'' ? !quoted : quoted;
    if (quoted || sql[i] != '?') {
      numbered += sql[i];
      continue;
    }
    int number = 0;
    const auto [end, status] = std::from_chars(sql.data() + i + 1, sql.data() + sql.size(), number);
    if (status == std::errc()) {
      i = static_cast<std::size_t>(end - sql.data()) - 1;
    } else {
      number = largest + 1;
    }
    largest = std::max(largest, number);
    numbered += fmt::format("${}", number);
  }
  return numbered;
}

/// Sent as a whole at the first step, with all values in binary; all rows come at once.
class PostgresStatement final : public StatementDriver {
 public:
  PostgresStatement(const PostgresDatabase& database, std::string sql)
      : database_(&database), sql_(std::move(sql)), result_(nullptr, {database.pq_}) {}

  void bind_text(int at, std::string_view value) override { bind(at, kText, clean_text(value)); }
  void bind_integer(int at, std::int64_t value) override { bind(at, kInt8, network_order(static_cast<std::uint64_t>(value))); }
  void bind_real(int at, double value) override {
    std::isnan(value) ? bind_null(at) : bind(at, kFloat8, network_order(std::bit_cast<std::uint64_t>(value)));
  }
  void bind_blob(int at, std::span<const std::byte> value) override {
    bind(at, kBytea, std::string(reinterpret_cast<const char*>(value.data()), value.size()));
  }
  void bind_null(int at) override { slot(at) = {}; }

  Result<bool> step(std::string_view doing) override {
    if (result_ == nullptr) {
      HONE_TRY(send(doing));
    }
    return ++row_ < database_->pq_->ntuples(result_.get());
  }
  void reset() override {
    result_.reset();
    values_.clear();
    row_ = -1;
  }

  [[nodiscard]] bool is_null(int column) const override { return database_->pq_->getisnull(result_.get(), row_, column) != 0; }
  [[nodiscard]] std::string_view bytes(int column) const override {
    return {database_->pq_->getvalue(result_.get(), row_, column),
            static_cast<std::size_t>(database_->pq_->getlength(result_.get(), row_, column))};
  }
  [[nodiscard]] std::int64_t integer(int column) const override {
    if (is_null(column)) {
      return 0;
    }
    const std::uint64_t bits = host_order(bytes(column));
    switch (database_->pq_->ftype(result_.get(), column)) {
      case kInt2:
        return static_cast<std::int16_t>(bits);
      case kInt4:
        return static_cast<std::int32_t>(bits);
      default:
        return static_cast<std::int64_t>(bits);
    }
  }
  [[nodiscard]] double real(int column) const override {
    if (is_null(column)) {
      return 0.0;
    }
    const std::uint64_t bits = host_order(bytes(column));
    switch (database_->pq_->ftype(result_.get(), column)) {
      case kFloat4:
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      case kFloat8:
        return std::bit_cast<double>(bits);
      default:
        return static_cast<double>(integer(column));
    }
  }

 private:
  struct Value {
    unsigned type = 0;  ///< 0: NULL, of whatever type it is compared with
    std::string bytes;
  };

  Value& slot(int at) {
    const auto index = static_cast<std::size_t>(at) - 1;
    values_.resize(std::max(values_.size(), index + 1));
    return values_[index];
  }
  void bind(int at, unsigned type, std::string bytes) { slot(at) = {type, std::move(bytes)}; }

  Result<void> send(std::string_view doing) {
    std::vector<unsigned> types;
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (const Value& value : values_) {
      types.push_back(value.type);
      values.push_back(value.type == 0 ? nullptr : value.bytes.data());
      lengths.push_back(static_cast<int>(value.bytes.size()));
    }
    const std::vector<int> binary(values_.size(), 1);
    HONE_ASSIGN(result_, database_->run(doing, [&](const Libpq& pq, PGconn* handle) {
      return pq.execParams(handle, sql_.c_str(), static_cast<int>(values_.size()), types.data(), values.data(), lengths.data(),
                           binary.data(), 1);
    }));
    return {};
  }

  const PostgresDatabase* database_;
  std::string sql_;
  std::vector<Value> values_;
  PostgresResult result_;
  int row_ = -1;
};

PostgresDatabase::PostgresDatabase(const Libpq* pq, PGconn* handle, std::string place)
    : pq_(pq), handle_(handle), place_(std::move(place)), process_(getpid()) {}

PostgresDatabase::~PostgresDatabase() {
  if (getpid() == process_) {
    if (!mark_.empty() && !lost()) {
      const PostgresResult removed(pq_->exec(handle_, fmt::format("DELETE FROM writer WHERE name = '{}'", mark_).c_str()), {pq_});
    }
    pq_->finish(handle_);
  }
}

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::open(const std::string& url) {
  HONE_ASSIGN(const Libpq* const pq, Libpq::open());
  if (!is_plain_url(url) || !can_read(*pq, url)) {  // libpq's own words repeat the password
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the store's URL {} cannot be read: it is postgres://USER@HOST:PORT/DATABASE, with "
                             "%40 for @, %2F for / and so on in its parts",
                             store_name(url))};
  }
  // The later one of a keyword counts: the URL over our time limits, our encoding over the URL. A host that vanished is noticed within a
  // minute.
  std::vector<const char*> keywords{"application_name", "keepalives_idle", "keepalives_interval", "keepalives_count"};
  std::vector<const char*> values{"hone", "30", "10", "3"};
  if (can_read(*pq, "tcp_user_timeout=30000")) {  // of libpq 12
    keywords.push_back("tcp_user_timeout");
    values.push_back("30000");
  }
  if (std::getenv("PGCONNECT_TIMEOUT") == nullptr) {
    keywords.push_back("connect_timeout");
    values.push_back("10");
  }
  keywords.insert(keywords.end(), {"dbname", "client_encoding", nullptr});
  values.insert(values.end(), {url.c_str(), "UTF8", nullptr});
  PGconn* const handle = pq->connectdbParams(keywords.data(), values.data(), 1);
  std::unique_ptr<PostgresDatabase> database(new PostgresDatabase(pq, handle, store_name(url)));
  if (database->lost()) {
    const std::string why = database->message();
    return Error{ErrorCode::kUnavailable, fmt::format("cannot open the store {}: {}{}", database->place_, why, connection_advice(why))};
  }
  constexpr int kOldest = 100'000;  // identity columns
  if (pq->serverVersion(handle) < kOldest) {
    return Error{ErrorCode::kStore, fmt::format("cannot open the store {}: it is on PostgreSQL {}, and 10 or later is needed",
                                                database->place_, pq->serverVersion(handle) / 10'000)};
  }
  HONE_TRY(database->configure());
  return database;
}

bool PostgresDatabase::lost() const { return pq_->status(handle_) != kConnectionOk; }

bool PostgresDatabase::cut_off(const PGresult* result) const {
  // Where libpq could not send, it still calls the connection good; but no server has answered.
  return lost() || state_of(result).empty();
}

std::string_view PostgresDatabase::state_of(const PGresult* result) const {
  const char* const state = result == nullptr ? nullptr : pq_->resultErrorField(result, kSqlState);
  return state == nullptr ? "" : state;
}

std::string PostgresDatabase::message() const { return one_line(pq_->errorMessage(handle_)); }

Result<void> PostgresDatabase::configure() const {
  pq_->setNoticeProcessor(
      handle_, [](void*, const char*) {}, nullptr);
  const PostgresResult set(pq_->exec(handle_, "SET search_path TO hone; SET lock_timeout TO '120s'; SET standard_conforming_strings TO on"),
                           {pq_});
  if (pq_->resultStatus(set.get()) != kCommandOk) {
    return error("configure the connection", set.get());
  }
  for (const std::string& channel : channels_) {
    const PostgresResult listening(pq_->exec(handle_, ("LISTEN " + channel).c_str()), {pq_});
    if (pq_->resultStatus(listening.get()) != kCommandOk) {
      return error("listen for news", listening.get());
    }
    missed_ = true;
  }
  return {};
}

Result<void> PostgresDatabase::listen(const std::string& channel) {
  HONE_TRY(execute("LISTEN " + channel, "listen for news"));
  channels_.push_back(channel);
  return {};
}

int PostgresDatabase::descriptor() const { return lost() ? -1 : pq_->socket(handle_); }

bool PostgresDatabase::heard() {
  bool any = std::exchange(missed_, false);
  pq_->consumeInput(handle_);  // one that was lost is made anew by what is run next
  while (void* const notice = pq_->notifies(handle_)) {
    pq_->freemem(notice);
    any = true;
  }
  return any;
}

Result<void> PostgresDatabase::reconnect(std::string_view doing) const {
  const auto until = std::chrono::steady_clock::now() + kLongestRestart;
  for (auto pause = std::chrono::milliseconds(50);; pause = std::min(pause * 2, std::chrono::milliseconds(2'000))) {
    pq_->reset(handle_);
    if (!lost() && configure()) {
      return {};
    }
    if (std::chrono::steady_clock::now() + pause > until) {
      const std::string why = message();
      return Error{ErrorCode::kStore, fmt::format("cannot {} in the store {}: the connection was lost, and the server does not come back: "
                                                  "{}{}",
                                                  doing, place_, why, connection_advice(why))};
    }
    std::this_thread::sleep_for(pause);
  }
}

template <class Send>
Result<PostgresResult> PostgresDatabase::run(std::string_view doing, const Send& send) const {
  for (bool again = false;; again = true) {
    PostgresResult result(send(*pq_, handle_), {pq_});
    const int status = pq_->resultStatus(result.get());
    if (status == kCommandOk || status == kTuplesOk) {
      const std::string_view changed = pq_->cmdTuples(result.get());
      changed_ = 0;
      std::from_chars(changed.data(), changed.data() + changed.size(), changed_);
      return result;
    }
    const bool cut = cut_off(result.get());
    if (!cut || in_transaction_ || again) {
      cut_ = cut || may_go_again(state_of(result.get()));
      return error(doing, result.get());
    }
    HONE_TRY(reconnect(doing));
  }
}

Result<PostgresResult> PostgresDatabase::run(const std::string& sql, std::string_view doing) const {
  return run(doing, [&](const Libpq& pq, PGconn* handle) { return pq.exec(handle, sql.c_str()); });
}

Result<Statement> PostgresDatabase::prepare(std::string_view sql) const {
  return Statement(std::make_unique<PostgresStatement>(*this, numbered_parameters(sql)));
}

Result<void> PostgresDatabase::execute(const std::string& sql, std::string_view doing) const {
  HONE_TRY(run(sql, doing));
  return {};
}

std::string PostgresDatabase::seconds_since(std::string_view column) const {
  return fmt::format("CAST(EXTRACT(EPOCH FROM clock_timestamp() - CAST({} AS timestamptz)) AS double precision)", column);
}

std::string PostgresDatabase::seconds_unseen(std::string_view column) const {
  return fmt::format("least({}, CAST(EXTRACT(EPOCH FROM clock_timestamp() - pg_postmaster_start_time()) AS double precision))",
                     seconds_since(column));
}

std::string PostgresDatabase::now() const { return R"(to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))"; }

Result<void> PostgresDatabase::mark_commits() {
  constexpr std::string_view kDoing = "begin to write";
  HONE_ASSIGN(std::string mark, scalar_text("SELECT md5(CAST(random() AS text) || clock_timestamp() || pg_backend_pid())", kDoing));
  HONE_TRY(execute(fmt::format("INSERT INTO writer VALUES ('{}', 0, clock_timestamp())", mark), kDoing));
  mark_ = std::move(mark);
  return {};
}

Result<void> PostgresDatabase::begin(std::string_view doing, Writers writers) const {
  cut_ = false;
  std::string sql = writers == Writers::kRead ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN ISOLATION LEVEL READ COMMITTED";
  if (writers == Writers::kOne) {
    sql += fmt::format("; SELECT pg_advisory_xact_lock({})", kWriteLock);
  }
  if (writers != Writers::kRead) {  // of a client that was stopped, or vanished
    sql += "; SET LOCAL idle_in_transaction_session_timeout TO '60s'";
  }
  if (!mark_.empty() && writers != Writers::kRead) {  // pruning may have removed the row
    sql += fmt::format(
        "; INSERT INTO writer VALUES ('{}', {}, clock_timestamp()) ON CONFLICT (name) DO UPDATE SET "
        "writes = excluded.writes, at = excluded.at",
        mark_, ++writes_);
  }
  const Result<PostgresResult> begun = run(sql, doing);
  if (!begun) {
    roll_back();
    return begun.error();
  }
  in_transaction_ = true;
  return {};
}

Result<void> PostgresDatabase::commit(std::string_view doing) const {
  const PostgresResult result(pq_->exec(handle_, "COMMIT"), {pq_});
  in_transaction_ = false;
  if (pq_->resultStatus(result.get()) == kCommandOk) {
    // The server answers ROLLBACK to the end of a transaction of which a statement failed.
    return pq_->cmdStatus(result.get()) == std::string_view("COMMIT")
               ? Result<void>()
               : Error{ErrorCode::kStore, fmt::format("cannot {} in the store {}: an earlier write of it failed", doing, place_)};
  }
  const Error failure = error(doing, result.get());
  if (!cut_off(result.get()) || mark_.empty()) {
    cut_ = may_go_again(state_of(result.get()));
    return failure;
  }
  HONE_TRY(reconnect(doing));
  // Waits for the transaction's own lock on the row, where the server has not noticed yet that its client is gone.
  HONE_ASSIGN(const std::int64_t kept, scalar(fmt::format("SELECT writes FROM writer WHERE name = '{}' FOR UPDATE", mark_), doing));
  cut_ = kept != writes_;
  return cut_ ? Result<void>(failure) : Result<void>();
}

void PostgresDatabase::roll_back() const {
  in_transaction_ = false;
  if (!lost()) {
    const PostgresResult ended(pq_->exec(handle_, "ROLLBACK"), {pq_});
  }
}

Error PostgresDatabase::error(std::string_view doing, const PGresult* result) const {
  const char* const primary = result == nullptr ? nullptr : pq_->resultErrorField(result, kPrimaryMessage);
  if (cut_off(result)) {
    return {ErrorCode::kStore,
            fmt::format("cannot {} in the store {}: the connection to the server was lost ({}). What was recorded before "
                        "is safe: the same command goes on from there",
                        doing, place_, primary == nullptr ? message() : std::string(primary))};
  }
  const std::string_view code = state_of(result);
  const std::string detail = fmt::format("PostgreSQL {}: {}", code, primary == nullptr ? message() : one_line(primary));
  const std::string_view advice = advice_for(code);
  return {code == "53100" ? ErrorCode::kIo : ErrorCode::kStore,
          advice.empty() ? fmt::format("cannot {} in the store {}: {}", doing, place_, detail)
                         : fmt::format("cannot {} in the store {}: {} ({})", doing, place_, advice, detail)};
}

}  // namespace hone::cache
