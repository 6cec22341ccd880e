#include "engine/store/portfolio.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hone {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostMembers = 64, kMostPoints = 4096;  // of what is read
constexpr double kDigits = 1e4;                               // of a slowdown: a hundredth of a percent
/// One for each level of a slowdown, the best first.
constexpr std::string_view kLevels = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr char kUnmeasured = '.';

double rounded(double value) { return std::round(value * kDigits) / kDigits; }

Json axis_json(const RangeAxis& axis) {
  Json parts = Json::array();
  for (const RangeAxis::Part& part : axis.parts) {
    parts.push_back({part.least, part.most});
  }
  return {{"name", axis.name}, {"parts", parts}, {"exact", axis.exact}};
}

Json point_json(const PortfolioPoint& point) {
  std::string slowdowns;
  for (const std::optional<double>& slowdown : point.slowdowns) {
    slowdowns += slowdown ? kLevels[slowdown_level(*slowdown)] : kUnmeasured;
  }
  return {
      {"shape", text(point.shape)}, {"best_us", kept_us(point.best_us)}, {"floor_us", kept_us(point.floor_us)}, {"slowdowns", slowdowns}};
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

RangeAxis read_axis(const Json& json) {
  RangeAxis axis{json.at("name").get<std::string>(), {}, json.at("exact").get<bool>()};
  for (const Json& part : json.at("parts")) {
    axis.parts.push_back({part.at(0).get<std::int64_t>(), part.at(1).get<std::int64_t>()});
  }
  return axis;
}

PortfolioPoint read_point(const Json& json) {
  PortfolioPoint point{
      parse_shape(json.at("shape").get<std::string>()).value(), json.at("best_us").get<double>(), json.at("floor_us").get<double>(), {}};
  for (const char level : json.at("slowdowns").get_ref<const std::string&>()) {
    const std::size_t at = kLevels.find(level);
    if (at == std::string_view::npos && level != kUnmeasured) {
      throw std::invalid_argument(fmt::format("'{}' is no slowdown", level));
    }
    point.slowdowns.push_back(level == kUnmeasured ? std::nullopt : std::optional(std::exp(level_logarithm(at))));
  }
  return point;
}

Portfolio read(const Json& json) {
  Portfolio read;
  read.operation = json.at("operation").get<std::string>();
  read.dtypes = json.at("dtypes").get<std::string>();
  read.product = json.at("product").get<std::string>();
  read.sources = json.at("sources").get<std::map<std::string, std::string>>();
  for (const Json& axis : json.at("range")) {
    read.range.axes.push_back(read_axis(axis));
  }
  read.rule = {json.at("rule").at("reach").get<std::vector<double>>(), json.at("rule").at("alignment").get<double>(),
               json.at("rule").at("noise").get<double>(), json.at("rule").at("spread").get<double>(),
               json.at("rule").at("deviation").get<double>()};
  read.expected = json.at("expected_slowdown").get<double>();
  read.worst = json.at("worst_slowdown").get<double>();
  read.seconds = json.at("seconds").get<double>();
  read.trials = json.at("trials").get<std::int64_t>();
  for (const Json& member : json.at("members")) {
    read.members.push_back({member.at("kernel").get<std::string>(), member.at("config").get<std::string>()});
  }
  for (const Json& point : json.at("points")) {
    read.points.push_back(read_point(point));
  }
  return read;
}

/// What the rule takes for granted.
std::string fault(const Portfolio& portfolio) {
  if (std::ranges::any_of(portfolio.range.axes, [](const RangeAxis& axis) {
        return axis.parts.empty() || std::ranges::any_of(axis.parts, [](const auto& part) { return part.most < part.least; });
      })) {
    return "an axis without values";
  }
  const auto varying = static_cast<std::size_t>(std::ranges::count_if(portfolio.range.axes, &RangeAxis::varies));
  if (portfolio.members.size() > kMostMembers || portfolio.points.size() > kMostPoints) {
    return fmt::format("more than {} members or {} points", kMostMembers, kMostPoints);
  }
  const auto is_positive = [](double value) { return std::isfinite(value) && value > 0.0; };
  if (portfolio.rule.reach.size() != varying || !std::ranges::all_of(portfolio.rule.reach, is_positive) ||
      !is_positive(portfolio.rule.noise) || !is_positive(portfolio.rule.spread) || !is_positive(portfolio.rule.deviation) ||
      !std::isfinite(portfolio.rule.alignment)) {
    return "a rule that does not fit its range";
  }
  for (const PortfolioMember& member : portfolio.members) {
    if (!portfolio.sources.contains(member.kernel)) {
      return "a member of a kernel without a source hash";
    }
  }
  for (const PortfolioPoint& point : portfolio.points) {
    const bool fits = point.slowdowns.size() == portfolio.members.size() && distance(portfolio.range, point.shape) < 64.0 &&
                      is_positive(point.best_us) && is_positive(point.floor_us);
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

double level_logarithm(std::size_t level) {
  const double share = static_cast<double>(level) / static_cast<double>(kLevels.size() - 1);
  return kMostSlowdown * share * share;
}

double kept_us(double us) {
  constexpr double kKept = 3.0;  // digits behind the first
  if (us <= 0.0) {
    return us;
  }
  const double unit = std::pow(10.0, std::floor(std::log10(us)) - kKept);
  // Of a unit below 1 the inverse is exact, and so the text is short.
  return unit < 1.0 ? std::round(us * std::round(1.0 / unit)) / std::round(1.0 / unit) : std::round(us / unit) * unit;
}

std::string text(const Portfolio& portfolio) {
  Json head{{"operation", portfolio.operation}, {"dtypes", portfolio.dtypes}, {"product", portfolio.product}};
  head["sources"] = portfolio.sources;
  head["expected_slowdown"] = rounded(portfolio.expected);
  head["worst_slowdown"] = rounded(portfolio.worst);
  head["seconds"] = std::round(portfolio.seconds);
  head["trials"] = portfolio.trials;
  head["rule"] = {{"reach", portfolio.rule.reach},
                  {"alignment", portfolio.rule.alignment},
                  {"noise", portfolio.rule.noise},
                  {"spread", portfolio.rule.spread},
                  {"deviation", portfolio.rule.deviation}};
  std::string all = "{\n";
  for (const auto& [key, value] : head.items()) {
    all += fmt::format(" \"{}\": {},\n", key, value.dump());
  }
  all += lines("range", portfolio.range.axes, axis_json) + ",\n";
  all += lines("members", portfolio.members, [](const PortfolioMember& member) {
    return Json{{"kernel", member.kernel}, {"config", member.configuration}};
  });
  return all + ",\n" + lines("points", portfolio.points, point_json) + "\n}\n";
}

Result<Portfolio> parse_portfolio(std::string_view text) {
  try {
    Portfolio portfolio = read(Json::parse(text));
    if (const std::string why = fault(portfolio); !why.empty()) {
      return Error{ErrorCode::kStore, fmt::format("the portfolio of {} {} has {}", portfolio.operation, portfolio.dtypes, why)};
    }
    return portfolio;
  } catch (const std::exception& error) {
    return Error{ErrorCode::kStore,
                 fmt::format("a portfolio cannot be read (hone portfolios --remake makes those of a store anew): {}", error.what())};
  }
}

}  // namespace hone
