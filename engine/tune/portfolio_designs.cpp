#include "engine/tune/portfolio_designs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace hone {
namespace {

constexpr std::size_t kPlaces = 256, kSoughtAt = 64;  // shapes of one time; one in four of them is a place to seek at
constexpr std::size_t kRounds = 3, kBeam = 6;         // of parameters changed, and of candidates whose neighbours are looked at
constexpr std::size_t kCandidates = 128;              // that are asked of all shapes
// What trees expect of a configuration that they do not know is a mean of those like it, and so seldom much better than the best of them:
// a design has the benefit of the doubt.
constexpr double kDoubt = 0.05;        // a logarithm
constexpr double kAhead = 0.02;        // with it: less is no reason to try it at a shape
constexpr double kClose = 0.05;        // and what is further behind is not worth timing there
constexpr double kLeastGain = 0.03;    // a sum of logarithms over all places
constexpr std::size_t kMostRows = 24;  // of a design, those beyond PortfolioTable::kCompared where it is ahead alone

/// Row after row, each far from the last few, so that any part of the sequence is spread over all: multiples of the golden ratio.
std::size_t spread_row(std::size_t i, std::size_t rows) {
  constexpr double kGolden = 0.6180339887498949;
  const double place = static_cast<double>(i) * kGolden;
  return std::min(rows - 1, static_cast<std::size_t>((place - std::floor(place)) * static_cast<double>(rows)));
}

}  // namespace

bool PortfolioDesigns::may_be_designed(const PortfolioMember& member) const {
  const std::optional<std::size_t> column = table_.find_column(member);
  return !designed_.contains(member) && !(column && table_.is_wrong(*column)) && !table_.is_hopeless(member);
}

PortfolioDesigns::Asked PortfolioDesigns::asked(std::vector<PortfolioMember> members, const PortfolioTrees& trees) {
  TreeMembers known(trees, members, std::vector<bool>(members.size(), true));
  return {std::move(members), std::move(known)};
}

std::vector<PortfolioDesigns::Expected> PortfolioDesigns::expect(const Asked& asked, const Problem& problem, const Shape& shape) const {
  const std::vector<std::optional<double>> behind = asked.trees.expect(shape, proposals_.launches(asked.members, problem));
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < behind.size(); ++i) {
    if (behind[i]) {
      expected.push_back({asked.members[i], *behind[i]});
    }
  }
  std::ranges::stable_sort(expected, {}, &Expected::behind);
  return expected;
}

std::vector<PortfolioDesigns::Place> PortfolioDesigns::next_places(const Asked& members, double session_seconds) {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  std::vector<Place> places;
  std::set<std::size_t> taken;
  for (std::size_t looks = 0; looks < 2 * kPlaces && places.size() < kPlaces && !rows.empty(); ++looks) {
    const std::size_t row = spread_row(looked_at_++, rows.size());
    Result<Problem> problem = shapes_.problem_at(rows[row].shape);
    if (!taken.insert(row).second || !problem || !shapes_.is_cheap(*problem, session_seconds)) {
      continue;
    }
    const std::vector<Expected> expected = expect(members, *problem, rows[row].shape);
    const auto best =
        std::ranges::find_if(expected, [&](const Expected& one) { return proposals_.legal(one.member, *problem).has_value(); });
    if (best != expected.end()) {
      places.push_back({row, *std::move(problem), best->behind});
    }
  }
  return places;
}

void PortfolioDesigns::seek(const Place& place, const Asked& members, const PortfolioTrees& trees,
                            std::map<PortfolioMember, double>& ahead) const {
  const Shape& shape = table_.rows()[place.row].shape;
  const std::set<PortfolioMember> current(members.members.begin(), members.members.end());
  std::set<PortfolioMember> seen = current, bases;
  std::vector<Expected> all = expect(members, place.problem, shape);
  std::erase_if(all, [&](const Expected& one) { return !proposals_.legal(one.member, place.problem); });
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::vector<PortfolioMember> found;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < all.size() && taken < kBeam; ++i) {
      if (!bases.insert(all[i].member).second) {
        continue;
      }
      ++taken;
      std::ranges::copy_if(proposals_.neighbours(all[i].member, place.problem), std::back_inserter(found),
                           [&](const PortfolioMember& one) { return seen.insert(one).second; });
    }
    std::vector<Expected> more = expect(asked(std::move(found), trees), place.problem, shape);
    std::ranges::move(more, std::back_inserter(all));
    std::ranges::stable_sort(all, {}, &Expected::behind);
  }
  for (const Expected& one : all) {
    const double lead = place.best - one.behind + kDoubt;
    if (lead < kAhead) {
      break;
    }
    if (!current.contains(one.member) && may_be_designed(one.member)) {
      ahead[one.member] += lead;
    }
  }
}

std::vector<PortfolioDesign> PortfolioDesigns::next(const std::vector<PortfolioMember>& members, const PortfolioTrees& trees,
                                                    double session_seconds, std::size_t most) {
  const Asked current = asked(members, trees);
  const std::vector<Place> places = next_places(current, session_seconds);
  std::map<PortfolioMember, double> ahead;
  for (std::size_t i = 0; i < places.size(); i += kPlaces / kSoughtAt) {
    seek(places[i], current, trees, ahead);
  }
  std::vector<std::pair<double, PortfolioMember>> order;
  for (auto& [member, sum] : ahead) {
    order.emplace_back(-sum, member);
  }
  std::ranges::sort(order);
  order.resize(std::min(order.size(), kCandidates));
  std::vector<PortfolioMember> candidates;
  for (auto& [sum, member] : order) {
    candidates.push_back(std::move(member));
  }
  const Asked others = asked(std::move(candidates), trees);
  std::map<PortfolioMember, std::vector<std::pair<double, std::size_t>>> leads;  // and the place
  std::vector<double> reached;
  for (std::size_t i = 0; i < places.size(); ++i) {
    reached.push_back(places[i].best);
    for (const Expected& one : expect(others, places[i].problem, table_.rows()[places[i].row].shape)) {
      const double lead = places[i].best - one.behind + kDoubt;
      if (lead < -kClose) {
        break;
      }
      if (proposals_.legal(one.member, places[i].problem)) {
        leads[one.member].emplace_back(lead, i);
      }
    }
  }
  std::vector<PortfolioDesign> designs;
  while (designs.size() < most) {
    double most_gain = kLeastGain;
    auto best = leads.end();
    for (auto at = leads.begin(); at != leads.end(); ++at) {
      double gain = 0.0;
      for (const auto& [lead, place] : at->second) {
        gain += lead < kAhead ? 0.0 : std::max(0.0, reached[place] - (places[place].best - lead));
      }
      if (gain > most_gain) {
        most_gain = gain;
        best = at;
      }
    }
    if (best == leads.end()) {
      break;
    }
    PortfolioDesign& design = designs.emplace_back(PortfolioDesign{best->first, {}});
    std::ranges::stable_sort(best->second, std::ranges::greater(), &std::pair<double, std::size_t>::first);
    for (const auto& [lead, place] : best->second) {
      reached[place] = std::min(reached[place], places[place].best - lead);
      if (design.rows.size() < (lead < kAhead ? PortfolioTable::kCompared : kMostRows)) {
        design.rows.push_back(places[place].row);
      }
    }
    designed_.insert(best->first);
    leads.erase(best);
  }
  empty_ = designs.empty() ? empty_ + 1 : 0;
  return designs;
}

}  // namespace hone
