#include "engine/tune/portfolio_choices.hpp"

#include <algorithm>

#include "engine/base/cores.hpp"
#include "engine/base/parallel.hpp"

namespace hone {
namespace {

constexpr std::size_t kMostChoices = 4;  // at one shape: what is behind four others is seldom chosen near it
constexpr std::size_t kMany = 16;        // one of so many shapes: there is another pass, since a rule that knows more chooses others
constexpr std::size_t kLooks = 32;       // shapes that are looked at before somebody asks for the time
constexpr double kClearlyBehind = 1.1;   // times the best: what is slower is known not to be the choice
constexpr double kBeside = 2.0;          // times the best: what is slower tells nothing of those beside it

}  // namespace

std::optional<std::size_t> PortfolioChoices::point_of(std::size_t place, const Portfolio& so_far) const {
  const Shape& shape = table_.rows()[place].shape;
  if (place < so_far.points.size() && so_far.points[place].shape == shape) {  // unless the table was sorted since
    return place;
  }
  const auto point = std::ranges::find(so_far.points, shape, &PortfolioPoint::shape);
  return point == so_far.points.end() ? std::nullopt : std::optional(static_cast<std::size_t>(point - so_far.points.begin()));
}

/// Of all that were timed, a member or not.
std::optional<PortfolioMember> PortfolioChoices::fastest(const PortfolioTable::Row& row, const Problem& problem) const {
  const auto first = proposals_.fastest(row, problem, 1);
  return !first.empty() && first.front().first <= kBeside ? std::optional(first.front().second) : std::nullopt;
}

PortfolioChoices::Look PortfolioChoices::look_at(std::size_t place, const Portfolio& so_far, const PortfolioRule& rule,
                                                 double session_seconds) const {
  const PortfolioTable::Row& row = table_.rows()[place];
  Look look{.point = point_of(place, so_far)};
  const Result<Problem> problem = shapes_.problem_at(row.shape);
  if (look.point && problem && shapes_.is_cheap(*problem, session_seconds)) {
    look.problem = *problem;
    const MemberLaunches launches = proposals_.launches(so_far.members, *problem);
    const MayBeChosen is_legal = proposals_.may_be_chosen(so_far.members, *problem);
    look.ranked = so_far.trees ? rule.rank(row.shape, launches, is_legal) : rule.rank_without(*look.point, launches, is_legal);
  }
  return look;
}

PlannedSurvey PortfolioChoices::plan_of(const PortfolioTable::Row& row, const Look& look, const Portfolio& so_far, std::size_t most) {
  PlannedSurvey plan{row.shape, {}};
  const std::optional<Problem>& problem = look.problem;
  if (!problem) {
    return plan;
  }
  const std::string shape = text(row.shape);
  std::vector<PortfolioMember> choices;
  const auto is_timed = [&](const PortfolioMember& member) {
    const std::optional<std::size_t> column = table_.find_column(member);
    return column && row.slowdowns.contains(*column);
  };
  for (const Opinion& opinion : look.ranked) {
    const PortfolioMember& member = so_far.members[opinion.member];
    if (is_timed(member) && so_far.trees && row.slowdowns.at(*table_.find_column(member)) > kClearlyBehind) {
      continue;  // the trees were fitted before it was
    }
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
  // Each thread looks at one: what the others saw is in vain where the first of them has something to time.
  const std::size_t threads = std::min<std::size_t>(usable_cores(), kLooks);
  for (std::size_t looked = 0; looked < kLooks; looked += threads) {
    const std::size_t first = passed_, count = std::min(threads, rows.size() - std::min(first, rows.size()));
    std::vector<Look> looks(count);
    parallel_for(0, count, [&](std::size_t i) { looks[i] = look_at(first + i, so_far, rule, session_seconds); });
    for (std::size_t i = 0; i < threads; ++i) {
      is_done_ = i >= count || !looks[i].point || most < 2;  // a choice and what it is timed beside
      if (is_done_) {
        return std::nullopt;
      }
      const PortfolioTable::Row& row = rows[passed_++];
      PlannedSurvey plan = shapes_.is_reserved(row.shape) ? PlannedSurvey{row.shape, {}} : plan_of(row, looks[i], so_far, most);
      if (!plan.first.empty()) {
        ++found_;
        return plan;
      }
    }
  }
  return std::nullopt;
}

}  // namespace hone
