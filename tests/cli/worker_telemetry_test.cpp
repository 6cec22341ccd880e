// --metrics and --log of workers and of the session that they serve, over a server that the test starts.
#include <doctest/doctest.h>

#include <csignal>

#include "tests/cache/postgres_server.hpp"
#include "tests/cli/command.hpp"
#include "tests/cli/exposition.hpp"

namespace hone::test {
namespace {

const std::string kDevices = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sleeping_device.so";
const Environment kSlow{{"SLEEPER_MS", "4"}};

Arguments serving(const std::string& url, const std::string& device, const std::string& metrics, const std::string& log) {
  return {"serve-trials", "--store", url, "--device", device, "--plugin", kDevices, "--quiet", "--metrics", metrics, "--log", log};
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("workers and the session that they serve tell the same of its trials, and no password") {
  const TemporaryDirectory directory;
  std::string url = postgres_server().new_database();
  url.insert(url.find('@'), ":s3cret");
  const std::string log = directory / "log";
  Running first(serving(url, "sleeper:0", directory / "first", log), "/dev/null", directory / "err", kSlow);
  Running second(serving(url, "sleeper:1", directory / "second", log), "/dev/null", directory / "err", kSlow);
  const Ended ended = run({"tune", "copy", "--workers", "--plugin", kDevices, "--shape", "n=1024", "--budget", "24trials", "--strategy",
                           "random", "--store", url, "--metrics", directory / "session", "--log", log, "--json"},
                          kSlow);
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(first.signalled({SIGHUP}) == 0);
  CHECK(second.signalled({SIGTERM}) == 0);

  const auto report = ended.json();
  const Exposition session(contents(directory / "session"));
  CHECK(session.family("hone_device_trials_total").samples.size() == 2);  // the workers', and no device of the coordinator's
  double of_workers = 0.0;
  for (const std::string file : {"first", "second"}) {
    const Exposition worker(contents(directory / file));
    for (const auto& [labels, value] : worker.family("hone_worker_info").samples) {
      const std::string& name = labels.at("worker");
      CHECK(worker.value("hone_worker_attached", {{"worker", name}}) == 0.0);
      const double trials = worker.value("hone_worker_work_total", {{"worker", name}, {"kind", "trial"}});
      CHECK(session.value("hone_device_trials_total", {{"device", name}}) == trials);
      CHECK(session.value("hone_device_info", {{"device", name}, {"product", "Sleeper"}, {"uuid", ""}}) == 1.0);
      of_workers += trials;
    }
  }
  CHECK(of_workers == 24.0);
  const std::string lines = contents(log);
  CHECK(occurrences(lines, "\"event\":\"trial\"") == 24);
  CHECK(occurrences(lines, "\"event\":\"worker_trial\"") == 24);
  CHECK(occurrences(lines, "\"event\":\"worker_attached\"") == 2);
  CHECK(occurrences(lines, "\"event\":\"worker_left\"") == 2);
  for (const std::string file : {"log", "err", "first", "second", "session"}) {
    CHECK_MESSAGE(contents(directory / file).find("s3cret") == std::string::npos, file);
  }
}

}  // namespace hone::test
