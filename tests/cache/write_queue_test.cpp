// Writers wait in line.

#include "cache/write_queue.hpp"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "store_fixture.hpp"

using namespace hone;
using namespace hone::cache;
using namespace hone::test;

namespace {

constexpr double kLong = 60.0;

bool add_trials(const fs::path& file, std::int64_t session, int first, int count) {
  auto store = open_store(file, StoreMode::kReadWrite);
  for (int i = first; store && i < first + count; ++i) {
    if (!(*store)->add_trial(session, parameters(), good_trial(static_cast<Count>(i)), 1.0)) {
      return false;
    }
  }
  return store.ok();
}

}  // namespace

TEST_CASE("turns come in the order of arrival, and the last one leaves nothing behind") {
  Directory directory;
  std::optional<QueuePlace> first = QueuePlace::join(directory.store());
  REQUIRE(first.has_value());
  CHECK(QueuePlace::is_line(directory.store()));
  CHECK(first->wait(kLong));
  Pipe order, joined;
  std::vector<pid_t> children;
  for (char i = 0; i < 8; ++i) {
    children.push_back(spawn([&, i] {
      std::optional<QueuePlace> place = QueuePlace::join(directory.store());
      joined.put('j');
      const bool turn = place && place->wait(kLong);
      order.put(i);
      return turn ? 0 : 1;
    }));
    joined.wait();
  }
  first.reset();
  for (char i = 0; i < 8; ++i) {
    char next = -1;
    order.get(next);
    CHECK(static_cast<int>(next) == static_cast<int>(i));
  }
  for (const pid_t child : children) {
    CHECK(wait_for(child) == 0);
  }
  std::optional<QueuePlace>(QueuePlace::join(directory.store())).reset();
  CHECK_FALSE(QueuePlace::is_line(directory.store()));
  CHECK(directory.files().empty());
}

TEST_CASE("whoever is killed in the line, or in its turn, is passed over") {
  Directory directory;
  Pipe joined;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(spawn([&] {
      const std::optional<QueuePlace> place = QueuePlace::join(directory.store());
      joined.put('j');
      static_cast<void>(place->wait(kLong));
      pause();
      return 0;
    }));
    joined.wait();
  }
  const std::optional<QueuePlace> place = QueuePlace::join(directory.store());
  REQUIRE(place.has_value());
  kill(children[0], SIGSTOP);
  CHECK_FALSE(place->wait(0.05));  // the first one has its turn and is stopped
  for (const int i : {1, 2, 0}) {
    kill(children[static_cast<std::size_t>(i)], SIGKILL);
    wait_for(children[static_cast<std::size_t>(i)]);
  }
  CHECK(place->wait(kLong));
}

TEST_CASE("a turn may take longer than anybody's patience while its process runs") {
  Directory directory;
  Pipe joined, go;
  const pid_t slow = spawn([&] {
    const std::optional<QueuePlace> place = QueuePlace::join(directory.store());
    const bool turn = place && place->wait(kLong);
    joined.put('j');
    go.wait();
    return turn ? 0 : 1;
  });
  joined.wait();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    go.put('g');
  });
  const std::optional<QueuePlace> place = QueuePlace::join(directory.store());
  CHECK(place->wait(0.01));
  later.join();
  CHECK(wait_for(slow) == 0);
}

TEST_CASE("threads wait for each other, too") {
  Directory directory;
  std::atomic<int> inside = 0, met = 0, turns = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        const std::optional<QueuePlace> place = QueuePlace::join(directory.store());
        turns += place && place->wait(kLong) ? 1 : 0;
        met += inside++ == 0 ? 0 : 1;
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(turns == 100);
  CHECK(met == 0);
  CHECK(directory.files().empty());
}

TEST_CASE("where there can be no line, writers are as patient as SQLite") {
  Directory directory;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "1s"));
  fs::create_directory(directory.path / "store.db-line");
  CHECK_FALSE(QueuePlace::join(directory.store()).has_value());
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(spawn([&, i] { return add_trials(directory.store(), session, 100 * i, 10) ? 0 : 1; }));
  }
  for (const pid_t child : children) {
    CHECK(wait_for(child) == 0);
  }
  CHECK(must(must_open(directory.store())->trials(session, parameters())).size() == 30);
}

TEST_CASE("a line whose last writer was killed does not stop the next") {
  Directory directory;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "1s"));
  write_bytes(directory.path / "store.db-line", std::string(16, '\xff'));
  CHECK(add_trials(directory.store(), session, 0, 3));
  CHECK(directory.files() == std::set<std::string>{"store.db"});
}

TEST_CASE("thirty-two writers all get their turns") {
  Directory directory;
  constexpr int kWriters = 32, kTrials = 8;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "1s"));
  std::vector<pid_t> children;
  for (int i = 0; i < kWriters; ++i) {
    children.push_back(spawn([&, i] { return add_trials(directory.store(), session, 1000 * i, kTrials) ? 0 : 1; }));
  }
  for (const pid_t child : children) {
    CHECK(wait_for(child) == 0);
  }
  CHECK(must(must_open(directory.store())->trials(session, parameters())).size() == kWriters * kTrials);
  CHECK(directory.files() == std::set<std::string>{"store.db"});
}
