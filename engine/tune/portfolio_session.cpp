#include "engine/tune/portfolio_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include "engine/kernel/static_fields.hpp"
#include "engine/store/portfolio_lookup.hpp"
#include "engine/tune/operation_session.hpp"
#include "engine/tune/portfolio_table.hpp"

namespace hone {
namespace {

using PortfolioClock = std::chrono::steady_clock;

constexpr std::size_t kFirstShapes = 5;     // spread evenly; later ones lie where the rule doubts most
constexpr std::uint64_t kCandidates = 192;  // shapes among which the most doubtful is measured
// Halving a shape's trials costs the choices 2 %, halving the shapes 8 % (docs/results/portfolios-2026-11-23.md).
constexpr double kShapes = 60.0;  // that a budget is for
constexpr double kLeastEach = 0.9, kMostEach = 10.0;
constexpr std::int64_t kLeastTrials = 6;
constexpr double kExploreShare = 0.75;                        // of a budget: the rest measures members where they were not tried
constexpr std::size_t kNeighbours = 4;                        // shapes whose winners are tried at a new one
constexpr int kPatienceWithShapes = 3;                        // in a row that fail
constexpr double kLaunches = 100.0;                           // of the best configuration that a shape's session must have time for
constexpr double kFirstBytes = 64 << 20, kFirstFlops = 1e10;  // of a shape before anything is known

/// Of one call: what it moves and what it computes, in a common measure.
double work_of(const KernelSpec& spec, const Problem& problem) {
  constexpr double kFlopsForByte = 20.0;
  const Bindings bound = bindings(problem);
  const Result<Value> bytes = spec.cost.bytes.evaluate(bound), flops = spec.cost.flops.evaluate(bound);
  return std::max({1.0, bytes ? bytes->real() : 0.0, flops ? flops->real() / kFlopsForByte : 0.0});
}

class PortfolioSession {
 public:
  PortfolioSession(const PortfolioRequest& request, Store& store, const Registry& registry)
      : request_(request), store_(store), registry_(registry) {
    about_.operation = request.operation->name;
    about_.dtypes = name(request.dtypes);
    about_.range = request.range;
    key_ = portfolio_key(about_.operation, request.dtypes, request.common.device.info,
                         purpose_within(request.common.measure.max_error, request.common.measure.given.digest));
    key_.statics = statics_text(*request.operation->definition, request.range);
    key_.range = text(request.range);
    about_.product = key_.device;
    for (const KernelSpec* const spec : request.operation->implementations) {
      about_.sources.emplace(spec->name, spec->source_hash);
    }
  }

  Result<PortfolioReport> run() {
    HONE_TRY(load());
    while (!is_over() && !stopped()) {
      const Result<void> done = step();
      if (!done && done.error().code == ErrorCode::kCancelled) {
        break;
      }
      HONE_TRY(done);
    }
    report_.interrupted = stopped();
    return finish();
  }

 private:
  // ---- what is known ----

  /// Whether it ran on this device, or on one that has the same share of the same product: another measures other times.
  [[nodiscard]] bool is_here(const SessionInfo& session) const {
    const DeviceInfo& device = request_.common.device.info;
    return session.product == device.product && session.mig_profile == device.mig_profile && session.share == device.share;
  }

  /// Trials of every session in the range, whoever ran it, and what earlier runs have spent.
  Result<void> load() {
    HONE_ASSIGN(const std::vector<SessionInfo> sessions, store_.sessions());
    for (const KernelSpec* const spec : request_.operation->implementations) {
      for (const SessionInfo& session : sessions) {
        const Shape shape = ordered_as(request_.range, session.problem.shape);
        const bool fits = session.kernel == spec->name && session.source_hash == spec->source_hash && session.dtypes == about_.dtypes &&
                          is_here(session) && session.purpose == key_.purpose && distance(request_.range, shape) == 0.0;
        if (fits) {
          HONE_ASSIGN(const std::vector<Trial> trials, store_.trials(session.id, spec->parameters));
          table_.add(shape, *spec, trials);
        }
      }
    }
    HONE_ASSIGN(const std::vector<StoredPortfolio> stored, store_.find_portfolios(key_));
    for (const StoredPortfolio& one : stored) {
      const Result<Portfolio> earlier = parse_portfolio(one.text);
      if (request_.resume && one.key.range == key_.range && earlier) {
        about_.seconds = earlier->seconds;
        about_.trials = earlier->trials;
      }
    }
    learn();
    return {};
  }

  void learn() {
    const Portfolio made = table_.portfolio(about_, request_.most_members);
    rule_.reset();
    portfolio_ = made;
    if (!made.points.empty() && !made.members.empty()) {
      rule_.emplace(made);
    }
  }

  [[nodiscard]] double elapsed() const { return about_.seconds + std::chrono::duration<double>(PortfolioClock::now() - start_).count(); }
  [[nodiscard]] bool stopped() const { return request_.common.stop.stop_requested(); }
  /// The share of the budget that is spent.
  [[nodiscard]] double spent() const {
    const Budget& budget = request_.budget;
    const double of_seconds = budget.seconds ? elapsed() / *budget.seconds : 0.0;
    const double of_trials = budget.trials ? static_cast<double>(about_.trials + trials_) / static_cast<double>(*budget.trials) : 0.0;
    return std::max(of_seconds, of_trials);
  }
  [[nodiscard]] bool is_over() const { return spent() >= 1.0 || exhausted_; }

  [[nodiscard]] Budget each() const {
    const Budget& budget = request_.budget;
    Budget one;
    if (request_.seconds_each > 0.0) {
      one.seconds = request_.seconds_each;
    } else if (budget.seconds) {
      one.seconds = std::clamp(*budget.seconds / kShapes, kLeastEach, kMostEach);
    }
    if (budget.trials) {
      one.trials = std::max(kLeastTrials, *budget.trials / static_cast<std::int64_t>(kShapes));
    }
    return one;
  }

  // ---- which shape ----

  [[nodiscard]] Result<Problem> problem_at(const Shape& shape) const {
    return make_problem(*request_.operation->definition, request_.dtypes, shape);
  }

  /// Whether it fits the device's memory and a session's time, as far as one can tell from the shapes that were measured.
  [[nodiscard]] bool affordable(const Problem& problem) const {
    const KernelSpec& spec = *request_.operation->definition;
    const auto memory = request_.common.device.info.properties.find("memory");
    constexpr double kRangeMemoryShare = 0.1;
    const double room = memory == request_.common.device.info.properties.end() ? request_.most_bytes
                                                                               : kRangeMemoryShare * static_cast<double>(memory->second);
    const double bytes = argument_bytes(spec, problem);
    if (bytes > std::min(room, request_.most_bytes)) {
      return false;
    }
    if (portfolio_.points.empty()) {
      const Result<Value> flops = spec.cost.flops.evaluate(bindings(problem));
      return bytes <= kFirstBytes && (!flops || flops->real() <= kFirstFlops);
    }
    double rate = 0.0;  // work in a microsecond
    for (const PortfolioPoint& point : portfolio_.points) {
      const Result<Problem> known = problem_at(point.shape);
      rate = std::max(rate, known ? work_of(spec, *known) / point.best_us : 0.0);
    }
    return work_of(spec, problem) / rate * kLaunches <= each().seconds.value_or(kMostEach) * 1e6;
  }

  /// At the beginning what fills the range evenly, then the most doubtful of many. Nothing where none is left.
  [[nodiscard]] std::optional<Shape> next() {
    std::optional<Shape> most_wanted;
    double most = -1.0;
    const bool even = table_.rows().size() < kFirstShapes || !rule_;
    for (std::uint64_t i = 0; i < kCandidates; ++i) {
      Shape shape = draw(request_.range, even ? i : drawn_ + i);
      const Result<Problem> problem = problem_at(shape);
      if (table_.holds(shape) || refused_.contains(text(shape)) || !problem || !affordable(*problem)) {
        continue;
      }
      if (even) {
        return shape;
      }
      const Opinion opinion = rule_->rank(shape).front();
      if (const double wanted = opinion.doubt + opinion.slowdown; wanted > most) {
        most = wanted;
        most_wanted = std::move(shape);
      }
    }
    drawn_ += kCandidates;
    return most_wanted;
  }

  [[nodiscard]] const KernelSpec* kernel_named(const std::string& kernel) const {
    const auto& all = request_.operation->implementations;
    const auto found = std::ranges::find_if(all, [&](const KernelSpec* spec) { return spec->name == kernel; });
    return found == all.end() ? nullptr : *found;
  }

  /// The configuration, where it is legal for the problem.
  [[nodiscard]] std::optional<Configuration> legal(const PortfolioMember& member, const Problem& problem) const {
    const KernelSpec* const spec = kernel_named(member.kernel);
    const Result<Problem> own = spec == nullptr ? Result<Problem>(problem) : problem_for(*spec, problem);
    if (spec == nullptr || !own) {
      return std::nullopt;
    }
    const Result<Configuration> configuration = parse_configuration(spec->parameters, member.configuration);
    const bool valid = configuration && valid_for(*spec, *own, request_.common.device.info, *configuration);
    return valid ? std::optional(*configuration) : std::nullopt;
  }

  // ---- a shape ----

  using First = std::map<std::string, std::vector<Configuration>>;

  void add_first(First& first, const PortfolioMember& member, const Problem& problem) const {
    if (const std::optional<Configuration> configuration = legal(member, problem)) {
      std::vector<Configuration>& own = first[member.kernel];
      if (std::ranges::find(own, *configuration) == own.end()) {
        own.push_back(*configuration);
      }
    }
  }

  /// What a new shape's session begins with: the members, best expected first, and what won at the shapes next to it.
  [[nodiscard]] First proposals(const Shape& shape, const Problem& problem) const {
    First first;
    if (rule_) {
      for (const Opinion& opinion : rule_->rank(shape)) {
        add_first(first, portfolio_.members[opinion.member], problem);
      }
    }
    std::vector<PortfolioTable::Row> rows = table_.rows();
    std::ranges::stable_sort(rows, {}, [&](const PortfolioTable::Row& row) { return shape_distance(row.shape, shape); });
    for (std::size_t i = 0; i < std::min(kNeighbours, rows.size()); ++i) {
      const auto best = std::ranges::min_element(rows[i].slowdowns, {}, [](const auto& cell) { return cell.second; });
      add_first(first, table_.columns()[best->first], problem);
    }
    return first;
  }

  /// The legal members that were not measured at a point.
  [[nodiscard]] First missing(const PortfolioPoint& point, const Problem& problem) const {
    First first;
    for (std::size_t i = 0; i < point.slowdowns.size(); ++i) {
      if (!point.slowdowns[i]) {
        add_first(first, portfolio_.members[i], problem);
      }
    }
    return first;
  }

  static std::size_t count(const First& first) {
    std::size_t sum = 0;
    for (const auto& [kernel, configurations] : first) {
      sum += configurations.size();
    }
    return sum;
  }

  /// The measured shape where most members are missing.
  Result<bool> fill_gaps() {
    First most;
    Shape shape;
    for (const PortfolioPoint& point : portfolio_.points) {
      HONE_ASSIGN(const Problem problem, problem_at(point.shape));
      First own = missing(point, problem);
      if (count(own) > count(most) && !revisited_.contains(text(point.shape))) {
        most = std::move(own);
        shape = point.shape;
      }
    }
    if (most.empty()) {
      return false;
    }
    revisited_.insert(text(shape));
    Budget budget = each();
    const auto kernels = static_cast<std::int64_t>(request_.operation->implementations.size());
    budget.trials = static_cast<std::int64_t>(count(most)) + 2 * kernels;
    HONE_TRY(measure(shape, std::move(most), budget, true));
    return true;
  }

  Result<void> step() {
    if (spent() >= kExploreShare && table_.rows().size() >= kFirstShapes) {
      HONE_ASSIGN(const bool filled, fill_gaps());
      if (filled) {
        return {};
      }
      revisited_.clear();
    }
    const std::optional<Shape> shape = next();
    if (!shape) {
      exhausted_ = ++empty_turns_ >= kPatienceWithShapes;
      return {};
    }
    HONE_ASSIGN(const Problem problem, problem_at(*shape));
    return measure(*shape, proposals(*shape, problem), each(), false);
  }

  Result<void> measure(const Shape& shape, First first, const Budget& budget, bool again) {
    if (request_.on_progress) {
      request_.on_progress({table_.rows().size(), shape, again, elapsed(), portfolio_.expected});
    }
    TuneRequest common = request_.common;
    common.budget = budget;
    common.first = std::move(first);
    common.keep_best = false;
    common.on_progress = nullptr;
    HONE_ASSIGN(common.problem, problem_at(shape));
    Result<void> done =
        request_.operation->implementations.size() == 1 ? measure_one(shape, std::move(common)) : measure_all(shape, std::move(common));
    if (done) {
      failures_in_a_row_ = empty_turns_ = 0;
      ++report_.measured;
      learn();
      return {};
    }
    const ErrorCode code = done.error().code;
    if (code == ErrorCode::kCancelled || code == ErrorCode::kStore || code == ErrorCode::kIo) {
      return done;
    }
    refused_.insert(text(shape));
    report_.failures.push_back(fmt::format("{}: {}", text(shape), done.error().message));
    // An empty space says something about the shape; what else fails again and again is no matter of shapes.
    failures_in_a_row_ += code == ErrorCode::kEmptySpace ? 0 : 1;
    exhausted_ = failures_in_a_row_ >= kPatienceWithShapes;
    return exhausted_ && portfolio_.members.empty() ? done : Result<void>();
  }

  Result<void> add(const Shape& shape, const KernelSpec& spec, std::int64_t session) {
    HONE_ASSIGN(const std::vector<Trial> trials, store_.trials(session, spec.parameters));
    trials_ += static_cast<std::int64_t>(trials.size());
    table_.add(shape, spec, trials);
    return {};
  }

  Result<void> measure_one(const Shape& shape, TuneRequest one) {
    one.spec = *request_.operation->implementations.front();
    HONE_ASSIGN(one.problem, problem_for(one.spec, one.problem));
    HONE_ASSIGN(const TuneReport report, tune(one, store_, registry_));
    return add(shape, one.spec, report.session);
  }

  Result<void> measure_all(const Shape& shape, TuneRequest common) {
    const Problem problem = common.problem;
    const OperationRequest all{.operation = request_.operation, .problem = problem, .common = std::move(common)};
    HONE_ASSIGN(const OperationReport report, tune(all, store_, registry_));
    for (const KernelReport& kernel : report.kernels) {
      if (kernel.tuned) {
        HONE_TRY(add(shape, *kernel.spec, kernel.tuned->session));
      }
    }
    return {};
  }

  // ---- the end ----

  Result<PortfolioReport> finish() {
    if (portfolio_.members.empty()) {
      if (stopped()) {
        return cancelled_early();
      }
      return Error{ErrorCode::kEmptySpace, fmt::format("no shape of {} could be tuned{}", text(request_.range),
                                                       report_.failures.empty() ? ": none fits the device, --largest and the budget"
                                                                                : ": " + report_.failures.front())};
    }
    table_.judge(portfolio_, request_.most_members);
    portfolio_.seconds = elapsed();
    portfolio_.trials = about_.trials + trials_;
    std::map<std::string, std::string> sources;
    for (const PortfolioMember& member : portfolio_.members) {
      sources.emplace(member.kernel, about_.sources.at(member.kernel));
    }
    portfolio_.sources = std::move(sources);
    HONE_ASSIGN(report_.generation, store_.put_portfolio(key_, text(portfolio_)));
    HONE_TRY(weigh());
    ask();
    report_.portfolio = std::move(portfolio_);
    return std::move(report_);
  }

  [[nodiscard]] static Error cancelled_early() { return {ErrorCode::kCancelled, "asked to stop before anything was measured"}; }

  /// The bytes of the members' code: each is compiled for some shape at which it was measured.
  Result<void> weigh() {
    for (std::size_t i = 0; i < portfolio_.members.size(); ++i) {
      const PortfolioMember& member = portfolio_.members[i];
      const auto measured = std::ranges::find_if(portfolio_.points, [&](const auto& point) { return point.slowdowns[i].has_value(); });
      if (measured == portfolio_.points.end()) {
        continue;
      }
      const KernelSpec& spec = *kernel_named(member.kernel);
      HONE_ASSIGN(const Problem problem, problem_at(measured->shape));
      HONE_ASSIGN(const Problem own, problem_for(spec, problem));
      HONE_ASSIGN(const auto compiled, store_.find_compiled(compiled_key(spec, own, member.configuration, request_.common.device.info)));
      report_.code_bytes += compiled ? static_cast<double>(compiled->artifact->bytes.size()) : 0.0;
    }
    return {};
  }

  /// Where the rule would like to know more.
  void ask() {
    constexpr std::size_t kNamed = 5;
    constexpr std::uint64_t kProbes = 256;
    std::size_t probes = 0, wanted = 0;
    for (std::uint64_t i = 0; i < kProbes; ++i) {
      const Shape shape = draw(request_.range, i);
      const Result<Problem> problem = problem_at(shape);
      if (!problem || argument_bytes(*request_.operation->definition, *problem) > request_.most_bytes) {
        continue;
      }
      ++probes;
      for (const Opinion& opinion : rule_->rank(shape)) {
        if (!legal(portfolio_.members[opinion.member], *problem)) {
          continue;
        }
        const Prediction prediction{std::exp(opinion.slowdown), std::expm1(opinion.doubt), report_.generation, false};
        if (prediction.wants_tuning() && !table_.holds(shape)) {
          ++wanted;
          report_.wanted.push_back({shape, prediction});
        }
        break;
      }
    }
    report_.wants_tuning = probes == 0 ? 0.0 : static_cast<double>(wanted) / static_cast<double>(probes);
    const auto need = [](const WantedShape& one) { return -one.prediction.slowdown * (1.0 + one.prediction.doubt); };
    std::ranges::stable_sort(report_.wanted, {}, need);
    report_.wanted.resize(std::min(kNamed, report_.wanted.size()));
  }

  const PortfolioRequest& request_;
  Store& store_;
  const Registry& registry_;
  PortfolioKey key_;
  Portfolio about_;  ///< all but members and points; its seconds and trials are those of earlier runs
  PortfolioTable table_;
  Portfolio portfolio_;  ///< of what is known now
  std::optional<PortfolioRule> rule_;
  PortfolioReport report_;
  std::set<std::string> refused_, revisited_;
  std::uint64_t drawn_ = kCandidates;
  std::int64_t trials_ = 0;  ///< of this run
  int failures_in_a_row_ = 0, empty_turns_ = 0;
  bool exhausted_ = false;
  PortfolioClock::time_point start_ = PortfolioClock::now();
};

}  // namespace

std::string statics_text(const KernelSpec& definition, const ShapeRange& range) {
  Shape statics;
  for (const RangeAxis& axis : range.axes) {
    if (is_compiled_in(definition, axis.name)) {
      statics.emplace_back(axis.name, axis.least());
    }
  }
  return text(statics);
}

Result<PortfolioReport> tune(const PortfolioRequest& request, Store& store, const Registry& registry) {
  return PortfolioSession(request, store, registry).run();
}

}  // namespace hone
