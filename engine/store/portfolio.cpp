#include "engine/store/portfolio.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace hone {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDigits = 1e4;                             // of a slowdown: a hundredth of a percent
constexpr double kLeastSetting = 1e-3, kMostSetting = 1e3;  // of a rule: beyond them it has no more digits
constexpr double kMostNumber = 1e15;                        // microseconds, slowdowns: beyond it nothing can be rounded and written
/// One for each level of a slowdown, the best first.
constexpr std::string_view kLevels = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr char kUnmeasured = '.';
constexpr const char *kLaunches = "launches", *kOfMainPass = "main";  // what a text says of launches is of the kernel's main pass
constexpr double kBlockSteps = 2.0;                                   // levels for a factor of two
constexpr double kTailSteps = 8.0;                                    // levels of a tail above that of 0

double rounded(double value) { return std::round(value * kDigits) / kDigits; }

/// Without a fraction where that is 0.
Json short_number(double value) { return value == std::floor(value) ? Json(static_cast<std::int64_t>(value)) : Json(value); }

Json axis_json(const RangeAxis& axis) {
  Json parts = Json::array();
  for (const RangeAxis::Part& part : axis.parts) {
    parts.push_back({part.least, part.most});
  }
  return {{"name", axis.name}, {"parts", parts}, {"exact", axis.exact}};
}

/// Its slowdown at each point.
std::string levels_of(const Portfolio& portfolio, std::size_t member) {
  std::string levels;
  for (const PortfolioPoint& point : portfolio.points) {
    const PortfolioCell* const cell = point.find(member);
    levels += cell != nullptr ? kLevels[slowdown_level(cell->slowdown)] : kUnmeasured;
  }
  return levels;
}

/// Of its launch at each point where it was measured; empty where none is known.
std::string launch_levels_of(const Portfolio& portfolio, std::size_t member, std::size_t (*level)(const LaunchSize&)) {
  std::string levels;
  bool is_any_known = false;
  for (const PortfolioPoint& point : portfolio.points) {
    if (const PortfolioCell* const cell = point.find(member)) {
      levels += cell->launch ? kLevels[level(*cell->launch)] : kUnmeasured;
      is_any_known = is_any_known || cell->launch;
    }
  }
  return is_any_known ? levels : "";
}

/// By the axis that varies: its extent at each point.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> extents_of(const Portfolio& portfolio) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> all;
  for (std::size_t i = 0; i < portfolio.range.axes.size(); ++i) {
    if (portfolio.range.axes[i].varies()) {
      auto& [name, extents] = all.emplace_back(portfolio.range.axes[i].name, std::vector<std::int64_t>());
      for (const PortfolioPoint& point : portfolio.points) {
        extents.push_back(point.shape[i].second);
      }
    }
  }
  return all;
}

/// A list with one line for each element.
template <class Elements, class Write>
std::string lines(std::string_view key, const Elements& elements, Write write) {
  std::string all = fmt::format(" \"{}\": [", key);
  bool first = true;
  for (const auto& element : elements) {
    all += fmt::format("{}\n  {}", first ? "" : ",", write(element).dump());
    first = false;
  }
  return all + "\n ]";
}

std::int64_t read_whole(const Json& json) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json > std::numeric_limits<std::int64_t>::max())) {
    throw std::invalid_argument(fmt::format("{} is no whole number of 64 bits", json.is_number() ? json.dump() : json.type_name()));
  }
  return json.get<std::int64_t>();
}

RangeAxis read_axis(const Json& json) {
  RangeAxis axis{json.at("name").get<std::string>(), {}, json.at("exact").get<bool>()};
  for (const Json& part : json.at("parts")) {
    axis.parts.push_back({read_whole(part.at(0)), read_whole(part.at(1))});
  }
  if (axis.parts.empty()) {
    throw std::invalid_argument(fmt::format("its axis {} has no values", axis.name));
  }
  return axis;
}

/// Of each character: its level plus one, 0 where it is none.
constexpr std::array<std::uint8_t, 256> kLevelOf = [] {
  std::array<std::uint8_t, 256> all{};
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    all[static_cast<unsigned char>(kLevels[level])] = static_cast<std::uint8_t>(level + 1);
  }
  return all;
}();

std::optional<std::size_t> read_level(char level) {
  const std::size_t at = kLevelOf[static_cast<unsigned char>(level)];
  if (at == 0 && level != kUnmeasured) {
    throw std::invalid_argument(fmt::format("'{}' is no level of a slowdown or of a launch", level));
  }
  return at == 0 ? std::nullopt : std::optional(at - 1);
}

/// What a level stands for.
std::vector<double> values_of_levels(double (*logarithm)(std::size_t), double (*power)(double)) {
  std::vector<double> all;
  for (std::size_t level = 0; level < kLevels.size(); ++level) {
    all.push_back(power(logarithm(level)));
  }
  return all;
}

/// What a member took at each point, as its text has it.
struct MemberLevels {
  const std::string* slowdowns = nullptr;
  const std::string *blocks = nullptr, *tails = nullptr;  ///< at those points where it was measured; null: not known at all
};

/// How many of a tree's questions a text has: not one that is asked twice.
std::size_t depth_of(const BoostedTrees::Tree& tree) {
  return BoostedTrees::kDepth - (tree.questions.back() == tree.questions[BoostedTrees::kDepth - 2] ? 1 : 0);
}

/// Of all places of a tree's table that of a leaf among those of so many questions: the last one has its answer twice, if it is asked
/// twice.
std::size_t place_of(std::size_t leaf, std::size_t depth) {
  return depth == BoostedTrees::kDepth ? leaf : leaf | (leaf >> (depth - 1) << depth);
}

/// One line for the columns, and one for each tree: its questions, three characters each (two of the feature, one of the border), and its
/// leaves, a character each.
std::string trees_text(const PortfolioTrees& trees) {
  constexpr std::size_t kBase = kLevels.size();
  std::string all = fmt::format(" \"trees\": {{\n  \"columns\": {},\n  \"borders\": [", Json(trees.columns).dump());
  std::string_view separator;
  for (const std::vector<float>& borders : trees.trees.borders) {
    Json own = Json::array();
    std::ranges::transform(borders, std::back_inserter(own),
                           [](float border) { return short_number(BoostedTrees::kept_border(static_cast<double>(border))); });
    all += fmt::format("{}{}", std::exchange(separator, ","), own.dump());
  }
  Json steps = Json::array(), sums = Json::array();
  for (const BoostedTrees::Tree& tree : trees.trees.trees) {
    std::string one;
    const std::size_t depth = depth_of(tree);
    for (const BoostedTrees::Question& question : std::span(tree.questions).first(depth)) {
      one += {kLevels[question.feature / kBase], kLevels[question.feature % kBase], kLevels[question.border]};
    }
    for (std::size_t leaf = 0; leaf < std::size_t{1} << depth; ++leaf) {
      one += kLevels[static_cast<std::size_t>(tree.leaves[place_of(leaf, depth)] + BoostedTrees::kSteps)];
    }
    sums.push_back(one);
    steps.push_back(tree.step);
  }
  return all + fmt::format("],\n  \"base\": {},\n  \"steps\": {},\n  \"trees\": {}\n }},\n", Json(trees.trees.base).dump(), steps.dump(),
                           sums.dump());
}

/// Errors: what cannot be looked up.
PortfolioTrees read_trees(const Json& json) {
  constexpr std::size_t kBase = kLevels.size(), kMostColumns = kBase * kBase;
  constexpr std::size_t kLengthOfAll = 3 * BoostedTrees::kDepth + BoostedTrees::kLeaves;
  PortfolioTrees read{json.at("columns").get<std::vector<std::string>>(), {}};
  const auto number = [](const Json& value, double most = kMostSetting * kMostSetting) {
    const auto plain = value.get<double>();
    if (!(std::abs(plain) <= most)) {
      throw std::invalid_argument("its trees have a number that is too large");
    }
    return plain;
  };
  read.trees.base = number(json.at("base"));
  const Json &steps = json.at("steps"), &trees = json.at("trees");
  bool fits = read.columns.size() <= kMostColumns && steps.size() == trees.size() && trees.size() <= BoostedTrees::kMostTrees;
  for (const Json& borders : json.at("borders")) {
    std::vector<float>& own = read.trees.borders.emplace_back();
    std::ranges::transform(borders, std::back_inserter(own), [&](const Json& border) {
      return static_cast<float>(BoostedTrees::kept_border(number(border, BoostedTrees::kMostBorder)));
    });
    fits = fits && own.size() <= BoostedTrees::kMostBorders && std::ranges::adjacent_find(own, std::greater_equal()) == own.end();
  }
  fits = fits && read.columns.size() == read.trees.borders.size();
  for (std::size_t i = 0; fits && i < trees.size(); ++i) {
    const auto& levels = trees[i].get_ref<const std::string&>();
    BoostedTrees::Tree& tree = read.trees.trees.emplace_back();
    const std::size_t depth = BoostedTrees::kDepth - (levels.size() < kLengthOfAll ? 1 : 0), leaves = std::size_t{1} << depth;
    fits = levels.size() == 3 * depth + leaves && levels.find(kUnmeasured) == std::string::npos;
    tree.step = number(steps[i]);
    for (std::size_t k = 0; fits && k < depth; ++k) {
      const auto level = [&](std::size_t at) { return read_level(levels[3 * k + at]).value(); };
      tree.questions[k] = {level(0) * kBase + level(1), level(2)};
      fits = tree.questions[k].feature < read.columns.size() &&
             tree.questions[k].border < read.trees.borders[tree.questions[k].feature].size();
    }
    std::fill(tree.questions.begin() + static_cast<std::ptrdiff_t>(depth), tree.questions.end(), tree.questions[depth - 1]);
    for (std::size_t k = 0; fits && k < leaves; ++k) {
      tree.leaves[place_of(k, depth)] = static_cast<int>(read_level(levels[3 * depth + k]).value()) - BoostedTrees::kSteps;
    }
  }
  if (!fits || !read.is_known()) {
    throw std::invalid_argument("its trees contradict themselves");
  }
  return read;
}

/// Whether what it says of launches is of what LaunchSize is: earlier versions wrote it of the pass that has most blocks.
bool knows_launches(const Json& json) { return json.value(kLaunches, "") == kOfMainPass; }

/// The points of a portfolio whose range and members were read.
std::vector<PortfolioPoint> read_points(const Json& json, const ShapeRange& range) {
  const Json &best = json.at("best_us"), &floor = json.at("floor_us"), &extents = json.at("extents"), &members = json.at("members");
  const bool has_launches = knows_launches(json);
  const Json nothing = Json::array();
  const Json &blocks = has_launches ? json.at("blocks") : nothing, &tails = has_launches ? json.at("tails") : nothing;
  bool complete = floor.size() == best.size() && (!has_launches || (blocks.size() == members.size() && tails.size() == members.size()));
  std::vector<MemberLevels> levels;
  for (std::size_t i = 0; complete && i < members.size(); ++i) {
    MemberLevels& own = levels.emplace_back(MemberLevels{&members[i].at("slowdowns").get_ref<const std::string&>()});
    const std::size_t measured = own.slowdowns->size() - static_cast<std::size_t>(std::ranges::count(*own.slowdowns, kUnmeasured));
    complete = own.slowdowns->size() == best.size();
    if (has_launches && !blocks[i].get_ref<const std::string&>().empty()) {
      own.blocks = &blocks[i].get_ref<const std::string&>();
      own.tails = &tails[i].get_ref<const std::string&>();
      complete = complete && own.blocks->size() == measured && own.tails->size() == measured;
    }
  }
  std::vector<const Json*> varying;  // of each axis, its extent at each point; null where it has one value
  for (const RangeAxis& axis : range.axes) {
    varying.push_back(axis.varies() ? &extents.at(axis.name) : nullptr);
    complete = complete && (varying.back() == nullptr || varying.back()->size() == best.size());
  }
  if (!complete) {
    throw std::invalid_argument("its lists of points differ in length");
  }
  const std::vector<double> slowdown = values_of_levels(level_logarithm, std::exp);
  const std::vector<double> count = values_of_levels(blocks_logarithm, std::exp2);
  std::vector<PortfolioPoint> points(best.size());
  std::vector<std::size_t> read(levels.size());  // of each member's launches
  for (std::size_t i = 0; i < points.size(); ++i) {
    PortfolioPoint& point = points[i];
    point.best_us = best[i].get<double>();
    point.floor_us = floor[i].get<double>();
    for (std::size_t axis = 0; axis < varying.size(); ++axis) {
      point.shape.emplace_back(range.axes[axis].name,
                               varying[axis] != nullptr ? read_whole((*varying[axis])[i]) : range.axes[axis].least());
    }
    for (std::size_t k = 0; k < levels.size(); ++k) {
      if (const auto level = read_level((*levels[k].slowdowns)[i])) {
        PortfolioCell& cell = point.cells.emplace_back(PortfolioCell{k, slowdown[*level], {}});
        if (levels[k].blocks != nullptr) {
          const auto of_blocks = read_level((*levels[k].blocks)[read[k]]);
          const auto of_tail = read_level((*levels[k].tails)[read[k]]);
          ++read[k];
          if (of_blocks) {
            cell.launch = {count[*of_blocks], level_tail(of_tail.value_or(0))};
          }
        }
      }
    }
  }
  return points;
}

/// All that precedes the members in a text.
Portfolio read_head(const Json& json) {
  Portfolio read;
  read.operation = json.at("operation").get<std::string>();
  read.dtypes = json.at("dtypes").get<std::string>();
  read.product = json.at("product").get<std::string>();
  read.architecture = json.value("architecture", std::string());
  read.sources = json.at("sources").get<std::map<std::string, std::string>>();
  for (const Json& axis : json.at("range")) {
    read.range.axes.push_back(read_axis(axis));
  }
  return read;
}

Portfolio read(const Json& json) {
  Portfolio read = read_head(json);
  const Json& rule = json.at("rule");
  read.rule = {.reach = rule.at("reach").get<std::vector<double>>(),
               .spread = rule.at("spread").get<double>(),
               .deviation = rule.at("deviation").get<double>()};
  if (rule.contains("unlike")) {
    read.rule.alignment = rule.at("alignment").get<double>();
    read.rule.noise = rule.at("noise").get<double>();
    read.rule.unlike = rule.at("unlike").get<double>();
    read.rule.blocks = rule.at("blocks").get<double>();
    read.rule.tail = rule.value("tail", 0.0);  // an earlier version's knows of none
  } else {                                     // settings of an earlier version's rule mean nothing to this one
    std::ranges::fill(read.rule.reach, RuleSettings::kUsualReach);
  }
  read.expected = json.at("expected_slowdown").get<double>();
  read.worst = json.at("worst_slowdown").get<double>();
  read.seconds = json.at("seconds").get<double>();
  read.trials = read_whole(json.at("trials"));
  read.is_checked = json.value("checked", false);
  for (const Json& member : json.at("members")) {
    read.members.push_back({member.at("kernel").get<std::string>(), member.at("config").get<std::string>()});
  }
  read.points = read_points(json, read.range);
  if (json.contains("trees") && knows_launches(json)) {
    read.trees = read_trees(json.at("trees"));
  }
  return read;
}

/// What the rule takes for granted.
std::string fault(const Portfolio& portfolio) {
  if (std::ranges::any_of(portfolio.range.axes, [](const RangeAxis& axis) {
        return std::ranges::any_of(axis.parts, [](const auto& part) { return part.most < part.least; });
      })) {
    return "an axis without values";
  }
  if (portfolio.operation.empty() || portfolio.dtypes.empty() || portfolio.product.empty()) {
    return "no operation, no dtypes or no product";
  }
  const auto varying = static_cast<std::size_t>(std::ranges::count_if(portfolio.range.axes, &RangeAxis::varies));
  if (portfolio.members.size() > Portfolio::kMostMembers || portfolio.points.size() > Portfolio::kMostPoints) {
    return fmt::format("more than {} members or {} points", Portfolio::kMostMembers, Portfolio::kMostPoints);
  }
  const auto can_be_written = [](double value) { return value >= 1.0 / kMostNumber && value <= kMostNumber; };
  for (const auto& [name, value] : {std::pair("expected_slowdown", portfolio.expected), std::pair("worst_slowdown", portfolio.worst),
                                    std::pair("seconds", portfolio.seconds)}) {
    if (!(value >= 0.0 && value <= kMostNumber)) {
      return fmt::format("{}, {}, that is not from 0 to {}", name, value, kMostNumber);
    }
  }
  const auto is_setting = [](double value) { return value >= kLeastSetting && value <= kMostSetting; };
  const RuleSettings& rule = portfolio.rule;
  if (rule.reach.size() != varying || !std::ranges::all_of(rule.reach, is_setting) || !is_setting(rule.noise) || !is_setting(rule.unlike) ||
      !is_setting(rule.spread) || !is_setting(rule.deviation) || !(rule.blocks >= 0.0 && rule.blocks <= kMostSetting) ||
      !(rule.tail >= 0.0 && rule.tail <= kMostSetting) || !(std::abs(rule.alignment) <= kMostSetting)) {
    return "a rule that does not fit its range";
  }
  std::set<std::pair<std::string_view, std::string_view>> members;
  for (const PortfolioMember& member : portfolio.members) {
    if (!portfolio.sources.contains(member.kernel)) {
      return "a member of a kernel without a source hash";
    }
    if (!members.emplace(member.kernel, member.configuration).second) {
      return fmt::format("a member twice, {} {}", member.kernel, member.configuration);
    }
  }
  for (const PortfolioPoint& point : portfolio.points) {
    const bool fits = distance(portfolio.range, point.shape) < 64.0 && can_be_written(point.best_us) && can_be_written(point.floor_us);
    if (!fits) {
      return fmt::format("a point, {}, that does not fit its members or its range", text(point.shape));
    }
  }
  return "";
}

}  // namespace

std::size_t slowdown_level(double slowdown) {
  const double logarithm = std::clamp(std::log(slowdown), 0.0, kMostSlowdown), most = static_cast<double>(kLevels.size() - 1);
  return static_cast<std::size_t>(std::lround(std::sqrt(logarithm / kMostSlowdown) * most));
}

double coarse_slowdown(double slowdown) {
  const std::size_t level = slowdown_level(slowdown);
  // A step ends where the next one begins, so that what is coarse stays what it is.
  const std::size_t step = level < 16 ? 1 : level < 23 ? 2 : level < 37 ? 4 : 8;
  return step == 1 ? slowdown : std::exp(level_logarithm(std::min((level + step / 2) / step * step, kLevels.size() - 1)));
}

double level_logarithm(std::size_t level) {
  const double share = static_cast<double>(level) / static_cast<double>(kLevels.size() - 1);
  return kMostSlowdown * share * share;
}

std::size_t blocks_level(double blocks) {
  const double most = static_cast<double>(kLevels.size() - 1);
  return static_cast<std::size_t>(std::lround(std::clamp(std::log2(blocks) * kBlockSteps, 0.0, most)));
}

double blocks_logarithm(std::size_t level) { return static_cast<double>(level) / kBlockSteps; }

std::size_t tail_level(double tail) { return static_cast<std::size_t>(std::lround(std::clamp(tail, 0.0, 1.0) * kTailSteps)); }

double level_tail(std::size_t level) { return std::min(1.0, static_cast<double>(level) / kTailSteps); }

double kept_us(double us) {
  constexpr double kKept = 2.0;  // digits behind the first
  if (us <= 0.0) {
    return us;
  }
  const double unit = std::pow(10.0, std::floor(std::log10(us)) - kKept);
  // Of a unit below 1 the inverse is exact, and so the text is short.
  return unit < 1.0 ? std::round(us * std::round(1.0 / unit)) / std::round(1.0 / unit) : std::round(us / unit) * unit;
}

std::string text(const Portfolio& portfolio) {
  Json head{{"operation", portfolio.operation}, {"dtypes", portfolio.dtypes}, {"product", portfolio.product}};
  if (!portfolio.architecture.empty()) {
    head["architecture"] = portfolio.architecture;
  }
  head["sources"] = portfolio.sources;
  head["expected_slowdown"] = rounded(portfolio.expected);
  head["worst_slowdown"] = rounded(portfolio.worst);
  head["seconds"] = std::round(10.0 * portfolio.seconds) / 10.0;
  head["trials"] = portfolio.trials;
  if (portfolio.is_checked) {
    head["checked"] = true;
  }
  head["rule"] = {{"reach", portfolio.rule.reach},   {"alignment", portfolio.rule.alignment}, {"noise", portfolio.rule.noise},
                  {"unlike", portfolio.rule.unlike}, {"blocks", portfolio.rule.blocks},       {"tail", portfolio.rule.tail},
                  {"spread", portfolio.rule.spread}, {"deviation", portfolio.rule.deviation}};
  head[kLaunches] = kOfMainPass;
  std::string all = "{\n";
  for (const auto& [key, value] : head.items()) {
    all += fmt::format(" \"{}\": {},\n", key, value.dump());
  }
  all += lines("range", portfolio.range.axes, axis_json) + ",\n";
  Json members = Json::array(), blocks = Json::array(), tails = Json::array(), best = Json::array(), floor = Json::array();
  for (std::size_t i = 0; i < portfolio.members.size(); ++i) {
    const PortfolioMember& member = portfolio.members[i];
    members.push_back({{"kernel", member.kernel}, {"config", member.configuration}, {"slowdowns", levels_of(portfolio, i)}});
    blocks.push_back(launch_levels_of(portfolio, i, [](const LaunchSize& launch) { return blocks_level(launch.blocks); }));
    tails.push_back(launch_levels_of(portfolio, i, [](const LaunchSize& launch) { return tail_level(launch.tail); }));
  }
  for (const PortfolioPoint& point : portfolio.points) {
    best.push_back(short_number(kept_us(point.best_us)));
    floor.push_back(short_number(kept_us(point.floor_us)));
  }
  const auto as_it_is = [](const Json& element) { return element; };
  all += lines("members", members, as_it_is) + ",\n" + lines("blocks", blocks, as_it_is) + ",\n" + lines("tails", tails, as_it_is) + ",\n";
  all += portfolio.trees ? trees_text(*portfolio.trees) : "";
  all += " \"extents\": {";
  std::string_view separator = "\n";
  for (const auto& [name, extents] : extents_of(portfolio)) {
    all += fmt::format("{}  {}: {}", separator, Json(name).dump(), Json(extents).dump());
    separator = ",\n";
  }
  return all + fmt::format("\n }},\n \"best_us\": {},\n \"floor_us\": {}\n}}\n", best.dump(), floor.dump());
}

namespace {

Error unreadable(const std::exception& error) { return {ErrorCode::kStore, fmt::format("a portfolio cannot be read: {}", error.what())}; }

/// Whether code for one is as fast as code for the other, as far as their sizes tell: f16 and bf16.
bool are_of_same_sizes(const DTypes& a, const DTypes& b) {
  return std::ranges::equal(a.all(), b.all(), [](const NamedDType& one, const NamedDType& other) {
    return one.name == other.name && size_of(one.dtype) == size_of(other.dtype) && is_integer(one.dtype) == is_integer(other.dtype);
  });
}

}  // namespace

Result<Portfolio> parse_portfolio(std::string_view text) {
  try {
    Portfolio portfolio = read(Json::parse(text));
    if (const std::string why = fault(portfolio); !why.empty()) {
      return Error{ErrorCode::kStore, fmt::format("the portfolio of {} {} has {}", portfolio.operation, portfolio.dtypes, why)};
    }
    return portfolio;
  } catch (const std::exception& error) {
    return unreadable(error);
  }
}

Result<Portfolio> parse_portfolio_head(std::string_view beginning) {
  constexpr std::string_view kMembers = ",\n \"members\":";
  try {
    return read_head(Json::parse(std::string(beginning.substr(0, beginning.find(kMembers))) + "}"));
  } catch (const std::exception& error) {
    return unreadable(error);
  }
}

double dtypes_difference(std::string_view portfolio_dtypes, const DTypes& dtypes) {
  constexpr double kOther = 0.25;
  if (portfolio_dtypes == name(dtypes)) {
    return 0.0;
  }
  const Result<DTypes> own = parse_dtypes(portfolio_dtypes);
  return own && are_of_same_sizes(*own, dtypes) ? kOther : std::numeric_limits<double>::infinity();
}

double difference(const Portfolio& portfolio, const DTypes& dtypes, const Shape& shape) {
  return difference(portfolio.range, shape) + dtypes_difference(portfolio.dtypes, dtypes);
}

std::string difference_text(const Portfolio& portfolio, const DTypes& dtypes, const Shape& shape) {
  std::string all = portfolio.dtypes == name(dtypes) ? "" : portfolio.dtypes;
  for (const RangeAxis& axis : portfolio.range.axes) {
    const auto field = std::ranges::find(shape, axis.name, &Shape::value_type::first);
    if (field != shape.end() && (axis.difference(field->second) > 0.0 || (!axis.exact && axis.outside(field->second) > kNearRange))) {
      all += fmt::format("{}{}", all.empty() ? "" : ", ", text(ShapeRange{{axis}}));
    }
  }
  return all;
}

}  // namespace hone
