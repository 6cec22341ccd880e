#pragma once
// A search space of all combinations behind the C table, for parts of strategies that see no more of Hone than a plugin does.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::test {

class Grid {
 public:
  /// By dimension its values.
  explicit Grid(std::vector<std::vector<double>> values, std::int32_t kind = HONE_ORDINAL) : values_(std::move(values)) {
    plugin::Position size = 1;
    for (const std::vector<double>& of : values_) {
      dimensions_.push_back({"x", kind, static_cast<std::uint32_t>(of.size()), of.data(), nullptr});
      size *= of.size();
    }
    functions_.struct_size = offsetof(hone_space, dimension_stride);  // nothing is expected of it
    functions_.self = this;
    functions_.size = plugin::to_c(size);
    functions_.dimension_count = static_cast<std::uint32_t>(values_.size());
    functions_.dimensions = dimensions_.data();
    functions_.at = at;
    functions_.index = index;
    functions_.nearest = nearest;
    functions_.sample = sample;
    functions_.neighbours = neighbours;
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  [[nodiscard]] plugin::Space space() const { return plugin::Space(functions_); }
  /// Of a strategy without parameters. The grid and the priors must outlive it.
  [[nodiscard]] hone_strategy_context context(const std::vector<hone_prior>& priors, std::uint64_t seed = 1) const {
    hone_strategy_context made{};
    made.struct_size = offsetof(hone_strategy_context, prior_stride);
    made.space = &functions_;
    made.seed = seed;
    made.priors = priors.data();
    made.prior_count = priors.size();
    return made;
  }

 private:
  static const Grid& self(const void* grid) { return *static_cast<const Grid*>(grid); }
  static std::int32_t at(const void* grid, hone_position position, std::uint16_t* digits) {
    plugin::Position left = plugin::from_c(position);
    for (std::size_t d = 0; d < self(grid).values_.size(); ++d) {
      digits[d] = static_cast<std::uint16_t>(left % self(grid).values_[d].size());
      left /= self(grid).values_[d].size();
    }
    return left == 0 ? 0 : 1;
  }
  static std::int32_t index(const void* grid, const std::uint16_t* digits, hone_position* position) {
    *position = nearest(grid, digits);
    return 0;
  }
  static hone_position nearest(const void* grid, const std::uint16_t* digits) {
    plugin::Position position = 0;
    for (std::size_t d = self(grid).values_.size(); d-- > 0;) {
      position = position * self(grid).values_[d].size() + digits[d];
    }
    return plugin::to_c(position);
  }
  static std::size_t sample(const void* grid, std::uint64_t seed, std::size_t count, hone_position* positions) {
    const plugin::Position size = plugin::from_c(self(grid).functions_.size);
    const auto drawn = static_cast<std::size_t>(std::min<plugin::Position>(count, size));
    plugin::Random random(seed);
    std::unordered_set<plugin::Position, plugin::PositionHash> taken;
    while (taken.size() < drawn) {
      const plugin::Position position = random.below(size);
      positions[taken.size()] = plugin::to_c(position);
      taken.insert(position);
    }
    return drawn;
  }
  static std::size_t neighbours(const void* grid, hone_position position, std::int32_t, std::size_t capacity, hone_position* positions) {
    plugin::Digits digits = self(grid).space().at(plugin::from_c(position));
    std::vector<plugin::Position> found;
    for (std::size_t d = 0; d < digits.size(); ++d) {
      const std::uint16_t here = digits[d];
      for (digits[d] = 0; digits[d] < self(grid).values_[d].size(); ++digits[d]) {
        if (digits[d] != here) {
          found.push_back(plugin::from_c(nearest(grid, digits.data())));
        }
      }
      digits[d] = here;
    }
    std::ranges::sort(found);
    std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min(capacity, found.size())), positions, plugin::to_c);
    return found.size();
  }

  std::vector<std::vector<double>> values_;
  std::vector<hone_dimension> dimensions_;
  hone_space functions_{};
};

/// 0, 1, 2, ...
inline std::vector<double> counting(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

inline plugin::Observation seen(plugin::Position position, double time_us, std::int32_t outcome = HONE_OK) {
  plugin::Observation observation{};
  observation.position = plugin::to_c(position);
  observation.outcome = outcome;
  observation.time_us = time_us;
  return observation;
}

}  // namespace hone::test
