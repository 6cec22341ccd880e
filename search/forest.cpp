#include "search/forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::search {
namespace {

constexpr double kSame = 1e-12;  // targets that differ by less are not worth a split

/// By digit: its value's place among the sorted values.
std::vector<std::uint16_t> ranks_of(std::span<const double> values) {
  std::vector<std::uint16_t> order(values.size()), ranks(values.size());
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::ranges::stable_sort(order, {}, [&](std::uint16_t digit) { return values[digit]; });
  for (std::size_t place = 0; place < order.size(); ++place) {
    ranks[order[place]] = static_cast<std::uint16_t>(place);
  }
  return ranks;
}

template <class T>
void shuffle(std::vector<T>& values, plugin::Random& random) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::swap(values[i], values[i + random.index(values.size() - i)]);
  }
}

}  // namespace

Forest::Forest(plugin::Space space, const ForestSettings& settings) : settings_(settings) {
  for (std::size_t p = 0; p < space.dimensions(); ++p) {
    const hone_dimension& dimension = space.dimension(p);
    sizes_.push_back(dimension.count);
    const bool labels = dimension.kind == HONE_CATEGORICAL;
    ranks_.push_back(labels ? std::vector<std::uint16_t>() : ranks_of({dimension.values, dimension.count}));
  }
}

void Forest::candidates(std::span<const std::uint16_t> digits) {
  candidate_count_ = sizes_.empty() ? 0 : digits.size() / sizes_.size();
  columns_.assign(sizes_.size(), std::vector<std::uint16_t>(candidate_count_));
  for (std::size_t i = 0; i < candidate_count_; ++i) {
    for (std::size_t p = 0; p < sizes_.size(); ++p) {
      columns_[p][i] = digits[i * sizes_.size() + p];
    }
  }
  right_.resize(candidate_count_);
  trees_.clear();
  targets_.clear();
  digits_.clear();
}

/// Poisson, of mean 1 (Knuth's way), or 1 without the bootstrap.
std::uint8_t Forest::drawn_weight(plugin::Random& random) const {
  if (!settings_.bootstrap) {
    return 1;
  }
  std::uint8_t weight = 0;
  for (double product = random.unit(); product > std::exp(-1.0); product *= random.unit()) {
    ++weight;
  }
  return weight;
}

void Forest::grow(std::span<const std::uint16_t> digits, std::span<const double> targets, plugin::Random& random) {
  digits_.assign(digits.begin(), digits.end());
  targets_.assign(targets.begin(), targets.end());
  trees_.resize(settings_.trees);
  for (Tree& tree : trees_) {
    tree.sides.clear();
    tree.order.resize(candidate_count_);
    std::iota(tree.order.begin(), tree.order.end(), std::uint32_t{0});
    tree.nodes.assign(1, Node{});
    tree.nodes[0].end = static_cast<std::uint32_t>(candidate_count_);
    tree.weights.clear();
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
      tree.weights.push_back(drawn_weight(random));
      if (tree.weights.back() > 0) {
        tree.nodes[0].observations.push_back(i);
      }
    }
    split(tree, 0, random);
    update_values(tree);
  }
}

void Forest::add(const std::uint16_t* digits, double target, plugin::Random& random) {
  const auto added = static_cast<std::uint32_t>(targets_.size());
  targets_.push_back(target);
  digits_.insert(digits_.end(), digits, digits + sizes_.size());
  for (Tree& tree : trees_) {
    tree.weights.push_back(drawn_weight(random));
    if (tree.weights.back() > 0) {
      const std::size_t leaf = leaf_of(tree, digits);
      tree.nodes[leaf].observations.push_back(added);
      split(tree, leaf, random);
      update_values(tree);
    }
  }
}

void Forest::retarget(std::span<const double> targets) {
  targets_.assign(targets.begin(), targets.end());
  for (Tree& tree : trees_) {
    update_values(tree);
  }
}

std::size_t Forest::leaf_of(const Tree& tree, const std::uint16_t* digits) {
  std::size_t node = 0;
  while (tree.nodes[node].left != 0) {
    const Node& at = tree.nodes[node];
    node = at.left + tree.sides[at.sides + digits[at.parameter]];
  }
  return node;
}

bool Forest::is_pure(const Node& leaf) const {
  return std::ranges::all_of(leaf.observations,
                             [&](std::uint32_t i) { return std::abs(targets_[i] - targets_[leaf.observations[0]]) < kSame; });
}

/// Splits a leaf, and what it falls into, until nothing is left to be told apart.
void Forest::split(Tree& tree, std::size_t node, plugin::Random& random) {
  std::vector<std::size_t> open{node};
  while (!open.empty()) {
    node = open.back();
    open.pop_back();
    if (!is_pure(tree.nodes[node]) && choose(tree, tree.nodes[node], random)) {
      part(tree, node);
      open.push_back(tree.nodes[node].left);
      open.push_back(tree.nodes[node].left + 1);
    }
  }
}

/// The best of the cuts of a share of the parameters that differ, in `best_`; false if none does.
bool Forest::choose(const Tree& tree, const Node& leaf, plugin::Random& random) {
  best_.score = -1.0;
  const bool best = random.unit() < settings_.best_cuts;
  shuffled_.resize(sizes_.size());
  std::iota(shuffled_.begin(), shuffled_.end(), std::size_t{0});
  shuffle(shuffled_, random);
  const auto wanted = std::max(1L, std::lround(settings_.tried * static_cast<double>(sizes_.size())));
  long tried = 0;
  for (auto parameter = shuffled_.begin(); parameter != shuffled_.end() && tried < wanted; ++parameter) {
    fill_bins(tree, leaf, *parameter);
    if (present_.size() > 1) {
      try_parameter(*parameter, best, random);
      ++tried;
    }
  }
  return tried > 0;
}

void Forest::fill_bins(const Tree& tree, const Node& leaf, std::size_t parameter) {
  bins_.assign(sizes_[parameter], Bin{});
  present_.clear();
  for (const std::uint32_t i : leaf.observations) {
    const std::uint16_t digit = digits_of(i)[parameter];
    if (bins_[digit].weight == 0.0) {
      present_.push_back(digit);
    }
    bins_[digit].weight += tree.weights[i];
    bins_[digit].sum += tree.weights[i] * targets_[i];
  }
}

/// Puts the values present in the order that they are cut in: by size, labels at random, or for the best cut by their mean (Fisher 1958).
void Forest::order_present(std::size_t parameter, bool best, plugin::Random& random) {
  if (!ranks_[parameter].empty()) {
    std::ranges::sort(present_, {}, [&](std::uint16_t digit) { return ranks_[parameter][digit]; });
  } else if (best) {
    std::ranges::sort(present_);
    std::ranges::stable_sort(present_, {}, [&](std::uint16_t digit) { return bins_[digit].sum / bins_[digit].weight; });
  } else {
    shuffle(present_, random);
  }
}

/// How many of the values present are left of a random cut: for numbers it is uniform over the range of their places.
std::size_t Forest::drawn_cut(std::size_t parameter, plugin::Random& random) const {
  if (ranks_[parameter].empty()) {
    return 1 + random.index(present_.size() - 1);
  }
  const auto rank = [&](std::size_t place) { return ranks_[parameter][present_[place]]; };
  const std::size_t threshold = rank(0) + 1 + random.index(rank(present_.size() - 1) - rank(0));
  std::size_t cut = 1;
  while (rank(cut) < threshold) {
    ++cut;
  }
  return cut;
}

/// Keeps a random cut of a parameter, or its best one, if it leaves less variance than those before.
void Forest::try_parameter(std::size_t parameter, bool best, plugin::Random& random) {
  order_present(parameter, best, random);
  const std::size_t drawn = best ? 0 : drawn_cut(parameter, random);
  Bin all, left;
  for (const std::uint16_t value : present_) {
    all.weight += bins_[value].weight;
    all.sum += bins_[value].sum;
  }
  std::size_t chosen = 0;
  for (std::size_t cut = 1; cut < present_.size(); ++cut) {
    left.weight += bins_[present_[cut - 1]].weight;
    left.sum += bins_[present_[cut - 1]].sum;
    const double right = all.sum - left.sum;
    const double score = left.sum * left.sum / left.weight + right * right / (all.weight - left.weight);
    if ((best || cut == drawn) && score > best_.score) {
      best_.score = score;
      chosen = cut;
    }
  }
  if (chosen > 0) {
    keep_cut(parameter, chosen, random);
  }
}

/// Numbers that were not seen go left or right of a random place between those seen, labels anywhere.
void Forest::keep_cut(std::size_t parameter, std::size_t cut, plugin::Random& random) {
  const std::vector<std::uint16_t>& ranks = ranks_[parameter];
  best_.parameter = parameter;
  best_.sides.resize(sizes_[parameter]);
  if (!ranks.empty()) {
    const std::size_t below = ranks[present_[cut - 1]], threshold = below + 1 + random.index(ranks[present_[cut]] - below);
    std::ranges::transform(ranks, best_.sides.begin(), [&](std::size_t rank) { return static_cast<std::uint8_t>(rank >= threshold); });
    return;
  }
  std::ranges::generate(best_.sides, [&] { return static_cast<std::uint8_t>(random.next() & 1); });
  for (std::size_t place = 0; place < present_.size(); ++place) {
    best_.sides[present_[place]] = place >= cut ? 1 : 0;
  }
}

/// Makes a leaf a branch by the best cut.
void Forest::part(Tree& tree, std::size_t node) {
  const std::vector<std::uint32_t> observations = std::move(tree.nodes[node].observations);
  Node left, right;
  for (const std::uint32_t i : observations) {
    (best_.sides[digits_of(i)[best_.parameter]] == 0 ? left : right).observations.push_back(i);
  }
  const std::uint32_t begin = tree.nodes[node].begin, end = tree.nodes[node].end;
  const std::vector<std::uint16_t>& column = columns_[best_.parameter];
  std::uint32_t kept = begin;
  std::size_t moved = 0;
  for (std::uint32_t i = begin; i < end; ++i) {  // without a branch: which side is next cannot be foreseen
    const std::uint32_t candidate = tree.order[i];
    const std::uint8_t side = best_.sides[column[candidate]];
    tree.order[kept] = candidate;
    right_[moved] = candidate;
    kept += 1U - side;
    moved += side;
  }
  std::copy_n(right_.begin(), moved, tree.order.begin() + kept);
  left.begin = begin;
  left.end = right.begin = kept;
  right.end = end;
  Node& parent = tree.nodes[node];
  parent.observations.clear();
  parent.parameter = best_.parameter;
  parent.sides = tree.sides.size();
  parent.left = tree.nodes.size();
  tree.sides.insert(tree.sides.end(), best_.sides.begin(), best_.sides.end());
  tree.nodes.push_back(std::move(left));
  tree.nodes.push_back(std::move(right));
}

/// The leaves' values: means of their observations. Only a tree without any observation has an empty leaf.
void Forest::update_values(Tree& tree) const {
  for (Node& node : tree.nodes) {
    double weight = 0.0, sum = 0.0;
    for (const std::uint32_t i : node.observations) {
      weight += tree.weights[i];
      sum += tree.weights[i] * targets_[i];
    }
    if (weight == 0.0 && node.left == 0) {
      weight = static_cast<double>(targets_.size());
      sum = std::accumulate(targets_.begin(), targets_.end(), 0.0);
    }
    node.value = weight > 0.0 ? sum / weight : 0.0;
  }
}

void Forest::predict(std::vector<float>& mean, std::vector<float>& variance) const {
  struct Sums {
    float sum = 0.0F, squares = 0.0F;
  };
  std::vector<Sums> sums(candidate_count_);
  for (const Tree& tree : trees_) {
    for (const Node& node : tree.nodes) {
      const auto value = static_cast<float>(node.value), square = value * value;
      for (std::uint32_t i = node.begin; node.left == 0 && i < node.end; ++i) {
        Sums& at = sums[tree.order[i]];
        at.sum += value;
        at.squares += square;
      }
    }
  }
  mean.resize(candidate_count_);
  variance.resize(candidate_count_);
  const auto count = static_cast<float>(trees_.size());
  for (std::size_t i = 0; i < candidate_count_; ++i) {
    mean[i] = sums[i].sum / count;
    variance[i] = std::max(sums[i].squares / count - mean[i] * mean[i], 0.0F);
  }
}

double Forest::mean(const std::uint16_t* digits) const {
  double sum = 0.0;
  for (const Tree& tree : trees_) {
    sum += tree.nodes[leaf_of(tree, digits)].value;
  }
  return sum / static_cast<double>(trees_.size());
}

}  // namespace hone::search
