#include "engine/tune/portfolio_neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/base/parallel.hpp"
#include "engine/space/hashing.hpp"
#include "engine/store/portfolio_trees.hpp"

namespace hone {
namespace {

constexpr std::size_t kDraws = 32;       // of shapes, before somebody asks for the time
constexpr std::size_t kBases = 3;        // of the fastest at a shape, whose neighbours are tried
constexpr double kBaseAtMost = 1.1;      // times the fastest
constexpr std::size_t kDrawnShare = 4;   // one in so many of what is tried is drawn: trees know what they were told of
constexpr std::uint64_t kOrder = 2;      // beside a draw's two shapes, 0 and 1: the order of neighbours

}  // namespace

/// Of two the one with more to do: applications spend their time there.
const PortfolioTable::Row& PortfolioNeighbours::drawn_row(std::uint64_t draw) const {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  const auto drawn = [&](std::uint64_t which) -> const PortfolioTable::Row& { return rows[space::mix(draw, which) % rows.size()]; };
  return shapes_.amount_at(drawn(0).shape) < shapes_.amount_at(drawn(1).shape) ? drawn(1) : drawn(0);
}

std::vector<std::pair<double, PortfolioMember>> PortfolioNeighbours::fastest(const PortfolioTable::Row& row,
                                                                             const Problem& problem) const {
  std::vector<std::pair<double, std::size_t>> timed;  // slowdown, column
  for (const auto& [column, slowdown] : row.slowdowns) {
    if (!table_.is_wrong(column)) {
      timed.emplace_back(slowdown, column);
    }
  }
  std::ranges::sort(timed);
  std::vector<std::pair<double, PortfolioMember>> bases;
  for (const auto& [slowdown, column] : timed) {
    const double behind = slowdown / timed.front().first;
    if (bases.size() == kBases || behind > kBaseAtMost) {
      break;
    }
    if (proposals_.legal(table_.columns()[column], problem)) {
      bases.emplace_back(std::log(behind), table_.columns()[column]);
    }
  }
  return bases;
}

PortfolioNeighbours::Look PortfolioNeighbours::look_at(const PortfolioTable::Row& row, std::uint64_t draw, const Portfolio& so_far,
                                                       double session_seconds) const {
  Look look;
  const Result<Problem> problem = shapes_.problem_at(row.shape);
  if (!problem || shapes_.is_reserved(row.shape) || !shapes_.is_cheap(*problem, session_seconds)) {
    return look;
  }
  look.problem = *problem;
  look.bases = fastest(row, *problem);
  const std::string shape = text(row.shape);
  std::vector<PortfolioMember> members;
  for (const auto& [behind, base] : look.bases) {
    members.push_back(base);
  }
  std::vector<std::size_t> base_of;  // of each that follows
  std::set<PortfolioMember> known(members.begin(), members.end());
  for (std::size_t base = 0; base < look.bases.size(); ++base) {
    for (PortfolioMember& one : proposals_.likely_neighbours(look.bases[base].second, *problem)) {
      const std::optional<std::size_t> column = table_.find_column(one);
      const auto times = proposed_.find({one, shape});
      const bool was_tried = (column && (row.slowdowns.contains(*column) || table_.is_wrong(*column))) ||
                             (times != proposed_.end() && times->second >= kMostPlanned);
      if (!was_tried && known.insert(one).second) {
        members.push_back(std::move(one));
        base_of.push_back(base);
      }
    }
  }
  std::vector<std::optional<double>> expected(members.size());
  if (so_far.trees && !base_of.empty()) {
    const TreeMembers asked(*so_far.trees, members, std::vector<bool>(members.size(), true));
    expected = asked.expect(row.shape, proposals_.launches(members, *problem));
  }
  std::vector<std::pair<std::uint64_t, Neighbour>> order;
  for (std::size_t i = 0; i < base_of.size(); ++i) {
    const std::size_t place = look.bases.size() + i;
    const std::optional<double>&own = expected[place], &of_base = expected[base_of[i]];
    const double behind = !so_far.trees      ? 0.0
                          : own && of_base ? look.bases[base_of[i]].first + *own - *of_base
                                           : std::numeric_limits<double>::infinity();
    order.emplace_back(space::mix(space::mix(draw, kOrder), i), Neighbour{behind, std::move(members[place])});
  }
  std::ranges::sort(order, {}, [](const auto& one) { return one.first; });
  for (auto& [place, neighbour] : order) {
    look.neighbours.push_back(std::move(neighbour));
  }
  return look;
}

PlannedSurvey PortfolioNeighbours::plan_of(const PortfolioTable::Row& row, const Look& look, std::size_t most) {
  const std::string shape = text(row.shape);
  std::vector<const Neighbour*> chosen;
  for (const Neighbour& one : look.neighbours) {
    chosen.push_back(&one);
  }
  const std::size_t count = std::min(chosen.size(), most - 1), drawn = count / kDrawnShare;
  std::ranges::stable_sort(chosen.begin() + static_cast<std::ptrdiff_t>(drawn), chosen.end(), {}, &Neighbour::behind);
  chosen.resize(count);
  PlannedSurvey plan{row.shape, {}};
  const PortfolioMember& fastest = look.bases.front().second;
  plan.first[fastest.kernel].push_back(*proposals_.legal(fastest, *look.problem));
  for (const Neighbour* const one : chosen) {
    plan.first[one->member.kernel].push_back(*proposals_.legal(one->member, *look.problem));
    ++proposed_[{one->member, shape}];
  }
  return plan;
}

std::optional<PlannedSurvey> PortfolioNeighbours::next(const Portfolio& so_far, std::size_t most, double session_seconds) {
  if (table_.rows().empty() || most < 2) {  // a neighbour and what it is timed beside
    return std::nullopt;
  }
  std::vector<Look> looks(kDraws);
  const std::uint64_t first = draws_;
  draws_ += kDraws;
  parallel_for(0, kDraws, [&](std::size_t i) { looks[i] = look_at(drawn_row(first + i), first + i, so_far, session_seconds); });
  std::optional<std::size_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kDraws; ++i) {
    const auto ahead = std::ranges::min_element(looks[i].neighbours, {}, &Neighbour::behind);
    if (ahead != looks[i].neighbours.end() && (!best || ahead->behind < least)) {
      best = i;
      least = ahead->behind;
    }
  }
  return best ? std::optional(plan_of(drawn_row(first + *best), looks[*best], most)) : std::nullopt;
}

}  // namespace hone
