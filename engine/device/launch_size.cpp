#include "engine/device/launch_size.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hone {
namespace {

constexpr std::string_view kMultiprocessors = "d.multiprocessors";
constexpr std::int64_t kUnlimited = 1 << 20;
constexpr std::int64_t kLonger = 1 << 10;                                                      // times as much of a field,
constexpr std::int64_t kMostExtent = std::int64_t{1} << 31, kNoLimit = std::int64_t{1} << 40;  // by which no expression overflows

Bindings without_limit(Bindings bound, std::int64_t multiprocessors = kUnlimited) {
  bound.insert_or_assign(std::string(kMultiprocessors), Value(multiprocessors));
  return bound;
}

double tail_of(double pieces, double in_a_wave) {
  const double waves = pieces / in_a_wave;
  return waves <= 1.0 ? 0.0 : std::log2(std::ceil(waves) / waves);
}

}  // namespace

LaunchSizes::LaunchSizes(const KernelSpec& spec, const Bindings& bound) : expressions_(spec.parameters), shared_(spec.parameters) {
  for (const Pass& pass : spec.passes) {
    Numbers& numbers = passes_.emplace_back();
    numbers.enabled = expressions_.add(pass.enabled);
    numbers.shared_bytes = shared_.add(pass.shared_bytes);
    std::ranges::transform(pass.grid, numbers.grid.begin(), [this](const Expression& extent) { return expressions_.add(extent); });
  }
  here_.emplace(expressions_, bound);
  shared_here_.emplace(shared_, bound);
  without_limit_.emplace(expressions_, without_limit(bound));
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
  std::map<std::string, bool> fields;  // whether pieces may change with it
  for (const ProblemField& field : spec.problem) {
    fields.emplace(field.name, !field.is_static() && counted.contains("p." + field.name));
  }
  for (const auto& [name, is_counted] : fields) {
    one_.emplace_back();
    if (is_counted) {
      Bindings single = without_limit(bound);
      single.insert_or_assign("p." + name, Value(1));
      one_.back().emplace(expressions_, single);
    }
  }
  for (const ProblemField& field : spec.problem) {
    const std::string name = "p." + field.name;
    const auto extent = bound.find(name);
    if (!counted.contains(name) || extent == bound.end() || extent->second.integer() <= 0 || extent->second.integer() > kMostExtent) {
      continue;
    }
    for (const std::int64_t times : {kLonger / 2, kLonger}) {
      Bindings longer = without_limit(bound, kNoLimit);
      longer.insert_or_assign(name, Value(extent->second.integer() * times));
      longer_.emplace_back(expressions_, longer);
    }
  }
}

double LaunchSizes::padding_of(const Numbers& pass, double pieces, const Configuration& configuration) {
  constexpr double kLeastGrowth = 1.9, kMostGrowth = 2.1;
  double padding = 0.0;
  for (std::size_t i = 0; i < longer_.size(); i += 2) {
    const auto at = [&](RepeatedValues& values) {
      values.choose(configuration);
      return blocks_of(pass, values);
    };
    const double more = at(longer_[i + 1]), beyond = more > 0.0 ? std::log2(static_cast<double>(kLonger) * pieces / more) : 0.0;
    // Up to a factor of two there are nearly as many times as many pieces; of fewer it is to be seen whether they grow as tiles do.
    const double growth = beyond > 1.0 ? more / at(longer_[i]) : 2.0;
    padding += growth >= kLeastGrowth && growth <= kMostGrowth ? std::max(0.0, beyond) : 0.0;
  }
  return padding;
}

std::vector<double> LaunchSizes::along_fields(const Numbers& pass, double pieces, const Configuration& configuration) {
  std::vector<double> all;
  for (std::optional<RepeatedValues>& values : one_) {
    double least = pieces;
    if (values) {
      values->choose(configuration);
      least = blocks_of(pass, *values);
    }
    all.push_back(least > 0.0 ? pieces / least : 1.0);
  }
  return all;
}

std::optional<LaunchSize> LaunchSizes::at(const Configuration& configuration) {
  here_->choose(configuration);
  without_limit_->choose(configuration);
  std::vector<std::pair<const Numbers*, double>> launched;
  for (const Numbers& pass : passes_) {
    const Value* const enabled = (*here_)[pass.enabled];
    if (enabled == nullptr) {
      return std::nullopt;
    }
    const double blocks = enabled->boolean() ? blocks_of(pass, *here_) : 0.0;
    if (blocks < 0.0) {
      return std::nullopt;
    }
    if (blocks > 0.0) {
      launched.emplace_back(&pass, blocks);
    }
  }
  if (launched.empty()) {
    return std::nullopt;
  }
  if (launched.size() > 1) {
    shared_here_->choose(configuration);
  }
  const Numbers* main = nullptr;
  std::tuple<double, bool, double> most;
  LaunchSize size;
  for (const auto& [pass, blocks] : launched) {
    const Value* const shared = launched.size() > 1 ? (*shared_here_)[pass->shared_bytes] : nullptr;
    const double pieces = std::max(blocks, blocks_of(*pass, *without_limit_));
    const std::tuple own(shared == nullptr ? 0.0 : shared->real(), pieces > blocks, pieces);
    if (main == nullptr || own > most) {
      main = pass;
      most = own;
      size.blocks = blocks;
      size.pieces = pieces;
    }
  }
  if (!multiprocessors_) {
    return LaunchSize{.blocks = size.blocks};
  }
  size.padding = padding_of(*main, size.pieces, configuration);
  size.along = along_fields(*main, size.pieces, configuration);
  size.tail = tail_of(size.pieces, size.pieces > size.blocks ? size.blocks : *multiprocessors_);
  return size;
}

double LaunchSizes::blocks_of(const Numbers& pass, RepeatedValues& values) {
  double blocks = 1.0;
  for (const std::size_t extent : pass.grid) {
    const Value* const value = values[extent];
    if (value == nullptr || value->integer() < 0) {
      return -1.0;
    }
    blocks *= static_cast<double>(value->integer());
  }
  return blocks;
}

}  // namespace hone
