#pragma once
// What boosted trees expect of a portfolio's members: from all of its measurements at once, where a Gaussian process looks at the nearest.

#include <array>
#include <cstdint>
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

  static constexpr std::size_t kOfLaunch = 3;  ///< columns

  /// Whether it has those of a launch, one after the other, after those of the shape.
  [[nodiscard]] bool has_launch_columns() const;
  /// How many columns are of shapes and launches: the first ones, which change from shape to shape.
  [[nodiscard]] std::size_t changing() const;
  /// The features of a member, of no shape yet; nothing where no column is of its kernel.
  [[nodiscard]] std::optional<std::vector<float>> row_of(const PortfolioMember& member) const;
  /// The features of a shape: the first ones of each row.
  [[nodiscard]] std::vector<float> features_of(const Shape& shape) const;
  /// The features of a launch, which follow those of the shape.
  [[nodiscard]] static std::array<float, kOfLaunch> features_of(const LaunchSize& launch);
  /// A member's row with those of a shape and of what it launches there.
  [[nodiscard]] std::vector<float> features(std::vector<float> row, const std::vector<float>& of_shape, const LaunchSize& launch) const;

  friend bool operator==(const PortfolioTrees&, const PortfolioTrees&) = default;
};

/// Members as trees see them, at one shape after another: what no shape changes is looked up once.
class TreeMembers {
 public:
  /// Those of `is_asked`.
  TreeMembers(PortfolioTrees trees, const std::vector<PortfolioMember>& members, const std::vector<bool>& is_asked);

  /// How far each is expected to be behind the best, a logarithm: nothing of one that is not asked, of which it is not known what it
  /// launches there, or of whose kernel no column is.
  [[nodiscard]] std::vector<std::optional<double>> expect(const Shape& shape, const std::vector<std::optional<LaunchSize>>& launches) const;

 private:
  /// As many as there are members, and up to a whole number of groups.
  [[nodiscard]] std::size_t asked_at_once() const;

  PortfolioTrees trees_;
  std::vector<bool> is_asked_;
  /// Of each column, of all members and up to a whole group; none of those that change from shape to shape.
  std::vector<std::vector<std::uint8_t>> bins_;
};

/// Of what was measured on the portfolio's product, where it is known what was launched: nothing where that says little.
std::optional<PortfolioTrees> fit_trees(const Portfolio& portfolio);

}  // namespace hone
