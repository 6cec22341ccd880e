#include "search/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hone::search {

double agreement(std::span<const double> a, std::span<const double> b) {
  constexpr std::size_t kFewest = 4;
  constexpr double kMost = 0.9999;  // what agrees fully is finite as well
  if (a.size() < kFewest) {
    return std::numeric_limits<double>::infinity();
  }
  const auto count = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count, mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double of_a = 0.0, of_b = 0.0, of_both = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
    of_both += (a[i] - mean_a) * (b[i] - mean_b);
  }
  const double spread = std::sqrt(of_a * of_b);
  return spread > 0.0 ? std::atanh(std::clamp(of_both / spread, -kMost, kMost)) * std::sqrt(count - 3.0) : 0.0;
}

}  // namespace hone::search
