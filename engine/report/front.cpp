#include "engine/report/front.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace hone::report {

std::vector<std::size_t> time_energy_front(std::span<const Trial> trials) {
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Measurement& measured = trials[i].measurement;
    if (trials[i].outcome == Outcome::kOk && !measured.raced_out && measured.energy_j) {
      known.push_back(i);
    }
  }
  std::ranges::sort(known, {},
                    [&](std::size_t i) { return std::tuple(trials[i].measurement.median_us, trials[i].measurement.energy_j->value, i); });
  std::vector<std::size_t> front;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : known) {
    if (trials[i].measurement.energy_j->value < least) {
      least = trials[i].measurement.energy_j->value;
      front.push_back(i);
    }
  }
  return front;
}

}  // namespace hone::report
