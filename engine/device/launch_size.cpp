#include "engine/device/launch_size.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hone {
namespace {

constexpr std::string_view kMultiprocessors = "d.multiprocessors";
constexpr std::int64_t kUnlimited = 1 << 20;
constexpr std::int64_t kLonger = 1 << 10, kMostExtent = std::int64_t{1} << 40;  // what is longer still could overflow

Bindings without_limit(Bindings bound) {
  bound.insert_or_assign(std::string(kMultiprocessors), Value(kUnlimited));
  return bound;
}

double tail_of(double pieces, double in_a_wave) {
  const double waves = pieces / in_a_wave;
  return waves <= 1.0 ? 0.0 : std::log2(std::ceil(waves) / waves);
}

}  // namespace

LaunchSizes::LaunchSizes(const KernelSpec& spec, const Bindings& bound)
    : spec_(spec), here_(spec.parameters, bound), without_limit_(spec.parameters, without_limit(bound)) {
  if (const auto known = bound.find(kMultiprocessors); known != bound.end()) {
    multiprocessors_ = known->second.real();
  }
  std::set<std::string> counted;  // what numbers of pieces depend on
  for (const Pass& pass : spec.passes) {
    for (const Expression& extent : pass.grid) {
      const std::vector<std::string> variables = extent.variables();
      counted.insert(variables.begin(), variables.end());
    }
  }
  for (const ProblemField& field : spec.problem) {
    Bindings longer = without_limit(bound);
    const auto extent = longer.find("p." + field.name);
    if (counted.contains("p." + field.name) && extent != longer.end() && extent->second.integer() > 0 &&
        extent->second.integer() < kMostExtent) {
      extent->second = Value(extent->second.integer() * kLonger);
      longer_.emplace_back(spec.parameters, longer);
    }
  }
}

double LaunchSizes::padding_of(const Pass& pass, double pieces, const Configuration& configuration) {
  double padding = 0.0;
  for (RepeatedExpressions& expressions : longer_) {
    expressions.choose(configuration);
    const double more = blocks_of(pass, expressions) / pieces;
    padding += more >= 2.0 ? std::max(0.0, std::log2(static_cast<double>(kLonger) / more)) : 0.0;  // below: not of this field
  }
  return padding;
}

std::optional<LaunchSize> LaunchSizes::at(const Configuration& configuration) {
  here_.choose(configuration);
  without_limit_.choose(configuration);
  std::vector<std::pair<const Pass*, double>> launched;
  LaunchSize size{0.0, 0.0, 0.0};
  for (const Pass& pass : spec_.passes) {
    const std::optional<Value> enabled = here_.evaluate(pass.enabled);
    if (!enabled) {
      return std::nullopt;
    }
    if (!enabled->boolean()) {
      continue;
    }
    const double blocks = blocks_of(pass, here_);
    if (blocks < 0.0) {
      return std::nullopt;
    }
    if (blocks > 0.0) {
      launched.emplace_back(&pass, blocks);
      size.blocks = std::max(size.blocks, blocks);
    }
  }
  if (launched.empty()) {
    return std::nullopt;
  }
  if (!multiprocessors_) {
    return size;
  }
  double pieces = size.blocks, in_a_wave = *multiprocessors_, most = 0.0;
  for (const auto& [pass, blocks] : launched) {
    if (const double all = blocks_of(*pass, without_limit_); all > most) {
      most = all;
      size.padding = padding_of(*pass, all, configuration);
    }
  }
  for (const auto& [pass, blocks] : launched) {
    if (const double more = blocks_of(*pass, without_limit_); more > blocks) {
      pieces = more;
      in_a_wave = blocks;
      break;
    }
  }
  size.tail = in_a_wave > 0.0 ? tail_of(pieces, in_a_wave) : 0.0;
  return size;
}

double LaunchSizes::blocks_of(const Pass& pass, RepeatedExpressions& expressions) {
  double blocks = 1.0;
  for (const Expression& extent : pass.grid) {
    const std::optional<Value> value = expressions.evaluate(extent);
    if (!value || value->integer() < 0) {
      return -1.0;
    }
    blocks *= static_cast<double>(value->integer());
  }
  return blocks;
}

}  // namespace hone
