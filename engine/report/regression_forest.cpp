#include "engine/report/regression_forest.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace hone::report {
namespace {

constexpr double kLeastGain = 1e-12;  // less is rounding
// A split that leaves more of the variance than this is weak: two parameters may do together what neither does alone.
constexpr double kWeak = 0.8;
constexpr std::size_t kFewestForPairs = 8;

using Sides = std::vector<std::uint8_t>;  ///< of each value: whether it goes to the right

struct Split {
  std::size_t parameter = 0;
  Sides sides;
  double gain = 0.0;
};

/// What the observations with one value of a parameter come to.
struct ValueSum {
  std::uint16_t digit = 0;
  std::size_t count = 0;
  double sum = 0.0;
  [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
};

/// By how much the sum of squares around the mean falls if so many figures of this sum are parted from all.
double gain_of(double count, double sum, double all_count, double all_sum) {
  if (count <= 0.0 || count >= all_count) {
    return 0.0;
  }
  const double difference = sum / count - (all_sum - sum) / (all_count - count);
  return difference * difference * count * (all_count - count) / all_count;
}

/// Grows one tree, depth first.
class Grower {
 public:
  Grower(const Observations& observations, std::mt19937_64& random) : observations_(observations), random_(random) {}

  Tree grow(std::vector<std::size_t> rows) {
    Box whole{.allowed = std::vector<Sides>(observations_.parameters()), .share = std::vector<double>(observations_.parameters(), 1.0)};
    tree_.clear();
    grow(std::move(rows), std::move(whole));
    return std::move(tree_);
  }

 private:
  void grow(std::vector<std::size_t> rows, Box box) {
    const Split split = best_split(rows, box);
    if (split.gain <= kLeastGain) {
      double sum = 0.0;
      for (const std::size_t row : rows) {
        sum += observations_.figures[row];
      }
      box.value = sum / static_cast<double>(rows.size());
      tree_.push_back(std::move(box));
      return;
    }
    const std::size_t p = split.parameter;
    const auto right =
        std::stable_partition(rows.begin(), rows.end(), [&](std::size_t row) { return split.sides[observations_.of(row)[p]] == 0; });
    std::vector<std::size_t> right_rows(right, rows.end());
    rows.erase(right, rows.end());
    grow(std::move(rows), narrowed(box, split, 0));
    grow(std::move(right_rows), narrowed(std::move(box), split, 1));
  }

  [[nodiscard]] Box narrowed(Box box, const Split& split, std::uint8_t side) const {
    Sides& allowed = box.allowed[split.parameter];
    allowed.resize(observations_.sizes[split.parameter], 1);
    std::size_t left = 0;
    for (std::size_t digit = 0; digit < allowed.size(); ++digit) {
      allowed[digit] = allowed[digit] != 0 && split.sides[digit] == side ? 1 : 0;
      left += allowed[digit];
    }
    double& share = box.share[split.parameter];
    box.volume /= share;
    share = static_cast<double>(left) / static_cast<double>(allowed.size());
    box.volume *= share;
    return box;
  }

  [[nodiscard]] Split best_split(const std::vector<std::size_t>& rows, const Box& box) {
    std::vector<std::size_t> order(observations_.parameters());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random_);
    Split best;
    const std::size_t tried = order.size() - order.size() / 6;
    for (std::size_t i = 0; i < order.size() && (i < tried || best.gain <= kLeastGain); ++i) {
      try_parameter(order[i], rows, box, best);
    }
    const double squares = sum_of_squares(rows);
    if (rows.size() >= kFewestForPairs && squares > kLeastGain && best.gain < (1.0 - kWeak) * squares) {
      look_ahead(rows, best);
    }
    return best;
  }

  [[nodiscard]] double sum_of_squares(const std::vector<std::size_t>& rows) const {
    double sum = 0.0, squares = 0.0;
    for (const std::size_t row : rows) {
      sum += observations_.figures[row];
      squares += observations_.figures[row] * observations_.figures[row];
    }
    return squares - sum * sum / static_cast<double>(rows.size());
  }

  /// The first of two cuts, of two parameters, that together are worth more than twice the best single one.
  void look_ahead(const std::vector<std::size_t>& rows, Split& best) {
    double most = 2.0 * best.gain;
    for (std::size_t p = 0; p < observations_.parameters(); ++p) {
      for (std::size_t q = 0; q < observations_.parameters(); ++q) {
        if (p != q && observations_.sizes[p] > 1 && observations_.sizes[q] > 1) {
          try_pair(p, q, rows, most, best);
        }
      }
    }
  }

  /// Cuts p, then q on each side, with the values in their order.
  void try_pair(std::size_t p, std::size_t q, const std::vector<std::size_t>& rows, double& most, Split& best) {
    const std::vector<std::size_t> p_places = places(p), q_places = places(q);
    const std::size_t width = observations_.sizes[q];
    cells_.assign(observations_.sizes[p] * width, {});
    for (const std::size_t row : rows) {
      const auto digits = observations_.of(row);
      ValueSum& cell = cells_[p_places[digits[p]] * width + q_places[digits[q]]];
      ++cell.count;
      cell.sum += observations_.figures[row];
    }
    for (std::size_t cut = 1; cut < observations_.sizes[p]; ++cut) {
      const auto [gain, splits] = gain_of_cut(cut, width);
      if (splits && gain > most * (1.0 + 1e-9)) {
        most = gain;
        best = {p, Sides(observations_.sizes[p], 0), gain};
        for (std::size_t digit = 0; digit < best.sides.size(); ++digit) {
          best.sides[digit] = p_places[digit] >= cut ? 1 : 0;
        }
      }
    }
  }

  /// Of cutting the rows of cells_ at `cut` and each part where that is best, and whether both parts hold something.
  [[nodiscard]] std::pair<double, bool> gain_of_cut(std::size_t cut, std::size_t width) const {
    const std::size_t height = cells_.size() / width;
    std::array<double, 2> counts{}, sums{};
    double gain = 0.0;
    for (std::size_t side = 0; side < 2; ++side) {
      std::vector<ValueSum> columns(width);
      for (std::size_t i = side == 0 ? 0 : cut; i < (side == 0 ? cut : height); ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          columns[j].count += cells_[i * width + j].count;
          columns[j].sum += cells_[i * width + j].sum;
        }
      }
      for (const ValueSum& column : columns) {
        counts[side] += static_cast<double>(column.count);
        sums[side] += column.sum;
      }
      double count = 0.0, sum = 0.0, best = 0.0;
      for (const ValueSum& column : columns) {
        count += static_cast<double>(column.count);
        sum += column.sum;
        best = std::max(best, gain_of(count, sum, counts[side], sums[side]));
      }
      gain += best;
    }
    return {gain + gain_of(counts[0], sums[0], counts[0] + counts[1], sums[0] + sums[1]), counts[0] > 0.0 && counts[1] > 0.0};
  }

  /// Of each value: its place in the order of the values.
  [[nodiscard]] std::vector<std::size_t> places(std::size_t p) const {
    std::vector<std::size_t> order(observations_.sizes[p]), places(order.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (const std::vector<double>& positions = observations_.positions[p]; !positions.empty()) {
      std::ranges::stable_sort(order, {}, [&](std::size_t digit) { return positions[digit]; });
    }
    for (std::size_t place = 0; place < order.size(); ++place) {
      places[order[place]] = place;
    }
    return places;
  }

  /// Between which neighbours of its values the variance falls most. Values without an order are put into that of their means, in which the
  /// best cut is the best of all partitions (Fisher 1958, doi:10.1080/01621459.1958.10501479).
  void try_parameter(std::size_t p, const std::vector<std::size_t>& rows, const Box& box, Split& best) {
    sums_.assign(observations_.sizes[p], {});
    double all = 0.0;
    for (const std::size_t row : rows) {
      ValueSum& sum = sums_[observations_.of(row)[p]];
      ++sum.count;
      sum.sum += observations_.figures[row];
      all += observations_.figures[row];
    }
    for (std::size_t digit = 0; digit < sums_.size(); ++digit) {
      sums_[digit].digit = static_cast<std::uint16_t>(digit);
    }
    std::erase_if(sums_, [](const ValueSum& sum) { return sum.count == 0; });
    const std::vector<double>& positions = observations_.positions[p];
    const auto place = [&](const ValueSum& sum) { return positions.empty() ? sum.mean() : positions[sum.digit]; };
    std::ranges::stable_sort(sums_, {}, place);
    const auto total = static_cast<double>(rows.size());
    double sum = 0.0, count = 0.0;
    for (std::size_t cut = 1; cut < sums_.size(); ++cut) {
      sum += sums_[cut - 1].sum;
      count += static_cast<double>(sums_[cut - 1].count);
      const double gain = gain_of(count, sum, total, all);
      if (gain > best.gain) {
        best = {p, sides(p, cut, box), gain};
      }
    }
  }

  /// Values that no observation here has go where their neighbours go, and without an order to either side in turn.
  [[nodiscard]] Sides sides(std::size_t p, std::size_t cut, const Box& box) const {
    const std::vector<double>& positions = observations_.positions[p];
    Sides sides(observations_.sizes[p], 0);
    if (!positions.empty()) {
      const double between = (positions[sums_[cut - 1].digit] + positions[sums_[cut].digit]) / 2.0;
      for (std::size_t digit = 0; digit < sides.size(); ++digit) {
        sides[digit] = positions[digit] > between ? 1 : 0;
      }
      return sides;
    }
    std::vector<std::uint8_t> known(sides.size(), 0);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      known[sums_[i].digit] = 1;
      sides[sums_[i].digit] = i >= cut ? 1 : 0;
    }
    std::uint8_t turn = 0;
    for (std::size_t digit = 0; digit < sides.size(); ++digit) {
      const bool open = box.allowed[p].empty() || box.allowed[p][digit] != 0;
      if (known[digit] == 0 && open) {
        sides[digit] = turn;
        turn ^= 1U;
      }
    }
    return sides;
  }

  const Observations& observations_;
  std::mt19937_64& random_;
  std::vector<ValueSum> sums_, cells_;
  Tree tree_;
};

bool contains(const Box& box, std::span<const std::uint16_t> digits) {
  for (std::size_t p = 0; p < digits.size(); ++p) {
    if (!box.allowed[p].empty() && box.allowed[p][digits[p]] == 0) {
      return false;
    }
  }
  return true;
}

double predict(const Tree& tree, std::span<const std::uint16_t> digits) {
  const auto box = std::ranges::find_if(tree, [&](const Box& one) { return contains(one, digits); });
  return box == tree.end() ? 0.0 : box->value;
}

/// 1 - (mean squared error of the predictions made without the observation) / variance.
double explained_share(const Observations& observations, const std::vector<double>& sums, const std::vector<std::size_t>& votes) {
  double mean = 0.0, error = 0.0, variance = 0.0;
  std::size_t known = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    known += votes[i] > 0 ? 1 : 0;
    mean += votes[i] > 0 ? observations.figures[i] : 0.0;
  }
  mean /= static_cast<double>(std::max<std::size_t>(known, 1));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (votes[i] > 0) {
      error += std::pow(sums[i] / static_cast<double>(votes[i]) - observations.figures[i], 2);
      variance += std::pow(observations.figures[i] - mean, 2);
    }
  }
  return variance > 0.0 ? 1.0 - error / variance : 0.0;
}

}  // namespace

Forest grow_forest(const Observations& observations, std::size_t trees, std::uint64_t seed) {
  Forest forest;
  std::mt19937_64 random(seed);
  const std::size_t count = observations.count();
  if (count == 0) {
    return forest;
  }
  std::vector<double> sums(count, 0.0);
  std::vector<std::size_t> votes(count, 0);
  for (std::size_t t = 0; t < trees; ++t) {
    std::vector<std::size_t> rows;
    std::vector<std::uint8_t> drawn(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      rows.push_back(random() % count);
      drawn[rows.back()] = 1;
    }
    forest.trees.push_back(Grower(observations, random).grow(std::move(rows)));
    for (std::size_t i = 0; i < count; ++i) {
      if (drawn[i] == 0) {
        sums[i] += predict(forest.trees.back(), observations.of(i));
        ++votes[i];
      }
    }
  }
  forest.explained = explained_share(observations, sums, votes);
  return forest;
}

}  // namespace hone::report
