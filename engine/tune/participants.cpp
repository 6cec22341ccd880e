#include "engine/tune/participants.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/device/library.hpp"
#include "engine/worker/worker.hpp"

namespace hone {

std::vector<std::string> add_libraries(Operation& operation, std::deque<KernelSpec>& specs, const Registry::Found& device,
                                       const Problem& problem, std::span<const std::string> without, IdleWorkers* idle_workers) {
  std::vector<std::string> notes;
  for (const LibraryKernel* const library : device.plugin->libraries()) {
    if (library->operation() != operation.name || std::ranges::find(without, library->name()) != without.end()) {
      continue;
    }
    Result<KernelSpec> spec = library_spec_in_worker(*library, device, problem, idle_workers);
    if (spec) {
      operation.implementations.push_back(&specs.emplace_back(*std::move(spec)));
    } else if (spec.error().code != ErrorCode::kUnavailable) {  // that it is not here is said by hone doctor
      notes.push_back(fmt::format("{} takes no part: {}", library->name(), spec.error().message));
    }
  }
  return notes;
}

}  // namespace hone
