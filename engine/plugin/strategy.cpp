#include "engine/plugin/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/plugin/instance.hpp"
#include "engine/plugin/local_runner.hpp"
#include "engine/plugin/table.hpp"
#include "hone/plugin.hpp"

namespace hone {

using plugin::PositionHash;
using plugin_host::Called;
using plugin_host::Instance;
using plugin_host::StrategyRunner;

namespace {

constexpr int kFreeTurns = 100;  // how often in a row it may repeat itself before it loses its turn

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

struct Strategy::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { end(); }

  std::string label;  ///< of the strategy, for messages
  std::shared_ptr<const SearchSpace> space;
  std::unique_ptr<StrategyRunner> runner;  ///< null once it has ended
  std::unordered_map<Count, Observation, PositionHash> told;
  std::unordered_set<Count, PositionHash> taken, awaited;
  std::vector<Count> by_session;  ///< taken by the session: who proposes them cannot know
  /// Of a space that is not exact: the positions that were proposed and stand for this one. The strategy waits for their outcomes.
  std::unordered_map<Count, std::vector<Count>, PositionHash> proposed_as;
  std::vector<hone_observation> waiting;  ///< outcomes that come while a call runs
  std::mt19937_64 random;
  StrategyFaults faults;
  double seconds = 0.0;

  /// Makes a call of the runner; false if it failed, stalled or crashed, which is counted.
  template <class Call>
  bool call(const Call& made) {
    const auto start = std::chrono::steady_clock::now();
    const Called called = made();
    seconds += seconds_since(start);
    switch (called.how) {
      case Called::How::kReturned:
        return true;
      case Called::How::kFailed:
        ++faults.failed;
        break;
      case Called::How::kStalled:
        ++faults.stalled;
        break;
      case Called::How::kCrashed:
        ++faults.crashed;
        break;
    }
    if (faults.first.empty()) {
      faults.first = fmt::format("strategy {}: {}", label, called.message);
    }
    return false;
  }

  /// Whether nothing runs any more; waits for it as long as it may take.
  bool finish() {
    call([this] { return runner->finish(); });
    return !runner->busy();
  }

  void end() {
    if (runner == nullptr) {
      return;
    }
    call([this] { return runner->destroy(); });
    runner = nullptr;
  }

  void pass_on(std::vector<hone_observation> observations) {
    waiting.insert(waiting.end(), observations.begin(), observations.end());
    if (waiting.empty() || runner->busy()) {
      return;
    }
    call([this] { return runner->tell(std::exchange(waiting, {})); });
  }

  /// Nothing if it lost its turn.
  std::optional<std::vector<Count>> consult(std::size_t wanted) {
    if (!finish()) {
      return std::nullopt;
    }
    pass_on({});
    std::vector<Count> proposed;
    if (!finish() || !call([&] { return runner->ask(wanted, proposed); })) {
      return std::nullopt;
    }
    if (!space->exact()) {
      std::ranges::for_each(proposed, [this](Count& position) { move_to_valid(position); });
    }
    return proposed;
  }

  void move_to_valid(Count& position) {
    const Count proposed = position;
    if (proposed < space->size() && (position = space->next_valid(proposed)) != proposed) {
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
        faults.repeated += std::ranges::find(by_session, position) == by_session.end() ? 1 : 0;
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

void Strategy::take(Count position) {
  impl_->taken.insert(position);
  impl_->by_session.push_back(position);
}

bool Strategy::exhausted() const { return impl_->left() == 0; }

std::string Strategy::save() {
  std::string model;
  const bool saved = impl_->finish() && impl_->call([&] { return impl_->runner->save(model); });
  return saved ? model : std::string();
}

void Strategy::end() { impl_->end(); }

const StrategyFaults& Strategy::faults() const { return impl_->faults; }
double Strategy::seconds() const { return impl_->seconds; }

namespace {

void require(bool met, std::string_view name, const std::string& what) {
  if (!met) {
    throw ContractError(fmt::format("strategy '{}': {}", name, what));
  }
}

const char* text_of(const char* given) { return given != nullptr ? given : ""; }

/// Throws ContractError if the table lacks something.
StrategyDescription described(const hone_strategy& given) {
  const hone_strategy table = plugin_host::normalized(given);
  const std::string name = text_of(table.name);
  const std::string missing = plugin_host::lacking(given.struct_size, {{"name", !name.empty()},
                                                                       {"create", table.create != nullptr},
                                                                       {"ask", table.ask != nullptr},
                                                                       {"tell", table.tell != nullptr},
                                                                       {"destroy", table.destroy != nullptr}});
  require(missing.empty(), name, missing);
  StrategyDescription description{name, text_of(table.summary), text_of(table.source), table.weighs_expectations != 0, {}};
  require(table.parameter_count == 0 || table.parameters != nullptr, name, "its parameters are null");
  for (const hone_parameter& p :
       plugin_host::elements(table.parameters, table.parameter_count, table.parameter_stride, "parameter_stride")) {
    require(p.name != nullptr && p.help != nullptr, name, "a parameter lacks a text");
    const bool known = p.type >= HONE_REAL && p.type <= HONE_FLAG;  // what a later header adds is a number too
    const auto type = known ? static_cast<StrategyParameter::Type>(p.type) : StrategyParameter::Type::kReal;
    description.parameters.push_back({p.name, p.help, type, p.default_value, p.minimum, p.maximum});
  }
  return description;
}

/// Throws ContractError.
void check(const StrategyDescription& description) {
  for (const StrategyParameter& p : description.parameters) {
    require(p.minimum <= p.default_value && p.default_value <= p.maximum, description.name,
            fmt::format("the default of parameter '{}' is out of its range", p.name));
    require(std::ranges::count(description.parameters, p.name, &StrategyParameter::name) == 1, description.name,
            fmt::format("parameter '{}' is declared twice", p.name));
  }
}

}  // namespace

StrategyPlugin::StrategyPlugin(StrategyDescription description, std::string label, Starter start)
    : description_(std::move(description)), label_(std::move(label)), start_(std::move(start)) {
  check(description_);
}

StrategyPlugin::StrategyPlugin(const hone_strategy* table, std::optional<std::chrono::milliseconds> patience, std::uint32_t abi)
    : StrategyPlugin(described(*table), described(*table).name,
                     [copy = plugin_host::normalized(*table), patience, abi](StrategyContext context, std::vector<double> parameters) {
                       return plugin_host::make_local_runner(
                           std::make_shared<Instance>(copy, abi, std::move(context), std::move(parameters)), patience);
                     }) {
  table_ = plugin_host::normalized(*table);
  abi_ = abi;
}

std::unique_ptr<Instance> StrategyPlugin::instance(StrategyContext context, std::vector<double> parameters) const {
  require(table_.has_value(), name(), "it has no table in this process");
  return std::make_unique<Instance>(*table_, abi_, std::move(context), std::move(parameters));
}

Result<std::vector<double>> StrategyPlugin::resolve_parameters(const std::map<std::string, double>& overrides) const {
  std::vector<double> values;
  std::vector<std::string> names;
  for (const StrategyParameter& parameter : parameters()) {
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
  HONE_ASSIGN(std::vector<double> parameters, resolve_parameters(context.parameters));
  for (Prior& prior : context.priors) {
    std::erase_if(prior.observations, [&](const Observation& observation) { return observation.position >= context.space->size(); });
  }
  auto impl = std::make_unique<Strategy::Impl>();
  impl->label = label_;
  impl->space = context.space;
  impl->random.seed(context.seed);
  if (context.first) {
    impl->taken.insert(*context.first);
  }
  impl->runner = start_(std::move(context), std::move(parameters));
  if (!impl->call([&] { return impl->runner->create(); })) {
    return Error{ErrorCode::kPlugin, impl->faults.first};
  }
  return Strategy(std::move(impl));
}

}  // namespace hone
