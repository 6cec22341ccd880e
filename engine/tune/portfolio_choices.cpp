#include "engine/tune/portfolio_choices.hpp"

#include <algorithm>

namespace hone {
namespace {

constexpr std::size_t kMostChoices = 4;  // at one shape: what is behind four others is seldom chosen near it
constexpr std::size_t kMany = 16;        // one of so many shapes: there is another pass, since a rule that knows more chooses others
constexpr std::size_t kLooks = 32;       // shapes that are looked at before somebody asks for the time
constexpr double kBeside = 2.0;          // times the best: what is slower tells nothing of those beside it

}  // namespace

std::optional<std::size_t> PortfolioChoices::point_of(const PortfolioTable::Row& row, const Portfolio& so_far) {
  const auto point = std::ranges::find(so_far.points, row.shape, &PortfolioPoint::shape);
  return point == so_far.points.end() ? std::nullopt : std::optional(static_cast<std::size_t>(point - so_far.points.begin()));
}

/// Of all that were timed, a member or not.
std::optional<PortfolioMember> PortfolioChoices::fastest(const PortfolioTable::Row& row, const Problem& problem) const {
  std::vector<std::pair<double, std::size_t>> timed;  // slowdown, column
  for (const auto& [column, slowdown] : row.slowdowns) {
    if (slowdown <= kBeside && !table_.is_wrong(column)) {
      timed.emplace_back(slowdown, column);
    }
  }
  std::ranges::sort(timed);
  const auto legal =
      std::ranges::find_if(timed, [&](const auto& one) { return proposals_.legal(table_.columns()[one.second], problem).has_value(); });
  return legal == timed.end() ? std::nullopt : std::optional(table_.columns()[legal->second]);
}

PlannedSurvey PortfolioChoices::at(const PortfolioTable::Row& row, std::size_t point, const Portfolio& so_far, const PortfolioRule& rule,
                                   std::size_t most) {
  PlannedSurvey plan{row.shape, {}};
  const Result<Problem> problem = shapes_.problem_at(row.shape);
  if (!problem) {
    return plan;
  }
  const std::string shape = text(row.shape);
  std::vector<PortfolioMember> choices;
  const auto is_timed = [&](const PortfolioMember& member) {
    const std::optional<std::size_t> column = table_.find_column(member);
    return column && row.slowdowns.contains(*column);
  };
  for (const Opinion& opinion :
       rule.rank_without(point, proposals_.launches(so_far.members, *problem), proposals_.may_be_chosen(so_far.members, *problem))) {
    const PortfolioMember& member = so_far.members[opinion.member];
    if (is_timed(member) || choices.size() == std::min(kMostChoices, most - 1)) {
      break;  // the others would not be chosen
    }
    if (proposals_.legal(member, *problem) && proposed_[{member, shape}] < kMostPlanned) {
      choices.push_back(member);
      ++proposed_[{member, shape}];
    }
  }
  const std::optional<PortfolioMember> beside = choices.empty() ? std::nullopt : fastest(row, *problem);
  if (beside) {
    choices.insert(choices.begin(), *beside);
  }
  const std::optional<PortfolioMember> standard = choices.empty() ? std::nullopt : proposals_.standard(*problem);
  if (standard && choices.size() < most && !is_timed(*standard) && std::ranges::find(choices, *standard) == choices.end()) {
    choices.push_back(*standard);
  }
  for (const PortfolioMember& member : choices) {
    plan.first[member.kernel].push_back(proposals_.legal(member, *problem).value());
  }
  return plan;
}

std::optional<PlannedSurvey> PortfolioChoices::next(const Portfolio& so_far, const PortfolioRule& rule, std::size_t most,
                                                    double session_seconds) {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  if (passed_ >= rows.size() && found_ * kMany >= rows.size()) {
    passed_ = found_ = 0;
  }
  for (std::size_t looks = 0; looks < kLooks; ++looks) {
    const std::optional<std::size_t> point = passed_ < rows.size() ? point_of(rows[passed_], so_far) : std::nullopt;
    is_done_ = !point || most < 2;  // a choice and what it is timed beside
    if (is_done_) {
      return std::nullopt;
    }
    const PortfolioTable::Row& row = rows[passed_++];
    const Result<Problem> problem = shapes_.problem_at(row.shape);
    const bool can_be_had = problem && shapes_.is_cheap(*problem, session_seconds) && !shapes_.is_reserved(row.shape);
    PlannedSurvey plan = can_be_had ? at(row, *point, so_far, rule, most) : PlannedSurvey{row.shape, {}};
    if (!plan.first.empty()) {
      ++found_;
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace hone
