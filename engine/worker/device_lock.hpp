#pragma once

#include "engine/device/device.hpp"
#include "engine/worker/worker_channel.hpp"

namespace hone {

/// One process at a time measures on a device, or fills its buffers beside one that measures; others wait.
class DeviceLock {
 public:
  /// kPreparing: taken before the device's own lock by who can wait with filling its buffers, so that of those only one at a time competes
  /// for the device with who has something to time.
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
  const char* waiting_;  ///< what it says meanwhile
  int descriptor_ = -1;
};

}  // namespace hone
