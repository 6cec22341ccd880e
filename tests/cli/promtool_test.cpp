// The metrics, read by Prometheus's own checker and by its server (Debian's package prometheus).
#include <doctest/doctest.h>

#include "tests/cli/command.hpp"
#include "tests/skip.hpp"

namespace hone::test {
namespace {

const std::string kSleeper = std::string(HONE_BINARY_DIR) + "/tests/plugin/devices/sleeping_device.so";

bool has_promtool() {
  if (run_shell("command -v promtool >/dev/null").exit == 0) {
    return true;
  }
  tests::skip("promtool", "it is in Debian's package prometheus");
  return false;
}

/// What the checker has to say; nothing where all is well.
std::string complaints(const std::string& file) {
  const Ended ended = run_shell("promtool check metrics <" + file + " 2>&1");
  return ended.exit == 0 ? ended.out : ended.out + " (exit code " + std::to_string(ended.exit) + ")";
}

}  // namespace

TEST_CASE("promtool has no complaint: sessions on one device and on several, one that failed, a workload") {
  if (!has_promtool()) {
    return;
  }
  const TemporaryDirectory directory;
  const std::string file = directory / "hone.prom", workload = directory / "W";
  for (const std::string devices : {"sleeper:0", "sleeper:0,sleeper:1,sleeper:2"}) {
    const Ended ended = run({"tune", "copy", "--device", devices, "--plugin", kSleeper, "--shape", "n=1024", "--budget", "60trials,60s",
                             "--store", directory / "S.db", "--metrics", file},
                            {{"SLEEPER_MS", "1"}, {"SLEEPER_SPEEDS", "1,1.3,1"}});
    REQUIRE_MESSAGE(ended.exit == 0, ended.err);
    CHECK(complaints(file) == "");
  }
  CHECK(run({"tune", "nonsense", "--metrics", file, "--store", directory / "S.db"}).exit == 2);
  CHECK(complaints(file) == "");
  write(workload,
        "{\"hone_workload\": 1}\n"
        "{\"kernel\": \"matmul\", \"dtype\": \"f32\", \"shape\": {\"m\": 8, \"n\": 16, \"k\": 32}, \"count\": 3}\n"
        "{\"kernel\": \"row_sum\", \"dtype\": \"f32\", \"shape\": {\"rows\": 4, \"cols\": 64}, \"count\": 1}\n");
  const Ended ended =
      run({"tune", "--workload", workload, "--device", "cpu", "--budget", "12trials", "--store", directory / "S.db", "--metrics", file});
  REQUIRE_MESSAGE(ended.exit == 0, ended.err);
  CHECK(complaints(file) == "");
}

TEST_CASE("promtool does complain of what is wrong") {
  if (!has_promtool()) {
    return;
  }
  const TemporaryDirectory directory;
  write(directory / "hone.prom", "# TYPE hone_trials counter\nhone_trials 1\n");
  CHECK(complaints(directory / "hone.prom") != "");
}

TEST_CASE("a Prometheus server scrapes a running session") {
  if (!has_promtool()) {
    return;
  }
  const TemporaryDirectory directory;
  const Ended ended = run_shell(
      "cd " + (directory / "") +
          "\n"
          "trap 'kill $hone $server 2>/dev/null; wait' EXIT\n"
          "\"$HONE\" tune copy --device sleeper:0 --plugin " +
          kSleeper +
          " --shape n=1024 --budget 100000trials --strategy random --store S.db --metrics 127.0.0.1:0 >out 2>err & hone=$!\n"
          "until grep -q 'metrics at' err; do sleep 0.1; done\n"
          "target=$(sed -n 's|^metrics at http://\\(.*\\)/metrics$|\\1|p' err)\n"
          "printf 'scrape_configs:\\n- job_name: hone\\n  scrape_interval: 1s\\n  static_configs:\\n  - targets: [\"%s\"]\\n' \"$target\" "
          ">prometheus.yml\n"
          "promtool check config prometheus.yml || exit 1\n"
          "prometheus --config.file=prometheus.yml --storage.tsdb.path=data --web.listen-address=127.0.0.1:0 >prometheus.log 2>&1 & "
          "server=$!\n"
          "until grep -q 'Server is ready' prometheus.log; do kill -0 $server || { cat prometheus.log; exit 1; }; sleep 0.1; done\n"
          "address=$(sed -n 's/.*Listening on. address=\\(127.0.0.1:[0-9]*\\).*/\\1/p' prometheus.log | head -n 1)\n"
          "until promtool query instant http://$address 'hone_trials_total{outcome=\"ok\"} > 3' | tee answer | grep -q hone_trials_total; "
          "do sleep 0.3; done\n"
          "promtool query instant http://$address 'up{job=\"hone\"}' >>answer\n"
          "cat answer",
      {{"SLEEPER_MS", "20"}});
  CAPTURE(ended.err);
  CHECK(ended.out.find("hone_trials_total{instance=") != std::string::npos);
  CHECK(ended.out.find("up{instance=") != std::string::npos);
}

}  // namespace hone::test
