#include "engine/tune/portfolio_neighbours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <span>

#include "engine/base/parallel.hpp"
#include "engine/space/hashing.hpp"

namespace hone {
namespace {

constexpr std::size_t kBases = 3;                     // of the fastest at a shape, whose neighbours are tried
constexpr double kBaseAtMost = 1.1;                   // times the fastest
constexpr std::size_t kConfigurations = 64;           // of which most is expected, until that is asked again
constexpr std::size_t kPlacesEach = 3;                // where most is expected of one; then comparisons go on with what is ahead there
constexpr std::size_t kKept = 12;                     // of a shape's neighbours
constexpr std::size_t kMostOthers = 2048;             // shapes that nobody measured, and no more than are measured
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

std::optional<PortfolioNeighbours::Spot> PortfolioNeighbours::spot_at(const PortfolioTable::Row& row, double session_seconds) const {
  const Result<Problem> problem = shapes_.problem_at(row.shape);
  if (!problem || shapes_.is_reserved(row.shape) || !shapes_.is_cheap(*problem, session_seconds)) {
    return std::nullopt;
  }
  Spot spot{row.shape, *problem, row.best_us, &row, proposals_.fastest(row, *problem, kBases)};
  const double least = spot.bases.empty() ? 1.0 : spot.bases.front().first;
  std::erase_if(spot.bases, [least](const auto& one) { return one.first > kBaseAtMost * least; });
  for (auto& [behind, member] : spot.bases) {
    behind = std::log(behind / least);
  }
  return spot;
}

std::optional<PortfolioNeighbours::Spot> PortfolioNeighbours::spot_at(const Shape& shape, const Portfolio& so_far,
                                                                      const TreeMembers& members) const {
  const Result<Problem> problem = shapes_.problem_at(shape);
  if (!problem) {
    return std::nullopt;
  }
  const std::vector<std::optional<double>> expected = members.expect(shape, proposals_.launches(so_far.members, *problem));
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i]) {
      order.emplace_back(*expected[i], i);
    }
  }
  std::ranges::sort(order);
  Spot spot{shape, *problem, table_.floor_us(shapes_.work_at(*problem)), nullptr, {}};
  double least = 0.0;
  for (const auto& [behind, i] : order) {
    if (spot.bases.size() == kBases || (!spot.bases.empty() && behind > least + std::log(kBaseAtMost))) {
      break;
    }
    const PortfolioMember& member = so_far.members[i];  // what was found of it since is not in the portfolio yet
    const std::optional<std::size_t> column = table_.find_column(member);
    if (!given_up_.contains(member) && !(column && table_.is_wrong(*column)) && proposals_.legal(member, *problem)) {
      least = spot.bases.empty() ? behind : least;
      spot.bases.emplace_back(behind - least, member);
    }
  }
  return spot;
}

bool PortfolioNeighbours::may_be_tried(const PortfolioMember& member, const Spot& spot, const std::string& shape) const {
  const std::optional<std::size_t> column = table_.find_column(member);
  const bool is_timed = column && spot.row != nullptr && spot.row->slowdowns.contains(*column);
  const auto times = proposed_.find({member, shape});
  return !is_timed && !(column && table_.is_wrong(*column)) && !given_up_.contains(member) &&
         (times == proposed_.end() || times->second < kMostPlanned);
}

std::vector<PortfolioNeighbours::Neighbour> PortfolioNeighbours::neighbours_at(const Spot& spot, std::uint64_t draw,
                                                                               const Portfolio& so_far) const {
  const Bases& bases = spot.bases;
  const std::string shape = text(spot.shape);
  std::vector<PortfolioMember> members;
  for (const auto& [behind, base] : bases) {
    members.push_back(base);
  }
  std::vector<std::size_t> base_of;  // of each that follows
  std::set<PortfolioMember> known(members.begin(), members.end());
  for (std::size_t base = 0; base < bases.size(); ++base) {
    for (PortfolioMember& one : proposals_.likely_neighbours(bases[base].second, spot.problem)) {
      if (may_be_tried(one, spot, shape) && known.insert(one).second) {
        members.push_back(std::move(one));
        base_of.push_back(base);
      }
    }
  }
  std::vector<std::optional<double>> expected(members.size());
  if (so_far.trees && !base_of.empty()) {
    const TreeMembers asked(*so_far.trees, members, std::vector<bool>(members.size(), true));
    expected = asked.expect(spot.shape, proposals_.launches(members, spot.problem));
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

std::vector<std::optional<PortfolioNeighbours::Spot>> PortfolioNeighbours::spots(const Portfolio& so_far, double session_seconds) const {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  const std::vector<Shape> others = shapes_.others(drawn_aside_, std::min(rows.size(), kMostOthers), session_seconds, table_);
  const TreeMembers members(*so_far.trees, so_far.members, std::vector<bool>(so_far.members.size(), true));
  std::vector<std::optional<Spot>> all(rows.size() + others.size());
  parallel_for(0, all.size(), [&](std::size_t i) {
    all[i] = i < rows.size() ? spot_at(rows[i], session_seconds) : spot_at(others[i - rows.size()], so_far, members);
  });
  return all;
}

PortfolioNeighbours::AllExpected PortfolioNeighbours::expected(const std::vector<std::optional<Spot>>& spots,
                                                               const Portfolio& so_far) const {
  std::vector<std::size_t> shapes_of(table_.columns().size());
  for (const PortfolioTable::Row& row : table_.rows()) {
    for (const auto& [column, slowdown] : row.slowdowns) {
      ++shapes_of[column];
    }
  }
  std::vector<std::vector<Neighbour>> at(spots.size());
  parallel_for(0, spots.size(), [&](std::size_t i) {
    std::vector<Neighbour> all = spots[i] ? neighbours_at(*spots[i], draws_ + i, so_far) : std::vector<Neighbour>();
    std::erase_if(all, [&](const Neighbour& one) {
      const std::optional<std::size_t> column = table_.find_column(one.member);
      return one.behind > -kLeastGain || (column && shapes_of[*column] >= kPlacesEach);
    });
    std::ranges::stable_sort(all, {}, &Neighbour::behind);
    all.resize(std::min(all.size(), kKept));
    at[i] = std::move(all);
  });
  AllExpected by_member;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    for (const Neighbour& one : at[i]) {
      Expected& expected = by_member[one.member];
      const double share = std::min(-one.behind, kMostGain);
      const Gain gain{share, share * spots[i]->us};
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
  // The neighbours of what is ahead have their turn once that is known. (What has been taken differs from itself in none.)
  const auto may_be_taken = [&taken](const AllExpected::value_type* one) {
    return std::ranges::none_of(
        taken, [one](const Taken& other) { return one->first == other.member || differ_in_one(one->first, other.member); });
  };
  std::array<std::size_t, kGains.size()> next{};
  for (std::size_t turn = 0, in_vain = 0; taken.size() < kConfigurations && in_vain < kGains.size(); ++turn) {
    const std::size_t by = turn % kGains.size();
    const auto first = std::find_if(orders.at(by).begin() + static_cast<std::ptrdiff_t>(next.at(by)), orders.at(by).end(), may_be_taken);
    next.at(by) = static_cast<std::size_t>(first - orders.at(by).begin());
    in_vain = first == orders.at(by).end() ? in_vain + 1 : 0;
    if (in_vain > 0) {
      continue;
    }
    const auto& [member, expected] = **first;
    std::vector<std::pair<Gain, std::size_t>> places = expected.places;
    std::ranges::stable_sort(places, std::greater(), [&](const auto& place) { return place.first.*kGains.at(by); });
    Taken& one = taken.emplace_back(Taken{member, {}});
    for (const auto& [gain, spot] : std::span(places).first(std::min(places.size(), kPlacesEach))) {
      one.spots.push_back(spot);
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
  const std::vector<std::optional<Spot>> all = spots(so_far, session_seconds);
  const std::vector<Taken> taken = most_expected(expected(all, so_far));
  draws_ += all.size();
  drawn_aside_ += kMostOthers;
  std::map<std::size_t, Place> planned;  // by spot
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kPlacesEach; ++i) {
    for (const Taken& one : taken) {
      if (i < one.spots.size()) {
        const auto [place, is_new] = planned.try_emplace(one.spots[i], Place{all[one.spots[i]]->shape, {}});
        place->second.members.push_back(one.member);
        if (is_new) {
          order.push_back(place->first);
        }
      }
    }
  }
  for (const std::size_t spot : order) {
    places_.push_back(std::move(planned.at(spot)));
  }
  asked_again_at_ = places_.empty() ? table_.rows().size() * kMoreAgain / (kMoreAgain - 1) : 0;
}

void PortfolioNeighbours::plan_drawn(double session_seconds) {
  std::set<std::string> drawn;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const PortfolioTable::Row& row = drawn_row(draws_ + i);
    const std::optional<Spot> spot = spot_at(row, session_seconds);
    if (spot && drawn.insert(text(row.shape)).second && !neighbours_at(*spot, draws_ + i, {}).empty()) {
      places_.push_back({row.shape, {}});
    }
  }
  draws_ += kDraws;
}

/// Nothing where all of it was timed meanwhile.
std::optional<PlannedSurvey> PortfolioNeighbours::plan_of(const Place& place, const Portfolio& so_far, std::size_t most,
                                                          double session_seconds) {
  const auto row = std::ranges::find(table_.rows(), place.shape, &PortfolioTable::Row::shape);
  const bool is_measured = row != table_.rows().end();
  std::optional<Spot> spot;
  if (is_measured) {
    spot = spot_at(*row, session_seconds);
  } else if (so_far.trees) {
    spot = spot_at(place.shape, so_far, {*so_far.trees, so_far.members, std::vector<bool>(so_far.members.size(), true)});
  }
  if (!spot || spot->bases.empty()) {
    return std::nullopt;
  }
  // Where nothing is known, the default, too: a portfolio shall not choose what is slower.
  std::vector<PortfolioMember> beside;
  for (const auto& [behind, base] : spot->bases) {
    if (beside.size() < (is_measured ? 1 : most - 1)) {
      beside.push_back(base);
    }
  }
  const std::optional<PortfolioMember> standard = is_measured ? std::nullopt : proposals_.standard(spot->problem);
  if (standard && beside.size() < most - 1 && std::ranges::find(beside, *standard) == beside.end()) {
    beside.push_back(*standard);
  }
  const std::string shape = text(place.shape);
  std::vector<PortfolioMember> chosen;
  const auto add = [&](const PortfolioMember& one, std::size_t count) {
    if (chosen.size() < count && may_be_tried(one, *spot, shape) && std::ranges::find(chosen, one) == chosen.end() &&
        std::ranges::find(beside, one) == beside.end()) {
      chosen.push_back(one);
    }
  };
  const std::size_t count = most - beside.size(),
                    most_expected = place.members.empty() ? 0 : std::max<std::size_t>(1, count - count / kDrawnShare);
  for (const PortfolioMember& one : place.members) {
    add(one, most_expected);
  }
  if (chosen.empty() && !is_measured) {
    return std::nullopt;  // it was for those alone
  }
  const std::size_t drawn = chosen.empty() ? count : (chosen.size() + kDrawnShare - 2) / (kDrawnShare - 1);
  const std::size_t all = std::min(count, chosen.size() + drawn);
  for (const Neighbour& one : neighbours_at(*spot, draws_++, {})) {
    add(one.member, all);
  }
  if (chosen.empty()) {
    return std::nullopt;
  }
  for (const PortfolioMember& one : chosen) {
    ++proposed_[{one, shape}];
  }
  PlannedSurvey plan{place.shape, {}};
  chosen.insert(chosen.begin(), beside.begin(), beside.end());
  for (const PortfolioMember& one : chosen) {
    if (const std::optional<Configuration> configuration = proposals_.legal(one, spot->problem)) {
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
    std::optional<PlannedSurvey> plan = shapes_.is_reserved(place.shape) ? std::nullopt : plan_of(place, so_far, most, session_seconds);
    if (plan) {
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace hone
