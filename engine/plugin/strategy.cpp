#include "engine/plugin/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/names.hpp"
#include "engine/plugin/call_with_timeout.hpp"
#include "engine/plugin/instance.hpp"
#include "engine/plugin/table.hpp"

namespace hone {

using plugin_host::CallWithTimeout;
using plugin_host::Failure;
using plugin_host::Instance;

namespace {

constexpr int kFreeTurns = 100;  // how often in a row it may repeat itself before it loses its turn

struct CountHash {
  std::size_t operator()(Count count) const {
    return static_cast<std::size_t>(count >> 64) * 0x9e3779b97f4a7c15ULL ^ static_cast<std::size_t>(count) * 0xff51afd7ed558ccdULL;
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

struct Strategy::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  /// The plugin's destroy may stall like its other functions, and is then left behind.
  ~Impl() {
    if (caller && !caller->busy()) {
      const auto last = std::make_shared<std::shared_ptr<Instance>>(std::move(instance));
      caller->call([last] { last->reset(); }, *patience);
    }
  }

  std::string name;
  std::shared_ptr<const SearchSpace> space;
  std::shared_ptr<Instance> instance;
  std::optional<std::chrono::milliseconds> patience;
  std::unique_ptr<CallWithTimeout> caller;  ///< with `patience`
  std::unordered_map<Count, Observation, CountHash> told;
  std::unordered_set<Count, CountHash> taken, awaited;
  /// Of a space that is not exact: the positions that were proposed and settled to this one. The strategy waits for their outcomes.
  std::unordered_map<Count, std::vector<Count>, CountHash> proposed_as;
  std::vector<hone_observation> waiting;  ///< outcomes that come while a call stalls
  std::mt19937_64 random;
  StrategyFaults faults;
  double seconds = 0.0;

  /// Calls the instance. A job owns its results, because one that stalls is left behind. Nothing if it failed or stalled.
  template <class Answer>
  std::shared_ptr<Answer> call(const char* what, std::function<std::optional<Failure>(Instance&, Answer&)> job) {
    const auto start = std::chrono::steady_clock::now();
    auto answer = std::make_shared<Answer>();
    auto failure = std::make_shared<std::optional<Failure>>();
    const auto run = [instance = instance, answer, failure, job = std::move(job)] { *failure = job(*instance, *answer); };
    const bool returned = !caller ? (run(), true) : !caller->busy() && caller->call(run, *patience);
    seconds += seconds_since(start);
    if (!returned) {
      ++faults.stalled;
      note(fmt::format("{} did not return within {} ms", what, patience->count()));
      return nullptr;
    }
    if (*failure) {
      ++faults.failed;
      note(fmt::format("{} failed: {}", what, (*failure)->message));
      return nullptr;
    }
    return answer;
  }

  void note(const std::string& message) {
    if (faults.first.empty()) {
      faults.first = fmt::format("strategy {}: {}", name, message);
    }
  }

  void pass_on(std::vector<hone_observation> observations) {
    waiting.insert(waiting.end(), observations.begin(), observations.end());
    if (waiting.empty() || (caller && caller->busy())) {
      return;
    }
    call<std::monostate>("tell", [waiting = std::move(waiting)](Instance& to, std::monostate&) { return to.tell(waiting); });
    waiting.clear();
  }

  std::shared_ptr<std::vector<Count>> consult(std::size_t wanted) {
    pass_on({});
    auto proposed =
        call<std::vector<Count>>("ask", [wanted](Instance& of, std::vector<Count>& positions) { return of.ask(wanted, positions); });
    if (proposed && !space->exact()) {
      std::ranges::for_each(*proposed, [this](Count& position) { settle(position); });
    }
    return proposed;
  }

  void settle(Count& position) {
    const Count proposed = position;
    if (proposed < space->size() && (position = space->settle(proposed)) != proposed) {
      std::vector<Count>& known = proposed_as[position];
      if (std::ranges::find(known, proposed) == known.end()) {
        known.push_back(proposed);
      }
    }
  }

  /// As the strategy knows it: also under the positions that it proposed.
  void translate(const Observation& observation, std::vector<hone_observation>& into) const {
    into.push_back(plugin_host::to_c(observation));
    if (const auto known = proposed_as.find(observation.position); known != proposed_as.end()) {
      for (const Count position : known->second) {
        into.push_back(into.back());
        into.back().position = plugin_host::to_c(position);
      }
    }
  }

  /// Takes what is new, tells again what was told before. Returns whether anything was told.
  bool accept(const std::vector<Count>& proposed, std::vector<Count>& fresh) {
    std::vector<hone_observation> again;
    for (const Count position : proposed) {
      if (position >= space->size()) {
        ++faults.invalid;
      } else if (taken.insert(position).second) {
        fresh.push_back(position);
      } else {
        ++faults.repeated;
        if (const auto known = told.find(position); known != told.end()) {
          translate(known->second, again);
        }
      }
    }
    const bool answered = !again.empty();
    pass_on(std::move(again));
    return answered;
  }

  [[nodiscard]] Count left() const { return space->size() - taken.size(); }

  /// Free positions, uniform as long as few are taken.
  void fill(std::size_t n, std::vector<Count>& fresh) {
    constexpr int kDraws = 64;
    while (fresh.size() < n && left() > 0) {
      Count position = space->sample(random);
      for (int draw = 0; draw < kDraws && taken.contains(position); ++draw) {
        position = space->sample(random);
      }
      if (!space->exact() && taken.contains(position)) {
        return;  // if others are valid, they are rare
      }
      while (taken.contains(position)) {
        position = position + 1 == space->size() ? 0 : position + 1;
      }
      taken.insert(position);
      fresh.push_back(position);
    }
  }

  std::vector<Count> ask(std::size_t n) {
    n = static_cast<std::size_t>(std::min<Count>(n, left()));
    std::vector<Count> fresh;
    for (int turn = 0; fresh.empty() && n > 0 && turn < kFreeTurns; ++turn) {
      const auto proposed = consult(n);
      if (!proposed) {
        fill(n, fresh);
      } else if (!awaited.empty() && std::ranges::all_of(*proposed, [&](Count position) { return awaited.contains(position); })) {
        faults.repeated += static_cast<std::int64_t>(proposed->size());
        return {};  // it waits for outcomes
      } else if (!accept(*proposed, fresh) && fresh.empty()) {
        faults.idle += proposed->empty() ? 1 : 0;
        break;
      }
    }
    if (fresh.empty()) {
      fill(n, fresh);
    }
    awaited.insert(fresh.begin(), fresh.end());
    return fresh;
  }
};

Strategy::Strategy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Strategy::Strategy(Strategy&&) noexcept = default;
Strategy& Strategy::operator=(Strategy&&) noexcept = default;
Strategy::~Strategy() = default;

std::vector<Count> Strategy::ask(std::size_t n) { return impl_->ask(n); }

void Strategy::tell(std::span<const Observation> observations) {
  std::vector<hone_observation> converted;
  for (const Observation& observation : observations) {
    impl_->taken.insert(observation.position);
    impl_->awaited.erase(observation.position);
    impl_->told[observation.position] = observation;
    impl_->translate(observation, converted);
  }
  impl_->pass_on(std::move(converted));
}

bool Strategy::exhausted() const { return impl_->left() == 0; }

std::string Strategy::save() {
  const auto model = impl_->call<std::string>("save", [](Instance& of, std::string& into) { return of.save(into); });
  return model ? *model : std::string();
}

const StrategyFaults& Strategy::faults() const { return impl_->faults; }
double Strategy::seconds() const { return impl_->seconds; }

StrategyPlugin::StrategyPlugin(const hone_strategy* table, std::optional<std::chrono::milliseconds> patience, std::uint32_t abi)
    : table_(plugin_host::settled(*table)), patience_(patience), abi_(abi) {
  const auto require = [&](bool met, const std::string& what) {
    if (!met) {
      throw ContractError(fmt::format("strategy '{}': {}", table_.name != nullptr ? table_.name : "", what));
    }
  };
  const std::string missing = plugin_host::lacking(table->struct_size, {{"name", table_.name != nullptr && table_.name[0] != '\0'},
                                                                        {"create", table_.create != nullptr},
                                                                        {"ask", table_.ask != nullptr},
                                                                        {"tell", table_.tell != nullptr},
                                                                        {"destroy", table_.destroy != nullptr}});
  require(missing.empty(), missing);
  table_.summary = table_.summary != nullptr ? table_.summary : "";
  table_.source = table_.source != nullptr ? table_.source : "";
  require(table_.parameter_count == 0 || table_.parameters != nullptr, "its parameters are null");
  for (const hone_parameter& p :
       plugin_host::elements(table_.parameters, table_.parameter_count, table_.parameter_stride, "parameter_stride")) {
    require(p.name != nullptr && p.help != nullptr, "a parameter lacks a text");
    require(p.minimum <= p.default_value && p.default_value <= p.maximum,
            fmt::format("the default of parameter '{}' is out of its range", p.name));
    require(std::ranges::none_of(parameters_, [&](const StrategyParameter& known) { return known.name == p.name; }),
            fmt::format("parameter '{}' is declared twice", p.name));
    parameters_.push_back({p.name, p.help, static_cast<StrategyParameter::Type>(p.type), p.default_value, p.minimum, p.maximum});
  }
}

Result<std::vector<double>> StrategyPlugin::settle(const std::map<std::string, double>& overrides) const {
  std::vector<double> values;
  std::vector<std::string> names;
  for (const StrategyParameter& parameter : parameters_) {
    names.push_back(parameter.name);
    const auto given = overrides.find(parameter.name);
    const double value = given != overrides.end() ? given->second : parameter.default_value;
    if (!(value >= parameter.minimum && value <= parameter.maximum) ||
        (parameter.type != StrategyParameter::Type::kReal && value != std::floor(value))) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("strategy {}: {} = {} is not {} from {} to {}", name(), parameter.name, value,
                               parameter.type == StrategyParameter::Type::kReal ? "a number" : "a whole number", parameter.minimum,
                               parameter.maximum)};
    }
    values.push_back(value);
  }
  for (const auto& [given, value] : overrides) {
    if (std::ranges::find(names, given) == names.end()) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("strategy {}: {}", name(), unknown_name("parameter", given, names))};
    }
  }
  return values;
}

Result<Strategy> StrategyPlugin::create(StrategyContext context) const {
  HONE_ASSIGN(std::vector<double> parameters, settle(context.parameters));
  for (Prior& prior : context.priors) {
    std::erase_if(prior.observations, [&](const Observation& observation) { return observation.position >= context.space->size(); });
  }
  auto impl = std::make_unique<Strategy::Impl>();
  impl->name = name();
  impl->space = context.space;
  impl->random.seed(context.seed);
  if (context.first) {
    impl->taken.insert(*context.first);
  }
  impl->patience = patience_;
  impl->caller = patience_ ? std::make_unique<CallWithTimeout>() : nullptr;
  impl->instance = std::make_shared<Instance>(table_, abi_, std::move(context), std::move(parameters));
  if (!impl->call<std::monostate>("create", [](Instance& made, std::monostate&) { return made.create(); })) {
    return Error{ErrorCode::kPlugin, impl->faults.first};
  }
  return Strategy(std::move(impl));
}

}  // namespace hone
