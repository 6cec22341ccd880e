// The queue of a store on a server: leases, claims, and what is sent twice.
#include "engine/store/work_queue.hpp"

#include <chrono>
#include <set>
#include <thread>

#include "engine/store/store_server.hpp"
#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

WorkBytes as_work(std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string text_of(const WorkBytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

AttachedWorker attached(WorkQueue& queue, const std::string& name = "host/d:0") {
  AttachedWorker worker{.name = name, .version = "1", .measures = true, .targets = {"d"}, .product = "D"};
  must(queue.attach(worker));
  return worker;
}

/// The worker was last seen long ago.
void lose(const std::filesystem::path& store, const AttachedWorker& worker) {
  // The server's own start is later; a lease counts from there.
  raw_sql(store, "UPDATE worker SET state = 'left', reason = 'gone' WHERE id = " + std::to_string(worker.id));
}

struct Fixture {
  const Directory directory;
  std::unique_ptr<WorkQueue> coordinator = must(open_work_queue(directory.store().string()));
  std::int64_t assignment = must(coordinator->begin(7, as_work("setup")));
  int published = 0;

  std::unique_ptr<WorkQueue> another() const { return must(open_work_queue(directory.store().string())); }
  std::int64_t publish(std::optional<std::int64_t> worker, const std::string& label = "a=1") {
    return must(coordinator->publish({.assignment = assignment,
                                      .token = "t" + std::to_string(++published),
                                      .worker = worker,
                                      .target = "d",
                                      .label = label,
                                      .request = as_work("please " + label)}));
  }
};

}  // namespace

TEST_CASE("a store that is a file has no queue") {
  const auto queue = open_work_queue("/tmp/S.db");
  REQUIRE_FALSE(queue.ok());
  CHECK(queue.error().message.find("postgres://") != std::string::npos);
}

TEST_CASE("work goes to its worker, and its answer to the coordinator, once") {
  Fixture at;
  const auto queue = at.another();
  const AttachedWorker worker = attached(*queue), other = attached(*at.coordinator, "host/d:1");
  const std::int64_t work = at.publish(worker.id);
  CHECK_FALSE(must(at.coordinator->claim(other, 0)).has_value());
  const auto claimed = must(queue->claim(worker, 0));
  REQUIRE(claimed.has_value());
  CHECK(claimed->id == work);
  CHECK(claimed->measure);
  CHECK(text_of(claimed->request) == "please a=1");
  CHECK(text_of(must(queue->assignment(claimed->assignment))->setup) == "setup");
  // The same again: the answer to the claim may have been lost.
  CHECK(must(queue->claim(worker, 0))->id == work);
  CHECK(must(queue->beat(worker.id, work)).wanted);
  CHECK(must(queue->answer(work, worker.id, as_work("done"))));
  CHECK(must(queue->answer(work, worker.id, as_work("done"))));  // sent twice
  CHECK_FALSE(must(at.coordinator->answer(work, other.id, as_work("stolen"))));
  const auto results = must(at.coordinator->results(at.assignment));
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == WorkState::kDone);
  CHECK(text_of(results[0].reply) == "done");
  must(at.coordinator->take({work}));
  CHECK(must(at.coordinator->results(at.assignment)).empty());
}

TEST_CASE("what is published twice under one token is one piece of work") {
  Fixture at;
  const WorkOrder order{.assignment = at.assignment, .token = "same", .worker = 1, .target = "", .label = "", .request = as_work("x")};
  CHECK(must(at.coordinator->publish(order)) == must(at.coordinator->publish(order)));
}

TEST_CASE("of several that compile, each piece goes to one") {
  Fixture at;
  std::set<std::int64_t> published, claimed;
  for (int i = 0; i < 8; ++i) {
    published.insert(at.publish(std::nullopt));
  }
  std::vector<std::thread> threads;
  std::mutex mutex;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto queue = at.another();
      const AttachedWorker worker = attached(*queue, "host/compiler");
      while (const auto work = must(queue->claim(worker, 0))) {
        CHECK_FALSE(work->measure);
        const std::lock_guard lock(mutex);
        CHECK(claimed.insert(work->id).second);
        must(queue->answer(work->id, worker.id, as_work("code")));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(claimed == published);
}

TEST_CASE("workers of one name on one host are told apart") {
  Fixture at;
  const AttachedWorker first = attached(*at.coordinator), second = attached(*at.coordinator);
  CHECK(first.name == "host/d:0");
  CHECK(second.name.starts_with("host/d:0#"));
  CHECK(must(at.coordinator->workers()).size() == 2);
  must(at.coordinator->detach(first.id, "done"));
  CHECK(must(at.coordinator->workers()).size() == 1);
}

TEST_CASE("the work of a worker that is lost ends, and names it") {
  Fixture at;
  const AttachedWorker worker = attached(*at.coordinator);
  const std::int64_t work = at.publish(worker.id, "a=2");
  must(at.coordinator->claim(worker, 0));
  must(at.coordinator->expire(at.assignment));
  CHECK(must(at.coordinator->results(at.assignment)).empty());
  lose(at.directory.store(), worker);
  must(at.coordinator->expire(at.assignment));
  const auto results = must(at.coordinator->results(at.assignment));
  REQUIRE(results.size() == 1);
  CHECK(results[0].state == WorkState::kLost);
  CHECK(results[0].ended == std::vector<std::string>{worker.name});
  CHECK_FALSE(must(at.coordinator->answer(work, worker.id, as_work("too late"))));
  CHECK_FALSE(must(at.coordinator->beat(worker.id, work)).attached);
  const auto losses = must(at.coordinator->losses(7));
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].label == "a=2");
}

TEST_CASE("what a lost worker had not begun comes back, and is not held against it") {
  Fixture at;
  const AttachedWorker worker = attached(*at.coordinator);
  at.publish(worker.id);
  lose(at.directory.store(), worker);
  must(at.coordinator->expire(at.assignment));
  CHECK(must(at.coordinator->results(at.assignment)).at(0).state == WorkState::kReturned);
  CHECK(must(at.coordinator->losses(7)).empty());
}

TEST_CASE("what is compiled gets a second try, and no third") {
  Fixture at;
  const std::int64_t work = at.publish(std::nullopt);
  for (int tries = 0; tries < 2; ++tries) {
    CHECK(must(at.coordinator->results(at.assignment)).empty());
    const AttachedWorker worker = attached(*at.coordinator, "host/compiler" + std::to_string(tries));
    REQUIRE(must(at.coordinator->claim(worker, 0))->id == work);
    lose(at.directory.store(), worker);
    must(at.coordinator->expire(at.assignment));
  }
  const auto results = must(at.coordinator->results(at.assignment));
  REQUIRE(results.size() == 1);
  CHECK(results[0].ended == std::vector<std::string>{"host/compiler0", "host/compiler1"});
}

TEST_CASE("work is given back, and withdrawn") {
  Fixture at;
  const AttachedWorker worker = attached(*at.coordinator);
  const std::int64_t first = at.publish(worker.id);
  must(at.coordinator->claim(worker, 0));
  must(at.coordinator->give_back(first, worker.id));
  CHECK(must(at.coordinator->results(at.assignment)).at(0).state == WorkState::kReturned);
  const std::int64_t second = at.publish(worker.id);
  must(at.coordinator->claim(worker, 0));
  must(at.coordinator->withdraw(second));
  CHECK_FALSE(must(at.coordinator->beat(worker.id, second)).wanted);
  CHECK_FALSE(must(at.coordinator->answer(second, worker.id, as_work("unwanted"))));
}

TEST_CASE("a worker that is dismissed learns why") {
  Fixture at;
  const AttachedWorker worker = attached(*at.coordinator);
  must(at.coordinator->dismiss(worker.id, "its control fails"));
  CHECK(must(at.coordinator->beat(worker.id, 0)).dismissed == "its control fails");
  CHECK(must(at.coordinator->workers()).empty());
}

TEST_CASE("a coordinator that takes a session over ends the earlier one's work, and finds its answers") {
  Fixture at;
  const AttachedWorker worker = attached(*at.coordinator);
  const std::int64_t answered = at.publish(worker.id, "a=1");
  must(at.coordinator->claim(worker, 0));
  must(at.coordinator->answer(answered, worker.id, as_work("known")));
  const std::int64_t under_way = at.publish(worker.id, "a=2");
  must(at.coordinator->claim(worker, 0));
  at.publish(worker.id, "a=3");
  const auto successor = at.another();
  const std::int64_t next = must(successor->begin(7, as_work("setup")));
  CHECK(next != at.assignment);
  CHECK_FALSE(must(successor->assignment(at.assignment)).has_value());
  CHECK_FALSE(must(successor->claim(worker, 0)).has_value());
  CHECK_FALSE(must(successor->answer(under_way, worker.id, as_work("of nobody"))));
  const auto left = must(successor->leftovers(7));
  REQUIRE(left.size() == 1);
  CHECK(left[0].label == "a=1");
  CHECK(text_of(left[0].reply) == "known");
  // What was under way and may be measured again is marked.
  CHECK(raw_sql(at.directory.store(), "SELECT state FROM work WHERE id = " + std::to_string(under_way)) == "abandoned");
  must(successor->take({answered}));
  CHECK(must(successor->leftovers(7)).empty());
}

TEST_CASE("work of the same assignment comes before others'") {
  Fixture at;
  const AttachedWorker worker = attached(*at.coordinator);
  const auto beside = at.another();
  const std::int64_t other = must(beside->begin(8, as_work("other")));
  const std::int64_t early = at.publish(worker.id);
  const std::int64_t late = must(beside->publish({.assignment = other, .token = "u", .worker = worker.id, .request = as_work("x")}));
  CHECK(must(at.coordinator->claim(worker, other))->id == late);
  must(at.coordinator->answer(late, worker.id, as_work("done")));
  CHECK(must(at.coordinator->claim(worker, other))->id == early);
}

TEST_CASE("who waits hears of work, also over a connection that was lost") {
  Fixture at;
  const auto queue = at.another();
  const AttachedWorker worker = attached(*queue);
  static_cast<void>(queue->heard());
  at.publish(worker.id);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!queue->heard() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(std::chrono::steady_clock::now() < until);
  raw_sql(at.directory.store(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hone'");
  CHECK(must(queue->claim(worker, 0)).has_value());
  CHECK(queue->heard());  // some may have been missed
  CHECK(queue->descriptor() >= 0);
}
