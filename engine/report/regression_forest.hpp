#pragma once
// How a figure depends on the values of parameters, as an ensemble of trees whose leaves are boxes of values.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hone::report {

/// Configurations by the places of their values, and a figure of each.
struct Observations {
  std::vector<std::uint16_t> sizes;            ///< of each parameter: values
  std::vector<std::vector<double>> positions;  ///< of each parameter: its values as numbers; empty for one without an order
  std::vector<std::uint16_t> digits;           ///< of one configuration after another
  std::vector<double> figures;                 ///< of each configuration

  [[nodiscard]] std::size_t parameters() const { return sizes.size(); }
  [[nodiscard]] std::size_t count() const { return figures.size(); }
  [[nodiscard]] std::span<const std::uint16_t> of(std::size_t configuration) const {
    return std::span(digits).subspan(configuration * sizes.size(), sizes.size());
  }
};

/// Configurations that a tree does not tell apart: `allowed[p][d]` says whether value d of parameter p is in the box. A parameter that the
/// box does not narrow has no entries.
struct Box {
  std::vector<std::vector<std::uint8_t>> allowed;
  std::vector<double> share;  ///< of each parameter: allowed values / values
  double volume = 1.0;        ///< product of the shares
  double value = 0.0;         ///< mean figure of the observations in it
};

/// The boxes of one tree cover all combinations of values, each once.
using Tree = std::vector<Box>;

struct Forest {
  std::vector<Tree> trees;
  /// Of the variance, what trees explain of observations that they were not grown with; at most 1, and below 0 where a constant is better.
  double explained = 0.0;
};

/// A random forest (Breiman 2001, doi:10.1023/A:1010933404324): each tree is grown on a bootstrap sample, and a split is the best among
/// half of the parameters. The forest that search/ has is behind the plugin interface, and its trees have no boxes. Same arguments, same
/// forest.
Forest grow_forest(const Observations& observations, std::size_t trees, std::uint64_t seed);

}  // namespace hone::report
