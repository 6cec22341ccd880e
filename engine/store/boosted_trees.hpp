#pragma once
// Gradient boosting of small regression trees.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hone {

/// A sum of trees, each of which corrects what those before it leave over (J. Friedman, Greedy Function Approximation, 2001). All nodes of
/// a level ask the same question (as those of CatBoost, L. Prokhorenkova et al., 2018): a tree is a table with a place for each row of
/// answers, small and quick to look up. Basic arithmetic in a fixed order: the same trees say the same on every host.
struct BoostedTrees {
  static constexpr std::size_t kDepth = 6, kLeaves = std::size_t{1} << kDepth;
  static constexpr std::size_t kMostBorders = 60;  ///< of a feature
  static constexpr std::size_t kMostTrees = 1024;  ///< of a text
  /// A border as it is kept: three digits behind the point.
  static double kept_border(double border);
  static constexpr double kMostBorder = 0x1p53;  ///< in both directions
  static constexpr int kSteps = 30;              ///< leaves are multiples of a tree's step, of so many at most

  /// Whether a feature is above one of its borders. A tree that has one question less asks its last one twice.
  struct Question {
    std::size_t feature = 0, border = 0;  ///< places in `borders`
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Tree {
    std::array<Question, kDepth> questions;
    double step = 0.0;
    std::array<int, kLeaves> leaves{};  ///< by the answers: the first one is the lowest bit
    friend bool operator==(const Tree&, const Tree&) = default;
  };
  std::vector<std::vector<float>> borders;  ///< of each feature, ascending
  double base = 0.0;                        ///< what is expected before any tree
  std::vector<Tree> trees;

  /// Whether they were fitted to many rows: some ask no question twice.
  [[nodiscard]] bool are_deep() const;
  /// How many of a feature's borders a value is above: all that trees ask of it.
  [[nodiscard]] std::uint8_t bin_of(std::size_t feature, float value) const;
  static constexpr std::size_t kAtOnce = 32;  ///< rows that are asked together
  /// What they expect of rows, whose number is a multiple of kAtOnce. `bins`: of each feature, those of all rows.
  [[nodiscard]] std::vector<double> expect(const std::vector<std::span<const std::uint8_t>>& bins, std::size_t rows) const;
  /// Of a row with as many features as there are lists of borders.
  [[nodiscard]] double expect(std::span<const float> row) const;

  friend bool operator==(const BoostedTrees&, const BoostedTrees&) = default;
};

/// Rows of features, what is to be expected of each, and how much an error there counts: above 0.
struct TreeSamples {
  std::size_t features = 0;
  std::vector<float> rows;  ///< one after the other
  std::vector<double> targets, weights;
};

/// So many trees, for the squares of errors; of none where there is no row. Where there are few rows they ask one question less, of half as
/// many borders.
BoostedTrees fit_boosted_trees(const TreeSamples& samples, std::size_t trees);

}  // namespace hone
