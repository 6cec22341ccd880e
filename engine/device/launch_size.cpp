#include "engine/device/launch_size.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace hone {
namespace {

constexpr std::int64_t kUnlimited = 1 << 20;  // multiprocessors: more than any launch has pieces of work for

/// Below 0 where an expression fails.
double blocks_of(const Pass& pass, const Bindings& bound) {
  double blocks = 1.0;
  for (const Expression& extent : pass.grid) {
    const Result<Value> value = extent.evaluate(bound);
    if (!value || value->integer() < 0) {
      return -1.0;
    }
    blocks *= static_cast<double>(value->integer());
  }
  return blocks;
}

double tail_of(double pieces, double in_a_wave) {
  const double waves = pieces / in_a_wave;
  return waves <= 1.0 ? 0.0 : std::log2(std::ceil(waves) / waves);
}

}  // namespace

std::optional<LaunchSize> launch_size(const KernelSpec& spec, Bindings& bound) {
  std::vector<std::pair<const Pass*, double>> launched;
  LaunchSize size{0.0, 0.0};
  for (const Pass& pass : spec.passes) {
    const Result<Value> enabled = pass.enabled.evaluate(bound);
    if (!enabled) {
      return std::nullopt;
    }
    if (!enabled->boolean()) {
      continue;
    }
    const double blocks = blocks_of(pass, bound);
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
  const auto multiprocessors = bound.find("d.multiprocessors");
  if (multiprocessors == bound.end()) {
    return size;
  }
  const Value here = std::exchange(multiprocessors->second, Value(kUnlimited));
  double pieces = size.blocks, in_a_wave = here.real();
  for (const auto& [pass, blocks] : launched) {
    if (const double more = blocks_of(*pass, bound); more > blocks) {
      pieces = more;
      in_a_wave = blocks;
      break;
    }
  }
  multiprocessors->second = here;
  size.tail = in_a_wave > 0.0 ? tail_of(pieces, in_a_wave) : 0.0;
  return size;
}

}  // namespace hone
