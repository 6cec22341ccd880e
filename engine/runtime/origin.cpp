#include "engine/runtime/origin.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace hone {
namespace {

/// Counted in each child, so that a launch need not ask the system who it is.
std::atomic<std::uint64_t> forks{0};

}  // namespace

Origin::Origin() : process_(getpid()) {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  forks_ = forks.load(std::memory_order_relaxed);
}

bool Origin::is_here() const { return forks.load(std::memory_order_relaxed) == forks_; }

Error Origin::refusal() const {
  return {ErrorCode::kUnavailable,
          fmt::format(
              "process {} is a fork of {}, which opened the engine: a device does not survive fork(). Open the engine after the fork, in "
              "each process that launches",
              getpid(), process_)};
}

}  // namespace hone
