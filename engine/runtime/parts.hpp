#pragma once
// What a program has besides lookup and launch. That is decided by the library that it links: hone::engine has all of it, hone::runtime
// none.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/launch_device.hpp"
#include "engine/kernel/operation.hpp"
#include "engine/runtime/launch_checks.hpp"
#include "engine/store/store.hpp"
#include "hone/engine.hpp"

namespace hone {

/// Tunes what lookups have missed, on a thread of its own.
class Background {
 public:
  virtual ~Background() = default;
  /// Asks for a problem of an operation, maybe of one kernel; one that is asked for more often comes first. The kernels must live as long
  /// as this.
  virtual void want(const std::string& key, std::shared_ptr<const Operation> operation, const Problem& problem) = 0;
  [[nodiscard]] virtual BackgroundReport report() const = 0;
};

struct BackgroundRequest {
  BackgroundTuning settings;
  double max_error = 0.0;  ///< EngineOptions::max_error
  FoundDevice device;
  std::filesystem::path store;
  Trust trust = Trust::kOwn;
  /// Called on the tuner's thread once the store has a record of the problem that was wanted under `key`.
  std::function<void(const std::string& key)> tuned;
};

struct EngineParts {
  std::vector<const LaunchPlugin*> devices;
  Result<KernelSpec> (*read_kernel_file)(const std::filesystem::path& file, const ReadOptions& options) = nullptr;
  Result<std::unique_ptr<Background>> (*start_background)(BackgroundRequest request) = nullptr;
  Result<std::shared_ptr<LaunchChecks>> (*start_checks)(LaunchCheckRequest request) = nullptr;
};

/// Defined by the assembled libraries (cmake/HoneTargets.cmake generates it).
const EngineParts& engine_parts();

}  // namespace hone
