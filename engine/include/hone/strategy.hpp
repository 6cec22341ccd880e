#pragma once
// A strategy decides which configuration to try next: ask/tell, in batches, over a search space it never sees as a list.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/search_space.hpp"
#include "hone/trial.hpp"

namespace hone {

/// What a strategy learns of one proposal.
struct Observation {
  Count position = 0;
  Outcome outcome = Outcome::kOk;
  double time_us = 0.0;        ///< median; meaningful only if outcome is kOk
  Resources resources;
  double cost_seconds = 0.0;   ///< what the trial cost
};

/// A declared parameter of a strategy: help, checks and JSON are generated from it.
struct StrategyParameter {
  std::string name, help;
  double default_value = 0.0, minimum = 0.0, maximum = 0.0;
};

/// What a strategy is made from.
struct StrategyContext {
  const SearchSpace* space = nullptr;
  std::uint64_t seed = 0;
  Count default_position = 0;               ///< the kernel's default configuration; it is always tried first by the session
  std::map<std::string, double> parameters; ///< overrides of declared parameters, already checked
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `n` positions, none proposed before in this session. Fewer, also none, when it waits for outcomes; see `exhausted`.
  virtual std::vector<Count> ask(std::size_t n) = 0;
  /// Outcomes, in the order they came. Also those it did not ask for (the default, a resumed history).
  virtual void tell(std::span<const Observation> observations) = 0;
  /// Nothing is left to propose, whatever outcomes still come.
  [[nodiscard]] virtual bool exhausted() const = 0;
};

class StrategyPlugin {
 public:
  virtual ~StrategyPlugin() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view summary() const = 0;
  [[nodiscard]] virtual std::vector<StrategyParameter> parameters() const { return {}; }
  [[nodiscard]] virtual std::unique_ptr<Strategy> create(const StrategyContext& context) const = 0;
};

}  // namespace hone
