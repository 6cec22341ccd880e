// Whose code a store gives out, and that it belongs to what it is given out for.

#include <sys/stat.h>

#include "cache/code.hpp"
#include "store_fixture.hpp"

using namespace hone;
using namespace hone::test;

namespace {

const Compiled kCode{artifact_of(10'000), {"k"}, {}};

CompiledKey compiled_key() { return {record_key().source_hash, DType::kF16, "block=64", "sm_90a", "NVRTC 13.0"}; }

/// A user's data directory; stores made while it lives are that user's.
struct User {
  Directory home;
  Environment data{"XDG_DATA_HOME", home.path.c_str()};
  [[nodiscard]] fs::path key() const { return home.path / "hone" / "seal.key"; }
};

/// A store with code and a record that was tuned with it.
void make_tuned(const fs::path& file) {
  auto store = must_open(file);
  must(store->put_compiled(compiled_key(), kCode));
  Record record = record_of("block=64", 9.5);
  record.artifact = kCode.artifact->digest;
  record.symbols = kCode.symbols;
  tuned(*store, record_key(), record);
}

Record record_in(Store& store) { return must(store.find_record(record_key(), parameters())).value(); }

CodeState state_in(const fs::path& file, Trust trust = Trust::kOwn) {
  return record_in(*must(open_store(file, StoreMode::kReadOnly, trust))).code;
}

}  // namespace

TEST_CASE("a fingerprint is the name-based UUID of its bytes") {
  // UUID version 5 of the nil namespace and no name: uuid.uuid5(uuid.UUID(int=0), '') in Python.
  CHECK(cache::fingerprint({}) ==
        "e129f27c5103"
        "5c5c844bcdf0a15e160d");
  CHECK(cache::fingerprint(kCode.artifact->bytes) != cache::fingerprint({}));
}

TEST_CASE("what a user tuned is launched without a question, and leaves one key that only the user can read") {
  const User user;
  Directory directory;
  make_tuned(directory.store());
  struct stat status {};
  REQUIRE(stat(user.key().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const std::string key = bytes_of(user.key());
  CHECK(key.size() == 32);
  auto store = must_open(directory.store(), StoreMode::kReadOnly);
  const Record record = record_in(*store);
  CHECK(record.code == CodeState::kTrusted);
  const Compiled code = must(store->load_code(record));
  CHECK(code.artifact->bytes == kCode.artifact->bytes);
  CHECK(code.symbols == kCode.symbols);
  CHECK(must(store->find_compiled(compiled_key())).has_value());
  if (!is_store_server(directory.store())) {  // a copy of it is still the user's
    fs::copy_file(directory.store(), directory.path / "copy.db");
    CHECK(state_in(directory.path / "copy.db") == CodeState::kTrusted);
  }
  CHECK(bytes_of(user.key()) == key);
}

TEST_CASE("processes that make the first key at once agree on it") {
  const User user;
  Directory directory;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const fs::path file = directory.path / (std::to_string(i) + ".db");
    children.push_back(spawn([file] { return make_tuned(file), 0; }));
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    CHECK(wait_for(children[i]) == 0);
    CHECK(state_in(directory.path / (std::to_string(i) + ".db")) == CodeState::kTrusted);
  }
}

TEST_CASE("code that someone else made is not given out until the user trusts the store") {
  Directory directory;
  {
    const User other;
    make_tuned(directory.store());
  }
  const User user;
  const auto check_foreign = [&] {
    auto store = must_open(directory.store());
    const Record record = record_in(*store);
    CHECK(record.code == CodeState::kForeign);
    CHECK(record.configuration_text == "block=64");  // it can be looked at
    CHECK_FALSE(must(store->find_compiled(compiled_key())).has_value());
    const auto refused = store->load_code(record);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == ErrorCode::kStore);
    CHECK(refused.error().message.find("hone trust " + directory.store().string()) != std::string::npos);
  };
  check_foreign();
  CHECK(state_in(directory.store(), Trust::kAll) == CodeState::kTrusted);
  const std::string before = bytes_of(directory.store());
  must(trust_store(directory.store()));
  CHECK(must(trusted_stores()) ==
        std::vector<fs::path>{is_store_server(directory.store()) ? directory.store() : fs::canonical(directory.store())});
  {
    auto store = must_open(directory.store(), StoreMode::kReadOnly);
    CHECK(must(store->load_code(record_in(*store))).artifact->bytes == kCode.artifact->bytes);
    CHECK(must(store->find_compiled(compiled_key())).has_value());
  }
  CHECK(bytes_of(directory.store()) == before);
  must(trust_store(directory.store(), false));
  CHECK(must(trusted_stores()).empty());
  check_foreign();
  // What the user compiles there is the user's.
  must(must_open(directory.store())->put_compiled(compiled_key(), kCode));
  CHECK(must(must_open(directory.store())->find_compiled(compiled_key())).has_value());
  CHECK(trust_store(directory.path / "none.db").error().code == ErrorCode::kNotFound);
}

TEST_CASE("a record whose row was changed is broken, and trust does not mend it") {
  const User user;
  for (const char* change : {"configuration = 'block=128,online=false'", "symbols = '[\"another\"]'", "content = ''", "code_digest = '0'",
                             "artifact = (SELECT digest FROM artifact WHERE size = 77)",
                             "environment = (SELECT id FROM environment WHERE device NOT LIKE '%NVRTC 13.0%')"}) {
    CAPTURE(change);
    Directory directory;
    make_tuned(directory.store());
    {
      auto store = must_open(directory.store());
      must(store->put_compiled({"other", DType::kF32, "x", "sm_90a", "c"}, {artifact_of(77), {"another"}, {}}));
      SessionKey later = session_key();
      later.record.device.environment["compiler"] = "NVRTC 13.1";
      must(store->begin_session(later, "1s"));
    }
    raw_sql(directory.store(), std::string("UPDATE record SET ") + change);
    for (const Trust trust : {Trust::kOwn, Trust::kAll}) {
      auto store = must(open_store(directory.store(), StoreMode::kReadOnly, trust));
      const Record record = record_in(*store);
      CHECK(record.code == CodeState::kBroken);
      CHECK(store->load_code(record).error().message.find("was modified after it was written") != std::string::npos);
    }
  }
}

TEST_CASE("a broken record gives way to any winner, so that tuning again mends it") {
  const User user;
  Directory directory;
  make_tuned(directory.store());
  raw_sql(directory.store(), "UPDATE record SET configuration = 'block=32', median_us = 0.1, ci95_low_us = 0.1, ci95_high_us = 0.1");
  CHECK(state_in(directory.store()) == CodeState::kBroken);
  make_tuned(directory.store());
  CHECK(state_in(directory.store()) == CodeState::kTrusted);
}

TEST_CASE("whoever knows how records are written still cannot write one of this user's") {
  const User user;
  Directory directory;
  make_tuned(directory.store());
  const cache::CodeIdentity forged{.kernel = "softmax",
                                   .source_hash = record_key().source_hash,
                                   .dtype = "f16",
                                   .shape = text(record_key().problem.shape),
                                   .configuration = "block=128,online=false",
                                   .architecture = "sm_90a",
                                   .compiler = "NVRTC 13.0",
                                   .symbols = R"(["k"])",
                                   .artifact = kCode.artifact->digest,
                                   .content = cache::fingerprint(kCode.artifact->bytes)};
  raw_sql(directory.store(),
          "UPDATE record SET configuration = '" + forged.configuration + "', code_digest = '" + cache::code_digest(forged) + "'");
  CHECK(state_in(directory.store()) == CodeState::kForeign);
  CHECK(state_in(directory.store(), Trust::kAll) == CodeState::kTrusted);  // the digest alone would not have told
}

TEST_CASE("compiled code of another configuration is none") {
  const User user;
  Directory directory;
  make_tuned(directory.store());
  raw_sql(directory.store(), "UPDATE compiled SET configuration = 'block=128'");
  CompiledKey key = compiled_key();
  key.configuration = "block=128";
  for (const Trust trust : {Trust::kOwn, Trust::kAll}) {
    CHECK_FALSE(must(must(open_store(directory.store(), StoreMode::kReadOnly, trust))->find_compiled(key)).has_value());
  }
}

TEST_CASE("code whose bytes were changed is not there") {
  const User user;
  Directory directory;
  make_tuned(directory.store());
  raw_sql(directory.store(), "UPDATE artifact SET size = 0, bytes = x'7801030000000001'");
  auto store = must_open(directory.store());
  CHECK(store->load_code(record_in(*store)).error().code == ErrorCode::kNotFound);
  CHECK_FALSE(must(store->find_compiled(compiled_key())).has_value());
}

TEST_CASE("a key that others can read vouches for nothing, and a list that others can write neither") {
  const User user;
  Directory directory;
  make_tuned(directory.store());
  chmod(user.key().c_str(), 0644);
  auto store = must_open(directory.store());
  CHECK(record_in(*store).code == CodeState::kForeign);
  CHECK(store->load_code(record_in(*store)).error().message.find("is accessible to other users") != std::string::npos);
  must(trust_store(directory.store()));
  CHECK(state_in(directory.store()) == CodeState::kTrusted);
  chmod((user.home.path / "hone" / "trusted_stores").c_str(), 0666);
  CHECK(state_in(directory.store()) == CodeState::kForeign);
}

TEST_CASE("where no key can be made, tuning goes on and the store has to be trusted") {
  Directory home;
  write_bytes(home.path / "file", "x");
  const Environment data("XDG_DATA_HOME", (home.path / "file").c_str());
  Directory directory;
  make_tuned(directory.store());
  auto store = must_open(directory.store());
  CHECK(record_in(*store).code == CodeState::kForeign);
  CHECK(store->load_code(record_in(*store)).error().message.find("seal.key") != std::string::npos);
  CHECK(state_in(directory.store(), Trust::kAll) == CodeState::kTrusted);
}

TEST_CASE("records from before code was sealed: trusted with the store, where they are what was compiled for them") {
  const User user;
  Directory directory;
  make_tuned(directory.store());
  raw_sql(directory.store(), "UPDATE record SET content = '', code_digest = '', seal = ''");
  CHECK(state_in(directory.store()) == CodeState::kForeign);
  CHECK(state_in(directory.store(), Trust::kAll) == CodeState::kTrusted);
  raw_sql(directory.store(), "UPDATE record SET configuration = 'block=128,online=false'");
  CHECK(state_in(directory.store(), Trust::kAll) == CodeState::kBroken);
}

TEST_CASE("the store in the user's own data directory is the user's, whatever made it" * doctest::test_suite("file")) {
  const Directory source;
  {
    const User other;
    make_tuned(source.store());
  }
  const User user;
  fs::create_directories(user.home.path / "hone");
  fs::copy_file(source.store(), user.home.path / "hone" / "store.db");
  CHECK(state_in(user.home.path / "hone" / "store.db") == CodeState::kTrusted);
}

TEST_CASE("a record without code has none to trust") {
  const User user;
  Directory directory;
  Record record = record_of("block=64", 9.5);
  record.artifact.clear();
  tuned(*must_open(directory.store()), record_key(), record);
  CHECK(state_in(directory.store()) == CodeState::kNone);
}
