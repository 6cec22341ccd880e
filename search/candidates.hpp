#pragma once
// The configurations that a model scores: the whole space if it is small enough, else a sample and the neighbourhood of the best.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

class Candidates {
 public:
  explicit Candidates(plugin::Space space);

  /// Whether the whole space is listed; the list then never changes.
  [[nodiscard]] bool complete() const { return complete_; }
  /// Replaces an incomplete list: `wanted`, `centres` and all their neighbours, children that take each value from one of two
  /// `parents`, and uniform samples.
  void renew(plugin::Random& random, std::span<const plugin::Position> centres, std::span<const plugin::Position> parents,
             std::vector<plugin::Position> wanted);

  [[nodiscard]] std::size_t size() const { return positions_.size(); }
  [[nodiscard]] plugin::Position position(std::size_t i) const { return positions_[i]; }
  [[nodiscard]] const std::uint16_t* digits(std::size_t i) const { return digits_.data() + i * space_.dimensions(); }
  [[nodiscard]] std::span<const std::uint16_t> digits() const { return digits_; }
  [[nodiscard]] std::optional<std::size_t> find(plugin::Position position) const;

 private:
  void cross(plugin::Random& random, std::span<const plugin::Position> parents, std::vector<plugin::Position>& children) const;
  void list(std::vector<plugin::Position> positions);

  plugin::Space space_;
  bool complete_ = false;
  std::vector<plugin::Position> positions_;  ///< ascending
  std::vector<std::uint16_t> digits_;
};

}  // namespace hone::search
