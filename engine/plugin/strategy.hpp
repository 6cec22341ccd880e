#pragma once
// A strategy decides which configuration to try next: ask/tell, in batches, over a search space it never sees as a list.
// This is the engine's side of hone/plugin.h: it keeps a strategy to its contract, whoever wrote it.

#include <chrono>
#include <cstdint>
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
  std::int64_t failed = 0;    ///< calls that threw or reported a failure
  std::int64_t stalled = 0;   ///< calls that did not return in time
  std::int64_t idle = 0;      ///< turns without a proposal although nothing was awaited
  std::string first;          ///< message of the first that failed or stalled
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

  [[nodiscard]] const StrategyFaults& faults() const;
  /// Seconds spent inside the strategy.
  [[nodiscard]] double seconds() const;

 private:
  friend class StrategyPlugin;
  struct Impl;
  explicit Strategy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A strategy's table, checked.
class StrategyPlugin {
 public:
  /// `patience`: how long a call may take before the strategy loses its turn; a plugin given one runs on a thread of its own.
  /// `abi`: the version of hone/plugin.h that it was built with.
  /// Throws ContractError if the table lacks a function or a name, or declares a parameter twice or with a default outside its range.
  explicit StrategyPlugin(const hone_strategy* table, std::optional<std::chrono::milliseconds> patience = std::nullopt,
                          std::uint32_t abi = HONE_PLUGIN_ABI);

  [[nodiscard]] std::string_view name() const { return table_.name; }
  [[nodiscard]] std::string_view summary() const { return table_.summary; }
  [[nodiscard]] std::string_view source() const { return table_.source; }
  /// Whether it is to see all valid configurations from the beginning, with what is expected of them.
  [[nodiscard]] bool weighs_expectations() const { return table_.weighs_expectations != 0; }
  [[nodiscard]] const std::vector<StrategyParameter>& parameters() const { return parameters_; }

  /// Errors: kInvalidArgument for a parameter that is not declared or out of range; kPlugin if the plugin fails to start.
  [[nodiscard]] Result<Strategy> create(StrategyContext context) const;

 private:
  [[nodiscard]] Result<std::vector<double>> settle(const std::map<std::string, double>& overrides) const;

  hone_strategy table_;
  std::optional<std::chrono::milliseconds> patience_;
  std::uint32_t abi_;
  std::vector<StrategyParameter> parameters_;
};

}  // namespace hone
