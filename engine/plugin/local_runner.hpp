#pragma once
// An instance of a strategy in this process.

#include <chrono>
#include <memory>
#include <optional>

#include "engine/plugin/instance.hpp"
#include "engine/plugin/strategy_runner.hpp"

namespace hone::plugin_host {

/// With `timeout`, each call runs on its own thread and is abandoned if it does not return in time; without it, functions are called
/// directly.
std::unique_ptr<StrategyRunner> make_local_runner(std::shared_ptr<Instance> instance, std::optional<std::chrono::milliseconds> timeout);

}  // namespace hone::plugin_host
