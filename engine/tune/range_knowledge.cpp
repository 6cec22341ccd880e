#include "engine/tune/range_knowledge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/tune/survey.hpp"

namespace hone {
namespace {

constexpr double kLearnAgain = 1.5;  // times as many shapes as when it was last asked what a portfolio of them is like

}  // namespace

std::string range_mark(const ShapeRange& range) {
  constexpr std::size_t kDigits = 16;
  return digest(text(range)).substr(0, kDigits);
}

RangeKnowledge::RangeKnowledge(const PortfolioRequest& request, Store& store) : request_(request), store_(store) {
  about_.operation = request.operation->name;
  about_.dtypes = name(request.dtypes);
  about_.range = request.range;
  key_ = portfolio_key(about_.operation, request.dtypes, request.common.device.info,
                       purpose_within(request.common.measure.max_error, request.common.measure.given.digest));
  key_.statics = statics_text(*request.operation->definition, request.range);
  key_.range = text(request.range);
  about_.product = key_.device;
  about_.architecture = request.common.device.info.architecture;
  about_.rule.reach.assign(static_cast<std::size_t>(std::ranges::count_if(request.range.axes, &RangeAxis::varies)),
                           RuleSettings::kUsualReach);
  for (const KernelSpec* const spec : request.operation->implementations) {
    about_.sources.emplace(spec->name, spec->source_hash);
  }
}

/// Whether it ran on this device, or on one that has the same share of the same product: another measures other times.
bool RangeKnowledge::is_here(const SessionInfo& session) const {
  const DeviceInfo& device = request_.common.device.info;
  return session.product == device.product && session.mig_profile == device.mig_profile && session.share == device.share;
}

Result<void> RangeKnowledge::load() {
  HONE_ASSIGN(const std::vector<SessionInfo> sessions, store_.sessions());
  std::map<Shape, std::pair<double, TrialTimes>> searched;  // of all kernels: seconds, and when trials were made
  for (const KernelSpec* const spec : request_.operation->implementations) {
    for (const SessionInfo& session : sessions) {
      const Shape shape = ordered_as(request_.range, session.problem.shape);
      const bool fits = session.kernel == spec->name && session.source_hash == spec->source_hash && session.dtypes == about_.dtypes &&
                        is_here(session) && session.purpose == key_.purpose && distance(request_.range, shape) == 0.0 &&
                        !shapes_.is_held_out(shape);
      if (fits) {
        HONE_ASSIGN(const std::vector<Trial> trials, store_.trials(session.id, spec->parameters));
        HONE_TRY(note(shape, *spec, trials));
        if (session.strategy != kSurveyStrategy) {
          if (session.state == SessionState::kRunning && !session.owner_alive && range_of(session) == range_mark(request_.range)) {
            shapes_.go_on_with(shape);
          }
          auto& [seconds, times] = searched[shape];
          seconds = std::max(seconds, session.elapsed_seconds);
          times.add(trials);
        }
      }
    }
  }
  for (const auto& [shape, session] : searched) {
    const auto& [seconds, times] = session;
    if (times.is_any_right()) {  // one that failed at once says nothing about trials
      shapes_.note_session(shape, times.start(), times.seconds(seconds), times.trials());
    }
  }
  if (request_.resume) {
    HONE_TRY(load_portfolios());
    add_uncounted(sessions);
  }
  if (portfolio_.points.empty()) {
    learn();
  }
  for (const PortfolioPoint& point : portfolio_.points) {
    shapes_.note_time(point.shape, point.best_us);
  }
  return {};
}

void RangeKnowledge::add_uncounted(const std::vector<SessionInfo>& sessions) {
  const std::string mark = range_mark(request_.range);
  std::map<std::string, double> seconds;                        // of devices that measured side by side
  std::map<std::pair<std::string, Shape>, double> of_searches;  // an operation's kernels are searched side by side, too
  for (const SessionInfo& session : sessions) {
    const bool fits = range_of(session) == mark && session.created_at > counted_until_ && session.dtypes == about_.dtypes &&
                      is_here(session) && session.purpose == key_.purpose;
    if (!fits) {
      continue;
    }
    about_.trials += session.trials;
    if (session.strategy == kSurveyStrategy) {
      seconds[session.device_id] += session.elapsed_seconds;
    } else {
      double& longest = of_searches[{session.device_id, session.problem.shape}];
      longest = std::max(longest, session.elapsed_seconds);
    }
  }
  for (const auto& [where, spent] : of_searches) {
    seconds[where.first] += spent;
  }
  double longest = 0.0;
  for (const auto& [device, spent] : seconds) {
    longest = std::max(longest, spent);
  }
  about_.seconds += longest;
}

/// The store's own comes before what came with Hone, and what it took is of the budget.
Result<void> RangeKnowledge::load_portfolios() {
  HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store_.find_portfolios(key_));
  for (const StoredPortfolio& one : stored) {
    const Result<Portfolio> earlier = parse_portfolio(one.text);
    if (one.key.range == key_.range && earlier) {
      about_.seconds = earlier->seconds;
      about_.trials = earlier->trials;
      counted_until_ = one.created_at;
      has_own_ = go_on_from(*earlier) || has_own_;
    }
  }
  if (request_.common.transfer && key_.purpose == Purpose()) {
    if (const auto shipped = shipped_portfolio(key_, request_.range)) {
      Portfolio of_hone = shipped->portfolio();
      of_hone.is_checked = true;  // by those who made it
      go_on_from(of_hone);
    }
  }
  return {};
}

/// What is left of the measurements of an earlier portfolio, unless a kernel has changed since. The first one stands in for this
/// session's own, to begin with: a rule takes seconds to fit.
bool RangeKnowledge::go_on_from(const Portfolio& earlier) {
  const bool is_current = std::ranges::all_of(earlier.sources, [&](const auto& source) {
    const auto own = about_.sources.find(source.first);
    return own != about_.sources.end() && own->second == source.second;
  });
  if (!is_current || earlier.points.empty() || earlier.members.empty()) {
    return false;
  }
  table_.add(earlier, [&](const Shape& shape) -> std::optional<PortfolioTable::There> {
    const Result<Problem> problem = shapes_.problem_at(shape);
    if (!problem || shapes_.is_held_out(shape)) {
      return std::nullopt;
    }
    return PortfolioTable::There{work_of(*request_.operation->definition, *problem), proposals_.launches(earlier.members, *problem)};
  });
  if (portfolio_.points.empty()) {
    portfolio_ = earlier;
    if (std::erase_if(portfolio_.points, [this](const PortfolioPoint& point) { return shapes_.is_held_out(point.shape); }) > 0) {
      portfolio_.trees.reset();  // they know those, too
    }
    learnt_ = portfolio_.points.size();
    make_rule();
  }
  return true;
}

Result<void> RangeKnowledge::note(const Shape& shape, const KernelSpec& spec, const std::vector<Trial>& trials) {
  HONE_ASSIGN(const Problem problem, shapes_.problem_at(shape));
  HONE_ASSIGN(const Problem own, problem_for(spec, problem));
  has_own_ = true;
  table_.add(shape, work_of(*request_.operation->definition, problem), spec, own, request_.common.device.info, trials);
  return {};
}

void RangeKnowledge::note_shape(const Shape& shape, bool explored) {
  const std::vector<PortfolioTable::Row>& rows = table_.rows();
  const auto row = std::ranges::find(rows, shape, &PortfolioTable::Row::shape);
  if (row != rows.end()) {
    shapes_.note_time(shape, row->best_us);
  }
  if (static_cast<double>(rows.size()) >= kLearnAgain * static_cast<double>(learnt_)) {
    learn();
  } else if (explored && rule_) {
    learn_as_set();
  }
}

void RangeKnowledge::learn() {
  portfolio_ = table_.portfolio(about_, request_.most_members);
  portfolio_.trees = fit_trees(portfolio_);
  learnt_ = portfolio_.points.size();
  make_rule();
}

void RangeKnowledge::learn_as_set() {
  portfolio_ = table_.portfolio_as_set(portfolio_, request_.most_members);
  make_rule();
}

void RangeKnowledge::make_rule() {
  rule_.reset();
  if (!portfolio_.points.empty() && !portfolio_.members.empty()) {
    rule_.emplace(portfolio_);
  }
}

void RangeKnowledge::prepare_to_finish() {
  table_.sort();
  learn_as_set();
}

Portfolio RangeKnowledge::finish() {
  table_.sort();
  table_.choose_checked_only();
  portfolio_ = table_.portfolio(about_, request_.most_members);
  Portfolio portfolio = portfolio_;
  table_.judge(portfolio, request_.most_members);
  portfolio.sources.clear();
  for (const PortfolioMember& member : portfolio.members) {
    portfolio.sources.emplace(member.kernel, about_.sources.at(member.kernel));
  }
  portfolio = thinned(std::move(portfolio), Portfolio::kMostPoints);
  portfolio.trees = fit_trees(portfolio);
  portfolio.is_checked = true;
  portfolio_.trees = portfolio.trees;
  make_rule();
  return portfolio;
}

PortfolioProposals::First RangeKnowledge::proposed(const Shape& shape, const Problem& problem, std::size_t most,
                                                   std::size_t most_members) const {
  return proposals_.at(shape, problem, portfolio_.points.empty() ? about_ : portfolio_, rule(), most, most_members);
}

std::optional<Opinion> RangeKnowledge::choice(const Shape& shape, const Problem& problem) const {
  const MayBeChosen is_legal = proposals_.may_be_chosen(portfolio_.members, problem);
  const std::vector<Opinion> ranked = rule_->rank(shape, proposals_.launches(portfolio_.members, problem), is_legal);
  const auto legal = std::ranges::find_if(ranked, [&](const Opinion& opinion) { return is_legal(opinion.member); });
  return legal == ranked.end() ? std::nullopt : std::optional(*legal);
}

double RangeKnowledge::need(const Shape& shape) const {
  const Result<Problem> problem = shapes_.problem_at(shape);
  if (!rule_ || !problem) {
    return 0.0;
  }
  const std::optional<Opinion> chosen = choice(shape, *problem);
  if (!chosen) {
    return std::numeric_limits<double>::infinity();
  }
  return portfolio_.trees ? chosen->slowdown : chosen->slowdown + chosen->doubt;
}

}  // namespace hone
