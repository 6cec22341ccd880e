#include "engine/store/boosted_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "engine/base/cores.hpp"
#include "engine/base/parallel.hpp"

namespace hone {
namespace {

constexpr std::size_t kManyRows = 50000;  // let trees ask more (docs/results/untuned-h200-2026-12-01-second.md#what-deeper-trees-bring)
constexpr double kRate = 0.25, kRateOfMany = 0.2;                // share of what is left over that a tree corrects
constexpr double kPull = 1.0;                                    // towards 0, of a leaf, as weights count
constexpr double kStepUnit = 1e5;                                // steps have five digits behind the point
constexpr std::size_t kWorthThreads = 100000, kMostThreads = 8;  // values; to start threads takes a tenth of a millisecond
constexpr std::size_t kBins = BoostedTrees::kMostBorders + 1, kBinsOfFew = 32;

/// At most one fewer than `bins`: between neighbouring values, if there are few, else at even shares of the rows.
std::vector<float> borders_of(std::vector<float> values, std::size_t bins) {
  std::ranges::sort(values);
  std::vector<float> distinct = values;
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  std::vector<float> borders;
  const auto add_between = [&](float below, float above) {
    const auto border = static_cast<float>(BoostedTrees::kept_border((static_cast<double>(below) + above) / 2.0));
    if (borders.empty() || border > borders.back()) {
      borders.push_back(border);
    }
  };
  if (distinct.size() <= bins) {
    for (std::size_t i = 1; i < distinct.size(); ++i) {
      add_between(distinct[i - 1], distinct[i]);
    }
    return borders;
  }
  for (std::size_t i = 1; i < bins; ++i) {
    const float value = values[i * values.size() / bins];
    const auto above = std::ranges::upper_bound(distinct, value);
    if (above != distinct.end()) {
      add_between(value, *above);
    }
  }
  return borders;
}

/// How many borders are below a value.
std::uint8_t bin_of(const std::vector<float>& borders, float value) {
  return static_cast<std::uint8_t>(std::ranges::lower_bound(borders, value) - borders.begin());
}

/// Sums over rows of what is left over, and of their weights.
struct Sums {
  double left = 0.0, weight = 0.0;
  [[nodiscard]] double gain() const { return left * left / (weight + kPull); }
};

class Boosting {
 public:
  explicit Boosting(const TreeSamples& samples)
      : samples_(samples), has_many_rows_(samples.targets.size() >= kManyRows), left_(samples.targets), place_(samples.targets.size()) {
    const std::size_t rows = samples.targets.size();
    threads_ = rows * samples.features < kWorthThreads ? 1 : static_cast<int>(std::min<std::size_t>(kMostThreads, usable_cores()));
    bins_.resize(samples.features);
    for (std::size_t feature = 0; feature < samples.features; ++feature) {
      std::vector<float> values(rows);
      for (std::size_t row = 0; row < rows; ++row) {
        values[row] = samples.rows[row * samples.features + feature];
      }
      const std::vector<float>& borders = made_.borders.emplace_back(borders_of(values, has_many_rows_ ? kBins : kBinsOfFew));
      for (const float value : values) {
        bins_[feature].push_back(bin_of(borders, value));
      }
    }
    double weight = 0.0;
    for (std::size_t row = 0; row < rows; ++row) {
      made_.base += samples.weights[row] * samples.targets[row];
      weight += samples.weights[row];
    }
    made_.base = rows == 0 ? 0.0 : std::round(made_.base / weight * kStepUnit) / kStepUnit;
    for (double& left : left_) {
      left -= made_.base;
    }
  }

  void add_tree() {
    BoostedTrees::Tree tree;
    std::ranges::fill(place_, std::uint8_t{0});
    weighted_.resize(left_.size());
    for (std::size_t row = 0; row < left_.size(); ++row) {
      weighted_[row] = {samples_.weights[row] * left_[row], samples_.weights[row]};
    }
    const std::size_t depth = BoostedTrees::kDepth - (has_many_rows_ ? 0 : 1);
    for (std::size_t level = 0; level < BoostedTrees::kDepth; ++level) {
      tree.questions[level] = level < depth ? best_question(std::size_t{1} << level) : tree.questions[level - 1];
      const std::vector<std::uint8_t>& bins = bins_[tree.questions[level].feature];
      for (std::size_t row = 0; row < place_.size(); ++row) {
        place_[row] = static_cast<std::uint8_t>(place_[row] | (bins[row] > tree.questions[level].border ? 1U << level : 0U));
      }
    }
    std::array<Sums, BoostedTrees::kLeaves> sums;
    for (std::size_t row = 0; row < place_.size(); ++row) {
      sums[place_[row]].left += weighted_[row].left;
      sums[place_[row]].weight += weighted_[row].weight;
    }
    std::array<double, BoostedTrees::kLeaves> values{};
    double largest = 0.0;
    for (std::size_t leaf = 0; leaf < values.size(); ++leaf) {
      values[leaf] = (has_many_rows_ ? kRateOfMany : kRate) * sums[leaf].left / (sums[leaf].weight + kPull);
      largest = std::max(largest, std::abs(values[leaf]));
    }
    tree.step = std::ceil(largest / BoostedTrees::kSteps * kStepUnit) / kStepUnit;
    for (std::size_t leaf = 0; leaf < values.size() && tree.step > 0.0; ++leaf) {
      tree.leaves[leaf] = static_cast<int>(std::lround(values[leaf] / tree.step));
    }
    for (std::size_t row = 0; row < place_.size(); ++row) {
      left_[row] -= tree.step * tree.leaves[place_[row]];
    }
    made_.trees.push_back(tree);
  }

  [[nodiscard]] const BoostedTrees& made() const { return made_; }
  [[nodiscard]] bool has_questions() const {
    return std::ranges::any_of(made_.borders, [](const std::vector<float>& borders) { return !borders.empty(); });
  }

 private:
  struct Best {
    double gain = -1.0;
    BoostedTrees::Question question;
  };
  using GroupSums = std::vector<std::array<Sums, kBins>>;

  /// Of those about one feature. `sums`: of so many groups of rows, to be used.
  [[nodiscard]] Best best_about(std::size_t feature, GroupSums& sums) const {
    Best best;
    const std::size_t borders = made_.borders[feature].size();
    if (borders == 0) {
      return best;
    }
    std::ranges::fill(sums, std::array<Sums, kBins>{});
    const std::vector<std::uint8_t>& bins = bins_[feature];
    for (std::size_t row = 0; row < place_.size(); ++row) {
      Sums& own = sums[place_[row]][bins[row]];
      own.left += weighted_[row].left;
      own.weight += weighted_[row].weight;
    }
    std::array<double, kBins> gains{};
    for (const std::array<Sums, kBins>& group : sums) {
      const Sums all = std::accumulate(group.begin(), group.end(), Sums(), [](Sums sum, const Sums& bin) {
        return Sums{sum.left + bin.left, sum.weight + bin.weight};
      });
      Sums below;
      for (std::size_t border = 0; border < borders; ++border) {
        below = {below.left + group[border].left, below.weight + group[border].weight};
        gains[border] += below.gain() + Sums{all.left - below.left, all.weight - below.weight}.gain();
      }
    }
    for (std::size_t border = 0; border < borders; ++border) {
      if (gains[border] > best.gain) {
        best = {gains[border], {feature, border}};
      }
    }
    return best;
  }

  /// That which explains most, asked of so many groups of rows at once; the first of several.
  [[nodiscard]] BoostedTrees::Question best_question(std::size_t groups) const {
    std::vector<Best> all(bins_.size());
    parallel_for(threads_, all.size(), [&](std::size_t feature) {
      GroupSums sums(groups);
      all[feature] = best_about(feature, sums);
    });
    return std::ranges::max_element(all, {}, &Best::gain)->question;
  }

  const TreeSamples& samples_;
  bool has_many_rows_;
  int threads_ = 1;
  std::vector<double> left_;
  std::vector<Sums> weighted_;                   ///< of each row, as the tree begins
  std::vector<std::vector<std::uint8_t>> bins_;  ///< of each feature, of each row
  std::vector<std::uint8_t> place_;              ///< of each row, by the answers so far
  BoostedTrees made_;
};

}  // namespace

double BoostedTrees::kept_border(double border) {
  constexpr double kUnit = 1e3;
  return std::round(border * kUnit) / kUnit;
}

bool BoostedTrees::are_deep() const {
  return std::ranges::any_of(trees, [](const Tree& tree) { return tree.questions[kDepth - 1] != tree.questions[kDepth - 2]; });
}

std::uint8_t BoostedTrees::bin_of(std::size_t feature, float value) const { return hone::bin_of(borders[feature], value); }

std::vector<double> BoostedTrees::expect(const std::vector<std::span<const std::uint8_t>>& bins, std::size_t rows) const {
  std::vector<double> sums(rows, base);
  for (const Tree& tree : trees) {
    std::array<double, kLeaves> leaves{};
    std::ranges::transform(tree.leaves, leaves.begin(), [&](int leaf) { return tree.step * leaf; });
    for (std::size_t first = 0; first < rows; first += kAtOnce) {
      std::array<std::uint8_t, kAtOnce> places{};  // of its own, and so many: compilers make vector instructions of it
      for (std::size_t level = 0; level < kDepth; ++level) {
        const std::uint8_t* const asked = bins[tree.questions[level].feature].data() + first;
        const auto border = static_cast<std::uint8_t>(tree.questions[level].border);
        for (std::size_t i = 0; i < kAtOnce; ++i) {
          places[i] = static_cast<std::uint8_t>(places[i] | static_cast<std::uint8_t>(asked[i] > border) << level);
        }
      }
      for (std::size_t i = 0; i < kAtOnce; ++i) {
        sums[first + i] += leaves[places[i]];
      }
    }
  }
  return sums;
}

double BoostedTrees::expect(std::span<const float> row) const {
  std::vector<std::array<std::uint8_t, kAtOnce>> of_row(row.size());
  for (std::size_t feature = 0; feature < row.size(); ++feature) {
    of_row[feature].front() = bin_of(feature, row[feature]);
  }
  return expect({of_row.begin(), of_row.end()}, kAtOnce).front();
}

BoostedTrees fit_boosted_trees(const TreeSamples& samples, std::size_t trees) {
  Boosting boosting(samples);
  for (std::size_t i = 0; i < trees && boosting.has_questions(); ++i) {
    boosting.add_tree();
  }
  return boosting.made();
}

}  // namespace hone
