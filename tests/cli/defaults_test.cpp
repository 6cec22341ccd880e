// A user's file with options: $HONE_CONFIG or hone/config.toml.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/command.hpp"

namespace hone::test {

TEST_CASE("a user's file gives options to all verbs that have them, and to one") {
  const TemporaryDirectory directory;
  const std::string file = directory / "config.toml", store = directory / "given.db";
  write(file, "store = '" + store + "'\n[run]\nshape = 'n=1000'\ntiming-seconds = 0.02\ndefine = ['ONE=1', 'TWO=2']\n");
  const Environment environment{{"HONE_CONFIG", file}};
  const Ended ran = run({"run", "copy", "--device", "cpu", "--json"}, environment);
  CHECK(ran.json()["shape"]["n"] == 1000);
  CHECK(run({"sessions"}, environment).err.find(store) != std::string::npos);
  CHECK(run({"space", "copy", "--device", "cpu"}, environment).exit == 0);  // has no --timing-seconds
}

TEST_CASE("the command line and the environment come before a user's file") {
  const TemporaryDirectory directory;
  const std::string file = directory / "config.toml";
  write(file, "store = '" + (directory / "file.db") + "'\nshape = 'n=1000'\ndevice = 'cpu'\n[run]\nshape = 'n=2000'\n");
  const Environment environment{{"HONE_CONFIG", file}, {"HONE_STORE", directory / "environment.db"}};
  CHECK(run({"run", "copy", "--json", "--timing-seconds", "0.02"}, environment).json()["shape"]["n"] == 2000);
  CHECK(run({"run", "copy", "--shape", "n=3000", "--json", "--timing-seconds", "0.02"}, environment).json()["shape"]["n"] == 3000);
  CHECK(run({"sessions"}, environment).err.find("environment.db") != std::string::npos);
  CHECK(run({"sessions", "--store", directory / "line.db"}, environment).err.find("line.db") != std::string::npos);
  CHECK(run({"space", "copy", "--arch", "sm_90a"}, environment).exit == 0);  // the file's --device stands back
}

TEST_CASE("what is wrong in a user's file is said, with its line") {
  const TemporaryDirectory directory;
  const std::string file = directory / "config.toml";
  const auto said = [&](const std::string& text) {
    write(file, text);
    const Ended ended = run({"sessions", "--json"}, {{"HONE_CONFIG", file}});
    CHECK(ended.exit == 2);
    return ended.json()["error"]["message"].get<std::string>();
  };
  CHECK(said("\nstroe = 'S.db'").find("config.toml:2: unknown option 'stroe'; did you mean 'store'?") != std::string::npos);
  CHECK(said("[tune]\nbugdet = '3s'").find("config.toml:2: unknown option 'bugdet'; did you mean 'budget'?") != std::string::npos);
  CHECK(said("[tun]\nbudget = '3s'").find("unknown verb 'tun'; did you mean 'tune'?") != std::string::npos);
  CHECK(said("store = 2020-01-01").find("'store' is a text in quotes") != std::string::npos);
  CHECK(said("store =").find("config.toml:1") != std::string::npos);
  CHECK(run({"sessions"}, {{"HONE_CONFIG", directory / "none.toml"}}).err.find("none.toml cannot be read") != std::string::npos);
  CHECK(run({"completion", "bash"}, {{"HONE_CONFIG", file}}).exit == 0);
}

TEST_CASE("a user's file is looked for where XDG says") {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "hone");
  write(directory / "hone/config.toml", "store = '/nowhere/else.db'");
  const Environment environment{{"XDG_CONFIG_HOME", directory / ""}, {"HONE_STORE", ""}};
  CHECK(run_shell("unset HONE_CONFIG; \"$HONE\" sessions", environment).err.find("/nowhere/else.db") != std::string::npos);
}

}  // namespace hone::test
