#include "cli/worker_metrics.hpp"

#include <doctest/doctest.h>

#include "tests/cli/exposition.hpp"

namespace hone::cli {
namespace {

using What = ServeEvent::What;

test::Exposition told(const WorkerMetrics& metrics) {
  MetricsText out;
  metrics.write(out);
  return test::Exposition(out.text());
}

}  // namespace

TEST_CASE("a worker's work is counted by kind, its trials by outcome, its leases by their end") {
  WorkerMetrics metrics;
  metrics.take({.what = What::kAttached, .worker = "gpu7/cuda:0", .detail = "NVIDIA H200"});
  metrics.take({.what = What::kControl, .worker = "gpu7/cuda:0", .outcome = "ok", .seconds = 1.0});
  metrics.take({.what = What::kTrial, .worker = "gpu7/cuda:0", .outcome = "ok", .seconds = 0.25});
  metrics.take({.what = What::kTrial, .worker = "gpu7/cuda:0", .outcome = "wrong_result", .seconds = 0.5});
  metrics.take({.what = What::kTrial, .worker = "gpu7/cuda:0", .detail = "a process ended"});
  metrics.take({.what = What::kCompiled, .worker = "gpu7/compiler", .seconds = 3.0});
  metrics.take({.what = What::kGivenBack, .worker = "gpu7/cuda:0"});
  metrics.take({.what = What::kLost, .worker = "gpu7/cuda:0"});
  metrics.take({.what = What::kTrouble, .worker = "gpu7/cuda:0"});
  const test::Exposition read = told(metrics);
  CHECK(read.value("hone_worker_info", {{"worker", "gpu7/cuda:0"}, {"product", "NVIDIA H200"}}) == 1.0);
  CHECK(read.value("hone_worker_attached", {{"worker", "gpu7/cuda:0"}}) == 1.0);
  CHECK(read.value("hone_worker_work_total", {{"worker", "gpu7/cuda:0"}, {"kind", "trial"}}) == 3.0);
  CHECK(read.value("hone_worker_work_total", {{"worker", "gpu7/cuda:0"}, {"kind", "control"}}) == 1.0);
  CHECK(read.value("hone_worker_work_total", {{"worker", "gpu7/compiler"}, {"kind", "compile"}}) == 1.0);
  CHECK(read.value("hone_worker_work_seconds_total", {{"worker", "gpu7/cuda:0"}, {"kind", "trial"}}) == 0.75);
  CHECK(read.value("hone_worker_trials_total", {{"worker", "gpu7/cuda:0"}, {"outcome", "wrong_result"}}) == 1.0);
  CHECK(read.value("hone_worker_trials_total", {{"worker", "gpu7/cuda:0"}, {"outcome", "race"}}) == 0.0);
  CHECK(read.value("hone_worker_leases_total", {{"worker", "gpu7/cuda:0"}, {"end", "answered"}}) == 4.0);
  CHECK(read.value("hone_worker_leases_total", {{"worker", "gpu7/cuda:0"}, {"end", "given_back"}}) == 1.0);
  CHECK(read.value("hone_worker_leases_total", {{"worker", "gpu7/cuda:0"}, {"end", "lost"}}) == 1.0);
  CHECK(read.value("hone_worker_troubles_total", {{"worker", "gpu7/cuda:0"}}) == 1.0);
}

TEST_CASE("a worker that left is not attached, and keeps its counts") {
  WorkerMetrics metrics;
  metrics.take({.what = What::kAttached, .worker = "a", .detail = "X"});
  metrics.take({.what = What::kTrial, .worker = "a", .outcome = "ok"});
  metrics.take({.what = What::kLeft, .worker = "a"});
  CHECK(told(metrics).value("hone_worker_attached", {{"worker", "a"}}) == 0.0);
  CHECK(told(metrics).value("hone_worker_work_total", {{"worker", "a"}, {"kind", "trial"}}) == 1.0);
}

}  // namespace hone::cli
