#pragma once
// What boosted trees expect of a portfolio's members: from all of its measurements at once, where a Gaussian process looks at the nearest.

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
/// them. Of a shape: "m", "m%" (its factors of two) and "m*n" (a product). Of a launch there: "#blocks", "#tail", "#padding", "#pieces",
/// "#m" (pieces along m), "m/#m" (what a piece has of it) and "m*n/#pieces" (what it has of all). Of a member: "gemm:" (1 for one of this
/// kernel), "gemm.bm" (a number of it, or 1 for true) and "transpose.path=padded" (1 for this word). Extents, products and what is launched
/// are logarithms to the base 2. Texts of before have fewer of a launch.
struct PortfolioTrees {
  std::vector<std::string> columns;
  BoostedTrees trees;

  /// Whether all columns of shapes and launches, which are the first ones, can be told.
  [[nodiscard]] bool is_known() const;
  /// How many columns are of shapes and launches: the first ones, which change from shape to shape.
  [[nodiscard]] std::size_t changing() const;
  /// The features of a member, of no shape yet; nothing where no column is of its kernel.
  [[nodiscard]] std::optional<std::vector<float>> row_of(const PortfolioMember& member) const;

  friend bool operator==(const PortfolioTrees&, const PortfolioTrees&) = default;
};

/// The first columns at one shape: what is launched there is asked of one member after another.
class ShapeFeatures {
 public:
  ShapeFeatures(const PortfolioTrees& trees, const Shape& shape);

  /// Whether a column is the same for all members.
  [[nodiscard]] bool is_of_shape(std::size_t column) const { return !columns_[column].of_launch; }
  [[nodiscard]] float of_shape(std::size_t column) const { return columns_[column].number; }
  /// One that is not.
  [[nodiscard]] float at(std::size_t column, const LaunchSize& launch) const;
  /// A member's row with all of these.
  [[nodiscard]] std::vector<float> row(std::vector<float> of_member, const LaunchSize& launch) const;

 private:
  enum class OfLaunch { kBlocks, kTail, kPadding, kPieces, kAlong };
  struct Column {
    float number = 0.0F;  ///< of the shape; of a launch, what it is taken from if is_rest
    std::optional<OfLaunch> of_launch = {};
    std::size_t field = 0;  ///< kAlong: its place among all, by name
    bool is_rest = false;   ///< what a piece has
  };
  std::vector<Column> columns_;
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
