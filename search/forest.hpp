#pragma once
// Regression by an ensemble of randomised trees, and how far the trees disagree.

#include <cstdint>
#include <span>
#include <vector>

#include "hone/plugin.hpp"

namespace hone::search {

struct ForestSettings {
  std::size_t trees = 30;
  double tried = 0.8;      ///< share of the parameters that a split is chosen from
  bool bootstrap = true;   ///< each tree sees each observation as often as a Poisson variable of mean 1 says
  double best_cuts = 0.5;  ///< share of the splits that are chosen from the best cut of each parameter, not from a random one
};

/// Trees whose splits are the best of some random ones: extremely randomised trees (Geurts, Ernst and Wehenkel 2006,
/// doi:10.1007/s10994-006-6226-1), or with the best cuts and the bootstrap a random forest (Breiman 2001, doi:10.1023/A:1010933404324).
/// An observation can be added without growing the trees anew: the leaf that it falls into is split, and the bootstrap is that of Oza and
/// Russell (2001). Each tree keeps its leaves' candidates together, so that predicting for all candidates takes no walk.
class Forest {
 public:
  Forest(plugin::Space space, const ForestSettings& settings);

  /// What is predicted for: the digits of one configuration after another. Forgets the trees.
  void candidates(std::span<const std::uint16_t> digits);
  /// Grows all trees anew. `digits`: of one observation after another.
  void grow(std::span<const std::uint16_t> digits, std::span<const double> targets, plugin::Random& random);
  /// Another observation for the trees there are.
  void add(const std::uint16_t* digits, double target, plugin::Random& random);
  /// Other targets for the same observations; the trees keep their splits.
  void retarget(std::span<const double> targets);
  [[nodiscard]] std::size_t observations() const { return targets_.size(); }

  /// Of each candidate: the trees' mean, and their variance around it.
  void predict(std::vector<float>& mean, std::vector<float>& variance) const;
  [[nodiscard]] double mean(const std::uint16_t* digits) const;

 private:
  struct Node {
    std::size_t parameter = 0, sides = 0;     ///< sides_[sides + digit] says which child; unless it is a leaf
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
    double score = 0.0;  ///< sum over both sides of sum^2 / weight: the more, the less variance is left
    std::size_t parameter = 0;
    std::vector<std::uint8_t> sides;
  };
  /// Of one value of a parameter, over the observations in a leaf.
  struct Bin {
    double weight = 0.0, sum = 0.0;
  };

  std::uint8_t drawn_weight(plugin::Random& random) const;
  void split(Tree& tree, std::size_t node, plugin::Random& random);
  [[nodiscard]] bool settled(const Node& leaf) const;
  bool choose(const Tree& tree, const Node& leaf, plugin::Random& random);
  void fill_bins(const Tree& tree, const Node& leaf, std::size_t parameter);
  void order_present(std::size_t parameter, bool best, plugin::Random& random);
  [[nodiscard]] std::size_t drawn_cut(std::size_t parameter, plugin::Random& random) const;
  void try_parameter(std::size_t parameter, bool best, plugin::Random& random);
  void keep_cut(std::size_t parameter, std::size_t cut, plugin::Random& random);
  void part(Tree& tree, std::size_t node);
  void settle(Tree& tree) const;
  [[nodiscard]] static std::size_t leaf_of(const Tree& tree, const std::uint16_t* digits);
  [[nodiscard]] const std::uint16_t* digits_of(std::size_t observation) const { return digits_.data() + observation * sizes_.size(); }

  ForestSettings settings_;
  std::vector<std::size_t> sizes_;                   ///< of each parameter: values
  std::vector<std::vector<std::uint16_t>> ranks_;    ///< of each parameter: by digit, the place among the sorted values; empty for labels
  std::vector<std::vector<std::uint16_t>> columns_;  ///< of each parameter: the candidates' digits
  std::size_t candidate_count_ = 0;
  std::vector<Tree> trees_;
  std::vector<std::uint16_t> digits_;
  std::vector<double> targets_;

  // What a split is chosen with.
  Cut best_;
  std::vector<Bin> bins_;
  std::vector<std::uint16_t> present_;  ///< digits that have a weight
  std::vector<std::size_t> shuffled_;
  std::vector<std::uint32_t> right_;
};

}  // namespace hone::search
