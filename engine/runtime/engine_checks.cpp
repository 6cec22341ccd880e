// What the engine has to do with checks of launches: it prepares what they are held against, and stops serving what is wrong.
#include <fmt/format.h>

#include "engine/runtime/engine_core.hpp"

namespace hone {

Result<void> EngineCore::start_checks(const EngineOptions& options) {
  if (engine_parts().start_checks == nullptr) {
    return Error{ErrorCode::kUnavailable, "checks of launches need hone::engine: this program links hone::runtime"};
  }
  check_one_in_ = options.check_one_in;
  HONE_ASSIGN(checks_,
              engine_parts().start_checks({.device = device_,
                                           .max_error = max_error_,
                                           .on_check = options.on_check,
                                           .standard = [this](const Prepared& served) { return prepare_standard(served); },
                                           .reject = [this](const Prepared& served, const LaunchCheck& found) { reject(served, found); },
                                           .warn = [this](const std::string& warning) { store_->warn(warning); }}));
  return {};
}

Result<std::shared_ptr<const Prepared>> EngineCore::prepare_standard(const Prepared& served) {
  const KernelSpec& spec = *served.checked->spec;
  Choice choice;
  HONE_ASSIGN(choice.configuration, default_for(spec, served.problem, found_.info));
  if (choice.configuration == served.choice.configuration) {
    return std::shared_ptr<const Prepared>();
  }
  const std::shared_ptr<Store> from = store_->get();
  HONE_ASSIGN(LaunchPlan plan, make_launch_plan(spec, served.problem, std::move(choice), found_, from.get()));
  HONE_ASSIGN(std::shared_ptr<Prepared> standard, make(spec, served.problem, std::move(plan)));
  return std::shared_ptr<const Prepared>(std::move(standard));
}

/// Its handles launch the default from here on; lookups find it, too, of whatever shape.
void EngineCore::reject(const Prepared& served, const LaunchCheck& found) {
  {
    const std::lock_guard lock(mutex_);
    rejected_.insert(fmt::format("{} {} {}", found.kernel, name(found.problem.dtype), found.configuration));
  }
  served.checked->instead.store(served.checked->standard.get(), std::memory_order_release);
  served.superseded = true;
  for (const std::shared_ptr<AskedProblem>& asked : problems_.all()) {
    for (const std::shared_ptr<Prepared>& other : {asked->loaded(), asked->stand_in()}) {
      if (other != nullptr && launches_rejected(*other)) {
        other->superseded = true;
      }
    }
  }
  generation_.fetch_add(1, std::memory_order_release);
  store_->warn(fmt::format(
      "a check found a launch wrong, and the default serves in its place: {}. `hone verify {} --update` holds the record against the "
      "reference and withdraws it if it is wrong",
      found.text, found.kernel));
}

bool EngineCore::is_rejected(const OperationChoice& chosen) const {
  return chosen.choice.source != Source::kDefault &&
         is_rejected(chosen.spec->name, chosen.problem.dtype, text(chosen.spec->parameters, chosen.choice.configuration));
}

bool EngineCore::launches_rejected(const Prepared& prepared) const {
  const bool has_instead = prepared.checked != nullptr && prepared.checked->instead.load(std::memory_order_acquire) != nullptr;
  return prepared.choice.source != Source::kDefault && !has_instead &&
         is_rejected(prepared.name, prepared.problem.dtype, prepared.configuration);
}

bool EngineCore::is_rejected(std::string_view kernel, const DTypes& dtypes, const std::string& configuration) const {
  const std::lock_guard lock(mutex_);
  return !rejected_.empty() && rejected_.contains(fmt::format("{} {} {}", kernel, name(dtypes), configuration));
}

}  // namespace hone
