#include "search/chance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::search {
namespace {

constexpr double kMemory = 0.9;       // of the model's proposals about the last ten count
constexpr std::size_t kFewest = 3;    // times from which a spread is estimated
constexpr double kClockNoise = 1e-3;  // of log times: less is noise of a clock

}  // namespace

double odds_of_chance(std::span<const double> logs, std::size_t drawn, double best) {
  if (logs.size() < kFewest) {
    return 0.5;
  }
  const auto count = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  const double squares =
      std::accumulate(logs.begin(), logs.end(), 0.0, [&](double sum, double x) { return sum + (x - mean) * (x - mean); });
  // Of a new one, so the mean's own uncertainty is in it.
  const double spread = std::max(kClockNoise, std::sqrt(squares / (count - 1.0) * (1.0 + 1.0 / count)));
  return 0.5 * std::erfc((mean - best) / spread / std::sqrt(2.0)) * count / static_cast<double>(drawn);
}

void Chance::asked(plugin::Position position, bool at_random) { at_random_.emplace(position, at_random); }

void Chance::told(plugin::Position position, double time_us, bool improved) {
  const auto asked = at_random_.find(position);
  if (asked == at_random_.end()) {
    return;
  }
  if (asked->second) {
    ++drawn_;
    if (std::isfinite(time_us)) {
      logs_.push_back(std::log(time_us));
    }
    return;
  }
  improved_ = kMemory * improved_ + (improved ? 1.0 : 0.0);
  chosen_ = kMemory * chosen_ + 1.0;
}

double Chance::share(double best_us, double unexplained, double weight) const {
  // What explains the bulk of the times need not explain the best of them: half of chance's share does not depend on it.
  const double chance = weight * 0.5 * (1.0 + unexplained) * odds_of_chance(logs_, drawn_, std::log(best_us));
  const double model = (improved_ + 1.0) / (chosen_ + 2.0);
  return chance / (chance + model);
}

}  // namespace hone::search
