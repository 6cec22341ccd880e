#pragma once
// What a candidate that runs in the worker's own process could change for all that come after it.

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace hone {

/// The limits of this process and, where a device's runtime starts none of its own, its threads.
class ProcessState {
 public:
  static ProcessState now(bool with_threads);
  /// How this process differs from what it was: "it lowered the limit of open files of its process".
  [[nodiscard]] std::optional<std::string> difference() const;

 private:
  static constexpr std::size_t kLimits = 5;
  std::array<rlimit, kLimits> limits_{};
  std::optional<std::size_t> threads_;
};

}  // namespace hone
