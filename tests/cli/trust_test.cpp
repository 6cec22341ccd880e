// Stores that came from elsewhere.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/command.hpp"

namespace hone::test {

TEST_CASE("code of another user's store is exported only with trust, and can be looked at without") {
  const TemporaryDirectory directory;
  const std::string store = directory / "S.db";
  const auto on_copy = [&](const std::string& verb, const Arguments& more) {
    Arguments all{verb, "copy", "--device", "cpu", "--shape", "n=4096", "--store", store};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Environment author{{"XDG_DATA_HOME", directory / "author"}}, other{{"XDG_DATA_HOME", directory / "other"}};
  const Arguments exported = on_copy("export", {"--out", directory / "out"});
  REQUIRE(run(on_copy("tune", {"--budget", "2trials"}), author).exit == 0);
  CHECK(run(on_copy("best", {"--json"}), author).json()["code"] == "trusted");
  CHECK(run(exported, author).exit == 0);

  CHECK(run(on_copy("best", {"--json"}), other).json()["code"] == "foreign");
  CHECK(run(on_copy("best", {}), other).out.find("hone trust") != std::string::npos);
  CHECK(run(on_copy("run", {"--config", "best"}), other).exit == 0);
  const Ended refused = run(exported, other);
  CHECK(refused.exit == 2);
  CHECK(refused.err.find("hone trust " + store) != std::string::npos);
  Arguments once = exported;
  once.emplace_back("--trust");
  CHECK(run(once, other).exit == 0);
  CHECK(run(exported, other).exit == 2);

  CHECK(run({"trust", store}, other).exit == 0);
  CHECK(run(exported, other).exit == 0);
  CHECK(run({"trust", "--json"}, other).json()["trusted"].size() == 1);
  CHECK(run({"trust", store, "--remove"}, other).exit == 0);
  CHECK(run({"trust", "--json"}, other).json()["trusted"].empty());
  CHECK(run(exported, other).exit == 2);
}

TEST_CASE("only a store can be trusted") {
  const TemporaryDirectory directory;
  const Environment user{{"XDG_DATA_HOME", directory / "data"}};
  write(directory / "text", "no store");
  CHECK(run({"trust", directory / "none.db"}, user).exit == 2);
  CHECK(run({"trust", directory / "text"}, user).exit == 2);
  CHECK(run({"trust", "--remove"}, user).exit == 2);
  CHECK_FALSE(std::filesystem::exists(directory / "data/hone/trusted_stores"));
}

}  // namespace hone::test
