#include "hone/engine.hpp"

#include <fmt/format.h>

#include "engine/runtime/engine_core.hpp"

namespace hone {

std::string_view name(Source source) {
  switch (source) {
    case Source::kExact:
      return "exact";
    case Source::kPredicted:
      return "predicted";
    case Source::kNearest:
      return "nearest";
    case Source::kDefault:
      break;
  }
  return "default";
}

Engine::Engine(std::shared_ptr<EngineCore> core) : core_(std::move(core)) {}
Engine::Engine(Engine&&) noexcept = default;

Engine& Engine::operator=(Engine&& other) noexcept {
  Engine leaving(std::move(other));
  std::swap(core_, leaving.core_);
  return *this;
}

Engine::~Engine() {
  if (core_ != nullptr && core_->origin().is_here()) {
    core_->end_background();
    const bool written = core_->write_workload().ok();  // who wants to know why not asks before
    static_cast<void>(written);
  }
}

Result<Engine> Engine::open(const EngineOptions& options) {
  HONE_ASSIGN(std::shared_ptr<EngineCore> core, EngineCore::open(options));
  return Engine(std::move(core));
}

Result<void> Engine::add_kernel_file(const std::filesystem::path& file, const ReadOptions& options) {
  HONE_TRY(core_->origin().check());
  if (engine_parts().read_kernel_file == nullptr) {
    return Error{ErrorCode::kUnavailable,
                 "reading a kernel file needs hone::engine, but this program links hone::runtime: use add_kernel_spec with the output of "
                 "`hone kernels FILE --spec`"};
  }
  HONE_ASSIGN(KernelSpec spec, engine_parts().read_kernel_file(file, options));
  return core_->add_kernel(std::move(spec));
}

Result<void> Engine::add_kernel_spec(std::string_view json) {
  HONE_TRY(core_->origin().check());
  HONE_ASSIGN(KernelSpec spec, parse_kernel_spec(json));
  return core_->add_kernel(std::move(spec));
}

Result<Kernel> Engine::kernel(std::string_view kernel, const Shape& shape) {
  HONE_TRY(core_->origin().check());
  HONE_ASSIGN(const auto known, core_->find(kernel));
  HONE_ASSIGN(const DTypes only, choose_dtypes(*known->operation.definition, ""));
  return this->kernel(kernel, only, shape);
}

Result<Kernel> Engine::kernel(std::string_view kernel, const DTypes& dtypes, const Shape& shape) {
  HONE_TRY(core_->origin().check());
  HONE_ASSIGN(const auto known, core_->find(kernel));
  HONE_ASSIGN(const Problem problem, make_problem(*known->operation.definition, dtypes, shape));
  return core_->look_up(known, problem);
}

Result<void> Engine::reserve_graph_workspaces(std::size_t count) {
  HONE_TRY(core_->origin().check());
  return core_->workspaces().reserve(count);
}

Result<void> Engine::write_workload() {
  HONE_TRY(core_->origin().check());
  return core_->write_workload();
}

Result<std::int64_t> Engine::generation() const {
  HONE_TRY(core_->origin().check());
  return core_->store_generation();
}

BackgroundReport Engine::background_report() const { return core_->origin().is_here() ? core_->report() : BackgroundReport(); }
std::vector<std::string> Engine::warnings() const { return core_->origin().is_here() ? core_->warnings() : std::vector<std::string>(); }
const DeviceInfo& Engine::device_info() const { return core_->device_info(); }
Memory& Engine::memory() { return core_->device(); }

}  // namespace hone
