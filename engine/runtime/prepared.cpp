#include "engine/runtime/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

Result<std::shared_ptr<Prepared>> prepare(const KernelSpec& spec, const Problem& problem, LaunchPlan plan,
                                          std::shared_ptr<LaunchDevice> device, const DeviceInfo& info) {
  if (plan.arguments.size() > Kernel::kMostArguments) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} has {} arguments; at most {} are supported", spec.name, plan.arguments.size(), Kernel::kMostArguments)};
  }
  auto prepared = shared_in_process(std::make_unique<Prepared>(), Origin());
  Bindings bound = bindings(problem);
  bound.merge(bindings(spec.parameters, plan.choice.configuration));
  for (const Argument& argument : spec.arguments) {
    std::int64_t elements = 0;
    if (argument.direction != Direction::kScalar) {
      HONE_ASSIGN(const Value extent, argument.extent.evaluate(bound));
      elements = std::max<std::int64_t>(0, extent.integer());
    }
    prepared->extents.push_back(elements);
    prepared->passed_count += argument.direction != Direction::kWorkspace ? 1 : 0;
  }
  HONE_ASSIGN(prepared->loaded, device->load(plan.code, plan.passes, problem));
  prepared->device = std::move(device);
  prepared->name = spec.name;
  prepared->parameters = spec.parameters;
  prepared->problem = problem;
  prepared->choice = std::move(plan.choice);
  prepared->arguments = std::move(plan.arguments);
  Choice& choice = prepared->choice;
  prepared->why = choice.why.empty() ? choice.elsewhere : choice.why;
  if (choice.record) {
    prepared->tuned_shape = choice.record->problem.shape;
    prepared->stale = staleness(*choice.record, info);
    choice.record->measurement.samples_us = {};  // nobody asks a handle for them
  }
  return prepared;
}

}  // namespace hone
