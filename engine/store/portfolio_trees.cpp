#include "engine/store/portfolio_trees.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include "engine/store/logarithm.hpp"
#include "engine/store/member_values.hpp"
#include "engine/store/portfolio.hpp"

namespace hone {
namespace {

constexpr float kAbsent = -2.0F;            // of values that another kernel's members have
constexpr double kMostPadding = 4.0;        // beyond it all is outside
constexpr std::size_t kLeastSamples = 600;  // fewer say too little,
constexpr std::size_t kSamplesOfTree = 16;  // and for each so many there is a tree
constexpr std::size_t kLeastTrees = 50, kMostFitted = 768;
constexpr double kForgiveness = 4.0;  // how quickly what a member takes counts less the further it is behind

// No field and no kernel has such a name.
constexpr std::string_view kBlocks = "#blocks", kTail = "#tail", kPadding = "#padding", kOfKernel = ":";

/// Nothing for a word.
std::optional<float> number_of(std::string_view text) {
  if (text == "true" || text == "false") {
    return text == "true" ? 1.0F : 0.0F;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return static_cast<float>(std::clamp(static_cast<double>(number), -BoostedTrees::kMostBorder, BoostedTrees::kMostBorder));
}

/// The column of a value, and what it is there.
std::pair<std::string, float> feature_of(std::string_view kernel, std::string_view name, std::string_view text) {
  const std::optional<float> number = number_of(text);
  std::string column = std::string(kernel) + "." + std::string(name);
  return number ? std::pair(std::move(column), *number) : std::pair(column + "=" + std::string(text), 1.0F);
}

/// In steps, so that the last digits of a logarithm, which hosts compute each in its own way, decide nothing.
float kept(double value) {
  constexpr double kSteps = 64.0;
  return static_cast<float>(std::round(value * kSteps) / kSteps);
}

float extent_of(std::int64_t extent) {
  return static_cast<float>(logarithm(static_cast<double>(std::max<std::int64_t>(1, extent))) / kLn2);
}

std::vector<std::string> columns_of(const Portfolio& portfolio) {
  std::vector<std::string> columns;
  const auto add = [&](std::string name) {
    if (std::ranges::find(columns, name) == columns.end()) {
      columns.push_back(std::move(name));
    }
  };
  for (const RangeAxis& axis : portfolio.range.axes) {
    if (axis.varies()) {
      add(axis.name);
      add(axis.name + "%");
    }
  }
  for (const std::string_view name : {kBlocks, kTail, kPadding}) {
    add(std::string(name));
  }
  for (const PortfolioMember& member : portfolio.members) {
    add(member.kernel + std::string(kOfKernel));
    for (const auto& [name, text] : named_values(member.configuration)) {
      add(feature_of(member.kernel, name, text).first);
    }
  }
  return columns;
}

}  // namespace

bool PortfolioTrees::has_launch_columns() const {
  const auto blocks = std::ranges::find(columns, kBlocks);
  return columns.end() - blocks >= static_cast<std::ptrdiff_t>(kOfLaunch) && blocks[1] == kTail && blocks[2] == kPadding;
}

std::size_t PortfolioTrees::changing() const {
  return static_cast<std::size_t>(std::ranges::find(columns, kBlocks) - columns.begin()) + kOfLaunch;
}

std::optional<std::vector<float>> PortfolioTrees::row_of(const PortfolioMember& member) const {
  const auto kernel = std::ranges::find(columns, member.kernel + std::string(kOfKernel));
  if (kernel == columns.end()) {
    return std::nullopt;
  }
  std::vector<float> row(columns.size(), kAbsent);
  row[static_cast<std::size_t>(kernel - columns.begin())] = 1.0F;
  for (const auto& [name, text] : named_values(member.configuration)) {
    const auto [column, value] = feature_of(member.kernel, name, text);
    if (const auto at = std::ranges::find(columns, column); at != columns.end()) {
      row[static_cast<std::size_t>(at - columns.begin())] = value;
    }
  }
  return row;
}

std::vector<float> PortfolioTrees::features_of(const Shape& shape) const {
  std::vector<float> features;
  for (std::size_t i = 0; columns[i] != kBlocks; ++i) {
    const bool is_alignment = columns[i].ends_with('%');
    const std::string_view axis = std::string_view(columns[i]).substr(0, columns[i].size() - (is_alignment ? 1 : 0));
    const auto field = std::ranges::find(shape, axis, &Shape::value_type::first);
    const std::int64_t extent = field == shape.end() ? 1 : field->second;
    features.push_back(is_alignment ? static_cast<float>(factors_of_two(extent)) : extent_of(extent));
  }
  return features;
}

std::array<float, PortfolioTrees::kOfLaunch> PortfolioTrees::features_of(const LaunchSize& launch) {
  return {static_cast<float>(logarithm(std::max(1.0, launch.blocks)) / kLn2), kept(launch.tail),
          kept(std::min(kMostPadding, launch.padding))};
}

std::vector<float> PortfolioTrees::features(std::vector<float> row, const std::vector<float>& of_shape, const LaunchSize& launch) const {
  std::ranges::copy(features_of(launch), std::ranges::copy(of_shape, row.begin()).out);
  return row;
}

TreeMembers::TreeMembers(PortfolioTrees trees, const std::vector<PortfolioMember>& members, const std::vector<bool>& is_asked)
    : trees_(std::move(trees)), is_asked_(is_asked), bins_(trees_.columns.size()) {
  for (std::size_t member = 0; member < members.size(); ++member) {
    const std::optional<std::vector<float>> row = is_asked_[member] ? trees_.row_of(members[member]) : std::nullopt;
    is_asked_[member] = row.has_value();
    for (std::size_t column = trees_.changing(); column < bins_.size(); ++column) {
      bins_[column].push_back(row ? trees_.trees.bin_of(column, (*row)[column]) : std::uint8_t{0});
    }
  }
  for (std::vector<std::uint8_t>& bins : bins_) {
    bins.resize(asked_at_once());
  }
}

std::size_t TreeMembers::asked_at_once() const {
  return (is_asked_.size() + BoostedTrees::kAtOnce - 1) / BoostedTrees::kAtOnce * BoostedTrees::kAtOnce;
}

std::vector<std::optional<double>> TreeMembers::expect(const Shape& shape, const std::vector<std::optional<LaunchSize>>& launches) const {
  const std::size_t members = is_asked_.size(), changing = trees_.changing();
  std::vector<std::vector<std::uint8_t>> here(changing, std::vector<std::uint8_t>(asked_at_once()));
  const std::vector<float> of_shape = trees_.features_of(shape);
  for (std::size_t column = 0; column < of_shape.size(); ++column) {
    std::ranges::fill(here[column], trees_.trees.bin_of(column, of_shape[column]));
  }
  const auto is_known = [&](std::size_t member) { return is_asked_[member] && member < launches.size() && launches[member]; };
  for (std::size_t member = 0; member < members; ++member) {
    if (is_known(member)) {
      const auto of_launch = PortfolioTrees::features_of(*launches[member]);
      for (std::size_t i = 0; i < of_launch.size(); ++i) {
        here[of_shape.size() + i][member] = trees_.trees.bin_of(of_shape.size() + i, of_launch[i]);
      }
    }
  }
  std::vector<std::span<const std::uint8_t>> bins(here.begin(), here.end());
  bins.insert(bins.end(), bins_.begin() + static_cast<std::ptrdiff_t>(changing), bins_.end());
  const std::vector<double> expected = trees_.trees.expect(bins, asked_at_once());
  std::vector<std::optional<double>> all(members);
  for (std::size_t member = 0; member < members; ++member) {
    all[member] = is_known(member) ? std::optional(expected[member]) : std::nullopt;
  }
  return all;
}

std::optional<PortfolioTrees> fit_trees(const Portfolio& portfolio) {
  PortfolioTrees fitted{columns_of(portfolio), {}};
  TreeSamples samples{.features = fitted.columns.size(), .rows = {}, .targets = {}, .weights = {}};
  std::vector<std::vector<float>> rows;
  for (const PortfolioMember& member : portfolio.members) {
    rows.push_back(*fitted.row_of(member));
  }
  for (const PortfolioPoint& point : portfolio.points) {
    const std::vector<float> of_shape = fitted.features_of(point.shape);
    for (const PortfolioCell& cell : point.elsewhere ? std::vector<PortfolioCell>() : point.cells) {
      if (cell.launch) {
        const std::vector<float> row = fitted.features(rows[cell.member], of_shape, *cell.launch);
        samples.rows.insert(samples.rows.end(), row.begin(), row.end());
        const double behind = level_logarithm(slowdown_level(cell.slowdown));  // as a text has it
        samples.targets.push_back(behind);
        samples.weights.push_back(std::exp(-kForgiveness * behind));
      }
    }
  }
  if (samples.targets.size() < kLeastSamples) {
    return std::nullopt;
  }
  fitted.trees = fit_boosted_trees(samples, std::clamp(samples.targets.size() / kSamplesOfTree, kLeastTrees, kMostFitted));
  return fitted;
}

}  // namespace hone
