#include "engine/tune/portfolio_neighbours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <span>

#include "engine/base/parallel.hpp"
#include "engine/space/hashing.hpp"
#include "engine/store/portfolio_trees.hpp"

namespace hone {
namespace {

constexpr std::size_t kBases = 3;                     // of the fastest at a shape, whose neighbours are tried
constexpr double kBaseAtMost = 1.1;                   // times the fastest
constexpr std::size_t kConfigurations = 64;           // of which most is expected, until that is asked again
constexpr std::size_t kPlacesEach = 3;                // where most is expected of one; then comparisons go on with what is ahead there
constexpr std::size_t kKept = 12;                     // of a shape's neighbours
constexpr double kLeastGain = 0.01, kMostGain = 0.2;  // logarithms: less is noise, and more is seldom true
constexpr std::size_t kMoreAgain = 10;                // one in so many shapes more, until trees that expected nothing are asked again
constexpr std::size_t kDrawnShare = 4;                // one in so many of what is tried is drawn: trees know what they were told of
constexpr std::uint64_t kDraws = 32;                  // of shapes, where nothing is expected of any
constexpr std::uint64_t kOrder = 2;                   // beside a draw's two shapes, 0 and 1: the order of neighbours

}  // namespace

/// Of two the one with more to do: applications spend their time there.
const PortfolioTable::Row& PortfolioNeighbours::drawn_row(std::uint64_t draw) const {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  const auto drawn = [&](std::uint64_t which) -> const PortfolioTable::Row& { return rows[space::mix(draw, which) % rows.size()]; };
  return shapes_.amount_at(drawn(0).shape) < shapes_.amount_at(drawn(1).shape) ? drawn(1) : drawn(0);
}

PortfolioNeighbours::Bases PortfolioNeighbours::bases_at(const PortfolioTable::Row& row, const Problem& problem) const {
  Bases bases = proposals_.fastest(row, problem, kBases);
  const double least = bases.empty() ? 1.0 : bases.front().first;
  std::erase_if(bases, [least](const auto& one) { return one.first > kBaseAtMost * least; });
  for (auto& [behind, member] : bases) {
    behind = std::log(behind / least);
  }
  return bases;
}

bool PortfolioNeighbours::may_be_tried(const PortfolioMember& member, const PortfolioTable::Row& row, const std::string& shape) const {
  const std::optional<std::size_t> column = table_.find_column(member);
  const auto times = proposed_.find({member, shape});
  return !(column && (row.slowdowns.contains(*column) || table_.is_wrong(*column))) && !given_up_.contains(member) &&
         (times == proposed_.end() || times->second < kMostPlanned);
}

std::vector<PortfolioNeighbours::Neighbour> PortfolioNeighbours::neighbours_at(const PortfolioTable::Row& row, std::uint64_t draw,
                                                                               const Portfolio& so_far, double session_seconds) const {
  const Result<Problem> problem = shapes_.problem_at(row.shape);
  if (!problem || shapes_.is_reserved(row.shape) || !shapes_.is_cheap(*problem, session_seconds)) {
    return {};
  }
  const Bases bases = bases_at(row, *problem);
  const std::string shape = text(row.shape);
  std::vector<PortfolioMember> members;
  for (const auto& [behind, base] : bases) {
    members.push_back(base);
  }
  std::vector<std::size_t> base_of;  // of each that follows
  std::set<PortfolioMember> known(members.begin(), members.end());
  for (std::size_t base = 0; base < bases.size(); ++base) {
    for (PortfolioMember& one : proposals_.likely_neighbours(bases[base].second, *problem)) {
      if (may_be_tried(one, row, shape) && known.insert(one).second) {
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
    const std::size_t place = bases.size() + i;
    const std::optional<double>&own = expected[place], &of_base = expected[base_of[i]];
    const double behind = own && of_base ? bases[base_of[i]].first + *own - *of_base : 0.0;
    order.emplace_back(space::mix(space::mix(draw, kOrder), i), Neighbour{behind, std::move(members[place])});
  }
  std::ranges::sort(order, {}, [](const auto& one) { return one.first; });
  std::vector<Neighbour> all;
  for (auto& [place, neighbour] : order) {
    all.push_back(std::move(neighbour));
  }
  return all;
}

PortfolioNeighbours::AllExpected PortfolioNeighbours::expected(const Portfolio& so_far, double session_seconds) const {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  std::vector<std::size_t> shapes_of(table_.columns().size());
  for (const PortfolioTable::Row& row : rows) {
    for (const auto& [column, slowdown] : row.slowdowns) {
      ++shapes_of[column];
    }
  }
  std::vector<std::vector<Neighbour>> at(rows.size());
  parallel_for(0, rows.size(), [&](std::size_t i) {
    std::vector<Neighbour> all = neighbours_at(rows[i], draws_ + i, so_far, session_seconds);
    std::erase_if(all, [&](const Neighbour& one) {
      const std::optional<std::size_t> column = table_.find_column(one.member);
      return one.behind > -kLeastGain || (column && shapes_of[*column] >= kPlacesEach);
    });
    std::ranges::stable_sort(all, {}, &Neighbour::behind);
    all.resize(std::min(all.size(), kKept));
    at[i] = std::move(all);
  });
  AllExpected by_member;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Neighbour& one : at[i]) {
      Expected& expected = by_member[one.member];
      const double share = std::min(-one.behind, kMostGain);
      const Gain gain{share, share * rows[i].best_us};
      expected.gain.share += gain.share;
      expected.gain.us += gain.us;
      expected.places.emplace_back(gain, i);
    }
  }
  return by_member;
}

/// By shares alone what is small decides, of which a range has most; applications spend their time at what is large.
std::vector<PortfolioNeighbours::Taken> PortfolioNeighbours::most_expected(const AllExpected& all) {
  constexpr std::array kGains{&Gain::share, &Gain::us};
  std::array<std::vector<const AllExpected::value_type*>, kGains.size()> orders;
  for (std::size_t by = 0; by < kGains.size(); ++by) {
    for (const AllExpected::value_type& one : all) {
      orders.at(by).push_back(&one);
    }
    std::ranges::stable_sort(orders.at(by), std::greater(), [&](const auto* one) { return one->second.gain.*kGains.at(by); });
  }
  std::vector<Taken> taken;
  for (std::size_t i = 0; i < all.size() * kGains.size() && taken.size() < kConfigurations; ++i) {
    const auto& [member, expected] = *orders.at(i % kGains.size())[i / kGains.size()];
    // The neighbours of what is ahead have their turn once that is known. (What has been taken differs from itself in none.)
    if (std::ranges::any_of(taken, [&](const Taken& other) { return member == other.member || differ_in_one(member, other.member); })) {
      continue;
    }
    std::vector<std::pair<Gain, std::size_t>> places = expected.places;
    std::ranges::stable_sort(places, std::greater(), [&](const auto& place) { return place.first.*kGains.at(i % kGains.size()); });
    Taken& one = taken.emplace_back(Taken{member, {}});
    for (const auto& [gain, row] : std::span(places).first(std::min(places.size(), kPlacesEach))) {
      one.rows.push_back(row);
    }
  }
  return taken;
}

/// What one configuration gains at a shape or two makes no member. So they are looked at over all shapes. The best place of each comes
/// first: its code is compiled by the time that it is timed at the next.
void PortfolioNeighbours::plan_expected(const Portfolio& so_far, double session_seconds) {
  if (table_.rows().size() < asked_again_at_) {
    return;
  }
  const std::vector<Taken> taken = most_expected(expected(so_far, session_seconds));
  draws_ += table_.rows().size();
  std::map<std::size_t, Place> planned;  // by row
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kPlacesEach; ++i) {
    for (const Taken& one : taken) {
      if (i < one.rows.size()) {
        const auto [place, is_new] = planned.try_emplace(one.rows[i], Place{table_.rows()[one.rows[i]].shape, {}});
        place->second.members.push_back(one.member);
        if (is_new) {
          order.push_back(place->first);
        }
      }
    }
  }
  for (const std::size_t row : order) {
    places_.push_back(std::move(planned.at(row)));
  }
  asked_again_at_ = places_.empty() ? table_.rows().size() * kMoreAgain / (kMoreAgain - 1) : 0;
}

void PortfolioNeighbours::plan_drawn(double session_seconds) {
  std::set<std::string> drawn;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const PortfolioTable::Row& row = drawn_row(draws_ + i);
    if (drawn.insert(text(row.shape)).second && !neighbours_at(row, draws_ + i, {}, session_seconds).empty()) {
      places_.push_back({row.shape, {}});
    }
  }
  draws_ += kDraws;
}

/// Nothing where all of it was timed meanwhile.
std::optional<PlannedSurvey> PortfolioNeighbours::plan_of(const Place& place, std::size_t most, double session_seconds) {
  const auto row = std::ranges::find(table_.rows(), place.shape, &PortfolioTable::Row::shape);
  const Result<Problem> problem = shapes_.problem_at(place.shape);
  const Bases bases = row != table_.rows().end() && problem ? bases_at(*row, *problem) : Bases();
  if (bases.empty()) {
    return std::nullopt;
  }
  const std::string shape = text(place.shape);
  std::vector<PortfolioMember> chosen;
  const auto add = [&](const PortfolioMember& one, std::size_t count) {
    if (chosen.size() < count && may_be_tried(one, *row, shape) && std::ranges::find(chosen, one) == chosen.end()) {
      chosen.push_back(one);
    }
  };
  const std::size_t count = most - 1, most_expected = place.members.empty() ? 0 : std::max<std::size_t>(1, count - count / kDrawnShare);
  for (const PortfolioMember& one : place.members) {
    add(one, most_expected);
  }
  const std::size_t drawn = chosen.empty() ? count : (chosen.size() + kDrawnShare - 2) / (kDrawnShare - 1);
  const std::size_t all = std::min(count, chosen.size() + drawn);
  for (const Neighbour& one : neighbours_at(*row, draws_++, {}, session_seconds)) {
    add(one.member, all);
  }
  if (chosen.empty()) {
    return std::nullopt;
  }
  for (const PortfolioMember& one : chosen) {
    ++proposed_[{one, shape}];
  }
  PlannedSurvey plan{place.shape, {}};
  chosen.insert(chosen.begin(), bases.front().second);
  for (const PortfolioMember& one : chosen) {
    if (const std::optional<Configuration> configuration = proposals_.legal(one, *problem)) {
      plan.first[one.kernel].push_back(*configuration);
    }
  }
  return plan;
}

std::optional<PlannedSurvey> PortfolioNeighbours::next(const Portfolio& so_far, std::size_t most, double session_seconds) {
  if (table_.rows().empty() || most < 2) {  // a neighbour and what it is timed beside
    return std::nullopt;
  }
  if (places_.empty() && so_far.trees) {
    plan_expected(so_far, session_seconds);
  }
  if (places_.empty()) {
    plan_drawn(session_seconds);
  }
  while (!places_.empty()) {
    const Place place = std::move(places_.front());
    places_.pop_front();
    std::optional<PlannedSurvey> plan = shapes_.is_reserved(place.shape) ? std::nullopt : plan_of(place, most, session_seconds);
    if (plan) {
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace hone
