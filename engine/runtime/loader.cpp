#include "engine/runtime/loader.hpp"

#include <utility>

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

void Loader::add(const std::string& key, std::function<void()> task, std::function<void()> then) {
  const std::lock_guard lock(mutex_);
  if (!keys_.insert(key).second) {
    return;
  }
  tasks_.push_back({key, std::move(task), std::move(then)});
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
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task.work();
    lock.lock();
    keys_.erase(task.key);
    lock.unlock();
    task.then();
    lock.lock();
  }
}

}  // namespace hone
