#include "engine/runtime/loader.hpp"

namespace hone {

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Loader::add(const std::string& key, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (!keys_.insert(key).second) {
    return;
  }
  tasks_.emplace_back(key, std::move(task));
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
}

void Loader::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) {
      return;
    }
    const auto [key, task] = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
    keys_.erase(key);
  }
}

}  // namespace hone
