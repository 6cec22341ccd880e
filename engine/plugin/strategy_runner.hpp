#pragma once
// The host's interface to one instance of a strategy, in this process or in another one.

#include <cstddef>
#include <string>
#include <vector>

#include "engine/space/search_space.hpp"
#include "hone/plugin.h"

namespace hone::plugin_host {

/// How a call ended.
struct Called {
  enum class How {
    kReturned,
    kFailed,   ///< it reported a failure, or threw
    kStalled,  ///< it did not return in time and is still running
    kCrashed,  ///< its process ended
  } how = How::kReturned;
  std::string message = {};  ///< unless kReturned: "ask failed: no licence"
};

/// Calls are made one after the other. Only `destroy` may be called while an earlier call is still running.
class StrategyRunner {
 public:
  StrategyRunner() = default;
  StrategyRunner(const StrategyRunner&) = delete;
  StrategyRunner& operator=(const StrategyRunner&) = delete;
  virtual ~StrategyRunner() = default;

  virtual Called create() = 0;
  virtual Called ask(std::size_t wanted, std::vector<Count>& positions) = 0;
  /// May return before the strategy does; finish() returns the result.
  virtual Called tell(std::vector<hone_observation> observations) = 0;
  virtual Called save(std::string& model) = 0;
  /// Ends the instance; a running call is abandoned or killed. Called once, as the last call.
  virtual Called destroy() = 0;

  /// Whether an earlier call is still running.
  virtual bool busy() = 0;
  /// Waits for an earlier call within its time limit.
  virtual Called finish() = 0;
};

}  // namespace hone::plugin_host
