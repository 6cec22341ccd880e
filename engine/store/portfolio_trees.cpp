#include "engine/store/portfolio_trees.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <ranges>
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
constexpr std::size_t kLeastTrees = 50, kMostFitted = 1024;
constexpr double kForgiveness = 4.0;  // how quickly what a member takes counts less the further it is behind

// No field and no kernel has such a name.
constexpr std::string_view kBlocks = "#blocks", kTail = "#tail", kPadding = "#padding", kPieces = "#pieces", kOfKernel = ":";
constexpr char kLaunched = '#', kFactors = '%', kTimes = '*', kOver = '/';
constexpr std::size_t kSamplesOfAxis = 1000;  // fewer say too little of products and shares of extents
constexpr std::size_t kMostTogether = 6;      // extents of which each two are multiplied

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

/// "m*n*k"
std::string product_of(std::span<const std::string> axes) {
  std::string all;
  for (const std::string& axis : axes) {
    all += (all.empty() ? "" : std::string(1, kTimes)) + axis;
  }
  return all;
}

/// Trees ask of one column at a time: of a product or a share they can ask only where there is a column for it.
std::vector<std::string> columns_of(const Portfolio& portfolio, std::size_t samples) {
  std::vector<std::string> columns, axes;
  const auto add = [&](std::string name) {
    if (std::ranges::find(columns, name) == columns.end()) {
      columns.push_back(std::move(name));
    }
  };
  for (const RangeAxis& axis : portfolio.range.axes) {
    if (axis.varies()) {
      axes.push_back(axis.name);
      add(axis.name);
      add(axis.name + kFactors);
    }
  }
  for (const std::string_view name : {kBlocks, kTail, kPadding}) {
    add(std::string(name));
  }
  if (samples >= kSamplesOfAxis * axes.size()) {
    for (std::size_t i = 0; i < axes.size() && axes.size() <= kMostTogether; ++i) {
      for (std::size_t k = i + 1; k < axes.size(); ++k) {
        add(product_of(std::array{axes[i], axes[k]}));
      }
    }
    const std::string all = product_of(axes);
    add(all);
    add(std::string(kPieces));
    for (const std::string& axis : axes) {
      add(kLaunched + axis);
      add(axis + kOver + kLaunched + axis);
    }
    add(all + kOver + std::string(kPieces));
  }
  for (const PortfolioMember& member : portfolio.members) {
    add(member.kernel + std::string(kOfKernel));
    for (const auto& [name, text] : named_values(member.configuration)) {
      add(feature_of(member.kernel, name, text).first);
    }
  }
  return columns;
}

float count_of(double count) { return kept(logarithm(std::max(1.0, count)) / kLn2); }

/// The sum of the logarithms of extents.
float extents_of(std::string_view product, const Shape& shape) {
  float sum = 0.0F;
  for (const auto part : std::views::split(product, kTimes)) {
    const auto field = std::ranges::find(shape, std::string_view(part.begin(), part.end()), &Shape::value_type::first);
    sum += field == shape.end() ? 0.0F : extent_of(field->second);
  }
  return sum;
}

}  // namespace

std::size_t PortfolioTrees::changing() const {
  const auto first_of_kernel = std::ranges::find_if(columns, [](const std::string& column) { return column.ends_with(kOfKernel); });
  return static_cast<std::size_t>(first_of_kernel - columns.begin());
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

bool PortfolioTrees::is_known() const {
  const std::span<const std::string> first = std::span(columns).first(changing());
  const auto is_axis = [&](std::string_view name) {
    return name.find_first_of("#%*/") == std::string_view::npos && std::ranges::find(first, name) != first.end();
  };
  return std::ranges::all_of(first, [&](std::string_view column) {
    if (column == kBlocks || column == kTail || column == kPadding || column == kPieces) {
      return true;
    }
    const std::size_t over = column.find(kOver);
    const std::string_view launched = over == std::string_view::npos ? "" : column.substr(over + 1);
    if (column.starts_with(kLaunched) || (!launched.empty() && launched != kPieces)) {
      const std::string_view axis = column.starts_with(kLaunched) ? column.substr(1) : column.substr(0, over);
      return is_axis(axis) && (launched.empty() || launched.substr(1) == axis);
    }
    const std::string_view extents = column.substr(0, column.ends_with(kFactors) ? column.size() - 1 : over);
    return std::ranges::all_of(std::views::split(extents, kTimes), [&](const auto part) { return is_axis({part.begin(), part.end()}); });
  });
}

ShapeFeatures::ShapeFeatures(const PortfolioTrees& trees, const Shape& shape) {
  std::vector<std::string_view> fields;
  for (const auto& [name, extent] : shape) {
    fields.emplace_back(name);
  }
  std::ranges::sort(fields);
  const auto place_of = [&](std::string_view axis) { return static_cast<std::size_t>(std::ranges::find(fields, axis) - fields.begin()); };
  const std::size_t changing = trees.changing();
  for (std::size_t i = 0; i < changing; ++i) {
    const std::string_view name = trees.columns[i];
    const std::size_t over = name.find(kOver);
    const std::string_view extents = name.substr(0, over), launched = over == std::string_view::npos ? name : name.substr(over + 1);
    Column& column = columns_.emplace_back();
    if (name.ends_with(kFactors)) {
      const auto field = std::ranges::find(shape, name.substr(0, name.size() - 1), &Shape::value_type::first);
      column.number = field == shape.end() ? 0.0F : static_cast<float>(factors_of_two(field->second));
      continue;
    }
    if (!name.starts_with(kLaunched)) {
      column.number = extents_of(extents, shape);
      column.is_rest = over != std::string_view::npos;
    }
    if (launched == kBlocks) {
      column.of_launch = OfLaunch::kBlocks;
    } else if (launched == kTail) {
      column.of_launch = OfLaunch::kTail;
    } else if (launched == kPadding) {
      column.of_launch = OfLaunch::kPadding;
    } else if (launched == kPieces) {
      column.of_launch = OfLaunch::kPieces;
    } else if (launched.starts_with(kLaunched)) {
      column.of_launch = OfLaunch::kAlong;
      column.field = place_of(launched.substr(1));
    }
  }
}

float ShapeFeatures::at(std::size_t column, const LaunchSize& launch) const {
  const Column& asked = columns_[column];
  const auto counted = [&](double count) { return asked.is_rest ? asked.number - count_of(count) : count_of(count); };
  switch (*asked.of_launch) {
    case OfLaunch::kBlocks:
      return static_cast<float>(logarithm(std::max(1.0, launch.blocks)) / kLn2);
    case OfLaunch::kTail:
      return kept(launch.tail);
    case OfLaunch::kPadding:
      return kept(std::min(kMostPadding, launch.padding));
    case OfLaunch::kPieces:
      return counted(launch.pieces);
    case OfLaunch::kAlong:
      break;
  }
  return counted(asked.field < launch.along.size() ? launch.along[asked.field] : 1.0);
}

std::vector<float> ShapeFeatures::row(std::vector<float> of_member, const LaunchSize& launch) const {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    of_member[column] = is_of_shape(column) ? of_shape(column) : at(column, launch);
  }
  return of_member;
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
  const auto is_known = [&](std::size_t member) { return is_asked_[member] && member < launches.size() && launches[member]; };
  std::vector<std::vector<std::uint8_t>> here(changing, std::vector<std::uint8_t>(asked_at_once()));
  const ShapeFeatures features(trees_, shape);
  for (std::size_t column = 0; column < changing; ++column) {
    if (features.is_of_shape(column)) {
      std::ranges::fill(here[column], trees_.trees.bin_of(column, features.of_shape(column)));
      continue;
    }
    for (std::size_t member = 0; member < members; ++member) {
      here[column][member] = is_known(member) ? trees_.trees.bin_of(column, features.at(column, *launches[member])) : std::uint8_t{0};
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
  std::size_t known = 0;
  for (const PortfolioPoint& point : portfolio.points) {
    const auto is_launch_known = [](const PortfolioCell& cell) { return cell.launch.has_value(); };
    known += point.elsewhere ? 0 : static_cast<std::size_t>(std::ranges::count_if(point.cells, is_launch_known));
  }
  if (known < kLeastSamples) {
    return std::nullopt;
  }
  PortfolioTrees fitted{columns_of(portfolio, known), {}};
  TreeSamples samples{.features = fitted.columns.size(), .rows = {}, .targets = {}, .weights = {}};
  std::vector<std::vector<float>> rows;
  for (const PortfolioMember& member : portfolio.members) {
    rows.push_back(*fitted.row_of(member));
  }
  for (const PortfolioPoint& point : portfolio.points) {
    const ShapeFeatures here(fitted, point.shape);
    for (const PortfolioCell& cell : point.elsewhere ? std::vector<PortfolioCell>() : point.cells) {
      if (cell.launch) {
        const std::vector<float> row = here.row(rows[cell.member], *cell.launch);
        samples.rows.insert(samples.rows.end(), row.begin(), row.end());
        const double behind = level_logarithm(slowdown_level(cell.slowdown));  // as a text has it
        samples.targets.push_back(behind);
        samples.weights.push_back(std::exp(-kForgiveness * behind));
      }
    }
  }
  fitted.trees = fit_boosted_trees(samples, std::clamp(known / kSamplesOfTree, kLeastTrees, kMostFitted));
  return fitted;
}

}  // namespace hone
