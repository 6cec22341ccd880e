#include "engine/tune/portfolio_checks.hpp"

#include <utility>

namespace hone {
namespace {

constexpr int kMostProposed = 2;    // times: what cannot be had in its turn may be had in another one
constexpr double kShortUs = 1e3;    // calls that are much shorter cost no less to check
constexpr double kStillNear = 4.0;  // times the best: what is further behind may have been timed without a look at its results

}  // namespace

void PortfolioChecks::end(const PlannedCheck& check) {
  for (const PortfolioMember& member : check.members) {
    under_way_.erase(member);
  }
}

std::optional<PlannedCheck> PortfolioChecks::next(const std::vector<PortfolioMember>& members, std::size_t most) {
  std::vector<std::pair<const PortfolioMember*, std::size_t>> left;  // and its column
  for (const PortfolioMember& member : members) {
    const std::optional<std::size_t> column = table_.find_column(member);
    const bool is_free = proposed_[member] < kMostProposed && !under_way_.contains(member);
    if (column && is_free && !table_.is_checked(member) && !table_.is_wrong(*column)) {
      left.emplace_back(&member, *column);
    }
  }
  const PortfolioTable::Row* best = nullptr;
  double most_worth = 0.0;
  const auto was_right = [](const PortfolioTable::Row& row, std::size_t column) {
    const auto slowdown = row.slowdowns.find(column);
    return slowdown != row.slowdowns.end() && slowdown->second < kStillNear;
  };
  for (const PortfolioTable::Row& row : table_.rows()) {
    double count = 0.0;
    for (const auto& [member, column] : left) {
      count += was_right(row, column) ? 1.0 : 0.0;
    }
    if (const double worth = count / (kShortUs + row.best_us); worth > most_worth) {
      most_worth = worth;
      best = &row;
    }
  }
  const Result<Problem> problem = best != nullptr ? shapes_.problem_at(best->shape) : Result<Problem>(Error{});
  if (!problem) {
    return std::nullopt;
  }
  PlannedCheck planned{{best->shape, {}}, {}};
  for (const auto& [member, column] : left) {
    if (most == 0 || !was_right(*best, column)) {
      continue;
    }
    ++proposed_[*member];
    if (std::optional<Configuration> configuration = proposals_.legal(*member, *problem)) {
      planned.survey.first[member->kernel].push_back(*std::move(configuration));
      planned.members.push_back(*member);
      under_way_.insert(*member);
      --most;
    }
  }
  return planned;
}

}  // namespace hone
