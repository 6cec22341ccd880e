#pragma once
// --metrics FILE: written again and again, as node_exporter's textfile collector reads it.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hone/error.hpp"

namespace hone::cli {

/// From its construction to its end, a file with what `produce` tells. Each writing replaces the file as a whole, so that a reader never
/// sees half of it. The last state stays.
class MetricsFile {
 public:
  /// `produce` is called from a thread of its own. Errors: the file cannot be written.
  static Result<std::unique_ptr<MetricsFile>> start(std::filesystem::path file, std::chrono::milliseconds every,
                                                    std::function<std::string()> produce);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  /// Writes the last state. Errors: this or an earlier writing failed; those after it may have succeeded.
  Result<void> finish();

 private:
  MetricsFile(std::filesystem::path file, std::chrono::milliseconds every, std::function<std::string()> produce);
  void run(const std::stop_token& stop);

  const std::filesystem::path file_;
  const std::chrono::milliseconds every_;
  const std::function<std::string()> produce_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Error> failed_;
  std::jthread thread_;
};

}  // namespace hone::cli
