#pragma once
// An instance of a strategy in this process.

#include <chrono>
#include <memory>
#include <optional>

#include "engine/plugin/instance.hpp"
#include "engine/plugin/strategy_runner.hpp"

namespace hone::plugin_host {

/// `timeout`: of each call, which then runs on a thread of its own and is left behind where it does not return; without one they are called
/// directly.
std::unique_ptr<StrategyRunner> make_local_runner(std::shared_ptr<Instance> instance, std::optional<std::chrono::milliseconds> timeout);

}  // namespace hone::plugin_host
