// Many processes on one store, and processes that die.

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

bool add(Store& store, std::int64_t session, Count position) {
  return store.add_trial(session, parameters(), good_trial(position), static_cast<double>(position)).ok();
}

/// Adds trials until it is killed; a byte in `done` for each that was acknowledged.
int add_forever(const fs::path& file, std::int64_t session, Count first, const Pipe& done) {
  auto store = open_store(file, StoreMode::kReadWrite);
  for (Count position = first; store && add(**store, session, position); ++position) {
    done.put('t');
  }
  return 1;
}

}  // namespace

TEST_CASE("processes that create one store at once all succeed") {
  Directory directory;
  Pipe start;
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(spawn([&] {
      start.close_write();
      start.wait();
      auto store = open_store(directory.store(), StoreMode::kReadWrite);
      return store && (*store)->begin_session(session_key(), "1s") ? 0 : 1;
    }));
  }
  start.close_write();
  for (const pid_t child : children) {
    CHECK(wait_for(child) == 0);
  }
  CHECK(must(must_open(directory.store())->sessions()).size() == children.size());
}

TEST_CASE("processes that write and read one store at once see no error") {
  Directory directory;
  constexpr int kWriters = 4, kTrials = 60;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "1s"));
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    children.push_back(spawn([&] {
      auto store = open_store(directory.store(), StoreMode::kReadWrite);
      auto reader = open_store(directory.store(), StoreMode::kReadOnly);
      for (int i = 0; i < kTrials; ++i) {
        if (!store || !reader || !add(**store, session, static_cast<Count>(writer) * kTrials + static_cast<Count>(i)) ||
            !(*reader)->trials(session, parameters())) {
          return 1;
        }
      }
      return 0;
    }));
  }
  for (const pid_t child : children) {
    CHECK(wait_for(child) == 0);
  }
  CHECK(must(must_open(directory.store())->trials(session, parameters())).size() == kWriters * kTrials);
}

TEST_CASE("threads share one store") {
  Directory directory;
  auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "1s"));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const bool fine =
            add(*store, session, Count{100} * static_cast<Count>(t) + static_cast<Count>(i)) && store->trials(session, parameters()).ok();
        failures += fine ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failures == 0);
  CHECK(must(store->trials(session, parameters())).size() == 80);
}

TEST_CASE("kill -9 at any moment loses nothing that was acknowledged and leaves nothing half done") {
  Directory directory;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "1s"));
  std::mt19937 random(7);  // NOLINT: the same moments in every run, as far as the machine allows
  std::size_t known = 0;
  for (int round = 0; round < 10; ++round) {
    Pipe done;
    const pid_t child = spawn([&] { return add_forever(directory.store(), session, static_cast<Count>(known), done); });
    done.close_write();
    std::size_t acknowledged = 0;
    for (const std::size_t enough = random() % 8; acknowledged < enough && done.wait();) {
      ++acknowledged;
    }
    usleep(static_cast<useconds_t>(random() % 2'000));
    kill(child, SIGKILL);
    CHECK(wait_for(child) == -SIGKILL);
    while (done.wait()) {
      ++acknowledged;
    }

    const auto trials = must(must_open(directory.store(), StoreMode::kReadOnly)->trials(session, parameters()));
    CHECK(is_sound(directory.store()));
    CHECK(trials.size() >= known + acknowledged);
    CHECK(trials.size() <= known + acknowledged + 1);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      CHECK(trials[i].position == i);
      CHECK(trials[i].measurement.samples_us.size() == 3);
    }
    if (!trials.empty()) {
      CHECK(must(must_open(directory.store())->sessions()).at(0).elapsed_seconds == static_cast<double>(trials.size() - 1));
    }
    known = trials.size();
  }
  CHECK(known > 0);
}

TEST_CASE("a reader undoes a killed writer's last write where it may" * doctest::test_suite("file")) {
  Directory directory;
  {
    auto store = must_open(directory.store());
    must(store->begin_session(session_key(), "1s"));
  }
  raw_sql(directory.store(), "PRAGMA journal_mode = DELETE");
  // Spilled out of a tiny cache, the uncommitted change is in the file and its undoing in the journal.
  const pid_t child = spawn([&] {
    sqlite3* database = nullptr;
    sqlite3_open(directory.store().c_str(), &database);
    sqlite3_exec(
        database,
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE session SET budget = 'half'; CREATE TABLE filler (a); "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO filler SELECT randomblob(4000) FROM n",
        nullptr, nullptr, nullptr);
    return 0;
  });
  CHECK(wait_for(child) == 0);
  REQUIRE(directory.files().count("store.db-journal") == 1);
  fs::permissions(directory.path, fs::perms::owner_read | fs::perms::owner_exec);
  const auto refused = open_store(directory.store(), StoreMode::kReadOnly);
  fs::permissions(directory.path, fs::perms::owner_all);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("was killed while writing") != std::string::npos);
  CHECK(must(must_open(directory.store(), StoreMode::kReadOnly)->sessions()).at(0).budget == "1s");
  CHECK(raw_sql(directory.store(), "PRAGMA integrity_check") == "ok");
}

TEST_CASE("a session of a dead process is resumed, by one process only") {
  Directory directory;
  must_open(directory.store());
  const pid_t dead = spawn([&] {
    auto store = open_store(directory.store(), StoreMode::kReadWrite);
    const auto session = (*store)->begin_session(session_key(), "60s");
    return add(**store, *session, 3) ? 0 : 1;
  });
  // It has ended once waitid says so, and stays a zombie until it is reaped: gone all the same.
  siginfo_t information{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(dead), &information, WEXITED | WNOWAIT) == 0);
  Pipe answers, finish;
  std::vector<pid_t> children;
  for (int i = 0; i < 5; ++i) {
    children.push_back(spawn([&] {
      finish.close_write();
      auto store = open_store(directory.store(), StoreMode::kReadWrite);
      const auto resumed = (*store)->resume_session(session_key());
      answers.put(!resumed ? 'e' : resumed->has_value() ? 'y' : 'n');
      finish.wait();
      return 0;
    }));
  }
  answers.close_write();
  std::string got;
  for (char c = 0; answers.get(c) && got.size() < children.size();) {
    got += c;
    if (got.size() == children.size()) {
      break;
    }
  }
  CHECK(std::count(got.begin(), got.end(), 'y') == 1);
  CHECK(std::count(got.begin(), got.end(), 'n') == 4);
  finish.close_write();
  for (const pid_t child : children) {
    CHECK(wait_for(child) == 0);
  }
  CHECK(wait_for(dead) == 0);
  const std::optional<SessionInfo> resumed = must(must_open(directory.store())->resume_session(session_key()));
  REQUIRE(resumed.has_value());
  CHECK(resumed->trials == 1);
  CHECK(resumed->elapsed_seconds == 3.0);
}

TEST_CASE("a session whose process lives is not resumed; after kill -9 it is") {
  Directory directory;
  Pipe ready, never;
  const pid_t child = spawn([&] {
    never.close_write();
    auto own = open_store(directory.store(), StoreMode::kReadWrite);
    ready.put((*own)->begin_session(session_key(), "60s") ? 'y' : 'n');
    never.wait();
    return 0;
  });
  ready.close_write();
  REQUIRE(ready.wait());
  auto store = must_open(directory.store());  // not before the fork: a connection of SQLite must not cross one
  CHECK_FALSE(must(store->resume_session(session_key())).has_value());
  CHECK(must(store->sessions()).at(0).owner_alive);
  kill(child, SIGKILL);
  wait_for(child);
  CHECK_FALSE(must(store->sessions()).at(0).owner_alive);
  CHECK(must(store->resume_session(session_key())).has_value());
  CHECK(must(store->sessions()).at(0).owner_alive);
}

TEST_CASE("only an unfinished session of the same key is resumed, the newest first") {
  Directory directory;
  const std::int64_t older = must(must_open(directory.store())->begin_session(session_key(), "60s"));
  const std::int64_t newer = must(must_open(directory.store())->begin_session(session_key(), "60s"));
  auto store = must_open(directory.store());
  std::vector<SessionKey> others(5, session_key());
  others[0].seed = 1;
  others[1].strategy = "random";
  others[2].strategy_parameters = "";
  others[3].record.problem.shape[0].second = 1;
  others[4].record.device.product = "NVIDIA H100";
  for (const SessionKey& other : others) {
    CHECK_FALSE(must(store->resume_session(other)).has_value());
  }
  CHECK(must(store->resume_session(session_key()))->id == newer);
  CHECK(must(store->resume_session(session_key()))->id == older);
  CHECK_FALSE(must(store->resume_session(session_key())).has_value());
  must(store->finish_session(newer, record_key(), std::nullopt, 1.0));
  store.reset();
  store = must_open(directory.store());
  CHECK(must(store->resume_session(session_key()))->id == older);
  CHECK_FALSE(must(store->resume_session(session_key())).has_value());
}

TEST_CASE("the owner is told from a later process with its number, from another boot and from nobody") {
  Directory directory;
  auto store = must_open(directory.store());
  must(store->begin_session(session_key(), "60s"));
  const std::string owner = raw_sql(directory.store(), "SELECT owner FROM session");
  const auto alive_as = [&](const std::string& text) {
    raw_sql(directory.store(), "UPDATE session SET owner = '" + text + "'");
    return must(store->sessions()).at(0).owner_alive;
  };
  const std::size_t start = owner.find(' ') + 1, boot = owner.find(' ', start) + 1, names = owner.find(' ', boot) + 1;
  const std::size_t host = owner.find(' ', names) + 1;
  CHECK(alive_as(owner));
  CHECK_FALSE(alive_as(owner.substr(0, start) + "1" + owner.substr(boot - 1)));
  CHECK_FALSE(alive_as(owner.substr(0, boot) + "another-boot" + owner.substr(names - 1)));
  CHECK_FALSE(alive_as(""));
  // A process of another container cannot be seen: it counts as alive as long as it writes.
  CHECK(alive_as(owner.substr(0, names) + "pid:[1]" + owner.substr(host - 1)));
  CHECK(alive_as(owner.substr(0, boot) + "another-boot" + owner.substr(names - 1, host - names + 1) + "another-host"));
  // Nor one of another host that has this one's name.
  CHECK(alive_as(owner.substr(0, boot) + "another-boot" + owner.substr(names - 1, owner.rfind(' ') + 2 - names) + "another-machine"));
  raw_sql(directory.store(), "UPDATE session SET updated_at = '2020-01-01T00:00:00.000Z'");
  // On a server that was just started, as long as the lease takes from then on: nobody could write before.
  setenv("HONE_LEASE_SECONDS", "0.5", 1);
  for (int look = 0; look < 200 && must(store->sessions()).at(0).owner_alive; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK_FALSE(must(store->sessions()).at(0).owner_alive);
  unsetenv("HONE_LEASE_SECONDS");
}

TEST_CASE("trials keep their device when another one, or several, take their session over") {
  Directory directory;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "60s"));
  const auto store = must_open(directory.store());
  must(store->add_trial(session, parameters(), good_trial(0), 1.0));
  must(store->release_session(session, 1.0));
  raw_sql(directory.store(), "UPDATE session SET owner = ''");
  SessionKey several = session_key();
  several.record.device.id = "cuda:1,cuda:0";
  REQUIRE(must(store->resume_session(several)).has_value());
  CHECK(must(store->trials(session, parameters())).at(0).device == "cuda:0");
}

TEST_CASE("a full disk is a clear error and keeps the earlier trials" * doctest::test_suite("file")) {
  Directory directory;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "60s"));
  Pipe done;
  const pid_t child = spawn([&] {
    const rlimit limit{200'000, 200'000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    auto store = open_store(directory.store(), StoreMode::kReadWrite);
    for (Count position = 0; position < 10'000; ++position) {
      const Result<void> added = (*store)->add_trial(session, parameters(), good_trial(position), 1.0);
      if (!added) {
        const bool clear = added.error().code == ErrorCode::kIo && added.error().message.find("the disk is full") != std::string::npos;
        return clear && (*store)->trials(session, parameters())->size() == position ? 0 : 1;
      }
      done.put('t');
    }
    return 2;
  });
  done.close_write();
  std::size_t acknowledged = 0;
  while (done.wait()) {
    ++acknowledged;
  }
  CHECK(wait_for(child) == 0);
  CHECK(acknowledged > 10);
  auto store = must_open(directory.store());
  CHECK(must(store->trials(session, parameters())).size() == acknowledged);
  CHECK(add(*store, session, static_cast<Count>(acknowledged)));
  CHECK(raw_sql(directory.store(), "PRAGMA integrity_check") == "ok");
}
