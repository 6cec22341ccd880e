#include "engine/report/importance.hpp"

#include <algorithm>
#include <cmath>

namespace hone::report {
namespace {

constexpr std::size_t kTrees = 64;
constexpr std::uint64_t kForestSeed = 1;

/// How much more often than in all combinations a value is in the box, less 1. Its mean over the values is 0, which makes main effects and
/// interactions that are sums of products of it orthogonal.
double excess(const Box& box, std::size_t parameter, std::size_t digit) {
  return (box.allowed[parameter][digit] != 0 ? 1.0 / box.share[parameter] : 0.0) - 1.0;
}

bool narrows(const Box& box, std::size_t parameter) { return !box.allowed[parameter].empty() && box.share[parameter] < 1.0; }

double mean_square(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value * value;
  }
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

double variance_of(const Tree& tree) {
  double mean = 0.0, variance = 0.0;
  for (const Box& box : tree) {
    mean += box.volume * box.value;
  }
  for (const Box& box : tree) {
    variance += box.volume * (box.value - mean) * (box.value - mean);
  }
  return variance;
}

std::vector<double> effect_of(const Tree& tree, std::size_t parameter, std::size_t values) {
  std::vector<double> effect(values, 0.0);
  for (const Box& box : tree) {
    for (std::size_t digit = 0; narrows(box, parameter) && digit < values; ++digit) {
      effect[digit] += box.volume * box.value * excess(box, parameter, digit);
    }
  }
  return effect;
}

double joint_variance(const Tree& tree, std::size_t a, std::size_t b, const std::vector<std::uint16_t>& sizes) {
  std::vector<double> effect(static_cast<std::size_t>(sizes[a]) * sizes[b], 0.0);
  for (const Box& box : tree) {
    if (!narrows(box, a) || !narrows(box, b)) {
      continue;
    }
    for (std::size_t i = 0; i < sizes[a]; ++i) {
      const double scaled = box.volume * box.value * excess(box, a, i);
      for (std::size_t j = 0; j < sizes[b]; ++j) {
        effect[i * sizes[b] + j] += scaled * excess(box, b, j);
      }
    }
  }
  return mean_square(effect);
}

/// The same observations with figures around 0: sums of large numbers would lose the small effects.
Observations centred(Observations observations) {
  double mean = 0.0;
  for (const double figure : observations.figures) {
    mean += figure;
  }
  mean /= static_cast<double>(std::max<std::size_t>(observations.count(), 1));
  for (double& figure : observations.figures) {
    figure -= mean;
  }
  return observations;
}

}  // namespace

Importance importance(const Observations& observations) {
  const std::size_t parameters = observations.parameters();
  Importance result;
  result.observations = observations.count();
  result.parameters.assign(parameters, 0.0);
  for (const std::uint16_t size : observations.sizes) {
    result.effects.emplace_back(size, 0.0);
  }
  for (std::size_t a = 0; a < parameters; ++a) {
    for (std::size_t b = a + 1; b < parameters; ++b) {
      result.pairs.push_back({a, b, 0.0});
    }
  }
  const Forest forest = grow_forest(centred(observations), kTrees, kForestSeed);
  result.explained = forest.explained;
  for (const Tree& tree : forest.trees) {
    const double variance = variance_of(tree);
    if (variance <= 0.0) {
      continue;
    }
    constexpr auto kAll = static_cast<double>(kTrees);
    double rest = 1.0;
    for (std::size_t p = 0; p < parameters; ++p) {
      const std::vector<double> effect = effect_of(tree, p, observations.sizes[p]);
      result.parameters[p] += mean_square(effect) / variance / kAll;
      rest -= mean_square(effect) / variance;
      std::ranges::transform(effect, result.effects[p], result.effects[p].begin(), [](double one, double sum) { return sum + one / kAll; });
    }
    for (PairShare& pair : result.pairs) {
      const double share = joint_variance(tree, pair.first, pair.second, observations.sizes) / variance;
      pair.share += share / kAll;
      rest -= share;
    }
    result.rest += std::max(0.0, rest) / kAll;
  }
  std::ranges::stable_sort(result.pairs, std::ranges::greater(), &PairShare::share);
  return result;
}

}  // namespace hone::report
