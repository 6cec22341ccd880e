#include "engine/plugin/patient_caller.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace hone::plugin_host {

struct PatientCaller::State {
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

PatientCaller::PatientCaller() : state_(std::make_shared<State>()) {
  std::thread([state = state_] { state->serve(); }).detach();
}

PatientCaller::~PatientCaller() {
  const std::lock_guard lock(state_->mutex);
  state_->closing = true;
  state_->changed.notify_all();
}

bool PatientCaller::busy() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<bool>(state_->job);
}

bool PatientCaller::call(std::function<void()> job, std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  state_->job = std::move(job);
  state_->changed.notify_all();
  return state_->changed.wait_for(lock, patience, [&] { return !state_->job; });
}

}  // namespace hone::plugin_host
