#include "engine/worker/process_state.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>

namespace hone {
namespace {

struct Limit {
  decltype(RLIMIT_AS) resource;
  std::string_view name;
};
constexpr std::array<Limit, 5> kNames{{{RLIMIT_AS, "memory"},
                                       {RLIMIT_NOFILE, "open files"},
                                       {RLIMIT_FSIZE, "file sizes"},
                                       {RLIMIT_STACK, "stacks"},
                                       {RLIMIT_CPU, "CPU time"}}};

std::size_t count_threads() {
  std::error_code failure;
  const std::filesystem::directory_iterator tasks("/proc/self/task", failure);
  return failure ? 0 : static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// How many there are once those that are ending are gone: one that was joined is listed a moment longer.
std::size_t count_threads_beyond(std::size_t before) {
  constexpr int kLooks = 20;
  std::size_t threads = count_threads();
  for (int look = 0; look < kLooks && threads > before; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    threads = count_threads();
  }
  return threads;
}

}  // namespace

ProcessState ProcessState::now(bool with_threads) {
  ProcessState state;
  for (std::size_t i = 0; i < kLimits; ++i) {
    ::getrlimit(kNames[i].resource, &state.limits_[i]);
  }
  if (with_threads) {
    state.threads_ = count_threads();
  }
  return state;
}

std::optional<std::string> ProcessState::difference() const {
  for (std::size_t i = 0; i < kLimits; ++i) {
    rlimit limit{};
    ::getrlimit(kNames[i].resource, &limit);
    if (limit.rlim_cur != limits_[i].rlim_cur || limit.rlim_max != limits_[i].rlim_max) {
      return fmt::format("it changed the limit of {} of its process", kNames[i].name);
    }
  }
  // Where no file can be opened the threads cannot be counted: that was told above.
  if (const std::size_t threads = threads_ ? count_threads_beyond(*threads_) : 0; threads_ && threads > *threads_) {
    return fmt::format("it left {} thread{} running", threads - *threads_, threads - *threads_ == 1 ? "" : "s");
  }
  return std::nullopt;
}

}  // namespace hone
