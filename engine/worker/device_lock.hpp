#pragma once

#include "engine/device/device.hpp"
#include "engine/worker/worker_channel.hpp"

namespace hone {

/// One process at a time measures on a device; others wait their turn. Held only while timing, and by those that prepare beside others
/// while they do so.
class DeviceLock {
 public:
  /// kPreparing: for those that are about to wait for the device with something that can wait. Of them one at a time does, so that who
  /// has something to time waits for one of them at most.
  enum class Purpose { kMeasuring, kPreparing };
  explicit DeviceLock(const DeviceInfo& info, Purpose purpose = Purpose::kMeasuring);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

  /// Held while this lives, if `wanted`.
  class Hold {
   public:
    Hold(DeviceLock& lock, WorkerChannel& channel, bool wanted) : lock_(wanted ? &lock : nullptr) {
      if (lock_ != nullptr) {
        lock_->acquire(channel);
      }
    }
    ~Hold() {
      if (lock_ != nullptr) {
        lock_->release();
      }
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    DeviceLock* lock_;
  };

  void acquire(WorkerChannel& channel);
  void release();
  /// Nobody holds it. For one that does not hold it itself.
  [[nodiscard]] bool is_free() const;

 private:
  int descriptor_ = -1;
};

}  // namespace hone
