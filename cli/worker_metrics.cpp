#include "cli/worker_metrics.hpp"

#include <numeric>
#include <string_view>

namespace hone::cli {
namespace {

using What = ServeEvent::What;

constexpr std::array<What, 4> kWork{What::kTrial, What::kControl, What::kFinals, What::kCompiled};
constexpr std::array<std::string_view, 4> kKindNames{"trial", "control", "final_round", "compile"};

}  // namespace

void WorkerMetrics::take(const ServeEvent& event) {
  Worker& worker = workers_[event.worker];
  switch (event.what) {
    case What::kAttached:
      worker.attached = true;
      worker.product = event.detail;
      return;
    case What::kLeft:
      worker.attached = false;
      return;
    case What::kGivenBack:
      ++worker.given_back;
      return;
    case What::kLost:
      ++worker.lost;
      return;
    case What::kTrouble:
      ++worker.troubles;
      return;
    default:
      break;
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (kWork.at(kind) == event.what) {
      ++worker.answered.at(kind);
      worker.seconds.at(kind) += event.seconds;
    }
  }
  if (event.what == What::kTrial && !event.outcome.empty()) {
    ++worker.outcomes[event.outcome];
  }
}

void WorkerMetrics::write(MetricsText& out) const {
  const auto write = [&](std::string_view name, MetricKind kind, std::string_view help, auto value) {
    out.family(name, kind, help);
    for (const auto& [id, worker] : workers_) {
      out.sample({{"worker", id}}, static_cast<double>(value(worker)));
    }
  };
  const auto write_kinds = [&](std::string_view name, std::string_view help, auto values) {
    out.family(name, MetricKind::kCounter, help);
    for (const auto& [id, worker] : workers_) {
      for (std::size_t kind = 0; kind < kKinds; ++kind) {
        out.sample({{"worker", id}, {"kind", kKindNames.at(kind)}}, static_cast<double>((worker.*values).at(kind)));
      }
    }
  };
  out.family("hone_worker_info", MetricKind::kGauge, "The workers of this process, and the product that they measure on.");
  for (const auto& [id, worker] : workers_) {
    out.sample({{"worker", id}, {"product", worker.product}}, 1.0);
  }
  write("hone_worker_attached", MetricKind::kGauge, "Whether the worker is attached to its store.",
        [](const Worker& worker) { return worker.attached; });
  write_kinds("hone_worker_work_total", "Pieces of work that the worker has done, by kind.", &Worker::answered);
  write_kinds("hone_worker_work_seconds_total", "Seconds that they took.", &Worker::seconds);
  out.family("hone_worker_trials_total", MetricKind::kCounter, "Trials of the worker by outcome.");
  for (const auto& [id, worker] : workers_) {
    for (const Outcome outcome : all_outcomes()) {
      const auto count = worker.outcomes.find(std::string(name(outcome)));
      out.sample({{"worker", id}, {"outcome", name(outcome)}}, count == worker.outcomes.end() ? 0.0 : static_cast<double>(count->second));
    }
  }
  out.family("hone_worker_leases_total", MetricKind::kCounter,
             "Leases of work by their end; one whose answer came too late counts as answered and as lost.");
  for (const auto& [id, worker] : workers_) {
    const std::int64_t answered = std::accumulate(worker.answered.begin(), worker.answered.end(), std::int64_t{0});
    out.sample({{"worker", id}, {"end", "answered"}}, static_cast<double>(answered));
    out.sample({{"worker", id}, {"end", "given_back"}}, static_cast<double>(worker.given_back));
    out.sample({{"worker", id}, {"end", "lost"}}, static_cast<double>(worker.lost));
  }
  write("hone_worker_troubles_total", MetricKind::kCounter, "Times that the store could not be reached.",
        [](const Worker& worker) { return worker.troubles; });
}

}  // namespace hone::cli
