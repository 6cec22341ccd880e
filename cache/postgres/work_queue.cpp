#include "cache/postgres/work_queue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "cache/postgres/open.hpp"
#include "cache/postgres/postgres_database.hpp"
#include "engine/store/store_server.hpp"

namespace hone::cache {
namespace {

constexpr std::string_view kWorkers = "hone_workers", kCompilers = "hone_compile";
constexpr char kSeparator = '\n';  // between names of workers

std::string channel_of_worker(std::int64_t worker) { return fmt::format("hone_worker_{}", worker); }
std::string channel_of_assignment(std::int64_t assignment) { return fmt::format("hone_assignment_{}", assignment); }

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string name; std::getline(lines, name, kSeparator);) {
    if (!name.empty()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

/// "|cuda|cpu|": what is between bars is found by position().
std::string targets_text(const std::vector<std::string>& targets) {
  return targets.empty() ? "" : fmt::format("|{}|", fmt::join(targets, "|"));
}

std::vector<std::string> targets_in(const std::string& text) {
  std::vector<std::string> targets;
  std::istringstream parts(text);
  for (std::string one; std::getline(parts, one, '|');) {
    if (!one.empty()) {
      targets.push_back(std::move(one));
    }
  }
  return targets;
}

class PostgresQueue final : public WorkQueue {
 public:
  explicit PostgresQueue(std::unique_ptr<PostgresDatabase> database) : database_(std::move(database)) {}

  Result<void> attach(AttachedWorker& worker) override {
    // Of one name there may be several on a host, of which the later ones get a number.
    HONE_ASSIGN(
        Statement insert,
        database_->prepare("WITH same AS (SELECT count(*) AS many FROM worker w WHERE (w.name = ?2 OR w.name LIKE ?2 || '#%') AND " +
                           attached("w") +
                           "), put AS (INSERT INTO worker (name, version, measures, targets, product, device, state, reason, answers, "
                           "created_at, seen_at) SELECT CASE WHEN many = 0 THEN ?2 ELSE ?2 || '#' || substr(md5(CAST(random() AS text)), "
                           "1, 6) END, ?3, ?4, ?5, ?6, ?7, 'idle', '', 0, " +
                           now() + ", " + now() + " FROM same RETURNING id, name) SELECT id, name, pg_notify(?1, '') FROM put"));
    insert.text(kWorkers).text(worker.name).text(worker.version).integer(worker.measures ? 1 : 0).text(targets_text(worker.targets));
    insert.text(worker.product).blob(worker.device);
    HONE_TRY(insert.step("attach the worker"));
    worker.id = insert.read_integer();
    worker.name = insert.read_text();
    HONE_TRY(database_->listen(channel_of_worker(worker.id)));
    return worker.targets.empty() ? Result<void>() : database_->listen(std::string(kCompilers));
  }

  Result<WorkerStanding> beat(std::int64_t worker, std::int64_t work) override {
    HONE_ASSIGN(
        Statement update,
        database_->prepare("UPDATE worker SET seen_at = " + now() +
                           ", state = CASE WHEN state = 'dismissed' THEN state WHEN ?2 = 0 THEN 'idle' ELSE 'working' END WHERE id = ?1 "
                           "AND state <> 'left' RETURNING state, reason, (SELECT count(*) FROM work WHERE id = ?2 AND state = "
                           "'claimed' AND claimed_by = ?1)"));
    update.integer(worker).integer(work);
    HONE_ASSIGN(const bool there, update.step("say that the worker is there"));
    WorkerStanding standing{.attached = there, .wanted = false, .dismissed = {}};
    if (there) {
      const bool dismissed = update.read_text() == "dismissed";
      const std::string reason = update.read_text();
      standing.dismissed = dismissed ? reason : "";
      standing.wanted = update.read_integer() > 0;
    }
    return standing;
  }

  Result<void> detach(std::int64_t worker, const std::string& why) override {
    HONE_ASSIGN(Statement update,
                database_->prepare("WITH gone AS (UPDATE worker SET state = 'left', reason = ?3, seen_at = " + now() +
                                   " WHERE id = ?2 AND state <> 'left' RETURNING id) SELECT pg_notify(?1, '') FROM gone"));
    update.text(kWorkers).integer(worker).text(why);
    return update.run("detach the worker");
  }

  Result<std::optional<ClaimedWork>> claim(const AttachedWorker& worker, std::int64_t latest) override {
    HONE_ASSIGN(Statement update,
                database_->prepare(
                    "UPDATE work SET claimed = CASE WHEN state = 'open' THEN claimed || ?2 || ?3 ELSE claimed END, claimed_at = " + now() +
                    ", state = "
                    "'claimed', claimed_by = ?1, updated_at = " +
                    now() +
                    " WHERE id = (SELECT w.id FROM work w WHERE w.state IN ('open', 'claimed') AND ((w.state = 'claimed' AND "
                    "w.claimed_by = ?1) OR (w.state = 'open' AND (w.worker = ?1 OR (w.worker IS NULL AND position('|' || "
                    "w.target || '|' IN ?4) > 0)))) ORDER BY w.assignment <> ?5, w.id "
                    "LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, assignment, kind, request"));
    update.integer(worker.id).text(worker.name).text(std::string(1, kSeparator)).text(targets_text(worker.targets)).integer(latest);
    HONE_ASSIGN(const bool there, update.step("take work"));
    if (!there) {
      return std::optional<ClaimedWork>();
    }
    ClaimedWork work;
    work.id = update.read_integer();
    work.assignment = update.read_integer();
    work.measure = update.read_text() == "measure";
    work.request = update.read_blob();
    return std::optional(std::move(work));
  }

  Result<bool> answer(std::int64_t work, std::int64_t worker, const WorkBytes& reply) override {
    HONE_ASSIGN(
        Statement update,
        database_->prepare("WITH put AS (UPDATE work SET state = 'done', reply = ?3, updated_at = " + now() +
                           " WHERE id = ?1 AND claimed_by = ?2 AND state IN ('claimed', 'done') RETURNING assignment), one AS (UPDATE "
                           "worker SET answers = answers + 1 WHERE id = ?2 AND EXISTS (SELECT 1 FROM put)) "
                           "SELECT pg_notify('hone_assignment_' || assignment, '') FROM put"));
    update.integer(work).integer(worker).blob(reply);
    return update.step("answer");
  }

  Result<void> give_back(std::int64_t work, std::int64_t worker) override {
    HONE_ASSIGN(Statement update,
                database_->prepare(
                    "WITH put AS (UPDATE work SET state = CASE kind WHEN 'compile' THEN 'open' ELSE 'returned' END, updated_at = " + now() +
                    " WHERE id = ?1 AND claimed_by = ?2 AND state = 'claimed' RETURNING assignment, kind) SELECT "
                    "pg_notify('hone_assignment_' || assignment, ''), CASE kind WHEN 'compile' THEN pg_notify(?3, '') END FROM put"));
    update.integer(work).integer(worker).text(kCompilers);
    return update.run("give work back");
  }

  Result<std::optional<Assignment>> assignment(std::int64_t id) override {
    HONE_ASSIGN(Statement select, database_->prepare("SELECT setup, reference FROM assignment WHERE id = ? AND setup IS NOT NULL"));
    select.integer(id);
    HONE_ASSIGN(const bool there, select.step("read what a session needs"));
    if (!there) {
      return std::optional<Assignment>();
    }
    Assignment assignment;
    assignment.setup = select.read_blob();
    assignment.reference = select.read_blob();
    return std::optional(std::move(assignment));
  }

  Result<std::vector<AttachedWorker>> workers() override {
    HONE_ASSIGN(Statement select, database_->prepare("SELECT id, name, version, measures, targets, product, device FROM worker w WHERE " +
                                                     attached("w") + " ORDER BY id"));
    std::vector<AttachedWorker> all;
    for (;;) {
      HONE_ASSIGN(const bool row, select.step("list the workers"));
      if (!row) {
        return all;
      }
      AttachedWorker& worker = all.emplace_back();
      worker.id = select.read_integer();
      worker.name = select.read_text();
      worker.version = select.read_text();
      worker.measures = select.read_integer() != 0;
      worker.targets = targets_in(select.read_text());
      worker.product = select.read_text();
      worker.device = select.read_blob();
    }
  }

  Result<std::int64_t> begin(std::int64_t session, const WorkBytes& setup) override {
    if (!listening_) {
      HONE_TRY(database_->listen(std::string(kWorkers)));
      listening_ = true;
    }
    // Sent twice, the second one ends the first one's assignment, which has no work yet.
    HONE_ASSIGN(Statement insert,
                database_->prepare(
                    "WITH earlier AS (UPDATE assignment SET setup = NULL, reference = NULL WHERE session = ?1 RETURNING id), over AS "
                    "(UPDATE work SET state = CASE state WHEN 'open' THEN 'withdrawn' ELSE 'abandoned' END, request = NULL, updated_at "
                    "= " +
                    now() +
                    " WHERE assignment IN (SELECT id FROM earlier) AND taken = 0 AND state IN ('open', 'claimed', 'done')) "
                    "INSERT INTO assignment (session, setup, created_at) VALUES (?1, ?2, " +
                    now() + ") RETURNING id"));
    insert.integer(session).blob(setup);
    HONE_ASSIGN(const std::int64_t id, insert.run_for_integer("begin to publish work"));
    HONE_TRY(database_->listen(channel_of_assignment(id)));
    return id;
  }

  Result<void> set_reference(std::int64_t assignment, const WorkBytes& reference) override {
    HONE_ASSIGN(Statement update, database_->prepare("UPDATE assignment SET reference = ? WHERE id = ?"));
    update.blob(reference).integer(assignment);
    return update.run("keep the reference");
  }

  Result<std::vector<WorkResult>> leftovers(std::int64_t session) override {
    return read(
        "WHERE assignment IN (SELECT id FROM assignment WHERE session = ?1) AND w.taken = 0 AND w.label <> '' AND w.state IN ('done', "
        "'abandoned') AND w.reply IS NOT NULL",
        session);
  }

  Result<std::vector<WorkResult>> losses(std::int64_t session) override {
    return read("WHERE assignment IN (SELECT id FROM assignment WHERE session = ?1) AND w.label <> '' AND w.state = 'lost'", session);
  }

  Result<std::int64_t> publish(const WorkOrder& work) override {
    HONE_ASSIGN(Statement insert,
                database_->prepare(
                    "WITH put AS (INSERT INTO work (assignment, token, kind, worker, target, label, request, state, taken, claimed, ended, "
                    "created_at, claimed_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'open', 0, '', '', " +
                    now() + ", '', " + now() +
                    ") ON CONFLICT (token) DO UPDATE SET token = excluded.token RETURNING id) SELECT id, pg_notify(?8, '') FROM put"));
    insert.integer(work.assignment).text(work.token).text(work.worker ? "measure" : "compile");
    work.worker ? insert.integer(*work.worker) : insert.null();
    insert.text(work.target).text(work.label).blob(work.request);
    insert.text(work.worker ? channel_of_worker(*work.worker) : std::string(kCompilers));
    return insert.run_for_integer("publish work");
  }

  Result<void> expire(std::int64_t assignment) override {
    // What a lost worker had not begun is nobody's fault.
    HONE_ASSIGN(Statement expire,
                database_->prepare(
                    "WITH put AS (UPDATE work SET state = CASE WHEN kind = 'compile' AND ended = '' THEN 'open' ELSE 'lost' END, "
                    "ended = ended || w.name || ?2, updated_at = " +
                    now() + " FROM worker w WHERE work.assignment = ?1 AND work.state = 'claimed' AND w.id = work.claimed_by AND NOT " +
                    alive("w") + " RETURNING kind), unclaimed AS (UPDATE work SET state = 'returned', updated_at = " + now() +
                    " FROM worker w WHERE work.assignment = ?1 AND work.state = 'open' AND w.id = work.worker AND NOT " + attached("w") +
                    ") SELECT pg_notify(?3, '') FROM put WHERE kind = 'compile'"));
    expire.integer(assignment).text(std::string(1, kSeparator)).text(kCompilers);
    return expire.run("look for lost workers");
  }

  Result<std::vector<WorkResult>> results(std::int64_t assignment) override {
    return read("WHERE w.assignment = ?1 AND w.taken = 0 AND w.state IN ('done', 'lost', 'returned')", assignment);
  }

  Result<void> take(const std::vector<std::int64_t>& work) override {
    if (work.empty()) {
      return {};
    }
    return database_->execute(
        fmt::format(
            "UPDATE work SET state = CASE WHEN state = 'abandoned' THEN 'done' ELSE state END, taken = 1, request = NULL, reply = NULL "
            "WHERE id IN ({})",
            fmt::join(work, ", ")),
        "take answers");
  }

  Result<void> withdraw(std::int64_t work) override {
    HONE_ASSIGN(Statement update,
                database_->prepare("WITH put AS (UPDATE work SET state = 'withdrawn', taken = 1, request = NULL, updated_at = " + now() +
                                   " WHERE id = ? AND state IN ('open', 'claimed') RETURNING claimed_by) SELECT "
                                   "pg_notify('hone_worker_' || claimed_by, '') FROM put WHERE claimed_by IS NOT NULL"));
    update.integer(work);
    return update.run("withdraw work");
  }

  Result<void> dismiss(std::int64_t worker, const std::string& why) override {
    HONE_ASSIGN(Statement update,
                database_->prepare("WITH gone AS (UPDATE worker SET state = 'dismissed', reason = ?3 WHERE id = ?2 AND state <> 'left' "
                                   "RETURNING id) SELECT pg_notify(?1, '') FROM gone"));
    update.text(channel_of_worker(worker)).integer(worker).text(why);
    return update.run("dismiss a worker");
  }

  Result<void> end(std::int64_t assignment) override {
    HONE_ASSIGN(Statement update,
                database_->prepare(
                    "WITH over AS (UPDATE assignment SET setup = NULL, reference = NULL WHERE id = ?1) UPDATE work SET state = CASE state "
                    "WHEN 'open' THEN 'withdrawn' WHEN 'claimed' THEN 'abandoned' ELSE state END, request = NULL, reply = CASE label "
                    "WHEN '' THEN NULL ELSE reply END WHERE assignment = ?1 AND taken = 0"));
    update.integer(assignment);
    return update.run("end the work of a session");
  }

  [[nodiscard]] int descriptor() const override { return database_->descriptor(); }
  bool heard() override { return database_->heard(); }

 private:
  [[nodiscard]] std::string now() const { return database_->now(); }

  /// SQL: whether a row of `worker` is of one that is attached.
  [[nodiscard]] std::string attached(std::string_view row) const {
    return fmt::format("({0}.state IN ('idle', 'working') AND {1} < {2})", row, database_->seconds_unseen(fmt::format("{}.seen_at", row)),
                       lease_seconds());
  }

  /// SQL: whether it is one that may still give back what it claimed. One that was dismissed does so when it hears of that.
  [[nodiscard]] std::string alive(std::string_view row) const {
    return fmt::format("({0}.state <> 'left' AND {1} < {2})", row, database_->seconds_unseen(fmt::format("{}.seen_at", row)),
                       lease_seconds());
  }

  Result<std::vector<WorkResult>> read(const std::string& condition, std::int64_t bound) {
    HONE_ASSIGN(Statement select,
                database_->prepare("SELECT w.id, w.state, w.token, w.label, w.reply, w.ended, coalesce(k.reason, '') FROM work w LEFT "
                                   "JOIN worker k ON k.id = w.claimed_by " +
                                   condition + " ORDER BY w.id"));
    select.integer(bound);
    std::vector<WorkResult> all;
    for (;;) {
      HONE_ASSIGN(const bool row, select.step("read what was done"));
      if (!row) {
        return all;
      }
      WorkResult& result = all.emplace_back();
      result.id = select.read_integer();
      const std::string state = select.read_text();
      result.state = state == "lost" ? WorkState::kLost : state == "returned" ? WorkState::kReturned : WorkState::kDone;
      result.token = select.read_text();
      result.label = select.read_text();
      result.reply = select.read_blob();
      result.ended = names_in(select.read_text());
      result.reason = select.read_text();
    }
  }

  std::unique_ptr<PostgresDatabase> database_;
  bool listening_ = false;
};

}  // namespace

Result<std::unique_ptr<WorkQueue>> open_postgres_queue(const std::string& url) {
  HONE_ASSIGN(std::unique_ptr<PostgresDatabase> database, open_server(url, StoreMode::kReadWrite));
  return std::unique_ptr<WorkQueue>(std::make_unique<PostgresQueue>(std::move(database)));
}

}  // namespace hone::cache

namespace hone {

Result<std::unique_ptr<WorkQueue>> open_work_queue(const std::string& store) {
  if (!is_store_server(store)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("workers share a store on a server: give --store postgres://USER@HOST/DATABASE, not {}", store)};
  }
  return queue_server()(store);
}

}  // namespace hone
