// What a store has served: states of records, generations, roll-backs.

#include "engine/store/record_history.hpp"

#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

const std::string kSlow = "block=64", kFast = "block=32";

std::string served(Store& store, std::int64_t rows = 4096) {
  const auto record = must(store.find_record(record_key(rows), parameters()));
  return record ? record->configuration_text : "";
}

std::string served(const fs::path& path, const StoreView& view) {
  return served(*must(open_store(path, StoreMode::kReadOnly, Trust::kOwn, view)));
}

std::int64_t id_of(Store& store, const std::string& configuration) {
  for (const RecordInfo& info : must(store.record_history({}))) {
    if (info.configuration == configuration) {
      return info.id;
    }
  }
  FAIL("no record of " << configuration);
  return 0;
}

/// A store in which a fast record took the place of a slow one.
std::unique_ptr<Store> two_records(const Directory& directory) {
  auto store = must_open(directory.store());
  tuned(*store, record_key(), record_of(kSlow, 10.0));
  tuned(*store, record_key(), record_of(kFast, 5.0));
  return store;
}

}  // namespace

TEST_CASE("a record that takes another's place leaves it in the history") {
  const Directory directory;
  const auto store = two_records(directory);
  const auto history = must(store->record_history({}));
  REQUIRE(history.size() == 2);
  CHECK(history[0].configuration == kSlow);
  CHECK_FALSE(history[0].served);
  CHECK(history[1].served);
  CHECK(history[0].generation < history[1].generation);
  CHECK(history[1].median_us == 5.0);
  CHECK(history[1].product == "NVIDIA H200");
  CHECK(must(store->records_of(record_key(), parameters())).size() == 1);
}

TEST_CASE("a generation is served again as it was, whatever was written since") {
  const Directory directory;
  auto store = must_open(directory.store());
  CHECK(must(store->generation()) == 0);
  tuned(*store, record_key(), record_of(kSlow, 10.0));
  const std::int64_t then = must(store->generation());
  tuned(*store, record_key(), record_of(kFast, 5.0));
  tuned(*store, record_key(1), record_of(kFast, 5.0));
  must(store->set_record_state({id_of(*store, kSlow)}, RecordState::kWithdrawn, ""));
  CHECK(served(directory.store(), {.generation = then}) == kSlow);
  CHECK(served(directory.store(), {.generation = then + 1}) == kFast);
  const auto held = must(open_store(directory.store(), StoreMode::kReadOnly, Trust::kOwn, {.generation = then}));
  CHECK(must(held->records_of(record_key(), parameters())).size() == 1);
}

TEST_CASE("what was withdrawn is not served, and does not become a record again") {
  const Directory directory;
  const auto store = two_records(directory);
  must(store->set_record_state({id_of(*store, kFast)}, RecordState::kWithdrawn, "wrong in production"));
  CHECK(served(*store) == kSlow);
  const std::int64_t session = must(store->begin_session({record_key(), "random", "", 2}, "60s"));
  CHECK_FALSE(must(store->finish_session(session, record_key(), record_of(kFast, 4.0), 1.0)));
  CHECK(served(*store) == kSlow);
  must(store->set_record_state({id_of(*store, kFast)}, RecordState::kCandidate, ""));
  CHECK(served(*store) == kFast);
}

TEST_CASE("a pinned record is served although faster ones are written") {
  const Directory directory;
  const auto store = two_records(directory);
  must(store->set_record_state({id_of(*store, kSlow)}, RecordState::kPinned, ""));
  CHECK(served(*store) == kSlow);
  tuned(*store, record_key(), record_of("block=128", 1.0));
  CHECK(served(*store) == kSlow);
  CHECK(must(store->find_record(record_key(), parameters()))->state == RecordState::kPinned);
  must(store->set_record_state({id_of(*store, kSlow)}, RecordState::kApproved, ""));
  CHECK(served(*store) == "block=128");
}

TEST_CASE("who asks for approved records gets no candidates") {
  const Directory directory;
  const auto store = two_records(directory);
  CHECK(served(directory.store(), {.approved_only = true}) == "");
  must(store->set_record_state({id_of(*store, kSlow)}, RecordState::kApproved, ""));
  CHECK(served(directory.store(), {.approved_only = true}) == kSlow);
  CHECK(served(*store) == kFast);
}

TEST_CASE("a roll-back serves what an earlier generation did, records of operations included") {
  const Directory directory;
  auto store = must_open(directory.store());
  const RecordKey operation = record_key();
  const std::int64_t session = tuned(*store, record_key(), record_of(kSlow, 10.0));
  must(
      store->put_operation_record(operation, {.kernel = "first", .source_hash = "s", .session = session, .created_at = "", .problem = {}}));
  const std::int64_t then = must(store->generation());
  tuned(*store, record_key(), record_of(kFast, 5.0));
  tuned(*store, record_key(7), record_of(kFast, 5.0));
  must(store->put_operation_record(operation,
                                   {.kernel = "second", .source_hash = "s", .session = session, .created_at = "", .problem = {}}));
  must(store->put_operation_record(record_key(7),
                                   {.kernel = "second", .source_hash = "s", .session = session, .created_at = "", .problem = {}}));
  must(store->set_record_state({id_of(*store, kSlow)}, RecordState::kWithdrawn, ""));

  const std::int64_t now = must(store->roll_back(then, "worse"));
  CHECK(now > then);
  CHECK(served(*store) == kSlow);
  CHECK(served(*store, 7) == "");
  CHECK(must(store->find_operation_record(operation))->kernel == "first");
  CHECK_FALSE(must(store->find_operation_record(record_key(7))).has_value());
  CHECK(must(store->changes()).back().what == "back to generation " + std::to_string(then) + ": worse");
  must(store->roll_back(now - 1, ""));  // and forward again
  CHECK(served(*store, 7) == kFast);
  CHECK(must(store->find_operation_record(operation))->kernel == "second");
}

TEST_CASE("a record or a generation that is not there is an error, and changes nothing") {
  const Directory directory;
  const auto store = two_records(directory);
  const std::int64_t before = must(store->generation());
  CHECK(store->set_record_state({id_of(*store, kFast), 99}, RecordState::kPinned, "").error().code == ErrorCode::kNotFound);
  CHECK(store->roll_back(before, "").error().code == ErrorCode::kInvalidArgument);
  CHECK(store->roll_back(-1, "").error().code == ErrorCode::kInvalidArgument);
  CHECK(must(store->generation()) == before);
  CHECK(served(*store) == kFast);
}

TEST_CASE("with a record its configuration is withdrawn: no earlier or later record of it comes back") {
  const Directory directory;
  auto store = must_open(directory.store());
  tuned(*store, record_key(), record_of(kFast, 5.0));
  tuned(*store, record_key(), record_of(kFast, 2.0));
  tuned(*store, record_key(7), record_of(kFast, 2.0));
  const std::int64_t first = id_of(*store, kFast), second = first + 1;
  for (const std::int64_t one : {second, first}) {
    must(store->set_record_state({one}, RecordState::kWithdrawn, ""));
    CHECK(served(*store) == "");
    CHECK(served(*store, 7) == kFast);
    CHECK(must(store->withdrawn_configurations(record_key())) == std::vector<std::string>{kFast});
    CHECK(must(store->withdrawn_configurations(record_key(7))).empty());
    must(store->set_record_state({one}, RecordState::kApproved, ""));
    CHECK(served(*store) == kFast);
    CHECK(must(store->withdrawn_configurations(record_key())).empty());
    CHECK(must(store->record_history({}))[one == first ? 0 : 1].state == RecordState::kApproved);
    CHECK(must(store->record_history({}))[one == first ? 1 : 0].state == RecordState::kCandidate);
    must(store->set_record_state({one}, RecordState::kCandidate, ""));
  }
}

TEST_CASE("which sources have a pinned record of a problem is known without any of them") {
  const Directory directory;
  auto store = two_records(directory);
  RecordKey any = record_key();
  any.source_hash = "";
  CHECK(must(store->pinned_sources(any)).empty());
  const std::int64_t then = must(store->generation());
  must(store->set_record_state({id_of(*store, kSlow)}, RecordState::kPinned, ""));
  CHECK(must(store->pinned_sources(any)) == std::vector<std::string>{record_key().source_hash});
  any.problem.shape.front().second = 7;
  CHECK(must(store->pinned_sources(any)).empty());
  any.problem.shape = record_key().problem.shape;
  CHECK(must(must_open(directory.store())->pinned_sources(any)).size() == 1);
  const auto held = must(open_store(directory.store(), StoreMode::kReadOnly, Trust::kOwn, {.generation = then}));
  CHECK(must(held->pinned_sources(any)).empty());
  must(store->set_record_state({id_of(*store, kSlow)}, RecordState::kApproved, ""));
  CHECK(must(store->pinned_sources(any)).empty());
}

TEST_CASE("states are read as they are written, and others are refused") {
  for (const RecordState state : {RecordState::kCandidate, RecordState::kApproved, RecordState::kPinned, RecordState::kWithdrawn}) {
    CHECK(must(parse_record_state(name(state))) == state);
  }
  CHECK(parse_record_state("pined").error().message.find("did you mean 'pinned'") != std::string::npos);
}

TEST_CASE("processes that look the same problems up get the same choices, while others write") {
  const Directory directory;
  auto store = must_open(directory.store());
  for (std::int64_t rows = 1; rows <= 20; ++rows) {
    tuned(*store, record_key(rows), record_of(rows % 2 == 0 ? kSlow : kFast, 10.0));
  }
  const std::int64_t then = must(store->generation());
  store.reset();
  const auto choices = [&] {
    auto mine = must(open_store(directory.store(), StoreMode::kReadOnly, Trust::kOwn, {.generation = then}));
    std::string all;
    for (std::int64_t rows = 1; rows <= 20; ++rows) {
      all += served(*mine, rows) + ";";
    }
    return all;
  };
  const std::string expected = choices();
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(spawn([&] { return choices() == expected ? 0 : 1; }));
  }
  store = must_open(directory.store());
  for (std::int64_t rows = 1; rows <= 20; ++rows) {
    tuned(*store, record_key(rows), record_of("block=128", 1.0));
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(choices() == expected);
}
