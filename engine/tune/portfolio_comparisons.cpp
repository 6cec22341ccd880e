#include "engine/tune/portfolio_comparisons.hpp"

#include <algorithm>
#include <cmath>

#include "engine/kernel/configuration_text.hpp"

namespace hone {
namespace {

constexpr double kNear = 1.2;            // times the fastest: what is slower is not chosen there, and neither is what is somewhat better
constexpr std::size_t kShapesEach = 24;  // that are planned for a member, spread over those where it is near
constexpr std::size_t kEnough = 8;       // shapes at which something is compared
constexpr std::size_t kFirstFew = 3;     // shapes after which it is given up, if it is behind
constexpr double kBehind = 0.03;         // in the mean of the logarithms
constexpr int kMostProposals = 2;        // at one shape: a survey's time may end before it

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

std::vector<PortfolioComparisons::Pair> PortfolioComparisons::pairs_at(const PortfolioMember& member, const Shape& won_at,
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
    pairs.push_back({member, std::move(named), *configuration, std::move(other), slowdown, 0});
  }
  return pairs;
}

void PortfolioComparisons::plan(const std::vector<PortfolioMember>& members, double session_seconds) {
  const std::vector<PortfolioTable::Row> rows = table_.rows();
  const std::vector<std::optional<Shape>> fastest = table_.fastest_at();
  std::vector<bool> is_cheap;
  places_.clear();
  for (const PortfolioTable::Row& row : rows) {
    const Result<Problem> problem = shapes_.problem_at(row.shape);
    is_cheap.push_back(problem && shapes_.is_cheap(*problem, session_seconds));
    places_.push_back({row.shape, {}});
  }
  for (const PortfolioMember& member : members) {
    const std::optional<std::size_t> column = table_.find_column(member);
    if (!column || !fastest[*column]) {
      continue;
    }
    std::vector<std::pair<std::size_t, double>> near;  // rows, slowdowns
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto slowdown = rows[i].slowdowns.find(*column);
      if (is_cheap[i] && slowdown != rows[i].slowdowns.end() && slowdown->second <= kNear) {
        near.emplace_back(i, slowdown->second);
      }
    }
    std::size_t planned = 0;
    for (const std::size_t i : spread(near.size(), kShapesEach)) {
      const auto [row, slowdown] = near[i];
      std::vector<Pair> pairs = pairs_at(member, *fastest[*column], rows[row].shape, slowdown);
      planned += pairs.empty() ? 0 : 1;
      std::ranges::move(pairs, std::back_inserter(places_[row].pairs));
      if (planned == kShapesEach) {
        break;
      }
    }
  }
  std::erase_if(places_, [](const Place& place) { return place.pairs.empty(); });
}

/// Of a member and another, the shapes count at which the member is near the fastest and both were measured.
void PortfolioComparisons::leave_out_what_is_known() {
  struct Compared {
    std::size_t shapes = 0;
    double sum = 0.0;  ///< of the logarithms of the other's time over the member's
  };
  const std::vector<PortfolioTable::Row> rows = table_.rows();
  std::map<std::pair<std::size_t, std::size_t>, Compared> all;  // by the columns of a member and another
  std::map<std::string, const PortfolioTable::Row*> row_of;
  for (const PortfolioTable::Row& row : rows) {
    row_of.emplace(text(row.shape), &row);
  }
  const auto compared = [&](std::size_t member, std::size_t other) {
    const auto [known, is_new] = all.try_emplace({member, other});
    for (std::size_t i = 0; is_new && i < rows.size(); ++i) {
      const auto of_member = rows[i].slowdowns.find(member), of_other = rows[i].slowdowns.find(other);
      if (of_member != rows[i].slowdowns.end() && of_member->second <= kNear && of_other != rows[i].slowdowns.end()) {
        ++known->second.shapes;
        known->second.sum += std::log(of_other->second / of_member->second);
      }
    }
    return known->second;
  };
  for (Place& place : places_) {
    const std::string shape = text(place.shape);
    const PortfolioTable::Row& row = *row_of.at(shape);  // places are rows, and those stay
    std::erase_if(place.pairs, [&](Pair& pair) {
      const auto times = proposed_.find({pair.other, shape});
      if (times != proposed_.end() && times->second >= kMostProposals) {
        return true;
      }
      const std::optional<std::size_t> other = table_.find_column(pair.other);
      if (!other) {
        return false;
      }
      const Compared known = compared(table_.find_column(pair.member).value(), *other);
      pair.compared = known.shapes;
      const bool is_behind = known.shapes >= kFirstFew && known.sum > kBehind * static_cast<double>(known.shapes);
      return is_behind || known.shapes >= kEnough || row.slowdowns.contains(*other);
    });
  }
  std::erase_if(places_, [](const Place& place) { return place.pairs.empty(); });
}

std::optional<PortfolioComparisons::Next> PortfolioComparisons::next(std::size_t most) {
  if (places_.empty() || most < 2) {  // a member and another
    return std::nullopt;
  }
  leave_out_what_is_known();
  const auto richest = std::ranges::max_element(places_, {}, [](const Place& place) { return place.pairs.size(); });
  if (richest == places_.end()) {
    return std::nullopt;
  }
  std::ranges::stable_sort(richest->pairs, [](const Pair& a, const Pair& b) {
    return a.compared != b.compared ? a.compared < b.compared : a.slowdown < b.slowdown;
  });
  struct Group {
    Configuration member;
    std::vector<Configuration> others;
  };
  std::map<std::string, std::vector<Group>> chosen;  // by kernel
  const std::string shape = text(richest->shape);
  std::size_t taken = 0;
  for (const Pair& pair : richest->pairs) {
    std::vector<Group>& of_kernel = chosen[pair.member.kernel];
    auto group = std::ranges::find(of_kernel, pair.configuration, &Group::member);
    const std::size_t more = group == of_kernel.end() ? 2 : 1;
    if (taken + more > most) {
      break;
    }
    taken += more;
    if (group == of_kernel.end()) {
      group = of_kernel.insert(group, {pair.configuration, {}});
    }
    group->others.push_back(pair.other_configuration);
    ++proposed_[{pair.other, shape}];
  }
  Next next{richest->shape, {}};
  for (const auto& [kernel, of_kernel] : chosen) {
    for (const Group& group : of_kernel) {
      std::vector<Configuration>& first = next.first[kernel];
      const auto add = [&first](const Configuration& one) {
        if (std::ranges::find(first, one) == first.end()) {  // what is compared with one may be a member, or be compared with two
          first.push_back(one);
        }
      };
      add(group.member);
      std::ranges::for_each(group.others, add);
    }
  }
  return next;
}

}  // namespace hone
