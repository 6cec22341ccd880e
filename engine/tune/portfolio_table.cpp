#include "engine/tune/portfolio_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <ranges>
#include <string_view>
#include <utility>

#include "engine/base/parallel.hpp"
#include "engine/device/pass_launch.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/store/fit_settings.hpp"

namespace hone {
namespace {

constexpr double kFailed = 8.0;      // times the best
constexpr double kUncovered = 1.5;   // logarithm of the slowdown where no member was measured
constexpr double kGain = 0.00005;    // of the mean logarithm: what a member must bring, at the few shapes where most were timed
constexpr double kContender = 1.15;  // times the best: what is slower everywhere is no member
constexpr std::size_t kEnough = 8;   // shapes at which what is a contender nowhere was measured, to say that it is hopeless
constexpr std::size_t kRare = 256;   // one in so many shapes: of what was timed at fewer no rule can tell where it is fast,
                                     // unless it was at so many as comparisons ask for: PortfolioTable::kCompared
constexpr double kTie = 1e-9;
// Shapes. Of bf16 products half of 2,400 lose .029 at those that are kept from the rule, all .022
// (docs/results/untuned-h200-2026-11-30-second.md).
constexpr std::size_t kManyShapes = 1024;

/// Whether its time says how fast the configuration is; of a slow one, about.
bool was_timed(const Trial& trial) {
  return (trial.outcome == Outcome::kOk || trial.outcome == Outcome::kTooSlow) && trial.measurement.median_us > 0.0;
}

/// The logarithm of a slowdown as a text keeps it: what is made of measurements is the same before they went through one and after.
double kept_logarithm(double slowdown) { return level_logarithm(slowdown_level(coarse_slowdown(slowdown))); }

std::vector<std::size_t> contenders(const std::vector<PortfolioTable::Row>& rows, const std::set<std::size_t>& wrong, std::size_t columns) {
  std::vector<bool> fast(columns);
  for (const PortfolioTable::Row& row : rows) {
    for (const auto& [column, slowdown] : row.slowdowns) {
      fast[column] = fast[column] || slowdown <= kContender;
    }
  }
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < columns; ++i) {
    if (fast[i] && !wrong.contains(i)) {
      all.push_back(i);
    }
  }
  return all;
}

/// Without what is measured, which is much.
Portfolio head_of(const Portfolio& about) {
  return {.operation = about.operation,
          .dtypes = about.dtypes,
          .product = about.product,
          .architecture = about.architecture,
          .sources = about.sources,
          .range = about.range,
          .members = {},
          .points = {},
          .rule = about.rule};
}

}  // namespace

bool differ_in_one(const PortfolioMember& a, const PortfolioMember& b) {
  const auto values = [](std::string_view text) {
    std::vector<std::string_view> all;
    for (const auto part : std::views::split(text, ',')) {
      all.emplace_back(part.begin(), part.end());
    }
    return all;
  };
  const std::vector<std::string_view> one = values(a.configuration), other = values(b.configuration);
  if (a.kernel != b.kernel || one.size() != other.size()) {
    return false;
  }
  std::size_t differences = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    differences += one[i] == other[i] ? 0 : 1;
  }
  return differences <= 1;
}

std::size_t PortfolioTable::column_of(const PortfolioMember& member) {
  const auto [column, added] = column_of_.emplace(name_of(member), columns_.size());
  if (added) {
    columns_.push_back(member);
  }
  return column->second;
}

PortfolioTable::Place& PortfolioTable::place_of(const Shape& shape, const Work& work) {
  return places_.try_emplace(text(shape), Place{shape, work, 0.0, {}, {}}).first->second;
}

void PortfolioTable::add(const Shape& shape, const Work& work, const KernelSpec& spec, const Problem& problem, const DeviceInfo& device,
                         const std::vector<Trial>& trials) {
  Place& place = place_of(shape, work);
  Bindings bound = bindings(problem);
  bound.merge(bindings(device));
  LaunchSizes launches(spec, bound);
  for (const Trial& trial : trials) {
    const std::size_t column = column_of({spec.name, text(spec.parameters, trial.configuration)});
    if (trial.final_round && trial.outcome == Outcome::kOk) {
      checked_.insert(column);
    }
    place.times[column] = {was_timed(trial) ? std::optional(trial.measurement.median_us) : std::nullopt, launches.at(trial.configuration)};
  }
  exclude(shape, spec, trials);
  make_row(place);
  set_floors();
}

void PortfolioTable::exclude(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials) {
  Results& results = results_[text(shape)];
  for (const Trial& trial : trials) {
    results.is_any_right = results.is_any_right || trial.outcome == Outcome::kOk;
    if (hone::is_wrong(trial.outcome)) {
      const std::size_t column = column_of({spec.name, text(spec.parameters, trial.configuration)});
      (trial.outcome == Outcome::kWrongResult ? results.wrong : wrong_).insert(column);
    }
  }
  blame(results);
}

void PortfolioTable::add(const Portfolio& earlier, const std::function<std::optional<There>(const Shape&)>& at) {
  const double slowest = std::exp(level_logarithm(slowdown_level(std::exp(kMostSlowdown))));
  std::vector<std::size_t> columns;
  for (const PortfolioMember& member : earlier.members) {
    columns.push_back(column_of(member));
    if (earlier.is_checked) {
      checked_.insert(columns.back());
    }
  }
  constexpr std::size_t kAtOnce = 256;  // launches of all members at all points are much
  std::vector<std::optional<There>> known(std::min(kAtOnce, earlier.points.size()));
  for (std::size_t i = 0; i < earlier.points.size(); ++i) {
    if (i % kAtOnce == 0) {
      parallel_for(0, std::min(kAtOnce, earlier.points.size() - i), [&](std::size_t k) { known[k] = at(earlier.points[i + k].shape); });
    }
    const PortfolioPoint& point = earlier.points[i];
    const std::optional<There>& there = known[i % kAtOnce];
    if (!there) {
      continue;
    }
    Place& place = place_of(point.shape, there->work);
    Results& results = results_[text(point.shape)];
    results.is_any_right = true;  // or it would be no point
    blame(results);
    const bool is_own = place.row && kept_us(rows_[*place.row].best_us) == point.best_us;
    const double best_us = is_own ? rows_[*place.row].best_us : point.best_us;  // what the text has rounded
    place.best_of_earlier_us = place.best_of_earlier_us == 0.0 ? point.best_us : std::min(place.best_of_earlier_us, point.best_us);
    for (const PortfolioCell& cell : point.cells) {
      const bool is_timed = cell.slowdown < slowest;  // else it failed, or was as slow
      place.times.try_emplace(columns[cell.member],
                              Measured{is_timed ? std::optional(best_us * cell.slowdown) : std::nullopt, there->launches.at(cell.member)});
    }
    make_row(place);
  }
  set_floors();
}

void PortfolioTable::make_row(Place& place) {
  Row row{place.shape, 0.0, 0.0, {}, {}};
  for (const auto& [column, measured] : place.times) {
    row.best_us = measured.us && (row.best_us == 0.0 || *measured.us < row.best_us) ? *measured.us : row.best_us;
  }
  const double earlier_us = place.best_of_earlier_us;
  if (earlier_us > 0.0 && (row.best_us == 0.0 || earlier_us < kept_us(row.best_us))) {  // what is equal is this one, rounded
    row.best_us = earlier_us;
  }
  if (row.best_us == 0.0 && place.row) {
    row.best_us = rows_[*place.row].best_us;  // what was right has failed since
  }
  if (row.best_us == 0.0) {
    return;
  }
  for (const auto& [column, measured] : place.times) {
    row.slowdowns[column] = measured.us ? *measured.us / row.best_us : kFailed;
    if (measured.launch) {
      row.launches.emplace(column, *measured.launch);
    }
  }
  if (!place.row) {
    place.row = rows_.size();
    rows_.emplace_back();
    works_.push_back(place.work);
  }
  rows_[*place.row] = std::move(row);
}

void PortfolioTable::sort() {
  std::vector<std::pair<Shape, std::size_t>> order;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    order.emplace_back(rows_[i].shape, i);
  }
  std::ranges::sort(order);
  std::vector<Row> rows;
  std::vector<Work> works;
  for (const auto& [shape, was] : order) {
    places_.at(text(shape)).row = rows.size();
    rows.push_back(std::move(rows_[was]));
    works.push_back(works_[was]);
  }
  rows_ = std::move(rows);
  works_ = std::move(works);
}

Floor::Floor(std::span<const Work> works, std::span<const double> best_us) {
  for (std::size_t i = 0; i < works.size(); ++i) {
    least_us_ = i == 0 ? best_us[i] : std::min(least_us_, best_us[i]);
    rates_ = {std::max(rates_.bytes, works[i].bytes / best_us[i]), std::max(rates_.flops, works[i].flops / best_us[i])};
  }
}

double Floor::us(const Work& work) const {
  return least_us_ + (rates_.bytes > 0.0 ? work.bytes / rates_.bytes : 0.0) + (rates_.flops > 0.0 ? work.flops / rates_.flops : 0.0);
}

void PortfolioTable::set_floors() {
  std::vector<double> best;
  std::ranges::transform(rows_, std::back_inserter(best), &Row::best_us);
  floor_ = {works_, best};
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].floor_us = floor_.us(works_[i]);
  }
}

std::optional<std::size_t> PortfolioTable::find_column(const PortfolioMember& member) const {
  const auto found = column_of_.find(name_of(member));
  return found == column_of_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::optional<Shape>> PortfolioTable::fastest_at() const {
  std::vector<std::optional<Shape>> shapes(columns_.size());
  std::vector<double> least(columns_.size(), kFailed);
  for (const Row& row : rows_) {
    for (const auto& [column, slowdown] : row.slowdowns) {
      if (slowdown < least[column]) {
        least[column] = slowdown;
        shapes[column] = row.shape;
      }
    }
  }
  return shapes;
}

bool PortfolioTable::has_shapes_of(const std::string& kernel, std::size_t count) const {
  for (auto row = rows_.begin(); row != rows_.end() && count > 0; ++row) {
    count -= std::ranges::any_of(row->slowdowns, [&](const auto& cell) { return columns_[cell.first].kernel == kernel; }) ? 1 : 0;
  }
  return count == 0;
}

bool PortfolioTable::has_many_shapes() const { return rows_.size() >= kManyShapes; }

bool PortfolioTable::is_hopeless(const PortfolioMember& member) const {
  const std::optional<std::size_t> column = find_column(member);
  std::size_t measured = 0;
  for (const Row& row : rows_) {
    const auto cell = column ? row.slowdowns.find(*column) : row.slowdowns.end();
    if (cell != row.slowdowns.end()) {
      if (cell->second <= kContender) {
        return false;
      }
      ++measured;
    }
  }
  return measured >= kEnough;
}

std::vector<std::size_t> PortfolioTable::choose(const std::vector<Row>& all, std::size_t most) const {
  struct Cell {
    std::size_t row = 0;
    double slowdown = 0.0;  ///< a logarithm
  };
  std::vector<std::vector<Cell>> cells(columns_.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [column, slowdown] : all[i].slowdowns) {
      cells[column].push_back({i, kept_logarithm(slowdown)});
    }
  }
  std::vector<std::size_t> left = contenders(all, wrong_, columns_.size()), chosen;
  if (is_checked_only_) {
    std::erase_if(left, [&](std::size_t column) { return !checked_.contains(column); });
  }
  if (is_checked_only_ && left.empty()) {  // what is fastest has not passed: what has is better than nothing
    std::ranges::copy_if(checked_, std::back_inserter(left), [&](std::size_t column) { return !wrong_.contains(column); });
  }
  std::erase_if(left, [&](std::size_t column) { return cells[column].size() * kRare < all.size() && cells[column].size() < kCompared; });
  std::vector<double> reached(all.size(), kUncovered);
  const auto is_before = [&](std::size_t a, std::size_t b) {
    return cells[a].size() != cells[b].size()
               ? cells[a].size() > cells[b].size()
               : std::pair(columns_[a].kernel, columns_[a].configuration) < std::pair(columns_[b].kernel, columns_[b].configuration);
  };
  std::ranges::sort(left, is_before);
  while (chosen.size() < most && !left.empty()) {
    auto best = left.end();
    // What is compared is so at as many shapes, however many there are.
    double most_gain = kGain * static_cast<double>(std::min(all.size(), kManyShapes));
    for (auto at = left.begin(); at != left.end(); ++at) {
      double gain = 0.0;
      for (const Cell& cell : cells[*at]) {
        gain += std::max(0.0, reached[cell.row] - cell.slowdown);
      }
      if (gain > most_gain + kTie) {
        most_gain = gain;
        best = at;
      }
    }
    if (best == left.end()) {
      break;
    }
    for (const Cell& cell : cells[*best]) {
      reached[cell.row] = std::min(reached[cell.row], cell.slowdown);
    }
    chosen.push_back(*best);
    left.erase(best);
  }
  return chosen;
}

PortfolioTable::Near PortfolioTable::near(const Shape& shape, const Portfolio& about) const {
  Near near;
  Portfolio whole = head_of(about);
  fill(whole, rows_, {});
  if (whole.points.empty()) {
    return near;
  }
  for (const std::size_t row : PortfolioRule(whole).around(shape)) {
    near.rows.push_back(rows_[row]);
    for (const auto& [column, slowdown] : rows_[row].slowdowns) {
      near.columns.insert(column);
    }
  }
  return near;
}

std::vector<std::size_t> PortfolioTable::promising(const Shape& shape, const Portfolio& about,
                                                   const std::function<MemberLaunches(std::span<const PortfolioMember>)>& launches) const {
  const Near near = this->near(shape, about);  // no other row says anything there
  std::vector<std::size_t> able = contenders(rows_, wrong_, columns_.size()), order;
  std::erase_if(able, [&](std::size_t column) { return !near.columns.contains(column); });
  if (near.rows.empty()) {
    return order;
  }
  Portfolio whole = head_of(about);
  fill(whole, near.rows, able);
  for (const Opinion& opinion : PortfolioRule(whole).rank(shape, launches(whole.members))) {
    order.push_back(able[opinion.member]);
  }
  return order;
}

std::vector<PortfolioMember> PortfolioTable::untried(const Shape& shape, const Portfolio& about, std::span<const std::size_t> promising,
                                                     const std::function<MemberLaunches(std::span<const PortfolioMember>)>& launches,
                                                     const std::function<std::vector<PortfolioMember>(const PortfolioMember&)>& neighbours,
                                                     std::size_t most) const {
  constexpr int kRounds = 3;
  constexpr std::size_t kBeam = 6;         // of a round's best: whose neighbours are looked at
  constexpr std::size_t kMostKnown = 160;  // that the others are compared with: a rule of thousands takes seconds
  const Near near = this->near(shape, about);
  if (near.rows.empty() || most == 0) {
    return {};
  }
  Portfolio whole = head_of(about);
  const std::span<const std::size_t> known_best = promising.first(std::min(kMostKnown, promising.size()));
  fill(whole, near.rows, {known_best.begin(), known_best.end()});
  const std::size_t measured = whole.members.size();
  std::set<std::string> known;
  for (const std::size_t column : near.columns) {
    known.insert(name_of(columns_[column]));
  }
  for (const std::size_t column : wrong_) {
    known.insert(name_of(columns_[column]));
  }
  std::vector<Opinion> ranked = PortfolioRule(whole).rank_by_likeness(shape, launches(whole.members));
  std::set<std::string> bases;  // whose neighbours were looked at
  for (int round = 0; round < kRounds; ++round) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < ranked.size() && taken < kBeam; ++i) {
      const PortfolioMember base = whole.members[ranked[i].member];
      if (!bases.insert(name_of(base)).second) {
        continue;
      }
      ++taken;
      std::ranges::copy_if(neighbours(base), std::back_inserter(whole.members),
                           [&](const PortfolioMember& one) { return known.insert(name_of(one)).second; });
    }
    ranked = PortfolioRule(whole).rank_by_likeness(shape, launches(whole.members));
  }
  std::vector<PortfolioMember> all;
  for (const Opinion& opinion : ranked) {
    const PortfolioMember& one = whole.members[opinion.member];
    const bool is_near_another = std::ranges::any_of(all, [&](const PortfolioMember& other) { return differ_in_one(one, other); });
    if (opinion.member >= measured && !is_near_another && all.size() < most) {
      all.push_back(one);
    }
  }
  return all;
}

void PortfolioTable::fill(Portfolio& portfolio, const std::vector<Row>& all, const std::vector<std::size_t>& chosen) const {
  portfolio.members.clear();
  portfolio.points.clear();
  for (const std::size_t column : chosen) {
    portfolio.members.push_back(columns_[column]);
  }
  for (const Row& row : all) {
    PortfolioPoint point{row.shape, kept_us(row.best_us), kept_us(row.floor_us), {}};
    for (std::size_t member = 0; member < chosen.size(); ++member) {
      const auto slowdown = row.slowdowns.find(chosen[member]);
      const auto launch = row.launches.find(chosen[member]);
      if (slowdown != row.slowdowns.end()) {
        point.cells.push_back(
            {member, coarse_slowdown(slowdown->second), launch == row.launches.end() ? std::nullopt : std::optional(launch->second)});
      }
    }
    portfolio.points.push_back(std::move(point));
  }
}

Portfolio PortfolioTable::portfolio_as_set(Portfolio about, std::size_t most) const {
  fill(about, rows_, choose(rows_, most));
  return about;
}

Portfolio PortfolioTable::portfolio(Portfolio about, std::size_t most) const {
  about = portfolio_as_set(std::move(about), most);
  if (about.points.empty()) {
    return about;
  }
  about.rule = fit_settings(about);
  const PortfolioRule::Score score = PortfolioRule(about).leave_one_out();
  about.expected = std::exp(score.mean);
  about.worst = std::exp(score.worst);
  return about;
}

void PortfolioTable::judge(Portfolio& portfolio, std::size_t most) const {
  constexpr std::size_t kFolds = 16;
  const std::vector<Row>& all = rows_;
  const std::size_t folds = std::min(kFolds, all.size());
  std::vector<double> sums(folds, 0.0), worst(folds, 0.0);
  parallel_for(0, folds > 1 ? folds : 0, [&](std::size_t fold) {
    std::vector<Row> others, left_out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      (i % folds == fold ? left_out : others).push_back(all[i]);
    }
    const std::vector<std::size_t> chosen = choose(others, most);
    Portfolio without = portfolio;
    fill(without, others, chosen);
    const PortfolioRule rule(without);
    for (const Row& row : left_out) {
      if (chosen.empty()) {
        continue;
      }
      MemberLaunches launches;
      for (const std::size_t column : chosen) {
        const auto known = row.launches.find(column);
        launches.push_back(known == row.launches.end() ? std::nullopt : std::optional(known->second));
      }
      const std::vector<Opinion> ranked = rule.rank(row.shape, launches);
      const auto choice = std::ranges::find_if(ranked, [&](const Opinion& one) { return row.slowdowns.contains(chosen[one.member]); });
      // Of one configuration nobody knows how far it is behind.
      const bool is_known = choice != ranked.end() && row.slowdowns.size() > 1;
      const double slowdown =
          is_known ? std::min(kUncovered, kept_logarithm(row.slowdowns.at(chosen[choice->member]))) : ranked.front().slowdown;
      sums[fold] += slowdown;
      worst[fold] = std::max(worst[fold], slowdown);
    }
  });
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  portfolio.expected = std::exp(sum / static_cast<double>(std::max<std::size_t>(1, all.size())));
  portfolio.worst = std::exp(worst.empty() ? 0.0 : std::ranges::max(worst));
}

Portfolio thinned(Portfolio portfolio, std::size_t most) {
  constexpr double kOneMore = 0.2;  // octaves that are added to the distance: how many members were measured counts at one place, too
  if (portfolio.points.size() <= most) {
    return portfolio;
  }
  std::vector<std::vector<double>> places;
  for (const PortfolioPoint& point : portfolio.points) {
    std::vector<double>& place = places.emplace_back();
    for (const auto& [name, extent] : point.shape) {
      place.push_back(std::log2(static_cast<double>(std::max<std::int64_t>(1, extent))));
    }
  }
  const auto square = [&](std::size_t a, std::size_t b) {
    double sum = 0.0;
    for (std::size_t axis = 0; axis < places[a].size(); ++axis) {
      sum += (places[a][axis] - places[b][axis]) * (places[a][axis] - places[b][axis]);
    }
    return sum;
  };
  std::vector<std::pair<double, std::size_t>> says;  // how much a point says
  for (std::size_t i = 0; i < places.size(); ++i) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < places.size(); ++k) {
      nearest = k == i ? nearest : std::min(nearest, square(i, k));
    }
    says.emplace_back(static_cast<double>(portfolio.points[i].cells.size()) * (kOneMore + std::sqrt(nearest)), i);
  }
  std::ranges::sort(says, std::greater());
  std::vector<bool> stays(places.size());
  for (std::size_t i = 0; i < most; ++i) {
    stays[says[i].second] = true;
  }
  std::vector<PortfolioPoint> all;
  for (std::size_t i = 0; i < stays.size(); ++i) {
    if (stays[i]) {
      all.push_back(std::move(portfolio.points[i]));
    }
  }
  portfolio.points = std::move(all);
  return portfolio;
}

}  // namespace hone
