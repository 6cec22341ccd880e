// Opening a store: new ones, foreign files, newer ones, read-only ones, damaged ones.

#include <sys/mount.h>
#include <sys/stat.h>

#include "store_fixture.hpp"
#include "tests/skip.hpp"

using namespace hone;
using namespace hone::test;

namespace {

/// The error of opening, which leaves the file and its directory as they were.
Error refused(const Directory& directory, const fs::path& file, StoreMode mode) {
  const std::string before = bytes_of(file);
  const std::set<std::string> files = directory.files();
  const Result<std::unique_ptr<Store>> store = open_store(file, mode);
  REQUIRE_FALSE(store.ok());
  CHECK(bytes_of(file) == before);
  CHECK(directory.files() == files);
  CHECK(store.error().message.find(file.string()) != std::string::npos);
  return store.error();
}

bool says(const Error& error, std::string_view words) {
  return error.code == ErrorCode::kStore && error.message.find(words) != std::string::npos;
}

/// A store with one session of three trials.
void make_store(const fs::path& file) {
  auto store = must_open(file);
  const std::int64_t session = must(store->begin_session(session_key(), "60s"));
  for (int i = 0; i < 3; ++i) {
    must(store->add_trial(session, parameters(), good_trial(static_cast<Count>(i)), 1.0));
  }
}

constexpr StoreMode kModes[] = {StoreMode::kReadWrite, StoreMode::kReadOnly};

}  // namespace

TEST_CASE("a new store is made with its directories, and marked as Hone's") {
  Directory directory;
  const fs::path file = directory.path / "a" / "b" / "store.db";
  must_open(file);
  CHECK(raw_sql(file, "PRAGMA application_id") == std::to_string(0x484F4E45));
  CHECK(raw_sql(file, "PRAGMA user_version") == "11");
  CHECK(raw_sql(file, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite%' AND strict = 0") == "0");
  CHECK(raw_sql(file, "PRAGMA integrity_check") == "ok");
}

TEST_CASE("opening again changes nothing") {
  Directory directory;
  make_store(directory.store());
  const std::string before = bytes_of(directory.store());
  must_open(directory.store());
  CHECK(bytes_of(directory.store()) == before);
  CHECK(directory.files() == std::set<std::string>{"store.db"});
}

TEST_CASE("an empty file and an empty database become a store") {
  Directory directory;
  write_bytes(directory.store(), "");
  make_store(directory.store());
  const fs::path other = directory.path / "other.db";
  raw_sql(other, "CREATE TABLE t (a); DROP TABLE t");
  make_store(other);
  CHECK(raw_sql(other, "PRAGMA application_id") == std::to_string(0x484F4E45));
}

TEST_CASE("an empty file is no store to read") {
  Directory directory;
  write_bytes(directory.store(), "");
  CHECK(says(refused(directory, directory.store(), StoreMode::kReadOnly), "is empty"));
}

TEST_CASE("a missing file is not found by a reader, which makes nothing") {
  Directory directory;
  const fs::path file = directory.path / "a" / "store.db";
  const auto store = open_store(file, StoreMode::kReadOnly);
  REQUIRE_FALSE(store.ok());
  CHECK(store.error().code == ErrorCode::kNotFound);
  CHECK(directory.files().empty());
}

TEST_CASE("a file that is no database is refused and left alone") {
  Directory directory;
  for (const StoreMode mode : kModes) {
    for (const std::string& bytes : {std::string("x"), std::string("hello\n"), std::string(10'000, 'a'), std::string(4096, '\0')}) {
      write_bytes(directory.store(), bytes);
      CHECK(says(refused(directory, directory.store(), mode), "not a SQLite database"));
    }
  }
}

TEST_CASE("a database of another program is refused and left alone") {
  Directory directory;
  const fs::path tables = directory.path / "tables.db", marked = directory.path / "marked.db", wal = directory.path / "wal.db";
  raw_sql(tables, "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
  raw_sql(marked, "PRAGMA application_id = 252006673; CREATE TABLE theirs (a)");
  raw_sql(wal, "PRAGMA journal_mode = WAL; CREATE TABLE theirs (a)");
  for (const StoreMode mode : kModes) {
    CHECK(says(refused(directory, tables, mode), "of another program"));
    CHECK(says(refused(directory, marked, mode), "another program (application id 0x0f055111)"));
    CHECK(says(refused(directory, wal, mode), "of another program"));
  }
}

TEST_CASE("a store of a newer Hone is refused and left alone") {
  Directory directory;
  make_store(directory.store());
  raw_sql(directory.store(), "PRAGMA user_version = 12");
  for (const StoreMode mode : kModes) {
    CHECK(says(refused(directory, directory.store(), mode), "made by a newer Hone (schema 12, this one knows 11): update Hone"));
  }
}

TEST_CASE("a truncated or overwritten store is reported, not replaced") {
  Directory directory;
  make_store(directory.store());
  const std::string whole = bytes_of(directory.store());
  for (const StoreMode mode : kModes) {
    write_bytes(directory.store(), whole.substr(0, whole.size() / 2));
    CHECK(says(refused(directory, directory.store(), mode), "corrupt"));
    std::string scribbled = whole;
    scribbled.replace(100, 2'000, 2'000, '\x5a');
    write_bytes(directory.store(), scribbled);
    CHECK(says(refused(directory, directory.store(), mode), "Move it away"));
    write_bytes(directory.store(), std::string(whole.size(), '\xff'));
    CHECK(says(refused(directory, directory.store(), mode), "not a SQLite database"));
  }
}

TEST_CASE("damage in the middle is an error of the call that meets it") {
  Directory directory;
  make_store(directory.store());
  const std::size_t page = std::stoul(raw_sql(directory.store(), "SELECT rootpage FROM sqlite_schema WHERE name = 'trial'"));
  std::string scribbled = bytes_of(directory.store());
  scribbled.replace((page - 1) * 4'096, 4'096, 4'096, '\x5a');
  write_bytes(directory.store(), scribbled);
  auto store = must_open(directory.store());
  const auto trials = store->trials(1, parameters());
  REQUIRE_FALSE(trials.ok());
  CHECK(says(trials.error(), "corrupt"));
  CHECK(says(store->add_trial(1, parameters(), good_trial(9), 1.0).error(), "corrupt"));
}

TEST_CASE("a read-only file is refused for writing, also to root, and can be read") {
  Directory directory;
  make_store(directory.store());
  chmod(directory.store().c_str(), 0444);
  CHECK(says(refused(directory, directory.store(), StoreMode::kReadWrite), "is read-only"));
  CHECK(must(must_open(directory.store(), StoreMode::kReadOnly)->trials(1, parameters())).size() == 3);
}

TEST_CASE("a read-only directory is refused for writing, also to root, and can be read") {
  Directory directory;
  make_store(directory.store());
  chmod(directory.path.c_str(), 0555);
  CHECK(says(refused(directory, directory.store(), StoreMode::kReadWrite), "is read-only"));
  CHECK(must(must_open(directory.store(), StoreMode::kReadOnly)->trials(1, parameters())).size() == 3);
  CHECK(says(open_store(directory.path / "new.db", StoreMode::kReadWrite).error(), "is read-only"));
}

TEST_CASE("a read-only file system is refused for writing and can be read") {
  Directory directory;
  const fs::path plain = directory.path / "plain", bound = directory.path / "bound";
  make_store(plain / "store.db");
  fs::create_directory(bound);
  if (mount(plain.c_str(), bound.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    hone::tests::skip("mount", "this process may not mount");
    return;
  }
  if (mount(nullptr, bound.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0) {
    CHECK(says(open_store(bound / "store.db", StoreMode::kReadWrite).error(), "is read-only"));
    CHECK(must(must_open(bound / "store.db", StoreMode::kReadOnly)->trials(1, parameters())).size() == 3);
  }
  CHECK(umount(bound.c_str()) == 0);
}

TEST_CASE("reading leaves nothing behind, in a rollback and in a WAL store") {
  Directory directory;
  for (const char* mode : {"delete", "wal"}) {
    make_store(directory.store());
    CHECK(raw_sql(directory.store(), std::string("PRAGMA journal_mode = ") + mode) == mode);
    const std::string before = bytes_of(directory.store());
    {
      auto reader = must_open(directory.store(), StoreMode::kReadOnly);
      CHECK_FALSE(must(reader->sessions()).empty());
      CHECK_FALSE(must(reader->find_record(record_key(), parameters())).has_value());
      CHECK(says(reader->begin_session(session_key(), "1s").error(), "opened for reading only"));
      CHECK(directory.files() == std::set<std::string>{"store.db"});
    }
    CHECK(directory.files() == std::set<std::string>{"store.db"});
    CHECK(bytes_of(directory.store()) == before);
  }
}

TEST_CASE("a reader sees what is written after it opened the store") {
  Directory directory;
  for (const char* mode : {"delete", "wal"}) {
    fs::remove(directory.store());
    make_store(directory.store());
    raw_sql(directory.store(), std::string("PRAGMA journal_mode = ") + mode);
    auto reader = must_open(directory.store(), StoreMode::kReadOnly);
    CHECK(must(reader->sessions()).size() == 1);
    raw_sql(directory.store(), "UPDATE session SET budget = '2s'");
    CHECK(must(reader->sessions()).at(0).budget == "2s");
    make_store(directory.store());
    CHECK(must(reader->sessions()).size() == 2);
  }
}

TEST_CASE("a path that cannot be a store is refused") {
  Directory directory;
  for (const StoreMode mode : kModes) {
    CHECK(says(open_store(directory.path, mode).error(), "is not a file"));
    CHECK(says(open_store("", mode).error(), "cannot be the path"));
  }
  write_bytes(directory.path / "file", "x");
  CHECK(says(open_store(directory.path / "file" / "store.db", StoreMode::kReadWrite).error(), "file"));
}

TEST_CASE("names that mean something to SQLite are plain names") {
  Directory directory;
  for (const char* name : {"file:x?mode=ro", ":memory:", "a%20b#c?.db", "größe.db"}) {
    make_store(directory.path / name);
    raw_sql(directory.path / name, "PRAGMA journal_mode = WAL");
    CHECK(must(must_open(directory.path / name, StoreMode::kReadOnly)->sessions()).size() == 1);
  }
  CHECK(directory.files().size() == 4);
}

TEST_CASE("a link to a store is the store") {
  Directory directory;
  make_store(directory.store());
  fs::create_directory(directory.path / "links");
  fs::create_symlink(directory.store(), directory.path / "links" / "store.db");
  make_store(directory.path / "links" / "store.db");
  CHECK(must(must_open(directory.store())->sessions()).size() == 2);
}

TEST_CASE("the default path follows HONE_STORE, then XDG, then home") {
  Environment home("HOME", "/home/me");
  Environment store("HONE_STORE", "/data/mine.db");
  Environment xdg("XDG_DATA_HOME", "/xdg");
  CHECK(default_store_path() == "/data/mine.db");
  setenv("HONE_STORE", "", 1);
  CHECK(default_store_path() == "/xdg/hone/store.db");
  setenv("XDG_DATA_HOME", "relative", 1);
  CHECK(default_store_path() == "/home/me/.local/share/hone/store.db");
  unsetenv("XDG_DATA_HOME");
  CHECK(default_store_path() == "/home/me/.local/share/hone/store.db");
  unsetenv("HOME");
  CHECK(default_store_path().is_absolute());
}
