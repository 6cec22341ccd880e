#pragma once

#include "engine/tune/worker_channel.hpp"
#include "hone/device.hpp"

namespace hone {

/// One process at a time measures on a device; others wait their turn. Held only while timing.
class DeviceLock {
 public:
  explicit DeviceLock(const DeviceInfo& info);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

  void acquire(WorkerChannel& channel);
  void release();

 private:
  int descriptor_ = -1;
};

}  // namespace hone
