#pragma once
// What operators watch of a worker of others' sessions (hone serve-trials), told as metrics (docs/fleet.md lists them).

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "cli/metrics_text.hpp"
#include "engine/tune/serve_trials.hpp"

namespace hone::cli {

class WorkerMetrics {
 public:
  void take(const ServeEvent& event);
  /// A worker's series begin when it attaches.
  void write(MetricsText& out) const;

 private:
  static constexpr std::size_t kKinds = 4;  ///< of work: trials, controls, final rounds, batches to compile
  struct Worker {
    std::string product;
    bool attached = false;
    std::array<std::int64_t, kKinds> answered{};
    std::array<double, kKinds> seconds{};
    std::map<std::string, std::int64_t> outcomes;
    std::int64_t given_back = 0, lost = 0, troubles = 0;
  };

  std::map<std::string, Worker> workers_;  ///< by name
};

}  // namespace hone::cli
