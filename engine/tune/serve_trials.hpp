#pragma once
// A worker of the sessions that others run: attaches to a store, takes leased work, answers, and leaves.

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/plugin/registry.hpp"
#include "engine/replay/recorded_space.hpp"

namespace hone {

/// What happens to a worker, for people and for logs.
struct ServeEvent {
  enum class What { kAttached, kTrial, kControl, kFinals, kCompiled, kGivenBack, kLost, kTrouble, kLeft } what = What::kAttached;
  std::string worker = {};         ///< its name
  std::string configuration = {};  ///< of a trial, or of the control
  std::string outcome = {};        ///< of these; empty: the work could not be done
  double seconds = 0.0;            ///< that it took
  std::string detail = {};         ///< why
};
std::string_view name(ServeEvent::What what);

struct ServeRequest {
  std::string store;                                              ///< its URL
  std::optional<Registry::Found> device = {};                     ///< to measure on; nothing: it only compiles
  const RecordedSpace* recorded = nullptr;                        ///< replay: trials are answered from here
  double pace = 1.0;                                              ///< of a replay: seconds that a trial takes, for each recorded one
  int compilers = 0;                                              ///< processes that compile
  std::vector<std::string> targets = {};                          ///< that they compile for (compile_target)
  double idle_seconds = std::numeric_limits<double>::infinity();  ///< without work, after which it leaves
  std::stop_token stop = {};                                      ///< asked to stop, it gives its work back and leaves
  std::function<void(const ServeEvent&)> on_event;
};

struct ServeReport {
  std::vector<std::string> workers;  ///< their names
  std::int64_t trials = 0, controls = 0, finals = 0, compiled = 0, failed = 0, given_back = 0;
  double seconds = 0.0, busy_seconds = 0.0;
  std::string why;  ///< it left
};

/// Serves until it is asked to stop or has been idle for long enough. Errors: the store cannot be had (kUnavailable, kStore); the device
/// does not do what it should (kDevice): a session's control fails on it that is right elsewhere.
Result<ServeReport> serve_trials(const ServeRequest& request, const Registry& registry);

/// What a host without a device can compile for: the families that have a compiler here.
std::vector<std::string> compile_targets(const Registry& registry);

}  // namespace hone
