#include "engine/tune/range_budget.hpp"

#include <algorithm>
#include <utility>

namespace hone {
namespace {

// Halving a shape's trials costs the choices 2 %, halving the shapes 8 % (docs/results/portfolios-2026-11-23.md).
constexpr double kShapes = 60.0;  // that a budget would be for, if all were explored
// And where many are known: longer sessions find what those before did not, and at large shapes, too
// (docs/results/untuned-h200-2026-11-30-fifth.md).
constexpr double kLaterShapes = 24.0;
constexpr double kLeastEach = 0.9, kMostEach = 10.0;
constexpr double kStarts = 5.0;         // times what a session takes until its first trial begins, that it takes at least
constexpr double kFewestShapes = 10.0;  // that a budget is for, however long that is
constexpr double kSmallShare = 0.9;     // of the budget, for the sessions of a small range
constexpr double kProposalShare = 0.4;  // of a session's trials, that what is known or expected may have: what is not shall be found, too
constexpr double kLeastProposals = 4.0, kMostProposals = 40.0;
constexpr std::size_t kSurveyed = 28;  // configurations that are timed at a surveyed shape, at most
constexpr std::size_t kLeastTime = 8;  // configurations: fewer have as much time as these
constexpr double kSurveyTime = 0.3;    // of an exploring session's, that a survey may take

double shapes_of_budget(bool many_known) { return many_known ? kLaterShapes : kShapes; }

}  // namespace

double seconds_for_shape(double budget_seconds, double start, bool many_known) {
  const double for_start = std::min(kStarts * start, budget_seconds / kFewestShapes);
  return std::clamp(std::max(for_start, budget_seconds / shapes_of_budget(many_known)), kLeastEach, kMostEach);
}

RangeBudget::RangeBudget(const PortfolioRequest& request, const PortfolioTable& table, PortfolioShapes& shapes, std::size_t lanes,
                         std::function<Used()> used)
    : request_(request), table_(table), shapes_(shapes), lanes_(static_cast<double>(lanes)), used_(std::move(used)) {}

double RangeBudget::spent() const {
  const Budget& budget = request_.budget;
  const Used so_far = used();
  const double of_seconds = budget.seconds ? so_far.seconds / *budget.seconds : 0.0;
  const double of_trials = !budget.trials        ? 0.0
                           : *budget.trials == 0 ? 1.0
                                                 : static_cast<double>(so_far.trials) / static_cast<double>(*budget.trials);
  return std::max(of_seconds, of_trials);
}

std::optional<std::int64_t> RangeBudget::trials_left() const {
  const std::optional<std::int64_t>& all = request_.budget.trials;
  return all ? std::optional(*all - used().trials - reserved_trials_) : std::nullopt;
}

bool RangeBudget::is_small() const {
  const Budget& budget = request_.budget;
  const double shapes = shapes_in(request_.range);
  const bool is_long =
      !budget.seconds || kSmallShare * *budget.seconds * lanes_ / shapes >= seconds_for_shape(*budget.seconds, shapes_.start(), false);
  const bool is_many = !budget.trials || static_cast<double>(*budget.trials) / shapes >= static_cast<double>(kLeastTrials);
  return request_.seconds_each == 0.0 && is_long && is_many;
}

Budget RangeBudget::each() const {
  const Budget& budget = request_.budget;
  const bool shared = is_small(), many_known = table_.has_many_shapes();
  const std::size_t measured = table_.rows().size() + reserved_new_shapes_;
  const double unmeasured = std::max(1.0, shapes_in(request_.range) - static_cast<double>(measured));
  Budget one;
  if (request_.seconds_each > 0.0) {
    one.seconds = request_.seconds_each;
  } else if (budget.seconds) {
    one.seconds = shared ? std::max(kLeastEach, kSmallShare * (*budget.seconds - used().seconds) * std::min(1.0, lanes_ / unmeasured))
                         : seconds_for_shape(*budget.seconds, shapes_.start(), many_known);
  }
  if (const std::optional<std::int64_t> all_left = trials_left()) {
    const std::int64_t left = std::max<std::int64_t>(1, *all_left);
    const double part =
        shared ? static_cast<double>(left) / unmeasured : static_cast<double>(*budget.trials) / shapes_of_budget(many_known);
    one.trials = std::min(left, std::max(kLeastTrials, static_cast<std::int64_t>(part)));
  }
  return one;
}

double RangeBudget::session_seconds() const { return each().seconds.value_or(kMostEach); }

std::size_t RangeBudget::proposals_for(const Shape& shape, const Budget& session) const {
  double trials = kMostProposals / kProposalShare;
  if (session.seconds) {
    trials = shapes_.expected_trials(shape, *session.seconds).value_or(trials);
  }
  if (session.trials) {
    trials = std::min(trials, static_cast<double>(*session.trials));
  }
  return static_cast<std::size_t>(std::clamp(kProposalShare * trials, kLeastProposals, kMostProposals));
}

std::size_t RangeBudget::most_surveyed() const {
  constexpr auto kMost = static_cast<std::int64_t>(kSurveyed);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(trials_left().value_or(kMost), 1, kMost));
}

double RangeBudget::survey_seconds(std::size_t configurations) const {
  const double share = static_cast<double>(std::max(configurations, kLeastTime)) / kSurveyed;
  return share * kSurveyTime * session_seconds();
}

RangeBudget::Reservation::Reservation(RangeBudget& budget, const Shape& shape, std::int64_t trials)
    : budget_(budget), shape_(shape), trials_(trials), new_shapes_(budget.table_.holds(shape) ? 0 : 1) {
  budget_.shapes_.reserve(shape_);
  budget_.reserved_trials_ += trials_;
  budget_.reserved_new_shapes_ += new_shapes_;
}

RangeBudget::Reservation::~Reservation() {
  budget_.shapes_.release(shape_);
  budget_.reserved_trials_ -= trials_;
  budget_.reserved_new_shapes_ -= new_shapes_;
}

}  // namespace hone
