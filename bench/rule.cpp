// How good are the choices of portfolios' rules, and how many measurements do they need?
//   build/bin/rule [--share 0.5] [--once 0.5] [--together | [--fit] TEXT... | --cut rows=1024 TEXT...]
// Of each portfolio (those that came with Hone, or the texts given) an eighth of the points at a time is kept from the rule, which knows
// that share of the other points' measurements. At each point kept from it with five measured members or more: the logarithm of the
// slowdown of its choice among them, over that of the best of them. Prints one JSON object: for each portfolio the mean, the share of
// choices below .85 of the best, and microseconds to rank the members at a shape.
// --once: of that share of the members a rule knows one measurement, the one where the member was nearest to the best: as of what one
// session found.
// --together: those that came with Hone, each with what was measured on other products of its architecture, as a lookup asks it. What was
// measured there at a shape that is kept from the rule is kept from it, too.
// --fit: fits the trees of texts anew from what is launched, and sets their floors, as hone tune does at the end of a range, and writes the
// texts, which are not judged then.
// --cut: of texts, a rule that knows the points whose extent is at most that, at those beyond twice as much: by powers of two, its choices,
// what a default of a kernel takes where one was measured, and the best of the nearest of the points that it knows, as a record would.
// Trees are fitted to what a rule knows, from what is launched there.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cxxopts.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/command_line.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/store/lookup.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/store/portfolio_rule.hpp"
#include "engine/store/shipped_portfolios.hpp"
#include "engine/tune/portfolio_shapes.hpp"
#include "tests/hopper.hpp"

namespace {

constexpr std::size_t kFolds = 8, kLeastMeasured = 5;
constexpr std::size_t kOnce = std::size_t{1} << 40;  // in the place of a point, for what is drawn of a member alone
constexpr double kSlow = 0.1625;                     // logarithm of 1 / 0.85

/// A number from 0 to 1 that seems random and is the same in each run.
double drawn(std::size_t point, std::size_t member) {
  std::uint64_t bits = point * 0x9e3779b97f4a7c15ULL + (member + 1) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 31)) * 0x94d049bb133111ebULL;
  return static_cast<double>((bits ^ (bits >> 29)) >> 11) * 0x1p-53;
}

/// Of each point, the part that is kept from the rule together with it: own points in turn, those of other products as the own point of the
/// same shape. None: never.
std::vector<std::optional<std::size_t>> folds_of(const hone::Portfolio& portfolio) {
  std::map<hone::Shape, std::size_t> own;
  std::vector<std::optional<std::size_t>> folds;
  for (const hone::PortfolioPoint& point : portfolio.points) {
    const auto at = point.elsewhere ? own.find(point.shape) : own.emplace(point.shape, own.size()).first;
    folds.push_back(at == own.end() ? std::nullopt : std::optional(at->second % kFolds));
  }
  return folds;
}

/// What is launched at each point, which texts keep roughly, as built-in kernels say it, on a device like the one that was measured. False:
/// of other kernels, or of a device that is not known here.
bool launch_again(hone::Portfolio& portfolio) {
  const hone::DeviceInfo device = hone::test::hopper(portfolio.product);
  const auto operation = hone::find_operation(portfolio.operation);
  const auto dtypes = hone::parse_dtypes(portfolio.dtypes);
  if (!operation || !dtypes || portfolio.architecture != device.architecture) {
    return false;
  }
  for (hone::PortfolioPoint& point : portfolio.points) {
    std::vector<hone::Implementation> able;
    for (const hone::KernelSpec* const spec : operation->implementations) {
      if (auto problem = hone::make_problem(*spec, *dtypes, point.shape)) {
        able.push_back({spec, *std::move(problem)});
      }
    }
    const hone::MemberLaunches launches = hone::launches_of(portfolio.members, able, device);
    for (hone::PortfolioCell& cell : point.cells) {
      cell.launch = launches[cell.member];
    }
  }
  return true;
}

/// The floors of a built-in operation's points: those that were added change what the best rates are.
void set_floors(hone::Portfolio& portfolio) {
  const auto operation = hone::find_operation(portfolio.operation);
  const auto dtypes = hone::parse_dtypes(portfolio.dtypes);
  const hone::KernelSpec& definition = *operation->definition;
  std::vector<hone::Work> works;
  std::vector<double> best;
  for (const hone::PortfolioPoint& point : portfolio.points) {
    works.push_back(hone::work_of(definition, hone::make_problem(definition, *dtypes, point.shape).value()));
    best.push_back(point.best_us);
  }
  const hone::Floor floor(works, best);
  for (std::size_t i = 0; i < works.size(); ++i) {
    portfolio.points[i].floor_us = hone::kept_us(floor.us(works[i]));
  }
}

double mean_of(double total, std::size_t count) { return count == 0 ? 0.0 : total / static_cast<double>(count); }

/// Of those that were measured at the point, which are some.
const hone::PortfolioCell& best_at(const hone::PortfolioPoint& point) {
  return *std::ranges::min_element(point.cells, {}, &hone::PortfolioCell::slowdown);
}

double loss_of(const hone::PortfolioPoint& point, std::size_t member) {
  return std::log(point.find(member)->slowdown / best_at(point).slowdown);
}

/// The first in the rule's order that was measured there.
std::size_t choice_at(const hone::PortfolioPoint& point, const std::vector<hone::Opinion>& order) {
  return std::ranges::find_if(order, [&](const hone::Opinion& one) { return point.find(one.member) != nullptr; })->member;
}

/// Of a share of the members all measurements go but the one where the member is nearest to the best.
void know_once(hone::Portfolio& portfolio, double share) {
  for (std::size_t member = 0; member < portfolio.members.size(); ++member) {
    if (drawn(kOnce, member) >= share) {
      continue;
    }
    const hone::PortfolioPoint* nearest = nullptr;
    for (const hone::PortfolioPoint& point : portfolio.points) {
      const hone::PortfolioCell* const cell = point.find(member);
      if (cell != nullptr && (nearest == nullptr || cell->slowdown < nearest->find(member)->slowdown)) {
        nearest = &point;
      }
    }
    for (hone::PortfolioPoint& point : portfolio.points) {
      std::erase_if(point.cells, [&](const hone::PortfolioCell& cell) { return cell.member == member && &point != nearest; });
    }
  }
}

nlohmann::ordered_json judged(const hone::Portfolio& portfolio, double share, double once) {
  const std::vector<std::optional<std::size_t>> folds = folds_of(portfolio);
  double sum = 0.0, seconds = 0.0;
  std::size_t choices = 0, slow = 0;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    hone::Portfolio known = portfolio;
    known.points.clear();
    for (std::size_t i = 0; i < portfolio.points.size(); ++i) {
      if (folds[i] != fold) {
        hone::PortfolioPoint& point = known.points.emplace_back(portfolio.points[i]);
        std::erase_if(point.cells, [&](const hone::PortfolioCell& cell) { return drawn(i, cell.member) >= share; });
      }
    }
    know_once(known, once);
    known.trees = portfolio.trees ? hone::fit_trees(known) : std::nullopt;
    const hone::PortfolioRule rule(known);
    for (std::size_t i = 0; i < portfolio.points.size(); ++i) {
      const hone::PortfolioPoint& point = portfolio.points[i];
      if (folds[i] != fold || point.elsewhere || point.cells.size() < kLeastMeasured) {
        continue;
      }
      const hone::MemberLaunches launches = hone::launches_at(point, portfolio.members.size());
      const auto start = std::chrono::steady_clock::now();
      const std::vector<hone::Opinion> order = rule.rank(point.shape, launches);
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const double loss = loss_of(point, choice_at(point, order));
      sum += loss;
      slow += loss > kSlow ? 1 : 0;
      ++choices;
    }
  }
  return {{"operation", portfolio.operation},
          {"dtypes", portfolio.dtypes},
          {"product", portfolio.product},
          {"points", portfolio.points.size()},
          {"members", portfolio.members.size()},
          {"choices", choices},
          {"loss", mean_of(sum, choices)},
          {"slow", mean_of(static_cast<double>(slow), choices)},
          {"rank_us", 1e6 * mean_of(seconds, choices)}};
}

struct Cut {
  std::string axis;
  std::int64_t most = 0;
};

/// "rows=1024"
std::optional<Cut> parse_cut(const std::string& text) {
  const std::size_t equal = text.find('=');
  char* end = nullptr;
  Cut cut{text.substr(0, equal), equal == std::string::npos ? 0 : std::strtoll(text.c_str() + equal + 1, &end, 10)};
  return cut.most > 0 && *end == '\0' ? std::optional(std::move(cut)) : std::nullopt;
}

std::int64_t extent_at(const hone::PortfolioPoint& point, const Cut& cut) {
  const auto field = std::ranges::find(point.shape, cut.axis, &hone::Shape::value_type::first);
  return field == point.shape.end() ? 0 : field->second;
}

/// The members that are a kernel's default.
std::vector<std::size_t> defaults_of(const hone::Portfolio& portfolio) {
  const auto operation = hone::find_operation(portfolio.operation);
  std::vector<std::size_t> all;
  for (const hone::KernelSpec* const spec : operation ? operation->implementations : std::vector<const hone::KernelSpec*>()) {
    const hone::PortfolioMember standard{spec->name, hone::text(spec->parameters, hone::default_configuration(*spec))};
    for (std::size_t member = 0; member < portfolio.members.size(); ++member) {
      if (portfolio.members[member] == standard) {
        all.push_back(member);
      }
    }
  }
  return all;
}

/// The fastest member of the nearest of the known points whose fastest was measured at this one, too.
std::optional<std::size_t> nearest_best(const hone::Portfolio& known, const hone::PortfolioPoint& here) {
  std::optional<std::size_t> member;
  double least = 0.0;
  for (const hone::PortfolioPoint& point : known.points) {
    if (point.cells.empty() || point.elsewhere) {
      continue;
    }
    const double distance = hone::shape_distance(point.shape, here.shape);
    const std::size_t best = best_at(point).member;
    if ((!member || distance < least) && here.find(best) != nullptr) {
      member = best;
      least = distance;
    }
  }
  return member;
}

/// Nothing where no point is known.
nlohmann::ordered_json judged_outside(const hone::Portfolio& portfolio, const Cut& cut) {
  hone::Portfolio known = portfolio;
  std::erase_if(known.points, [&](const hone::PortfolioPoint& point) { return extent_at(point, cut) > cut.most; });
  if (known.points.empty()) {
    return nullptr;
  }
  known.trees = portfolio.trees ? hone::fit_trees(known) : std::nullopt;
  const hone::PortfolioRule rule(known);
  const std::vector<std::size_t> defaults = defaults_of(portfolio);
  struct Sum {
    double loss = 0.0, default_loss = 0.0, nearest_loss = 0.0;
    std::size_t choices = 0, defaults = 0, nearest = 0;
  };
  std::map<int, Sum> sums;
  for (const hone::PortfolioPoint& point : portfolio.points) {
    if (extent_at(point, cut) <= 2 * cut.most || point.elsewhere || point.cells.size() < kLeastMeasured) {
      continue;
    }
    Sum& sum = sums[std::ilogb(static_cast<double>(extent_at(point, cut)) / static_cast<double>(cut.most))];
    const std::vector<hone::Opinion> order = rule.rank(point.shape, hone::launches_at(point, portfolio.members.size()));
    sum.loss += loss_of(point, choice_at(point, order));
    ++sum.choices;
    if (const auto nearest = nearest_best(known, point)) {
      sum.nearest_loss += loss_of(point, *nearest);
      ++sum.nearest;
    }
    const auto standard = std::ranges::find_if(defaults, [&](std::size_t member) { return point.find(member) != nullptr; });
    if (standard != defaults.end()) {
      sum.default_loss += loss_of(point, *standard);
      ++sum.defaults;
    }
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [powers, sum] : sums) {
    all.push_back({{"powers_of_two", powers},
                   {"choices", sum.choices},
                   {"loss", mean_of(sum.loss, sum.choices)},
                   {"defaults", sum.defaults},
                   {"default_loss", mean_of(sum.default_loss, sum.defaults)},
                   {"nearest", sum.nearest},
                   {"nearest_loss", mean_of(sum.nearest_loss, sum.nearest)}});
  }
  return {{"operation", portfolio.operation}, {"dtypes", portfolio.dtypes}, {"product", portfolio.product}, {"outside", all}};
}

/// As a lookup on its product asks it.
hone::Portfolio together(const hone::Portfolio& portfolio) {
  hone::DeviceInfo device;
  device.product = portfolio.product;
  device.architecture = portfolio.architecture;
  for (const auto& one : hone::shipped_portfolios(device)) {
    const hone::Portfolio& other = one->portfolio();
    if (other.operation == portfolio.operation && other.dtypes == portfolio.dtypes && other.range == portfolio.range) {
      return other;
    }
  }
  return portfolio;
}

int run(int argc, char** argv) {
  cxxopts::Options options("rule");
  options.add_options()("share", "", cxxopts::value<double>()->default_value("1"))(
      "once", "", cxxopts::value<double>()->default_value("0"))("together", "")("fit", "")("cut", "", cxxopts::value<std::string>())(
      "texts", "", cxxopts::value<std::vector<std::string>>());
  options.parse_positional("texts");
  const auto parsed = options.parse(argc, argv);
  const auto share = parsed["share"].as<double>(), once = parsed["once"].as<double>();
  if (!(share > 0.0 && share <= 1.0 && once >= 0.0 && once <= 1.0)) {
    std::fprintf(stderr, "--share is above 0 and at most 1, --once from 0 to 1\n");
    return 2;
  }
  const bool is_together = parsed.count("together") > 0, fits = parsed.count("fit") > 0;
  if (is_together && parsed.count("texts") > 0) {
    std::fprintf(stderr, "--together judges what came with Hone; a text is judged alone\n");
    return 2;
  }
  const std::optional<Cut> cut = parsed.count("cut") > 0 ? parse_cut(parsed["cut"].as<std::string>()) : std::nullopt;
  if (parsed.count("cut") > 0 && (!cut || fits || is_together || parsed.count("texts") == 0)) {
    std::fprintf(stderr, "--cut is an extent, rows=1024, of texts that are given, without --fit and --together\n");
    return 2;
  }
  std::vector<std::string> texts;
  const auto files = parsed.count("texts") > 0 ? parsed["texts"].as<std::vector<std::string>>() : std::vector<std::string>();
  if (files.empty() && fits) {
    std::fprintf(stderr, "--fit asks for texts\n");
    return 2;
  }
  if (files.empty()) {
    texts = hone::shipped_portfolio_texts();
  } else {
    for (const std::string& file : files) {
      std::ifstream in(file);
      if (!in) {
        std::fprintf(stderr, "%s cannot be read\n", file.c_str());
        return 2;
      }
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  double sum = 0.0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const hone::Result<hone::Portfolio> read = hone::parse_portfolio(texts[i]);
    if (!read) {
      std::fprintf(stderr, "%s\n", read.error().message.c_str());
      return 1;
    }
    hone::Portfolio portfolio = is_together ? together(*read) : *read;
    if ((fits || portfolio.trees) && !launch_again(portfolio)) {
      std::fprintf(stderr, "what %s %s launches on %s is not known here\n", portfolio.operation.c_str(), portfolio.dtypes.c_str(),
                   portfolio.product.c_str());
      return 1;
    }
    if (fits) {
      set_floors(portfolio);
      portfolio.trees = hone::fit_trees(portfolio);
      if (!(std::ofstream(files[i]) << hone::text(portfolio))) {
        std::fprintf(stderr, "%s cannot be written\n", files[i].c_str());
        return 1;
      }
      continue;
    }
    if (cut && std::ranges::find(portfolio.range.axes, cut->axis, &hone::RangeAxis::name) == portfolio.range.axes.end()) {
      std::fprintf(stderr, "%s has no extent %s\n", portfolio.operation.c_str(), cut->axis.c_str());
      return 2;
    }
    if (cut) {
      all.push_back(judged_outside(portfolio, *cut));
      continue;
    }
    all.push_back(judged(portfolio, share, once));
    sum += all.back()["loss"].get<double>();
  }
  if (cut) {
    std::printf("%s\n", all.dump(1).c_str());
    return 0;
  }
  const nlohmann::ordered_json out{
      {"share", share}, {"loss", texts.empty() ? 0.0 : sum / static_cast<double>(texts.size())}, {"portfolios", all}};
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return refuse_wrong_options(run, argc, argv); }
