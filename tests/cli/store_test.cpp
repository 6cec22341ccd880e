// hone store.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "tests/cli/command.hpp"

namespace hone::test {
namespace {

bool store_refuses(const Arguments& arguments, std::string_view because) {
  const Ended ended = run(arguments);
  CAPTURE(ended.err);
  return ended.exit == 2 && ended.err.find(because) != std::string::npos;
}

}  // namespace

TEST_CASE("a store that was pulled answers as the one it was pulled from") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", pulled = directory / "P.db";
  const Arguments asked{"best", "copy", "--device", "cpu", "--shape", "n=4096", "--json", "--store"};
  const auto best = [&](const std::string& of) {
    Arguments all = asked;
    all.push_back(of);
    return run(all).json();
  };
  REQUIRE(run({"tune", "copy", "--device", "cpu", "--shape", "n=4096", "--budget", "2trials", "--store", store}).exit == 0);
  REQUIRE(run({"store", "pull", "--store", store, "--out", pulled}).exit == 0);
  CHECK(best(pulled) == best(store));
  CHECK(run({"store", "pull", "--store", store, "--out", pulled}).exit == 0);
  CHECK(store_refuses({"store", "pull", "--store", pulled, "--out", store}, "which a pull would lose"));
}

TEST_CASE("a backup of a damaged store says that it is damaged") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", copied = directory / "B.db";
  REQUIRE(run({"tune", "copy", "--device", "cpu", "--shape", "n=4096", "--budget", "2trials", "--store", store}).exit == 0);
  const Ended sound = run({"store", "backup", "--store", store, "--out", copied, "--json"});
  CHECK(sound.exit == 0);
  CHECK(sound.json()["faults"].empty());
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(store.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, "UPDATE artifact SET bytes = x'00112233'", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  std::filesystem::remove(copied);
  const Ended damaged = run({"store", "backup", "--store", store, "--out", copied});
  CHECK(damaged.exit == 1);
  CHECK(damaged.out.find("damaged, as the store is: ") != std::string::npos);
  CHECK(std::filesystem::exists(copied));
}

TEST_CASE("hone store says what it lacks, and makes nothing") {
  const TemporaryDirectory directory;
  const std::string none = directory / "none.db";
  CHECK(store_refuses({"store"}, "hone store info"));
  CHECK(store_refuses({"store", "nonsense", "--store", none}, "unknown word 'nonsense'"));
  CHECK(store_refuses({"store", "pull", "--store", none}, "give --out FILE"));
  CHECK(store_refuses({"store", "info", "--out", none, "--store", none}, "--out belongs to"));
  CHECK(store_refuses({"store", "info", none, "--store", none}, "takes no stores but --store"));
  CHECK(store_refuses({"store", "merge", "--store", none}, "which stores?"));
  CHECK(store_refuses({"store", "push", none, "--store", none}, "give --store postgres://"));
  for (const char* const word : {"info", "check", "prune"}) {
    CHECK(store_refuses({"store", word, "--store", none}, "nothing has been tuned into it yet"));
  }
  CHECK(store_refuses({"store", "merge", none, "--store", directory / "other.db"}, "no store at " + none));
  CHECK_FALSE(std::filesystem::exists(none));
  CHECK_FALSE(std::filesystem::exists(directory / "other.db"));
}

TEST_CASE("store check tells damage from a file that cannot be opened as a store") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db", cut = directory / "cut.db", lacking = directory / "lacking.db";
  REQUIRE(run({"tune", "copy", "--device", "cpu", "--shape", "n=4096", "--budget", "2trials", "--store", store}).exit == 0);
  const auto change = [](const std::string& file, const char* statement) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, statement, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
  };
  CHECK(run({"store", "check", "--store", store}).exit == 0);
  std::filesystem::copy_file(store, cut);
  std::filesystem::resize_file(cut, 5000);
  CHECK(store_refuses({"store", "check", "--store", cut}, cut));
  std::filesystem::copy_file(store, lacking);
  change(lacking, "DROP TABLE artifact");
  CHECK(store_refuses({"store", "check", "--store", lacking}, lacking));
  change(store, "UPDATE artifact SET bytes = x'00112233'");
  const Ended damaged = run({"store", "check", "--store", store, "--json"});
  CHECK(damaged.exit == 1);
  CHECK_FALSE(damaged.json()["faults"].empty());
}

TEST_CASE("a URL of which no store can be is refused, and no folder is made of it") {
  const TemporaryDirectory directory;
  const std::string here = "cd " + (directory / "") + " && $HONE ";
  for (const std::string url : {"postgress://me:secret@h/db", "mysql://h/db", "file:///S.db", "POSTGRES://h/db"}) {
    const Ended ended = run_shell(here + "tune copy --device cpu --shape n=4096 --budget 1trials --store '" + url + "'");
    CHECK(ended.exit == 2);
    CHECK(ended.err.find("secret") == std::string::npos);
    const bool says_what = ended.err.find("it is postgres://USER@HOST:PORT/DATABASE") != std::string::npos;
    CHECK_MESSAGE((says_what || ended.err.find("apt install libpq5") != std::string::npos), ended.err);  // where libpq is, or is not
    CHECK(std::filesystem::is_empty(directory / ""));
  }
  CHECK(run_shell(here + "sessions --store ./a://b").err.find("no store at ") != std::string::npos);  // a path
}

TEST_CASE("a server that is not there is a clear error without the password") {
  const Ended ended = run({"sessions", "--store", "postgres://me:secret@127.0.0.1:1/db"});
  CHECK(ended.exit != 0);
  CHECK(ended.err.find("secret") == std::string::npos);
  const bool names_it = ended.err.find("the store postgres://me@127.0.0.1:1/db") != std::string::npos;
  CHECK_MESSAGE((names_it || ended.err.find("apt install libpq5") != std::string::npos), ended.err);  // where libpq is, or is not
}

}  // namespace hone::test
