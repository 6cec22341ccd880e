#pragma once
// A monitor (as Lampson and Redell's, 1980): of several threads one at a time is inside, where what they share is, and is outside while it
// works alone.

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace hone {

class Monitor {
 public:
  /// To be inside as long as it lives; waits until nobody is.
  class Inside {
   public:
    explicit Inside(Monitor& monitor) : monitor_(monitor) { monitor_.mutex_.lock(); }
    ~Inside() { monitor_.leave(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Monitor& monitor_;
  };

  /// From inside: does `work` outside, comes back and returns what it returned.
  template <class Work>
  auto work_outside(const Work& work) {
    const Outside outside(*this);
    return work();
  }
  /// From inside: lets others in until one of them has been inside. False, at once, if none works outside: nothing would change.
  bool wait_for_another() {
    if (working_ == 0) {
      return false;
    }
    std::unique_lock lock(mutex_, std::adopt_lock);
    departed_.wait(lock, [this, before = departures_] { return departures_ != before; });
    lock.release();
    return true;
  }

 private:
  class Outside {
   public:
    explicit Outside(Monitor& monitor) : monitor_(monitor) {
      ++monitor_.working_;
      monitor_.leave();
    }
    ~Outside() {
      monitor_.mutex_.lock();
      --monitor_.working_;
    }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    Monitor& monitor_;
  };

  void leave() {
    ++departures_;
    mutex_.unlock();
    departed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable departed_;
  std::size_t working_ = 0;     ///< outside, at something that they come back from
  std::size_t departures_ = 0;  ///< how often somebody has left the inside
};

}  // namespace hone
