#pragma once
// Regression by an ensemble of randomised trees, with their disagreement.

#include <cstdint>
#include <span>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

struct ForestSettings {
  std::size_t trees = 30;
  double tried = 0.8;      ///< fraction of the parameters considered for a split
  bool bootstrap = true;   ///< each tree weights each observation by a Poisson variable with mean 1
  double best_cuts = 0.5;  ///< fraction of the splits chosen among the best cuts of the parameters instead of random cuts
};

/// Trees whose splits are the best of some random ones: extremely randomised trees (Geurts, Ernst and Wehenkel 2006,
/// doi:10.1007/s10994-006-6226-1), or with the best cuts and the bootstrap a random forest (Breiman 2001, doi:10.1023/A:1010933404324).
/// An observation can be added without rebuilding the trees: its leaf is split, with the online bootstrap of Oza and
/// Russell (2001). Each tree stores its leaves' candidates contiguously, so predictions for all candidates need no tree walk.
class Forest {
 public:
  Forest(plugin::Space space, const ForestSettings& settings);

  /// Sets the candidates: the digits of one configuration after another. Discards the trees.
  void candidates(std::span<const std::uint16_t> digits);
  /// Rebuilds all trees. `digits`: of one observation after another.
  void grow(std::span<const std::uint16_t> digits, std::span<const double> targets, plugin::Random& random);
  /// Adds an observation to the existing trees.
  void add(const std::uint16_t* digits, double target, plugin::Random& random);
  /// Replaces the targets of the same observations; the trees keep their splits.
  void retarget(std::span<const double> targets);
  [[nodiscard]] std::size_t observations() const { return targets_.size(); }

  /// For each candidate, the mean of the trees and their variance.
  void predict(std::vector<float>& mean, std::vector<float>& variance) const;
  [[nodiscard]] double mean(const std::uint16_t* digits) const;

 private:
  struct Node {
    std::size_t parameter = 0, sides = 0;     ///< sides_[sides + digit] selects the child; unused in a leaf
    std::size_t left = 0;                     ///< the right child comes after it; 0 for a leaf
    std::uint32_t begin = 0, end = 0;         ///< its candidates in the tree's order
    std::vector<std::uint32_t> observations;  ///< of a leaf
    double value = 0.0;
  };
  struct Tree {
    std::vector<Node> nodes;
    std::vector<std::uint8_t> sides;
    std::vector<std::uint32_t> order;   ///< of candidates
    std::vector<std::uint8_t> weights;  ///< of observations
  };
  struct Cut {
    double score = 0.0;  ///< sum over both sides of sum^2 / weight: the higher, the less variance remains
    std::size_t parameter = 0;
    std::vector<std::uint8_t> sides;
  };
  /// Sums for one value of a parameter, over the observations in a leaf.
  struct Bin {
    double weight = 0.0, sum = 0.0;
  };

  std::uint8_t drawn_weight(plugin::Random& random) const;
  void split(Tree& tree, std::size_t node, plugin::Random& random);
  [[nodiscard]] bool is_pure(const Node& leaf) const;
  bool choose(const Tree& tree, const Node& leaf, plugin::Random& random);
  void fill_bins(const Tree& tree, const Node& leaf, std::size_t parameter);
  void order_present(std::size_t parameter, bool best, plugin::Random& random);
  [[nodiscard]] std::size_t drawn_cut(std::size_t parameter, plugin::Random& random) const;
  void try_parameter(std::size_t parameter, bool best, plugin::Random& random);
  void keep_cut(std::size_t parameter, std::size_t cut, plugin::Random& random);
  void part(Tree& tree, std::size_t node);
  void update_values(Tree& tree) const;
  [[nodiscard]] static std::size_t leaf_of(const Tree& tree, const std::uint16_t* digits);
  [[nodiscard]] const std::uint16_t* digits_of(std::size_t observation) const { return digits_.data() + observation * sizes_.size(); }

  ForestSettings settings_;
  std::vector<std::size_t> sizes_;                   ///< of each parameter: values
  std::vector<std::vector<std::uint16_t>> ranks_;    ///< for each parameter and digit, the rank among the sorted values; empty for labels
  std::vector<std::vector<std::uint16_t>> columns_;  ///< of each parameter: the candidates' digits
  std::size_t candidate_count_ = 0;
  std::vector<Tree> trees_;
  std::vector<std::uint16_t> digits_;
  std::vector<double> targets_;

  // Scratch memory for choosing a split.
  Cut best_;
  std::vector<Bin> bins_;
  std::vector<std::uint16_t> present_;  ///< digits that have a weight
  std::vector<std::size_t> shuffled_;
  std::vector<std::uint32_t> right_;
};

}  // namespace hone::search
