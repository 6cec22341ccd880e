#include "engine/tune/portfolio_comparisons.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/kernel/configuration_text.hpp"
#include "engine/tune/newly_legal.hpp"

namespace hone {
namespace {

constexpr double kNear = 1.2;            // times the fastest: what is slower is not chosen there, and neither is what is somewhat better
constexpr std::size_t kShapesEach = 24;  // that are looked at for a member, spread over those where it is near
constexpr std::size_t kEnough = 8;       // shapes at which something is compared
constexpr std::size_t kFirstFew = 3;     // shapes after which it is given up, if it is behind
constexpr double kBehind = 0.03;         // in the mean of the logarithms

std::pair<std::string, std::string> name_of(const PortfolioMember& member) { return {member.kernel, member.configuration}; }

}  // namespace

std::vector<PortfolioComparisons::Pair> PortfolioComparisons::pairs_at(const PortfolioMember& member, const Shape& won_at,
                                                                       const PortfolioTable::Row& row, double slowdown) const {
  std::vector<Pair> pairs;
  const KernelSpec* const spec = proposals_.kernel_named(member.kernel);
  const Result<Problem> here = shapes_.problem_at(row.shape), there = shapes_.problem_at(won_at);
  if (spec == nullptr || !here || !there) {
    return pairs;
  }
  const Result<Problem> own_here = problem_for(*spec, *here), own_there = problem_for(*spec, *there);
  const std::optional<Configuration> configuration = proposals_.legal(member, *here);
  if (!own_here || !own_there || !configuration) {
    return pairs;
  }
  for (Configuration& other : newly_legal(*spec, *configuration, *own_here, *own_there, request_.common.device.info)) {
    pairs.push_back({member, {member.kernel, text(spec->parameters, other)}, *configuration, std::move(other), slowdown});
  }
  return pairs;
}

void PortfolioComparisons::plan(const std::vector<PortfolioMember>& members, double session_seconds) {
  const std::vector<PortfolioTable::Row> rows = table_.rows();
  const std::vector<std::optional<Shape>> fastest = table_.fastest_at();
  std::vector<Place> places;
  std::ranges::transform(rows, std::back_inserter(places), [](const PortfolioTable::Row& row) { return Place{row.shape, {}}; });
  for (const PortfolioMember& member : members) {
    const auto column = static_cast<std::size_t>(std::ranges::find(table_.columns(), member) - table_.columns().begin());
    if (column == table_.columns().size() || !fastest[column]) {
      continue;
    }
    std::vector<std::pair<std::size_t, double>> near;  // rows, slowdowns
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto slowdown = rows[i].slowdowns.find(column);
      const bool is_near = slowdown != rows[i].slowdowns.end() && slowdown->second <= kNear;
      const Result<Problem> problem = is_near ? shapes_.problem_at(rows[i].shape) : Result<Problem>(Error{});
      if (problem && shapes_.is_cheap(*problem, session_seconds)) {
        near.emplace_back(i, slowdown->second);
      }
    }
    const std::size_t step = std::max<std::size_t>(1, near.size() / kShapesEach);
    for (std::size_t i = 0; i < near.size(); i += step) {
      const auto [row, slowdown] = near[i];
      std::ranges::move(pairs_at(member, *fastest[column], rows[row], slowdown), std::back_inserter(places[row].pairs));
    }
  }
  std::erase_if(places, [](const Place& place) { return place.pairs.empty(); });
  places_ = std::move(places);
}

std::optional<PortfolioComparisons::Next> PortfolioComparisons::next(std::size_t most) {
  std::map<Name, std::size_t> columns;
  for (std::size_t i = 0; i < table_.columns().size(); ++i) {
    columns.emplace(name_of(table_.columns()[i]), i);
  }
  struct Compared {
    std::size_t shapes = 0;
    double sum = 0.0;  ///< of the logarithms of its time over the member's
  };
  const std::vector<PortfolioTable::Row> rows = table_.rows();
  std::map<std::pair<Name, Name>, Compared> all;
  const auto compared = [&](const Pair& pair) -> const Compared& {
    const auto [at, is_new] = all.try_emplace({name_of(pair.member), name_of(pair.other)});
    const auto member = columns.find(name_of(pair.member)), other = columns.find(name_of(pair.other));
    if (is_new && member != columns.end() && other != columns.end()) {
      for (const PortfolioTable::Row& row : rows) {
        const auto of_member = row.slowdowns.find(member->second), of_other = row.slowdowns.find(other->second);
        if (of_member != row.slowdowns.end() && of_other != row.slowdowns.end()) {
          ++at->second.shapes;
          at->second.sum += std::log(of_other->second / of_member->second);
        }
      }
    }
    return at->second;
  };
  for (Place& place : places_) {
    std::erase_if(place.pairs, [&](const Pair& pair) {
      const Compared& known = compared(pair);
      const bool is_behind = known.shapes >= kFirstFew && known.sum > kBehind * static_cast<double>(known.shapes);
      return known.shapes >= kEnough || is_behind || done_.contains({name_of(pair.other), text(place.shape)});
    });
  }
  std::erase_if(places_, [](const Place& place) { return place.pairs.empty(); });
  const auto richest = std::ranges::max_element(places_, {}, [](const Place& place) { return place.pairs.size(); });
  if (richest == places_.end()) {
    return std::nullopt;
  }
  Next next{richest->shape, {}};
  std::vector<Pair> pairs = std::move(richest->pairs);
  places_.erase(richest);
  std::ranges::stable_sort(pairs, {}, &Pair::slowdown);
  std::size_t taken = 0;
  std::map<std::string, std::vector<Configuration>> others;
  for (Pair& pair : pairs) {
    std::vector<Configuration>& first = next.first[pair.member.kernel];
    const bool is_known = std::ranges::find(first, pair.configuration) != first.end();
    if (taken + (is_known ? 1 : 2) > most) {
      break;
    }
    taken += is_known ? 1 : 2;
    done_.emplace(name_of(pair.other), text(next.shape));
    if (!is_known) {
      first.push_back(std::move(pair.configuration));
    }
    others[pair.member.kernel].push_back(std::move(pair.other_configuration));
  }
  for (auto& [kernel, configurations] : others) {
    for (Configuration& configuration : configurations) {
      std::vector<Configuration>& first = next.first[kernel];
      if (std::ranges::find(first, configuration) == first.end()) {  // two members may have it in common
        first.push_back(std::move(configuration));
      }
    }
  }
  std::erase_if(next.first, [](const auto& one) { return one.second.empty(); });
  return next;
}

}  // namespace hone
