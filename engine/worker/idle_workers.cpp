#include "engine/worker/idle_workers.hpp"

#include <algorithm>

namespace hone {
namespace {

constexpr std::size_t kMostIdle = 10;  // five kernels with a standby each; an open device takes half a GiB of its memory

std::string device_of(const DeviceInfo& info) { return info.plugin + " " + info.id; }

}  // namespace

std::unique_ptr<WorkerProcess> IdleWorkers::take(boost::asio::io_context& context, const WorkerCommand& command, const DeviceInfo& info) {
  std::erase_if(workers_, [](const Worker& worker) { return !worker.process->is_sound(); });
  const auto found = std::ranges::find_if(workers_, [&](const Worker& worker) {
    return command.before.empty() && worker.executable == command.executable.string() && worker.device == device_of(info);
  });
  if (found == workers_.end()) {
    return nullptr;
  }
  std::unique_ptr<WorkerProcess> process = found->process->move_to(context);
  workers_.erase(found);
  return process;
}

void IdleWorkers::put(std::unique_ptr<WorkerProcess> process, const WorkerCommand& command, const DeviceInfo& info) {
  if (!process->is_sound() || !command.before.empty() || !info.compile_overlaps || workers_.size() >= kMostIdle) {
    return;
  }
  process->post({{"op", "reset"}});
  if (std::unique_ptr<WorkerProcess> kept = process->move_to(context_)) {
    workers_.push_back({command.executable.string(), device_of(info), std::move(kept)});
  }
}

Result<TakenWorker> take_or_spawn(IdleWorkers* idle_workers, boost::asio::io_context& context, const WorkerCommand& command,
                                  const DeviceInfo& info) {
  if (std::unique_ptr<WorkerProcess> idle = idle_workers != nullptr ? idle_workers->take(context, command, info) : nullptr) {
    return TakenWorker{.process = std::move(idle), .reused = true};
  }
  HONE_ASSIGN(std::unique_ptr<WorkerProcess> spawned, WorkerProcess::spawn(context, command));
  return TakenWorker{.process = std::move(spawned), .reused = false};
}

}  // namespace hone
