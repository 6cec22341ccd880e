#include "search/metric.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace hone::search {
namespace {

constexpr float kHamming = 0.25F;       // a differing value counts like this much of the range
constexpr unsigned kMostAligned = 6;    // a multiple of 64 is aligned enough
constexpr double kWidth = 2.0;          // weights are known within a factor of e^2, no better
constexpr double kDerivedRarely = 1.0;  // a derived coordinate is expected to matter less

/// Places by logarithm where the values are positive and ordered, else by rank; in [0, 1].
std::vector<float> places(std::span<const double> values) {
  const bool logarithmic = values.front() > 0.0 && std::ranges::is_sorted(values) && values.back() > values.front();
  std::vector<float> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.push_back(static_cast<float>(logarithmic ? std::log(values[i] / values.front()) / std::log(values.back() / values.front())
                                                    : static_cast<double>(i) / static_cast<double>(values.size() - 1)));
  }
  return result;
}

/// Trailing zero bits of the values, in [0, 1]; empty where they say no more than the order does.
std::vector<float> alignments(std::span<const double> values) {
  constexpr double kMostExact = 1e15;
  std::vector<float> bits;
  for (const double value : values) {
    if (value < 1.0 || value > kMostExact || value != std::floor(value)) {
      return {};
    }
    const auto zeros = static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(value)));
    bits.push_back(static_cast<float>(std::min(kMostAligned, zeros)));
  }
  if (values.size() < 3 || std::ranges::is_sorted(bits)) {
    return {};
  }
  const auto [low, high] = std::ranges::minmax(bits);
  for (float& bit : bits) {
    bit = (bit - low) / (high - low);
  }
  return bits;
}

}  // namespace

Metric::Metric(const plugin::Space& space, bool alignment) {
  // Length scales are expected around 1.5 ranges in six dimensions, and longer with more of them.
  const auto dimensions = static_cast<double>(std::max<std::size_t>(1, space.dimensions()));  // there may be none, and one configuration
  const double base = -2.0 * std::log(1.5 * std::sqrt(dimensions / 6.0));
  for (std::size_t p = 0; p < space.dimensions(); ++p) {
    const hone_dimension& dimension = space.dimension(p);
    const std::span<const double> values(dimension.values, dimension.count);
    sizes_.push_back(values.size());
    if (dimension.kind == HONE_CATEGORICAL || values.size() < 2) {
      continue;
    }
    add({p, places(values), false}, base);
    if (std::vector<float> bits = alignment ? alignments(values) : std::vector<float>(); !bits.empty()) {
      add({p, std::move(bits), true}, base - kDerivedRarely);
    }
  }
  for (std::size_t p = 0; p < space.dimensions(); ++p) {
    const bool labels = space.dimension(p).kind == HONE_CATEGORICAL;
    centre_.push_back(base + (labels ? 0.0 : 2.0 * std::log(kHamming)));
    width_.push_back(kWidth);
  }
}

void Metric::add(Coordinate coordinate, double log_weight) {
  coordinates_.push_back(std::move(coordinate));
  centre_.push_back(log_weight);
  width_.push_back(kWidth);
}

float Metric::difference(std::size_t term, const std::uint16_t* a, const std::uint16_t* b) const {
  if (term >= coordinates_.size()) {
    return a[term - coordinates_.size()] == b[term - coordinates_.size()] ? 0.0F : 1.0F;
  }
  const float step = at(term, a) - at(term, b);
  return step * step;
}

float Metric::spread(const std::uint16_t* a, const std::uint16_t* b) const {
  float sum = 0.0F;
  for (std::size_t term = 0; term < terms(); ++term) {
    const bool hamming = term >= coordinates_.size();
    if (hamming || !coordinates_[term].derived) {
      sum += (hamming ? kHamming * kHamming : 1.0F) * difference(term, a, b);
    }
  }
  return sum;
}

}  // namespace hone::search
