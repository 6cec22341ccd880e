// What hone tune shows on standard error while it runs.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/command.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

Arguments small_session(const TemporaryDirectory& directory, const Arguments& more) {
  Arguments all{"tune",       HONE_SOURCE_DIR "/bench/spaces/copy.NVIDIA_H200.json.gz",
                "--budget",   "12trials",
                "--strategy", "random",
                "--store",    directory / "S.db"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')); }

/// The same on a terminal of so many columns; both of its streams.
std::string on_terminal(const TemporaryDirectory& directory, int columns, const std::string& environment, const std::string& more) {
  const std::string log = directory / "terminal.log";
  const std::string command = "stty cols " + std::to_string(columns) + "; " + environment + " $HONE tune " + HONE_SOURCE_DIR +
                              "/bench/spaces/copy.NVIDIA_H200.json.gz --budget 12trials --fresh --verbose --store " + (directory / "T.db") +
                              " " + more;
  run_shell("export HONE; script -qec '" + command + "' " + log + " > /dev/null");
  return contents(log);
}

}  // namespace

TEST_CASE("in a pipe a short session shows nothing, and --verbose each trial, without codes") {
  const TemporaryDirectory directory;
  CHECK(run(small_session(directory, {})).err.empty());
  CHECK(run(small_session(directory, {"--fresh", "--quiet"})).err.empty());
  const Ended verbose = run(small_session(directory, {"--fresh", "--verbose"}));
  REQUIRE(verbose.exit == 0);
  CHECK(lines_in(verbose.err) == 12);
  CHECK(verbose.err.find('\033') == std::string::npos);
  CHECK(verbose.err.find("  ok  ") != std::string::npos);
  CHECK(run(small_session(directory, {"--fresh", "--verbose", "--color", "always"})).err.find("\033[") != std::string::npos);
}

TEST_CASE("progress leaves standard output to the result") {
  const TemporaryDirectory directory;
  const Ended ended = run(small_session(directory, {"--verbose", "--json"}));
  CHECK(ended.json()["trials"] == 12);
}

TEST_CASE("--quiet and --verbose contradict one another, and --color takes three words") {
  const TemporaryDirectory directory;
  const Ended both = run(small_session(directory, {"--quiet", "--verbose"}));
  CHECK(both.exit == 2);
  CHECK(both.err.find("give one of the two") != std::string::npos);
  const Ended colour = run(small_session(directory, {"--color", "red"}));
  CHECK(colour.exit == 2);
  CHECK(colour.err.find("auto, always or never") != std::string::npos);
}

TEST_CASE("on a terminal there are colours, on a dumb one and with NO_COLOR there are none") {
  if (run_shell("command -v script && command -v stty").exit != 0) {
    tests::skip("script", "it comes with util-linux and makes a terminal");
    return;
  }
  const TemporaryDirectory directory;
  CHECK(on_terminal(directory, 80, "TERM=xterm", "").find("\033[2m") != std::string::npos);
  CHECK(on_terminal(directory, 60, "TERM=xterm NO_COLOR=1", "").find("\033[2m") == std::string::npos);
  CHECK(on_terminal(directory, 200, "TERM=dumb", "").find('\033') == std::string::npos);
  CHECK(on_terminal(directory, 80, "TERM=dumb", "--color always").find("\033[2m") != std::string::npos);
}

}  // namespace hone::test
