#pragma once
// The thread that loads what a lookup did not wait for.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace hone {

/// Thread-safe. The thread starts with the first task. Its destructor waits for the task under way and forgets the others.
class Loader {
 public:
  Loader() = default;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader();

  /// Once at a time: not where a task of that key waits or runs. `then` follows the task, when another of that key may be added: whoever
  /// was refused one can be told.
  void add(const std::string& key, std::function<void()> task, std::function<void()> then);

 private:
  struct Task {
    std::string key;
    std::function<void()> work, then;
  };
  void run();

  std::mutex mutex_;  ///< of all below
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::set<std::string> keys_;  ///< that wait or run
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hone
