#include "engine/tune/portfolio_comparisons.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "engine/base/parallel.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/store/portfolio_trees.hpp"

namespace hone {
namespace {

constexpr double kNear = 1.2;            // times the fastest: what is slower is not chosen there, and neither is what is somewhat better
constexpr std::size_t kShapesEach = 24;  // that are planned for a member, spread over those where it is near, and for a winner
constexpr std::size_t kEnough = PortfolioTable::kCompared;
constexpr std::size_t kFirstFew = 3;  // shapes after which it is given up, if it is behind
constexpr double kBehind = 0.03;      // in the mean of the logarithms
// Of the logarithm, where it won: by about that alone a configuration is worth being a member, once as many shapes know it as a member
// needs.
constexpr double kFarAhead = 0.05;
constexpr std::size_t kManyMore = 8;  // one in so many shapes more, until what is around a winner is looked for again
constexpr double kClearly = 1.02;     // times the fastest: the best member, where another won

/// Of 40 the first 20: 0, 2, 4, ..., then 1, 3, ...: those that come first are spread over all.
std::vector<std::size_t> spread(std::size_t count, std::size_t first) {
  const std::size_t step = std::max<std::size_t>(1, (count + first - 1) / first);
  std::vector<std::size_t> all;
  for (std::size_t offset = 0; offset < step; ++offset) {
    for (std::size_t i = offset; i < count; i += step) {
      all.push_back(i);
    }
  }
  return all;
}

}  // namespace

std::vector<PortfolioComparisons::Pair> PortfolioComparisons::pairs_of_member(const PortfolioMember& member, const Shape& won_at,
                                                                              const Shape& here, double slowdown) const {
  std::vector<Pair> pairs;
  const Result<Problem> problem = shapes_.problem_at(here);
  const std::optional<Configuration> configuration = problem ? proposals_.legal(member, *problem) : std::nullopt;
  if (!configuration) {
    return pairs;
  }
  const KernelSpec& spec = *proposals_.kernel_named(member.kernel);
  for (Configuration& other : proposals_.could_not_be_tried(member, *problem, won_at)) {
    PortfolioMember named{member.kernel, text(spec.parameters, other)};
    pairs.push_back({member, std::move(named), *configuration, std::move(other), slowdown, 0, false});
  }
  return pairs;
}

std::vector<PortfolioComparisons::Pair>& PortfolioComparisons::pairs_at(const Shape& shape) {
  const auto found = std::ranges::find(places_, shape, &Place::shape);
  return (found == places_.end() ? places_.emplace_back(Place{shape, {}}) : *found).pairs;
}

void PortfolioComparisons::plan(const std::vector<PortfolioMember>& members, double session_seconds) {
  const std::set<PortfolioMember> current(members.begin(), members.end());
  if (planned_for_ == current) {
    return;
  }
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  const std::vector<std::optional<Shape>> fastest = table_.fastest_at();
  std::vector<bool> is_cheap;
  for (Place& place : places_) {
    std::erase_if(place.pairs, [&](const Pair& pair) { return !pair.is_of_winner && !current.contains(pair.member); });
  }
  for (const PortfolioTable::Row& row : rows) {
    const Result<Problem> problem = shapes_.problem_at(row.shape);
    is_cheap.push_back(problem && shapes_.is_cheap(*problem, session_seconds));
  }
  std::vector<std::vector<std::pair<std::size_t, std::vector<Pair>>>> planned(
      members.size());  // of each member: rows, and what is timed there
  parallel_for(0, members.size(), [&](std::size_t m) {
    const PortfolioMember& member = members[m];
    const std::optional<std::size_t> column = table_.find_column(member);
    if (planned_for_.contains(member) || !column || !fastest[*column]) {
      return;
    }
    std::vector<std::pair<std::size_t, double>> near;  // rows, slowdowns
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto slowdown = rows[i].slowdowns.find(*column);
      if (is_cheap[i] && slowdown != rows[i].slowdowns.end() && slowdown->second <= kNear) {
        near.emplace_back(i, slowdown->second);
      }
    }
    for (const std::size_t i : spread(near.size(), kShapesEach)) {
      const auto [row, slowdown] = near[i];
      std::vector<Pair> pairs = pairs_of_member(member, *fastest[*column], rows[row].shape, slowdown);
      if (!pairs.empty()) {
        planned[m].emplace_back(row, std::move(pairs));
      }
      if (planned[m].size() == kShapesEach) {
        break;
      }
    }
  });
  for (auto& of_member : planned) {
    for (auto& [row, pairs] : of_member) {
      std::ranges::move(pairs, std::back_inserter(pairs_at(rows[row].shape)));
    }
  }
  planned_for_ = current;
  std::erase_if(places_, [](const Place& place) { return place.pairs.empty(); });
}

std::optional<std::pair<std::size_t, double>> PortfolioComparisons::best_of(const std::vector<std::size_t>& columns,
                                                                            const PortfolioTable::Row& row) {
  std::optional<std::pair<std::size_t, double>> best;
  for (const std::size_t column : columns) {
    const auto slowdown = row.slowdowns.find(column);
    if (slowdown != row.slowdowns.end() && (!best || slowdown->second < best->second)) {
      best = {column, slowdown->second};
    }
  }
  return best;
}

std::optional<PortfolioComparisons::Pair> PortfolioComparisons::pair_of_winner(std::size_t winner, const PortfolioTable::Row& here) const {
  const auto best = best_of(members_, here);
  const Result<Problem> problem = shapes_.problem_at(here.shape);
  if (!best || !problem) {
    return std::nullopt;
  }
  const PortfolioMember &member = table_.columns()[best->first], &other = table_.columns()[winner];
  const std::optional<Configuration> own = proposals_.legal(member, *problem), others = proposals_.legal(other, *problem);
  return own && others ? std::optional(Pair{member, other, *own, *others, best->second, 0, true}) : std::nullopt;
}

void PortfolioComparisons::add_winners(const Portfolio& so_far, const PortfolioRule& rule, double session_seconds) {
  members_.clear();
  for (const PortfolioMember& member : so_far.members) {
    if (const std::optional<std::size_t> column = table_.find_column(member)) {
      members_.push_back(*column);
    }
  }
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  std::map<Shape, const PortfolioTable::Row*> row_of;
  for (const PortfolioTable::Row& row : rows) {
    row_of.emplace(row.shape, &row);
  }
  for (auto& [column, winner] : winners_) {
    winner.won_by = 0.0;  // a member may have caught up
  }
  for (const PortfolioTable::Row& row : rows) {
    const auto fastest = std::ranges::min_element(row.slowdowns, {}, [](const auto& one) { return one.second; });
    const auto best = best_of(members_, row);
    const bool is_ahead = fastest != row.slowdowns.end() && (!best || best->second >= kClearly * fastest->second);
    if (!is_ahead || table_.is_wrong(fastest->first)) {
      continue;
    }
    Winner& winner = winners_[fastest->first];
    winner.won_by = std::max(winner.won_by, best ? std::log(std::min(kNear, best->second / fastest->second)) : 0.0);
    if (winner.around.size() >= kEnough || so_far.points.size() * kManyMore < winner.points * (kManyMore + 1)) {
      continue;
    }
    winner.points = so_far.points.size();
    std::vector<const PortfolioTable::Row*> near;
    for (const std::size_t point : rule.around(row.shape)) {
      const Shape& shape = so_far.points[point].shape;
      const auto known = row_of.find(shape);
      const Result<Problem> problem = shapes_.problem_at(shape);
      if (known != row_of.end() && known->second != &row && problem && shapes_.is_cheap(*problem, session_seconds)) {
        near.push_back(known->second);
      }
    }
    put_expected_first(near, fastest->first, so_far);
    for (const PortfolioTable::Row* const there : near) {
      std::optional<Pair> pair = pair_of_winner(fastest->first, *there);
      if (pair && winner.around.insert(text(there->shape)).second && !there->slowdowns.contains(fastest->first)) {
        pairs_at(there->shape).push_back(*std::move(pair));
      }
      if (winner.around.size() == kShapesEach) {
        break;
      }
    }
  }
}

/// What fills the last round of blocks wins here and there, and is far behind at the shapes nearest to those: it would be given up. As a
/// member it is chosen where it is expected to be ahead.
void PortfolioComparisons::put_expected_first(std::vector<const PortfolioTable::Row*>& rows, std::size_t winner,
                                              const Portfolio& so_far) const {
  if (!so_far.trees) {
    return;
  }
  std::vector<std::pair<double, const PortfolioTable::Row*>> order(rows.size());
  parallel_for(0, rows.size(), [&](std::size_t i) {
    order[i] = {0.0, rows[i]};
    const auto best = best_of(members_, *rows[i]);
    const Result<Problem> problem = shapes_.problem_at(rows[i]->shape);
    if (!best || !problem) {
      return;
    }
    const std::vector<PortfolioMember> both{table_.columns()[winner], table_.columns()[best->first]};
    const TreeMembers asked(*so_far.trees, both, {true, true});
    const std::vector<std::optional<double>> expected = asked.expect(rows[i]->shape, proposals_.launches(both, *problem));
    order[i].first = expected.front() && expected.back() ? *expected.front() - *expected.back() : 0.0;
  });
  std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
  std::ranges::transform(order, rows.begin(), [](const auto& one) { return one.second; });
}

/// One failure, or one shape where it is far behind, does not outweigh all others.
void PortfolioComparisons::Compared::add(double slowdown, double other) {
  ++shapes;
  sum += std::log(std::min(kNear, slowdown / other));
}

bool PortfolioComparisons::Compared::is_enough(double won_by) const {
  const bool is_ahead = sum < 0.0;  // the more shapes know it, the sooner it is a member, and chosen where it should be
  const bool is_given_up = shapes >= kFirstFew && sum > kBehind * static_cast<double>(shapes) && won_by < kFarAhead;
  return shapes >= (is_ahead ? kShapesEach : kEnough) || is_given_up;
}

/// Of a member and another, the shapes count at which the member is near the fastest and both were measured. Of a winner, those around
/// where it won, each with its best member.
void PortfolioComparisons::leave_out_what_is_known() {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  std::map<std::pair<std::size_t, std::size_t>, Compared> all;  // by the columns of a member and another
  std::map<std::size_t, Compared> winners;                      // by column
  std::map<std::string, const PortfolioTable::Row*> row_of;
  // By column: of thousands most were timed at a few shapes.
  using Timed = std::pair<const PortfolioTable::Row*, double>;
  std::vector<std::vector<Timed>> timed_at(table_.columns().size());
  for (const PortfolioTable::Row& row : rows) {
    row_of.emplace(text(row.shape), &row);
    for (const auto& [column, slowdown] : row.slowdowns) {
      timed_at[column].emplace_back(&row, slowdown);
    }
  }
  const auto compared = [&](std::size_t member, std::size_t other) {
    const auto [known, is_new] = all.try_emplace({member, other});
    for (const auto& [row, slowdown] : is_new ? std::span<const Timed>(timed_at[other]) : std::span<const Timed>()) {
      const auto of_member = row->slowdowns.find(member);
      if (of_member != row->slowdowns.end() && of_member->second <= kNear) {
        known->second.add(slowdown, of_member->second);
      }
    }
    return known->second;
  };
  const auto compared_winner = [&](std::size_t winner) {
    const auto [known, is_new] = winners.try_emplace(winner);
    for (const std::string& shape : is_new ? winners_.at(winner).around : std::set<std::string>()) {
      const PortfolioTable::Row& row = *row_of.at(shape);
      const auto slowdown = row.slowdowns.find(winner);
      const auto best = best_of(members_, row);
      if (slowdown != row.slowdowns.end() && best) {
        known->second.add(slowdown->second, best->second);
      }
    }
    return known->second;
  };
  for (Place& place : places_) {
    const std::string shape = text(place.shape);
    const PortfolioTable::Row& row = *row_of.at(shape);  // places are rows, and those stay
    std::erase_if(place.pairs, [&](Pair& pair) {
      const auto times = proposed_.find({pair.other, shape});
      if (times != proposed_.end() && times->second >= kMostPlanned) {
        return true;
      }
      const std::optional<std::size_t> other = table_.find_column(pair.other);
      if (!other) {
        return false;
      }
      const Compared known = pair.is_of_winner ? compared_winner(*other) : compared(table_.find_column(pair.member).value(), *other);
      pair.compared = known.shapes;
      return known.is_enough(pair.is_of_winner ? winners_.at(*other).won_by : 0.0) || row.slowdowns.contains(*other);
    });
  }
  std::erase_if(places_, [](const Place& place) { return place.pairs.empty(); });
}

std::optional<PlannedSurvey> PortfolioComparisons::next(std::size_t most) {
  if (places_.empty() || most < 2) {  // a member and another
    return std::nullopt;
  }
  leave_out_what_is_known();
  const auto richest = std::ranges::max_element(places_, {}, [this](const Place& place) {
    return std::tuple(!shapes_.is_reserved(place.shape), std::ranges::count_if(place.pairs, &Pair::is_of_winner), place.pairs.size());
  });
  if (richest == places_.end() || shapes_.is_reserved(richest->shape)) {
    return std::nullopt;
  }
  std::ranges::stable_sort(richest->pairs, [](const Pair& a, const Pair& b) {
    return a.is_of_winner != b.is_of_winner ? a.is_of_winner : a.compared != b.compared ? a.compared < b.compared : a.slowdown < b.slowdown;
  });
  PlannedSurvey next{richest->shape, {}};
  const std::string shape = text(richest->shape);
  std::set<PortfolioMember> proposed;
  std::size_t taken = 0;
  for (const Pair& pair : richest->pairs) {
    const auto is_missing = [&](const PortfolioMember& one, const Configuration& configuration) {
      return std::ranges::find(next.first[one.kernel], configuration) == next.first[one.kernel].end();
    };
    const bool needs_member = is_missing(pair.member, pair.configuration), needs_other = is_missing(pair.other, pair.other_configuration);
    const std::size_t more = (needs_member ? 1 : 0) + (needs_other ? 1 : 0);
    if (taken + more > most) {
      break;
    }
    taken += more;
    if (needs_member) {
      next.first[pair.member.kernel].push_back(pair.configuration);
    }
    if (needs_other) {
      next.first[pair.other.kernel].push_back(pair.other_configuration);
    }
    if (proposed.insert(pair.other).second) {
      ++proposed_[{pair.other, shape}];
    }
  }
  std::erase_if(next.first, [](const auto& one) { return one.second.empty(); });
  return next;
}

}  // namespace hone
