#include "engine/plugin/call_with_timeout.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace hone::plugin_host {

struct CallWithTimeout::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;
  bool closing = false;

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return job || closing; });
      if (!job) {
        return;
      }
      std::function<void()> running = job;
      lock.unlock();
      running();
      running = nullptr;  // what it owned goes before anyone learns that it is done
      lock.lock();
      job = nullptr;
      changed.notify_all();
    }
  }
};

CallWithTimeout::CallWithTimeout() : state_(std::make_shared<State>()) {
  std::thread([state = state_] { state->serve(); }).detach();
}

CallWithTimeout::~CallWithTimeout() {
  const std::lock_guard lock(state_->mutex);
  state_->closing = true;
  state_->changed.notify_all();
}

bool CallWithTimeout::busy() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<bool>(state_->job);
}

bool CallWithTimeout::call(std::function<void()> job, std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  state_->job = std::move(job);
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, patience, [&] { return !state_->job; });
}

}  // namespace hone::plugin_host
