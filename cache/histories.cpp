// What sessions leave for later ones of the same kernel: their trials, and what their strategies learnt.

#include <algorithm>
#include <set>

#include "cache/rows.hpp"
#include "cache/sql_store.hpp"

namespace hone::cache {
namespace {

constexpr std::int64_t kMostSessions = 64;  // the latest: reading them must not delay the first trial

/// configuration, outcome, resources, seconds, median_us; nothing if the configuration is not one of today's parameters.
std::optional<Trial> read_brief(Statement& row, const std::vector<Parameter>& parameters) {
  Trial trial;
  const auto configuration = parse_configuration(parameters, row.read_text());
  const auto outcome = parse_outcome(row.read_text());
  trial.resources = read_resources(row);
  trial.seconds = read_seconds(row);
  trial.measurement.median_us = row.read_real();
  if (!configuration || !outcome) {
    return std::nullopt;
  }
  trial.configuration = *configuration;
  trial.outcome = *outcome;
  return trial;
}

/// Sorts trials into histories, the latest of each configuration only.
class Gatherer {
 public:
  explicit Gatherer(std::size_t most) : most_(most) {}

  void add(std::string product, Problem problem, Purpose purpose, const std::string& text, Trial trial) {
    const auto same = [&](const History& history) {
      return history.product == product && history.problem == problem && history.purpose == purpose;
    };
    const auto found = std::ranges::find_if(histories_, same);
    const auto at = static_cast<std::size_t>(found - histories_.begin());
    if (found == histories_.end()) {
      histories_.push_back({std::move(product), std::move(problem), std::move(purpose), {}});
      known_.emplace_back();
    }
    if (histories_[at].trials.size() < most_ && known_[at].insert(text).second) {
      histories_[at].trials.push_back(std::move(trial));
    }
  }

  std::vector<History> take() { return std::move(histories_); }

 private:
  std::size_t most_;
  std::vector<History> histories_;
  std::vector<std::set<std::string>> known_;
};

}  // namespace

Result<std::vector<History>> SqlStore::histories(const std::string& kernel, const std::vector<Parameter>& parameters, std::int64_t session,
                                                 std::size_t most) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select,
              database().prepare(
                  "SELECT d.product, s.dtype, s.shape, s.input_profile, s.objective, s.accuracy_bound, s.timing_profile, t.configuration, "
                  "t.configuration, t.outcome, t.registers, t.spill_bytes, t.stack_bytes, "
                  "t.shared_bytes, t.occupancy, t.compile_seconds, t.validate_seconds, t.time_seconds, t.overhead_seconds, "
                  "coalesce(f.median_us, t.median_us) "
                  "FROM session s JOIN device d ON d.id = s.device JOIN trial t ON t.session = s.id "
                  "LEFT JOIN final_measurement f ON f.trial = t.id "
                  // A survey's sessions are many and short: they would take the place of those that say more.
                  "WHERE s.id IN (SELECT id FROM session WHERE kernel = ? AND id <> ? AND strategy <> 'survey' ORDER BY id DESC LIMIT ?) "
                  "ORDER BY s.id DESC, t.id"));
  select.text(kernel).integer(session).integer(kMostSessions);
  Gatherer gatherer(most);
  for (;;) {
    HONE_ASSIGN(const bool row, select.step("read what earlier sessions learnt"));
    if (!row) {
      return gatherer.take();
    }
    std::string product = select.read_text();
    std::string dtypes;
    HONE_ASSIGN(Problem problem, read_problem(select, dtypes));
    Purpose purpose = read_purpose(select);
    const std::string configuration = select.read_text();
    std::optional<Trial> trial = read_brief(select, parameters);
    if (trial && name(problem.dtype) == dtypes) {
      gatherer.add(std::move(product), std::move(problem), std::move(purpose), configuration, std::move(*trial));
    }
  }
}

Result<std::string> SqlStore::find_model(const std::string& kernel, const std::string& strategy) {
  const std::lock_guard lock(mutex_);
  HONE_TRY(prepare_read());
  HONE_ASSIGN(Statement select, database().prepare("SELECT bytes FROM model WHERE kernel = ? AND strategy = ?"));
  select.text(kernel).text(strategy);
  HONE_ASSIGN(const bool row, select.step("read a strategy's model"));
  const std::vector<std::byte> bytes = row ? select.read_blob() : std::vector<std::byte>();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<void> SqlStore::put_model(const std::string& kernel, const std::string& strategy, const std::string& model) {
  constexpr std::string_view kDoing = "keep a strategy's model";
  const std::lock_guard lock(mutex_);
  return written([&]() -> Result<void> {
    HONE_ASSIGN(Transaction transaction, begin_write(kDoing, Writers::kMany));
    HONE_ASSIGN(Statement insert,
                database().prepare("INSERT INTO model (kernel, strategy, bytes, updated_at) VALUES (?, ?, ?, ?) ON CONFLICT (kernel, "
                                   "strategy) DO UPDATE SET bytes = excluded.bytes, updated_at = excluded.updated_at"));
    insert.text(kernel).text(strategy).blob(std::as_bytes(std::span(model))).text(utc_now());
    HONE_TRY(insert.run(kDoing));
    return transaction.commit(kDoing);
  });
}

}  // namespace hone::cache
