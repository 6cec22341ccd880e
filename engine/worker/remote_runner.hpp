#pragma once
// An instance of a strategy in a process of its own.

#include <memory>
#include <string>
#include <vector>

#include "engine/plugin/strategy.hpp"
#include "engine/plugin/strategy_runner.hpp"
#include "engine/worker/plugin_process.hpp"

namespace hone {

/// How often a search starts its strategy again in a new process, which is told all outcomes so far. One that crashes at the same place
/// each time costs as many turns; one that crashes now and then goes on.
inline constexpr int kMostRestarts = 3;

/// `parameters`: a value for each that the strategy declares.
std::unique_ptr<plugin_host::StrategyRunner> make_remote_runner(std::shared_ptr<PluginPool> pool, std::string strategy,
                                                                StrategyContext context, std::vector<double> parameters);

}  // namespace hone
