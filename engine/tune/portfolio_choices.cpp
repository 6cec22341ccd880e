#include "engine/tune/portfolio_choices.hpp"

#include <algorithm>

namespace hone {
namespace {

constexpr std::size_t kMostChoices = 4;  // at one shape: what is behind four others is seldom chosen near it
constexpr std::size_t kMany = 16;        // one of so many shapes: there is another pass, since a rule that knows more chooses others

}  // namespace

PlannedSurvey PortfolioChoices::at(const PortfolioTable::Row& row, const Portfolio& so_far, const PortfolioRule& rule, std::size_t most) {
  PlannedSurvey plan{row.shape, {}};
  const auto point = std::ranges::find(so_far.points, row.shape, &PortfolioPoint::shape);
  const Result<Problem> problem = shapes_.problem_at(row.shape);
  if (point == so_far.points.end() || !problem) {
    return plan;
  }
  const MemberLaunches launches = proposals_.launches(so_far.members, *problem);
  std::vector<PortfolioMember> choices;
  std::optional<std::pair<double, PortfolioMember>> fastest;
  bool is_known = false;  // the best expected of those that were timed: the others would not be chosen
  for (const Opinion& opinion : rule.rank_without(static_cast<std::size_t>(point - so_far.points.begin()), launches)) {
    const PortfolioMember& member = so_far.members[opinion.member];
    const std::optional<std::size_t> column = table_.find_column(member);
    const auto slowdown = column ? row.slowdowns.find(*column) : row.slowdowns.end();
    if (slowdown != row.slowdowns.end()) {
      is_known = true;
      fastest = !fastest || slowdown->second < fastest->first ? std::pair(slowdown->second, member) : *fastest;
    } else if (!is_known && choices.size() < std::min(kMostChoices, most - 1) && proposals_.legal(member, *problem) &&
               proposed_[{member, text(row.shape)}] < kMostPlanned) {
      choices.push_back(member);
    }
  }
  for (const PortfolioMember& member : choices) {
    ++proposed_[{member, text(row.shape)}];
  }
  if (fastest && !choices.empty()) {
    choices.insert(choices.begin(), fastest->second);
  }
  for (const PortfolioMember& member : choices) {
    if (const std::optional<Configuration> configuration = proposals_.legal(member, *problem)) {
      plan.first[member.kernel].push_back(*configuration);
    }
  }
  return plan;
}

std::optional<PlannedSurvey> PortfolioChoices::next(const Portfolio& so_far, const PortfolioRule& rule, std::size_t most,
                                                    double session_seconds) {
  if (most < 2) {  // a choice and what it is timed beside
    return std::nullopt;
  }
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  bool is_another = false;
  while (true) {
    if (passed_ >= rows.size()) {
      if (is_another || found_ * kMany < rows.size()) {
        return std::nullopt;
      }
      passed_ = found_ = 0;
      is_another = true;
      continue;
    }
    const PortfolioTable::Row& row = rows[passed_++];
    const Result<Problem> problem = shapes_.problem_at(row.shape);
    if (!problem || !shapes_.is_cheap(*problem, session_seconds)) {
      continue;
    }
    PlannedSurvey plan = at(row, so_far, rule, most);
    if (!plan.first.empty()) {
      ++found_;
      return plan;
    }
  }
}

}  // namespace hone
