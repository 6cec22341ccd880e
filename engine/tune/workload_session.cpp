#include "engine/tune/workload_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/tune/operation_session.hpp"
#include "engine/tune/participants.hpp"
#include "engine/tune/portfolio_shapes.hpp"
#include "engine/tune/workload_account.hpp"
#include "engine/worker/idle_workers.hpp"

namespace hone {
namespace {

using WorkloadClock = std::chrono::steady_clock;

constexpr double kUnmeasured = std::numeric_limits<double>::infinity();
constexpr double kSearchOfBudget = 0.85;  // the rest of a budget in seconds is for final rounds
constexpr double kUsualStart = 1.0;       // seconds until the first trial of a problem
constexpr double kStartsOfFinal = 0.6;    // of what it takes until each kernel has had a trial, that a final round does: all is compiled
constexpr double kLeastForItem = 0.3;     // seconds of a final round, beyond what it takes to begin,
constexpr double kMostForItem = 0.2;      // and of what its item was searched for
constexpr std::size_t kShippedProposals = 4;  // of portfolios that came with Hone, for each kernel
constexpr std::size_t kMarkDigits = 16;
constexpr std::string_view kRun = ".";  // between the mark of a workload and the number of a run of it

/// An item that can be tuned, as far as it has come.
struct Item {
  Operation operation;  ///< with libraries, once it is searched
  bool has_libraries = false;
  std::optional<OperationChoice> before;  ///< what an application got before the run
  ItemSessions sessions;                  ///< of this run
  double session_seconds = 0.0;           ///< of the sessions, which run side by side
  std::set<std::string> tried;            ///< kernels that had a trial in the first slice of this run
  bool finished = false;
};

/// Of a launch, or 0 where the kernel has no cost. The launch itself counts as what a device moves meanwhile; matrix units take narrow
/// types.
double work_of_launch(const WorkloadItem& item) {
  constexpr double kLaunch = 4e6, kFlopsForByte = 20.0, kNarrowFlopsForByte = 300.0;
  const Work work = work_of(*item.operation->definition, item.problem);
  const bool is_narrow = size_of(item.problem.dtype.first()) <= 2;
  return work.bytes + work.flops == 0.0 ? 0.0 : kLaunch + amount_of(work, is_narrow ? kNarrowFlopsForByte : kFlopsForByte);
}

double seconds_since(WorkloadClock::time_point begin) { return std::chrono::duration<double>(WorkloadClock::now() - begin).count(); }

bool ends_the_run(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kStore || error.code == ErrorCode::kIo;
}

class WorkloadSession {
 public:
  WorkloadSession(const WorkloadRequest& request, Store& store, const Registry& registry)
      : request_(request),
        store_(store),
        registry_(registry),
        account_(request, store),
        items_(request.items.size()),
        contenders_(request.items.size()) {
    report_.items.resize(request.items.size());
    std::string all(name(request.split));
    for (const WorkloadItem& item : request.items) {
      all += item.operation == nullptr
                 ? "\n?"
                 : fmt::format("\n{} {} {}", item.operation->name, name(item.problem.dtype), text(item.problem.shape));
    }
    mark_ = digest(std::string_view(all)).substr(0, kMarkDigits);
  }

  Result<WorkloadReport> run() {
    enter();
    HONE_TRY(resume());
    HONE_TRY(look_up_before());
    HONE_TRY(search());
    HONE_TRY(finish());
    return report();
  }

 private:
  // ---- who takes part ----

  void enter() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const WorkloadItem& item = request_.items[i];
      contenders_[i].weight = item.weight;
      if (item.operation == nullptr) {
        fail(i, item.why);
        continue;
      }
      contenders_[i].work = work_of_launch(item);
      contenders_[i].final_round = request_.budget.seconds ? kStartsOfFinal * kUsualStart + kLeastForItem : 0.0;
      contenders_[i].kind = fmt::format("{} {}", item.operation->name, name(item.problem.dtype));
      for (const auto& [axis, extent] : item.problem.shape) {
        contenders_[i].extents.push_back(std::log2(static_cast<double>(std::max<std::int64_t>(1, extent))));
      }
      items_[i].operation = *item.operation;
      std::erase_if(items_[i].operation.implementations, [&](const KernelSpec* spec) { return is_left_out(spec->name); });
      if (items_[i].operation.implementations.empty()) {
        fail(i, fmt::format("--without leaves no kernel of {}", item.operation->name));
      }
    }
  }

  [[nodiscard]] bool is_left_out(const std::string& kernel) const {
    return std::ranges::find(request_.without, kernel) != request_.without.end();
  }

  void fail(std::size_t i, std::string why) {
    report_.items[i].state = ItemState::kFailed;
    report_.items[i].why = std::move(why);
    contenders_[i].can_go_on = false;
    contenders_[i].is_finished = true;
  }

  [[nodiscard]] bool failed(std::size_t i) const { return report_.items[i].state == ItemState::kFailed; }
  [[nodiscard]] bool is_alone(std::size_t i) const { return items_[i].operation.implementations.size() == 1; }

  /// Asking a library for its functions takes a process: not before the item's turn.
  void add_libraries_of(std::size_t i) {
    if (!std::exchange(items_[i].has_libraries, true)) {
      static_cast<void>(add_libraries(items_[i].operation, library_specs_, request_.common.device, request_.items[i].problem,
                                      request_.without, &idle_workers_));
    }
  }

  // ---- what an interrupted run has left ----

  /// The session of a kernel of the item in a run of this workload, without what ends it.
  Result<TuneRequest> request_of(std::size_t i, const KernelSpec& spec) const {
    TuneRequest own = request_.common;
    own.spec = spec;
    own.operation = is_alone(i) ? "" : items_[i].operation.name;
    own.workload = mark_;
    HONE_ASSIGN(own.problem, problem_for(spec, request_.items[i].problem));
    return own;
  }

  [[nodiscard]] static bool is_of(const SessionInfo& session, const TuneRequest& request, const std::string& settings,
                                  const Purpose& purpose) {
    return session.kernel == request.spec.name && session.source_hash == request.spec.source_hash &&
           session.dtypes == name(request.problem.dtype) && session.problem.shape == request.problem.shape &&
           session.product == request.device.info.product && session.purpose == purpose && session.strategy == request.strategy &&
           session.seed == request.seed && session.strategy_parameters == settings;
  }

  /// The newest session of each kernel of an item.
  Result<std::vector<SessionInfo>> sessions_of(std::size_t i, const std::vector<SessionInfo>& all) {
    std::vector<SessionInfo> newest;
    for (const KernelSpec* const spec : items_[i].operation.implementations) {
      const Result<TuneRequest> own = request_of(i, *spec);
      if (!own) {
        continue;
      }
      HONE_ASSIGN(const std::string settings, settings_text(*own));
      const SessionInfo* last = nullptr;
      for (const SessionInfo& session : all) {
        if (is_of(session, *own, settings, account_.purpose()) && (last == nullptr || session.id > last->id)) {
          last = &session;
        }
      }
      if (last != nullptr) {
        newest.push_back(*last);
      }
    }
    return newest;
  }

  void take_over(std::size_t i, const std::vector<SessionInfo>& sessions, bool finished) {
    std::int64_t trials = 0;
    double best = kUnmeasured;
    for (const SessionInfo& session : sessions) {
      items_[i].sessions[session.kernel] = session.id;
      items_[i].session_seconds = std::max(items_[i].session_seconds, session.elapsed_seconds);
      trials += session.trials;
      best = std::min(best, session.best_us.value_or(kUnmeasured));
    }
    contenders_[i].best_us.assign(static_cast<std::size_t>(trials), best);
    contenders_[i].can_go_on = !finished;
    contenders_[i].is_finished = items_[i].finished = finished;
    add_cost(i, items_[i].session_seconds);
  }

  /// The number of the run of this workload that a session is a part of; 0: of none.
  [[nodiscard]] std::int64_t run_of(const SessionInfo& session) const {
    const std::size_t at = session.strategy_parameters.find(mark_ + std::string(kRun));
    std::int64_t number = 0;
    if (at != std::string::npos) {
      const char* const begin = session.strategy_parameters.data() + at + mark_.size() + kRun.size();
      std::from_chars(begin, session.strategy_parameters.data() + session.strategy_parameters.size(), number);
    }
    return number;
  }

  /// The last run goes on if a session of it is still open. What it has finished, in whatever order, stays as it is.
  Result<void> resume() {
    HONE_ASSIGN(std::vector<SessionInfo> all, store_.sessions());
    std::int64_t last = 0, last_like_this = 0;
    bool is_open = false;
    for (const SessionInfo& session : all) {
      const std::int64_t number = run_of(session);
      last = std::max(last, number);
      if (number == 0 || number < last_like_this || session.product != request_.common.device.info.product ||
          session.strategy != request_.common.strategy || session.seed != request_.common.seed) {
        continue;
      }
      is_open = (number == last_like_this && is_open) || session.state == SessionState::kRunning;
      last_like_this = number;
    }
    const bool goes_on = request_.common.resume && is_open;
    std::erase_if(all, [&](const SessionInfo& session) { return run_of(session) != last_like_this; });
    mark_ += fmt::format("{}{}", kRun, goes_on ? last_like_this : last + 1);
    for (std::size_t i = 0; goes_on && i < items_.size(); ++i) {
      if (failed(i)) {
        continue;
      }
      add_libraries_of(i);
      HONE_ASSIGN(const std::vector<SessionInfo> known, sessions_of(i, all));
      if (!known.empty()) {
        take_over(i, known, std::ranges::count(known, SessionState::kRunning, &SessionInfo::state) == 0);
      }
    }
    earlier_seconds_ = seconds();
    return {};
  }

  // ---- what an application gets ----

  Result<void> look_up_before() {
    std::set<std::int64_t> own;  // what an interrupted run has kept is not what was there before
    for (const Item& item : items_) {
      for (const auto& [kernel, session] : item.sessions) {
        own.insert(session);
      }
    }
    HONE_ASSIGN(const std::unique_ptr<Store> earlier, account_.store_before(own));
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (failed(i)) {
        continue;
      }
      Result<OperationChoice> choice = account_.look_up(request_.items[i], earlier != nullptr ? *earlier : store_);
      if (!choice && ends_the_run(choice.error())) {
        return choice.error();
      }
      if (!choice) {
        fail(i, choice.error().message);
        continue;
      }
      items_[i].before = *std::move(choice);
      if (request_.skip_tuned && items_[i].before->choice.source == Source::kExact) {
        skip(i);
      }
      HONE_TRY(note_before(i));
    }
    return {};
  }

  /// What served before is among what a search tries first.
  Result<void> note_before(std::size_t i) {
    if (!failed(i) && contenders_[i].before_us == 0.0) {
      HONE_ASSIGN(const std::optional<Served> before, account_.measured(*items_[i].before, items_[i].sessions));
      contenders_[i].before_us = before ? before->time_us : 0.0;
    }
    return {};
  }

  void skip(std::size_t i) {
    contenders_[i].can_go_on = false;
    ItemReport& item = report_.items[i];
    item.state = ItemState::kSkipped;
    item.before = WorkloadAccount::served(*items_[i].before);
    item.before->time_us = items_[i].before->choice.record ? items_[i].before->choice.record->measurement.median_us : 0.0;
    item.after = item.before;
  }

  // ---- the search ----

  [[nodiscard]] bool in_seconds() const { return request_.budget.seconds.has_value(); }
  [[nodiscard]] bool stopped() const { return request_.common.stop.stop_requested(); }

  void add_cost(std::size_t i, double seconds) {
    report_.items[i].seconds += seconds;
    report_.items[i].trials = static_cast<std::int64_t>(contenders_[i].best_us.size());
    contenders_[i].cost = in_seconds() ? report_.items[i].seconds : static_cast<double>(report_.items[i].trials);
  }

  [[nodiscard]] std::int64_t trials() const {
    std::int64_t sum = 0;
    for (const ItemReport& item : report_.items) {
      sum += item.trials;
    }
    return sum;
  }
  [[nodiscard]] double seconds() const {
    double sum = 0.0;
    for (const ItemReport& item : report_.items) {
      sum += item.seconds;
    }
    return sum;
  }

  [[nodiscard]] double budget() const {
    return in_seconds() ? *request_.budget.seconds : static_cast<double>(request_.budget.trials.value_or(0));
  }

  [[nodiscard]] bool is_out_of_trials() const { return request_.budget.trials && trials() >= *request_.budget.trials; }

  Result<void> search() {
    std::size_t taking_part = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      taking_part += contenders_[i].can_go_on || items_[i].finished ? 1 : 0;
    }
    even_share_ = (in_seconds() ? kSearchOfBudget : 1.0) * budget() / static_cast<double>(std::max<std::size_t>(1, taking_part));
    const WorkloadSchedule schedule(request_.split, taking_part, budget(), in_seconds() ? kUsualStart : 0.0);
    while (!stopped() && !is_out_of_trials()) {
      const std::optional<Slice> slice = schedule.next(contenders_);
      if (!slice) {
        break;
      }
      HONE_TRY(search_slice(*slice));
    }
    return {};
  }

  Result<void> search_slice(const Slice& slice) {
    const std::size_t i = slice.contender, before = contenders_[i].best_us.size();
    const bool whole = slice.is_whole;
    Budget budget;
    if (in_seconds()) {
      budget.seconds = items_[i].session_seconds + slice.cost;
    }
    if (request_.budget.trials) {
      const auto kernels = static_cast<std::int64_t>(items_[i].operation.implementations.size());
      const std::int64_t left = *request_.budget.trials - trials();
      const auto wanted = in_seconds() ? left : std::max(static_cast<std::int64_t>(std::ceil(slice.cost)), 2 * kernels);
      budget.trials = static_cast<std::int64_t>(before) + std::min(left, wanted);
    }
    HONE_TRY(run_session(i, budget, whole));
    // Only what was tried can tell whether there is more to try.
    contenders_[i].can_go_on = contenders_[i].can_go_on && !whole && contenders_[i].best_us.size() > before;
    return note_before(i);
  }

  /// The final rounds, in the order of the items.
  Result<void> finish() {
    double waiting = 0.0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      waiting += waits_for_final_round(i) ? contenders_[i].cost : 0.0;
    }
    for (std::size_t i = 0; i < items_.size() && !stopped(); ++i) {
      if (!waits_for_final_round(i)) {
        continue;
      }
      Budget budget{.seconds = std::nullopt, .trials = std::nullopt};
      if (in_seconds()) {
        const double share = (*request_.budget.seconds - seconds()) * contenders_[i].cost / waiting;
        waiting -= contenders_[i].cost;
        const double least = std::max(kLeastForItem, contenders_[i].final_round);
        budget.seconds = items_[i].session_seconds + std::clamp(share, least, least + kMostForItem * items_[i].session_seconds);
      } else {
        budget.trials = report_.items[i].trials;
      }
      HONE_TRY(run_session(i, budget, true));
    }
    return {};
  }

  [[nodiscard]] bool waits_for_final_round(std::size_t i) const { return !failed(i) && !items_[i].finished && !items_[i].sessions.empty(); }

  /// What an application gets without tuning, and what portfolios that came with Hone would choose: a search begins with it.
  [[nodiscard]] std::map<std::string, std::vector<Configuration>> first_of(std::size_t i) const {
    std::map<std::string, std::vector<Configuration>> first;
    const OperationChoice& before = *items_[i].before;
    if (before.choice.source != Source::kDefault) {
      first[before.spec->name].push_back(before.choice.configuration);
    }
    for (const KernelSpec* const spec : items_[i].operation.implementations) {
      const Result<Problem> problem = problem_for(*spec, request_.items[i].problem);
      if (problem && request_.common.transfer) {
        const auto shipped = shipped_proposals(*spec, *problem, request_.common.device.info, kShippedProposals);
        first[spec->name].insert(first[spec->name].end(), shipped.begin(), shipped.end());
      }
    }
    return first;
  }

  /// A part of the item's session, or its end; what goes wrong with the item is noted.
  Result<void> run_session(std::size_t i, const Budget& budget, bool whole) {
    const auto begin = WorkloadClock::now();
    add_libraries_of(i);
    const bool finishing = whole && request_.split == Split::kGain && !items_[i].sessions.empty();
    const bool is_first = items_[i].tried.empty();  // of this run
    const double earlier = items_[i].session_seconds;
    tell_progress(i, finishing);
    TuneRequest common = request_.common;
    common.budget = budget;
    if (request_.split == Split::kGain && !finishing) {
      common.expected_budget = expected_budget(budget);
    }
    common.first = first_of(i);
    common.workload = mark_;
    common.finish = whole;
    common.resume = request_.common.resume || !items_[i].sessions.empty();
    common.keep_best = true;
    common.idle_workers = &idle_workers_;
    double searched = 0.0;  // seconds, until the last trial
    common.on_progress = [this, i, finishing, is_first, earlier, &searched](const Progress& progress) {
      searched = static_cast<std::size_t>(progress.trials) > contenders_[i].best_us.size() ? progress.elapsed_seconds - earlier : searched;
      contenders_[i].best_us.resize(static_cast<std::size_t>(progress.trials), progress.best_us.value_or(kUnmeasured));
      if (in_seconds() && is_first && items_[i].tried.insert(progress.kernel).second) {
        const double begun = progress.elapsed_seconds - earlier;
        contenders_[i].start = contenders_[i].start == 0.0 ? begun : contenders_[i].start;
        contenders_[i].final_round = kStartsOfFinal * begun + kLeastForItem;
      }
      tell_progress(i, finishing);
    };
    const Result<bool> right = is_alone(i) ? run_kernel(i, std::move(common)) : run_operation(i, std::move(common));
    add_cost(i, seconds_since(begin));
    if (!right) {
      const bool ends = ends_the_run(right.error());
      if (!ends) {
        fail(i, right.error().message);
      }
      return ends && right.error().code != ErrorCode::kCancelled ? Result<void>(right.error()) : Result<void>();
    }
    contenders_[i].is_finished = items_[i].finished = whole && !stopped();
    if (items_[i].finished && in_seconds()) {
      contenders_[i].final_round = seconds_since(begin) - searched;  // those like it will take that
    }
    if (items_[i].finished && !*right) {
      fail(i, "no configuration was right");
    }
    return {};
  }

  /// Of a session that has had so much when its part ends: an even split's share at least, and some more as long as it gains. So a part
  /// ends short of the share after which a search looks beyond the likely configurations, unless it has levelled off.
  [[nodiscard]] Budget expected_budget(const Budget& part) const {
    constexpr double kMore = 4.0 / 3.0;
    Budget all = part;
    if (in_seconds() && part.seconds) {
      all.seconds = std::max(even_share_, kMore * *part.seconds);
    } else if (part.trials) {
      all.trials = static_cast<std::int64_t>(std::max(even_share_, kMore * static_cast<double>(*part.trials)));
    }
    return all;
  }

  /// Whether something was right.
  Result<bool> run_kernel(std::size_t i, TuneRequest common) {
    common.spec = *items_[i].operation.implementations.front();
    HONE_ASSIGN(common.problem, problem_for(common.spec, request_.items[i].problem));
    HONE_ASSIGN(const TuneReport report, tune(common, store_, registry_));
    items_[i].sessions[common.spec.name] = report.session;
    items_[i].session_seconds = report.seconds;
    return report.best.has_value();
  }

  Result<bool> run_operation(std::size_t i, TuneRequest common) {
    common.problem = request_.items[i].problem;
    const OperationRequest all{.operation = &items_[i].operation, .problem = common.problem, .common = std::move(common)};
    HONE_ASSIGN(const OperationReport report, tune(all, store_, registry_));
    for (const KernelReport& kernel : report.kernels) {
      if (kernel.tuned) {
        items_[i].sessions[kernel.spec->name] = kernel.tuned->session;
      }
    }
    items_[i].session_seconds = report.seconds;
    return report.winner.has_value();
  }

  void tell_progress(std::size_t i, bool finishing) const {
    if (!request_.on_progress) {
      return;
    }
    WorkloadProgress progress{.item = i, .finishing = finishing, .elapsed_seconds = earlier_seconds_ + seconds_since(start_)};
    for (const Contender& contender : contenders_) {
      progress.trials += static_cast<std::int64_t>(contender.best_us.size());
      if (!contender.best_us.empty() && std::isfinite(contender.best_us.back())) {
        const auto first = std::ranges::find_if(contender.best_us, [](double best) { return std::isfinite(best); });
        progress.weighted_us += contender.weight * contender.best_us.back();
        progress.default_us += contender.weight * *first;
      }
    }
    request_.on_progress(progress);
  }

  // ---- what is said of it ----

  Result<WorkloadReport> report() {
    bool measured = false;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      ItemReport& item = report_.items[i];
      if (!failed(i) && !items_[i].sessions.empty()) {
        HONE_TRY(account_.account(request_.items[i], *items_[i].before, items_[i].sessions, item));
        item.state = items_[i].finished ? ItemState::kTuned : ItemState::kSearched;
      }
      if (item.before && item.after) {
        measured = true;
        report_.before_us += contenders_[i].weight * item.before->time_us;
        report_.after_us += contenders_[i].weight * item.after->time_us;
      }
    }
    report_.interrupted = stopped();
    report_.seconds = seconds();
    if (stopped() && !measured) {
      return Error{ErrorCode::kCancelled, "asked to stop before anything was measured"};
    }
    return std::move(report_);
  }

  const WorkloadRequest& request_;
  Store& store_;
  const Registry& registry_;
  WorkloadAccount account_;
  std::deque<KernelSpec> library_specs_;
  IdleWorkers idle_workers_;
  std::string mark_;  ///< of the sessions of this workload and split; from resume() on, of this run of it
  std::vector<Item> items_;
  std::vector<Contender> contenders_;  ///< in the same order
  WorkloadReport report_;
  double earlier_seconds_ = 0.0;  ///< of an interrupted run
  double even_share_ = 0.0;       ///< of the search: what each item would get of an even split, in seconds or in trials, as the budget is
  WorkloadClock::time_point start_ = WorkloadClock::now();
};

}  // namespace

std::string_view name(ItemState state) {
  switch (state) {
    case ItemState::kTuned:
      return "tuned";
    case ItemState::kSearched:
      return "searched";
    case ItemState::kSkipped:
      return "skipped";
    case ItemState::kFailed:
      return "failed";
    case ItemState::kNotReached:
      break;
  }
  return "not reached";
}

Result<WorkloadReport> tune(const WorkloadRequest& request, Store& store, const Registry& registry) {
  HONE_TRY(check_is_time(request.common.measure.objective, "workloads are tuned"));
  return WorkloadSession(request, store, registry).run();
}

}  // namespace hone
