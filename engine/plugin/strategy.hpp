#pragma once
// A strategy decides which configuration to try next: ask/tell, in batches, over a search space it never sees as a list.
// This is the engine's side of hone/plugin.h: it keeps a strategy to its contract, whoever wrote it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/trial.hpp"
#include "engine/space/likely_space.hpp"
#include "engine/space/search_space.hpp"
#include "hone/plugin.h"

namespace hone {

namespace plugin_host {
class Instance;
class StrategyRunner;
}  // namespace plugin_host

/// What a strategy learns of one proposal.
struct Observation {
  Count position = 0;
  Outcome outcome = Outcome::kOk;
  double time_us = 0.0;  ///< median; meaningful only if has_time(outcome)
  Resources resources;
  double cost_seconds = 0.0;     ///< what the trial cost
  double compile_seconds = 0.0;  ///< of these, compiling
};

/// A declared parameter of a strategy: help, checks and JSON are generated from it.
struct StrategyParameter {
  enum class Type { kReal, kInteger, kFlag };
  std::string name, help;
  Type type = Type::kReal;
  double default_value = 0.0, minimum = 0.0, maximum = 0.0;
};

/// Trials of the same kernel for another shape, dtype or on another device, as far as their configurations are valid here.
struct Prior {
  std::string device, dtype, shape;
  std::vector<Observation> observations;  ///< positions are of this space, times of there
};

/// What a strategy is made from.
struct StrategyContext {
  std::shared_ptr<const SearchSpace> space;
  std::shared_ptr<const LikelySpace> likely = nullptr;  ///< what is expected of `space`, which is its legal one; null: nothing
  std::uint64_t seed = 0;
  std::optional<Count> first;                ///< the kernel's default configuration, if it is tried before the strategy is asked
  std::map<std::string, double> parameters;  ///< overrides of declared parameters
  std::uint64_t expected_trials = 0;         ///< 0: not known
  std::vector<Prior> priors;
  std::string model;  ///< what Strategy::save gave in an earlier session; empty if none
};

/// How a strategy broke its contract. Each costs it a turn, none costs the session.
struct StrategyFaults {
  std::int64_t invalid = 0;   ///< proposals outside the space
  std::int64_t repeated = 0;  ///< proposals made before; answered again for free
  std::int64_t failed = 0;    ///< calls that threw, reported a failure, or found no process to run in
  std::int64_t stalled = 0;   ///< calls that did not return in time
  std::int64_t crashed = 0;   ///< calls in which its process ended
  std::int64_t idle = 0;      ///< turns without a proposal although nothing was awaited
  std::string first;          ///< message of the first that failed, stalled or crashed
};

/// A running strategy, kept to its contract: what `ask` returns is valid and new, whatever the plugin does. Where the plugin loses its
/// turn, uniform random positions take its place.
class Strategy {
 public:
  Strategy(Strategy&&) noexcept;
  Strategy& operator=(Strategy&&) noexcept;
  ~Strategy();

  /// Up to `n` positions, none proposed or told of before. Fewer, also none, when it waits for outcomes.
  std::vector<Count> ask(std::size_t n);
  /// Outcomes, in the order they came. Also those it did not ask for (the default, a resumed history).
  void tell(std::span<const Observation> observations);
  /// Nothing is left to propose, whatever outcomes still come.
  [[nodiscard]] bool exhausted() const;
  /// What a later session of the kernel may begin with; empty if it has nothing to say.
  [[nodiscard]] std::string save();
  /// Ends the strategy, as destruction does, so that faults() has what went wrong there. Nothing is asked or told after it.
  void end();

  [[nodiscard]] const StrategyFaults& faults() const;
  /// Seconds spent inside the strategy.
  [[nodiscard]] double seconds() const;

 private:
  friend class StrategyPlugin;
  struct Impl;
  explicit Strategy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What a strategy says of itself.
struct StrategyDescription {
  std::string name, summary, source;
  bool weighs_expectations = false;
  std::vector<StrategyParameter> parameters;
};

/// A strategy by its description, and how instances of it are made: from a table in this process, or elsewhere.
class StrategyPlugin {
 public:
  /// Makes what runs an instance; gets a value for each declared parameter.
  using Starter = std::function<std::unique_ptr<plugin_host::StrategyRunner>(StrategyContext context, std::vector<double> parameters)>;

  /// `label`: what messages call it. Throws ContractError as below.
  StrategyPlugin(StrategyDescription description, std::string label, Starter start);
  /// `patience`: how long a call may take before the strategy loses its turn; a plugin given one runs on a thread of its own.
  /// `abi`: the version of hone/plugin.h that it was built with.
  /// Throws ContractError if the table lacks a function or a name, or declares a parameter twice or with a default outside its range.
  explicit StrategyPlugin(const hone_strategy* table, std::optional<std::chrono::milliseconds> patience = std::nullopt,
                          std::uint32_t abi = HONE_PLUGIN_ABI);

  [[nodiscard]] const StrategyDescription& description() const { return description_; }
  [[nodiscard]] std::string_view name() const { return description_.name; }
  [[nodiscard]] std::string_view summary() const { return description_.summary; }
  [[nodiscard]] std::string_view source() const { return description_.source; }
  /// Whether it is to see all valid configurations from the beginning, with what is expected of them.
  [[nodiscard]] bool weighs_expectations() const { return description_.weighs_expectations; }
  [[nodiscard]] const std::vector<StrategyParameter>& parameters() const { return description_.parameters; }

  /// Errors: kInvalidArgument for a parameter that is not declared or out of range; kPlugin if the plugin fails to start.
  [[nodiscard]] Result<Strategy> create(StrategyContext context) const;
  /// An instance that is held to nothing, for a process that runs it for another one. Throws ContractError where there is no table.
  [[nodiscard]] std::unique_ptr<plugin_host::Instance> instance(StrategyContext context, std::vector<double> parameters) const;

 private:
  [[nodiscard]] Result<std::vector<double>> settle(const std::map<std::string, double>& overrides) const;

  StrategyDescription description_;
  std::string label_;
  Starter start_;
  std::optional<hone_strategy> table_;  ///< of one in this process
  std::uint32_t abi_ = HONE_PLUGIN_ABI;
};

}  // namespace hone
