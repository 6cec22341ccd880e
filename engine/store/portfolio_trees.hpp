#pragma once
// What boosted trees expect of a portfolio's members: from all of its measurements at once, where a Gaussian process looks at the nearest.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/launch_size.hpp"
#include "engine/kernel/kernel_problem.hpp"
#include "engine/store/boosted_trees.hpp"

namespace hone {

struct Portfolio;
struct PortfolioMember;

/// Trees whose features are a shape's extents and their factors of two, what a member launches there, and the member's values. Columns name
/// them: "m" and "m%", "#blocks", "#tail" and "#padding", "gemm:" (1 for a member of this kernel), "gemm.bm" (a number of it, or 1 for
/// true) and "transpose.path=padded" (1 for this word).
struct PortfolioTrees {
  std::vector<std::string> columns;
  BoostedTrees trees;

  /// Whether it has those of a launch, one after the other, after those of the shape.
  [[nodiscard]] bool has_launch_columns() const;
  /// The features of a member, of no shape yet; nothing where no column is of its kernel.
  [[nodiscard]] std::optional<std::vector<float>> row_of(const PortfolioMember& member) const;
  /// The features of a shape: the first ones of each row.
  [[nodiscard]] std::vector<float> features_of(const Shape& shape) const;
  /// A member's row with those of a shape and of what it launches there.
  [[nodiscard]] std::vector<float> features(std::vector<float> row, const std::vector<float>& of_shape, const LaunchSize& launch) const;
  /// How far a member with such features is expected to be behind the best: a logarithm.
  [[nodiscard]] double expect(const std::vector<float>& features) const { return trees.expect(features); }

  friend bool operator==(const PortfolioTrees&, const PortfolioTrees&) = default;
};

/// Of what was measured on the portfolio's product, where it is known what was launched: nothing where that says little.
std::optional<PortfolioTrees> fit_trees(const Portfolio& portfolio);

}  // namespace hone
