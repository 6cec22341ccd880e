#pragma once
// A strategy decides which configuration to try next: ask/tell, in batches, over a search space it never sees as a list.
// This is the engine's side of hone/plugin.h: it enforces the contract for every strategy.

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

/// What a strategy is told about one trial.
struct Observation {
  Count position = 0;
  Outcome outcome = Outcome::kOk;
  double time_us = 0.0;  ///< median; meaningful only if has_time(outcome)
  Resources resources;
  double cost_seconds = 0.0;     ///< cost of the trial
  double compile_seconds = 0.0;  ///< of these, compiling
};

/// A declared parameter of a strategy: help, validation and JSON are generated from it.
struct StrategyParameter {
  enum class Type { kReal, kInteger, kFlag };
  std::string name, help;
  Type type = Type::kReal;
  double default_value = 0.0, minimum = 0.0, maximum = 0.0;
};

/// Trials of the same kernel for another shape, dtype or device whose configurations are valid here.
struct Prior {
  std::string device, dtype, shape;
  std::vector<Observation> observations;  ///< positions in this space, times measured there
};

/// The input of a strategy.
struct StrategyContext {
  std::shared_ptr<const SearchSpace> space;
  std::shared_ptr<const LikelySpace> likely = nullptr;  ///< the expectations on `space`, which is its legal one; null: none
  std::uint64_t seed = 0;
  std::optional<Count> first;                ///< the kernel's default configuration, if it is tried before the strategy is asked
  std::map<std::string, double> parameters;  ///< overrides of declared parameters
  std::uint64_t expected_trials = 0;         ///< 0: unknown
  std::vector<Prior> priors;
  std::string model;  ///< the data from Strategy::save in an earlier session; empty if none
};

/// Counts of contract violations. Each costs the strategy a turn, none ends the session.
struct StrategyFaults {
  std::int64_t invalid = 0;   ///< proposals outside the space
  std::int64_t repeated = 0;  ///< proposals made before; answered from memory, at no cost
  std::int64_t failed = 0;    ///< calls that threw, reported a failure, or had no process to run in
  std::int64_t stalled = 0;   ///< calls that did not return in time
  std::int64_t crashed = 0;   ///< calls in which its process ended
  std::int64_t idle = 0;      ///< turns without a proposal while no outcome was pending
  std::string first;          ///< message of the first call that failed, stalled or crashed
};

/// A running strategy whose contract is enforced: `ask` returns only valid and new positions, whatever the plugin does. When the plugin
/// loses its turn, uniform random positions replace its proposals.
class Strategy {
 public:
  Strategy(Strategy&&) noexcept;
  Strategy& operator=(Strategy&&) noexcept;
  ~Strategy();

  /// Up to `n` positions that were not proposed or told before; fewer, or none, while it waits for outcomes.
  std::vector<Count> ask(std::size_t n);
  /// Outcomes in the order of completion, including trials it did not propose (the default, a resumed history).
  void tell(std::span<const Observation> observations);
  /// A position that the session tries without being asked to: it is not proposed any more. Its outcome is told like others.
  void take(Count position);
  /// Whether no position is left to propose.
  [[nodiscard]] bool exhausted() const;
  /// A model for later sessions of the kernel; may be empty.
  [[nodiscard]] std::string save();
  /// Ends the strategy like destruction, so that faults() includes failures there. No calls of ask or tell may follow.
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

/// The description of a strategy.
struct StrategyDescription {
  std::string name, summary, source;
  bool weighs_expectations = false;
  std::vector<StrategyParameter> parameters;
};

/// A strategy: its description and the way to create instances, from a table in this process or in another process.
class StrategyPlugin {
 public:
  /// Creates the runner of an instance; gets a value for each declared parameter.
  using Starter = std::function<std::unique_ptr<plugin_host::StrategyRunner>(StrategyContext context, std::vector<double> parameters)>;

  /// `label`: its name in messages. Throws ContractError as below.
  StrategyPlugin(StrategyDescription description, std::string label, Starter start);
  /// `patience`: the time limit of a call, after which the strategy loses its turn; a plugin with a limit runs on its own thread.
  /// `abi`: the version of hone/plugin.h with which it was built.
  /// Throws ContractError if the table lacks a function or a name, or declares a parameter twice or with a default outside its range.
  explicit StrategyPlugin(const hone_strategy* table, std::optional<std::chrono::milliseconds> patience = std::nullopt,
                          std::uint32_t abi = HONE_PLUGIN_ABI);

  [[nodiscard]] const StrategyDescription& description() const { return description_; }
  [[nodiscard]] std::string_view name() const { return description_.name; }
  [[nodiscard]] std::string_view summary() const { return description_.summary; }
  [[nodiscard]] std::string_view source() const { return description_.source; }
  /// Whether it sees all valid configurations from the beginning, with their expectations.
  [[nodiscard]] bool weighs_expectations() const { return description_.weighs_expectations; }
  [[nodiscard]] const std::vector<StrategyParameter>& parameters() const { return description_.parameters; }

  /// Errors: kInvalidArgument for a parameter that is not declared or out of range; kPlugin if the plugin fails to start.
  [[nodiscard]] Result<Strategy> create(StrategyContext context) const;
  /// An instance without enforcement, for a process that runs it on behalf of another one. Throws ContractError without a table.
  [[nodiscard]] std::unique_ptr<plugin_host::Instance> instance(StrategyContext context, std::vector<double> parameters) const;

 private:
  [[nodiscard]] Result<std::vector<double>> resolve_parameters(const std::map<std::string, double>& overrides) const;

  StrategyDescription description_;
  std::string label_;
  Starter start_;
  std::optional<hone_strategy> table_;  ///< of a strategy in this process
  std::uint32_t abi_ = HONE_PLUGIN_ABI;
};

}  // namespace hone
