#pragma once
// Worker processes that have nothing to do, most of them with a device open.

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "engine/worker/worker_process.hpp"
#include "hone/device_info.hpp"

namespace hone {

/// What sessions one after another hand on: to open a GPU and to compile the device's own code takes a process .3 to .6 s, and a run of
/// many short sessions would pay that in each. Used by one thread at a time; must outlive the sessions that use it.
class IdleWorkers {
 public:
  /// A process that worked with the device, for whoever runs `context`; null where there is none.
  std::unique_ptr<WorkerProcess> take(boost::asio::io_context& context, const WorkerCommand& command, const DeviceInfo& info);

  /// Keeps a process that worked with the device, and has it let go of its buffers. It is killed instead if it is not sound, runs under a
  /// tool, or its device is the host's cores, where candidates run in the process itself; so is one too many.
  void put(std::unique_ptr<WorkerProcess> process, const WorkerCommand& command, const DeviceInfo& info);

  /// Kills them all: what they hold of the device's memory is free then.
  void clear() { workers_.clear(); }
  [[nodiscard]] std::size_t size() const { return workers_.size(); }

 private:
  struct Worker {
    std::string executable, device;
    std::unique_ptr<WorkerProcess> process;
  };
  boost::asio::io_context context_;  ///< nobody runs it: nothing is asked of a process that is kept here
  std::vector<Worker> workers_;
};

struct TakenWorker {
  std::unique_ptr<WorkerProcess> process;
  bool reused = false;  ///< it was an idle one
};

/// One of `idle_workers`, if that is there and has one for the device; else a new one.
Result<TakenWorker> take_or_spawn(IdleWorkers* idle_workers, boost::asio::io_context& context, const WorkerCommand& command,
                                  const DeviceInfo& info);

}  // namespace hone
