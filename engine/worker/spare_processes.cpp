#include "engine/worker/spare_processes.hpp"

#include <algorithm>

namespace hone {
namespace {

constexpr std::size_t kMostSpare = 10;  // an operation of five kernels with a standby each; an open device takes half a GiB of its memory

std::string device_of(const DeviceInfo& info) { return info.plugin + " " + info.id; }

}  // namespace

std::unique_ptr<WorkerProcess> SpareProcesses::take(boost::asio::io_context& context, const WorkerCommand& command,
                                                    const DeviceInfo& info) {
  std::erase_if(spare_, [](const Spare& spare) { return !spare.process->is_sound(); });
  const auto found = std::ranges::find_if(spare_, [&](const Spare& spare) {
    return command.before.empty() && spare.executable == command.executable.string() && spare.device == device_of(info);
  });
  if (found == spare_.end()) {
    return nullptr;
  }
  std::unique_ptr<WorkerProcess> process = found->process->move_to(context);
  spare_.erase(found);
  return process;
}

void SpareProcesses::put(std::unique_ptr<WorkerProcess> process, const WorkerCommand& command, const DeviceInfo& info) {
  if (!process->is_sound() || !command.before.empty() || !info.compile_overlaps || spare_.size() >= kMostSpare) {
    return;
  }
  process->post({{"op", "reset"}});
  if (std::unique_ptr<WorkerProcess> kept = process->move_to(context_)) {
    spare_.push_back({command.executable.string(), device_of(info), std::move(kept)});
  }
}

}  // namespace hone
