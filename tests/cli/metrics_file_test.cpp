#include "cli/metrics_file.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <set>

#include "tests/cli/command.hpp"

namespace hone::cli {

TEST_CASE("the file is there at once, is written again and again, and keeps the last state") {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "hone.prom";
  std::atomic<int> written = 0;
  auto metrics = MetricsFile::start(file, std::chrono::milliseconds(1), [&] { return "n " + std::to_string(++written) + "\n"; });
  REQUIRE(metrics.ok());
  CHECK(!test::contents(file).empty());
  std::set<std::string> seen;
  while (seen.size() < 3) {  // for as long as it takes
    const std::string text = test::contents(file);
    CHECK(text.starts_with("n "));
    CHECK(text.ends_with("\n"));  // never half of it
    seen.insert(text);
  }
  CHECK((*metrics)->finish().ok());
  const std::string last = test::contents(file);
  CHECK(last == "n " + std::to_string(written) + "\n");
  metrics->reset();
  CHECK(test::contents(file) == last);
  // Nothing is left beside it.
  CHECK(std::distance(std::filesystem::directory_iterator(directory / ""), {}) == 1);
}

TEST_CASE("the end is written even where the interval never passed") {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "hone.prom";
  std::string state = "running\n";
  auto metrics = MetricsFile::start(file, std::chrono::hours(24), [&] { return state; });
  REQUIRE(metrics.ok());
  state = "done\n";
  CHECK((*metrics)->finish().ok());
  CHECK(test::contents(file) == "done\n");
}

TEST_CASE("a file that cannot be written is an error at once; one that cannot be written later is told at the end") {
  const test::TemporaryDirectory directory;
  const auto none = MetricsFile::start(directory / "missing/hone.prom", std::chrono::hours(24), [] { return "x\n"; });
  REQUIRE(!none);
  CHECK(none.error().message.find("missing/hone.prom") != std::string::npos);

  std::filesystem::create_directory(directory / "there");
  auto metrics = MetricsFile::start(directory / "there/hone.prom", std::chrono::hours(24), [] { return "x\n"; });
  REQUIRE(metrics.ok());
  std::filesystem::remove_all(directory / "there");
  const Result<void> ended = (*metrics)->finish();
  REQUIRE(!ended);
  CHECK(ended.error().message.find("there/hone.prom") != std::string::npos);
}

}  // namespace hone::cli
