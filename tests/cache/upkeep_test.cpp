// What operators do with whole stores.

#include "engine/store/store_upkeep.hpp"
#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

/// A user's data directory, with the secret that seals what this user compiles.
struct Person {
  Directory home;
  Environment data{"XDG_DATA_HOME", home.path.c_str()};
  [[nodiscard]] fs::path own_store() const { return home.path / "hone" / "store.db"; }
};

const Compiled kWinner{artifact_of(5'000), {"k"}, {}}, kLoser{artifact_of(6'000), {"k"}, {}};

CompiledKey code_key(const std::string& configuration) {
  return {record_key().source_hash, DType::kF16, configuration, "sm_90a", "NVRTC 13.0"};
}

/// A finished session of two trials, whose winner has code.
std::int64_t make_finished(const fs::path& file, double median_us = 9.5, const std::string& configuration = "block=64") {
  const auto store = must_open(file);
  must(store->put_compiled(code_key(configuration), kWinner));
  must(store->put_compiled(code_key("block=32"), kLoser));
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  must(store->add_trial(session, parameters(), good_trial(0), 1.0));
  Trial finalist = good_trial(1);
  must(store->add_trial(session, parameters(), finalist, 2.0));
  finalist.final_round = true;
  must(store->add_trial(session, parameters(), finalist, 3.0));
  must(store->add_control(session, {.device = "cuda:0", .measurement = finalist.measurement, .readings = {}, .factor = 1.0, .left = {}}));
  Record record = record_of(configuration, median_us);
  record.artifact = kWinner.artifact->digest;
  record.symbols = kWinner.symbols;
  must(store->finish_session(session, record_key(), record, 4.0));
  return session;
}

PortfolioKey softmax_portfolio() {
  PortfolioKey key;
  key.operation = "softmax";
  key.dtypes = "f16";
  key.device = "NVIDIA H200";
  key.statics = "cols=1024";
  key.range = "rows=1..4096";
  return key;
}

/// As make_finished(), and the operation is served by the kernel.
void make_served(const fs::path& file, const std::string& kernel, double median_us) {
  RecordKey key = record_key();
  key.kernel = kernel;
  const auto store = must_open(file);
  const std::int64_t session = tuned(*store, key, record_of("block=64", median_us));
  key.kernel = "softmax_operation";
  OperationRecord decision;
  decision.kernel = kernel;
  decision.source_hash = record_key().source_hash;
  decision.session = session;
  must(store->put_operation_record(key, decision));
}

std::string serving(const fs::path& file) {
  RecordKey key = record_key();
  key.kernel = "softmax_operation";
  return must(must_open(file, StoreMode::kReadOnly)->find_operation_record(key)).value().kernel;
}

std::optional<Record> served(const fs::path& file) {
  return must(must_open(file, StoreMode::kReadOnly)->find_record(record_key(), parameters()));
}

}  // namespace

TEST_CASE("a pulled file serves what the store serves, and the user's own code stays that") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  const fs::path file = directory.path / "pulled.db";
  must(copy_store(directory.store(), file, CopyWhat::kServed));
  CHECK(directory.files().count("pulled.db") == 1);
  const auto store = must_open(file, StoreMode::kReadOnly);
  const Record record = must(store->find_record(record_key(), parameters())).value();
  CHECK(record.configuration_text == "block=64");
  CHECK(record.generation == must(must_open(directory.store())->generation()));
  CHECK(record.code == CodeState::kTrusted);
  CHECK(must(store->load_code(record)).artifact->bytes == kWinner.artifact->bytes);
  CHECK(must(store->trials(record.session, parameters())).empty());
  CHECK(must(store_facts(file)).artifacts == 1);
}

TEST_CASE("a program that has a pulled file open goes on with the next one") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  const fs::path file = directory.path / "pulled.db";
  must(copy_store(directory.store(), file, CopyWhat::kServed));
  const auto reader = must_open(file, StoreMode::kReadOnly);
  const auto application = must_open(file, StoreMode::kAsItIs);
  for (Store* const open : {reader.get(), application.get()}) {
    CHECK(must(open->find_record(record_key(), parameters()))->configuration_text == "block=64");
  }
  make_finished(directory.store(), 5.0, "block=128");
  must(copy_store(directory.store(), file, CopyWhat::kServed));
  for (Store* const open : {reader.get(), application.get()}) {
    CHECK(must(open->find_record(record_key(), parameters()))->configuration_text == "block=128");
  }
  CHECK(served(file)->configuration_text == "block=128");
  CHECK(is_sound(file));
}

TEST_CASE("the log of a store that was removed does not get into a pulled file") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  const fs::path file = directory.path / "pulled.db";
  for (const char* const left : {"-wal", "-shm", "-journal"}) {
    write_bytes(file.string() + left, std::string(5'000, 'x'));
  }
  must(copy_store(directory.store(), file, CopyWhat::kServed));
  CHECK(directory.files().count("pulled.db-wal") == 0);
  CHECK(served(file)->configuration_text == "block=64");
}

TEST_CASE("a pull does not replace a store in which a session goes on") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  const fs::path file = directory.path / "mine.db";
  must(must_open(file)->begin_session(session_key(), "60s"));
  CHECK(copy_store(directory.store(), file, CopyWhat::kServed).error().message.find("1 unfinished") != std::string::npos);
}

TEST_CASE("a pulled file has the code of what portfolios name") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  must(must_open(directory.store())->put_portfolio(softmax_portfolio(), R"({"config": "block=32"})"));
  const fs::path file = directory.path / "pulled.db";
  must(copy_store(directory.store(), file, CopyWhat::kServed));
  CHECK(must(must_open(file, StoreMode::kReadOnly)->find_compiled(code_key("block=32"))).has_value());
}

TEST_CASE("a pull does not replace a store that somebody tuned into") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  const fs::path file = directory.path / "mine.db";
  make_finished(file);
  const auto refused = copy_store(directory.store(), file, CopyWhat::kServed);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("2 trials") != std::string::npos);
  CHECK(must(store_facts(file)).trials == 2);
}

TEST_CASE("a backup has everything, under the same numbers") {
  const Person user;
  const Directory directory;
  make_finished(directory.store(), 9.5);
  const std::int64_t session = make_finished(directory.store(), 5.0, "block=128");
  must(must_open(directory.store())->set_record_state({1}, RecordState::kPinned, ""));
  must(must_open(directory.store())->put_model("softmax", "bayes", "learnt"));
  const fs::path file = directory.path / "backup.db";
  must(copy_store(directory.store(), file, CopyWhat::kAll));
  CHECK_FALSE(copy_store(directory.store(), file, CopyWhat::kAll).ok());
  const auto before = must_open(directory.store(), StoreMode::kReadOnly), after = must_open(file, StoreMode::kReadOnly);
  CHECK(must(after->sessions()).size() == 2);
  const std::vector<Trial> trials = must(after->trials(session, parameters()));
  REQUIRE(trials.size() == 2);
  CHECK(trials[1].final_round);
  CHECK(trials[0].measurement.samples_us == good_trial(0).measurement.samples_us);
  CHECK(trials[0].readings.throttle_reasons == good_trial(0).readings.throttle_reasons);
  CHECK(must(after->controls(session)).size() == 1);
  CHECK(must(after->find_model("softmax", "bayes")) == "learnt");
  CHECK(must(after->changes()).size() == must(before->changes()).size());
  CHECK(must(after->record_history({})).size() == 2);
  CHECK(served(file)->state == RecordState::kPinned);
  CHECK(must(after->find_compiled(code_key("block=32"))).has_value());
  CHECK(must(check_store(file)).empty());
}

TEST_CASE("a store with a log is copied as it is, and nothing is left beside it" * doctest::test_suite("file")) {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  REQUIRE(raw_sql(directory.store(), "PRAGMA journal_mode=wal") == "wal");
  const std::set<std::string> before = directory.files();
  const Directory other;
  must(copy_store(directory.store(), other.path / "backup.db", CopyWhat::kAll));
  CHECK(must(must_open(other.path / "backup.db", StoreMode::kReadOnly)->sessions()).size() == 1);
  CHECK(directory.files() == before);
  CHECK(other.files() == std::set<std::string>{"backup.db"});
}

TEST_CASE("a store gets what another one has and it lacks, once") {
  const Person user;
  const Directory directory, other;
  make_finished(other.store());
  const Merged merged = must(merge_store(other.store(), directory.store()));
  CHECK(merged.sessions == 1);
  CHECK(merged.trials == 2);
  CHECK(merged.records == 1);
  CHECK(merged.generation == 1);
  const Record record = served(directory.store()).value();
  CHECK(record.code == CodeState::kTrusted);
  CHECK(record.environment == record_key().device.environment);
  CHECK(must(must_open(directory.store())->load_code(record)).artifact->bytes == kWinner.artifact->bytes);
  CHECK(must(must_open(directory.store())->trials(record.session, parameters())).at(1).final_round);
  const Merged again = must(merge_store(other.store(), directory.store()));
  CHECK(again.sessions + again.trials + again.records == 0);
  CHECK(again.generation == 1);
}

TEST_CASE("a faster record takes the place of what stands, a slower one does not, and what was withdrawn stays so") {
  const Person user;
  const Directory directory, slower, faster;
  make_finished(directory.store(), 9.5, "block=64");
  make_finished(slower.store(), 15.0, "block=256");
  make_finished(faster.store(), 5.0, "block=128");
  CHECK(must(merge_store(slower.store(), directory.store())).records == 0);
  CHECK(must(merge_store(faster.store(), directory.store())).records == 1);
  const Record record = served(directory.store()).value();
  CHECK(record.configuration_text == "block=128");
  CHECK(record.session == 3);
  const auto store = must_open(directory.store());
  must(store->set_record_state({record.id}, RecordState::kWithdrawn, "wrong at night"));
  CHECK(must(merge_store(faster.store(), directory.store())).records == 0);
  CHECK(served(directory.store())->configuration_text == "block=64");
}

TEST_CASE("a faster kernel takes an operation over, a slower one does not, however new it is") {
  const Person user;
  const Directory directory, slower, faster;
  make_served(directory.store(), "softmax", 9.5);
  make_served(slower.store(), "softmax_slow", 15.0);
  make_served(faster.store(), "softmax_fast", 5.0);
  must(merge_store(slower.store(), directory.store()));
  CHECK(serving(directory.store()) == "softmax");
  must(merge_store(faster.store(), directory.store()));
  CHECK(serving(directory.store()) == "softmax_fast");
  must(merge_store(slower.store(), directory.store()));
  CHECK(serving(directory.store()) == "softmax_fast");
}

TEST_CASE("unfinished sessions stay where they go on") {
  const Person user;
  const Directory directory, other;
  const auto store = must_open(other.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  must(store->add_trial(session, parameters(), good_trial(0), 1.0));
  must(store->keep_record(session, record_key(), record_of("block=64", 5.0)));
  const Merged merged = must(merge_store(other.store(), directory.store()));
  CHECK(merged.unfinished == 1);
  CHECK(merged.sessions + merged.records == 0);
}

TEST_CASE("foreign code stays foreign, and stays out of a store whose code counts as the user's") {
  const Directory directory, theirs;
  {
    const Person other;
    make_finished(theirs.store());
  }
  const Person user;
  CHECK(must(merge_store(theirs.store(), directory.store())).foreign == 0);
  CHECK(served(directory.store())->code == CodeState::kForeign);
  const fs::path pulled = directory.path / "pulled.db";
  must(copy_store(theirs.store(), pulled, CopyWhat::kServed));
  CHECK(served(pulled)->code == CodeState::kForeign);

  const Merged merged = must(merge_store(theirs.store(), user.own_store()));
  CHECK(merged.records == 1);
  CHECK(merged.foreign == 1);
  CHECK(served(user.own_store())->code == CodeState::kNone);
  CHECK(must(store_facts(user.own_store())).artifacts == 0);
  // The same of a path that was trusted before the file was made there anew.
  must(trust_store(pulled));
  must(copy_store(theirs.store(), pulled, CopyWhat::kServed));
  CHECK(served(pulled)->code == CodeState::kNone);
  // What comes from a store that the user trusts may come in.
  must(trust_store(theirs.store()));
  must(copy_store(theirs.store(), pulled, CopyWhat::kServed));
  CHECK(served(pulled)->code == CodeState::kTrusted);
}

TEST_CASE("pruning removes the code that nobody needs") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  CHECK(must(prune_store(directory.store())).artifacts == 1);
  CHECK(must(must_open(directory.store())->load_code(served(directory.store()).value())).symbols == kWinner.symbols);
  CHECK_FALSE(must(must_open(directory.store())->find_compiled(code_key("block=32"))).has_value());
  // Of a session that goes on all is needed.
  const auto store = must_open(directory.store());
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  must(store->put_compiled(code_key("block=32"), kLoser));
  Trial trial = good_trial(0);
  trial.artifact = kLoser.artifact->digest;
  must(store->add_trial(session, parameters(), trial, 1.0));
  CHECK(must(prune_store(directory.store())).artifacts == 0);
  CHECK(must(check_store(directory.store())).empty());
}

TEST_CASE("pruning keeps what a session compiled and has not tried yet, and what a portfolio names") {
  const Person user;
  const Directory directory;
  const std::int64_t session = must(must_open(directory.store())->begin_session(session_key(), "60s"));
  must(must_open(directory.store())->put_compiled(code_key("block=32"), kLoser));
  CHECK(must(prune_store(directory.store())).artifacts == 0);
  must(must_open(directory.store())->finish_session(session, record_key(), std::nullopt, 1.0));
  must(must_open(directory.store())->put_portfolio(softmax_portfolio(), R"({"config": "block=32"})"));
  CHECK(must(prune_store(directory.store())).artifacts == 0);
  CHECK(must(must_open(directory.store())->find_compiled(code_key("block=32"))).has_value());
  raw_sql(directory.store(), "DELETE FROM portfolio");
  CHECK(must(prune_store(directory.store())).artifacts == 1);
}

TEST_CASE("checking finds damaged and missing code") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  CHECK(must(check_store(directory.store())).empty());
  raw_sql(directory.store(), "UPDATE artifact SET bytes = x'00112233' WHERE digest = '" + kWinner.artifact->digest + "'");
  REQUIRE(must(check_store(directory.store())).size() == 1);
  CHECK(must(check_store(directory.store())).front().find(kWinner.artifact->digest) != std::string::npos);
  raw_sql(directory.store(), "UPDATE record SET artifact = 'lost'");
  CHECK(must(check_store(directory.store())).size() == 2);
}

TEST_CASE("the facts of a store count what is there") {
  const Person user;
  const Directory directory;
  make_finished(directory.store());
  must(must_open(directory.store())->begin_session(session_key(), "60s"));
  const StoreFacts facts = must(store_facts(directory.store()));
  CHECK(facts.name == directory.store());
  CHECK(facts.schema == 11);
  CHECK(facts.generation == 1);
  CHECK(facts.sessions == 2);
  CHECK(facts.unfinished == 1);
  CHECK(facts.trials == 2);
  CHECK(facts.records == 1);
  CHECK(facts.artifacts == 2);
  CHECK(facts.bytes > facts.artifact_bytes);
  CHECK(store_facts(directory.path / "none.db").error().code == ErrorCode::kNotFound);
}
