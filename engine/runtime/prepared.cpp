#include "engine/runtime/prepared.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

namespace {

constexpr std::size_t kWorkspaceAlignment = 256;  // what an allocation of its own would have

/// What is passed and what is not, once `arguments` and `extents` are there.
void describe_arguments(Prepared& prepared) {
  for (std::size_t i = 0; i < prepared.arguments.size(); ++i) {
    const LaunchArgument& argument = prepared.arguments[i];
    if (argument.direction == Direction::kWorkspace) {
      prepared.workspaces.push_back({i, prepared.workspace_bytes, argument.bytes, argument.zeroed});
      prepared.workspace_bytes += (argument.bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    } else {
      const bool pointer = argument.direction != Direction::kScalar;
      prepared.clears_passed = prepared.clears_passed || argument.zeroed;
      prepared.passed.push_back({i, pointer, pointer ? static_cast<std::size_t>(prepared.extents[i]) * size_of(argument.dtype) : 0});
    }
  }
}

}  // namespace

Result<std::shared_ptr<Prepared>> prepare(const KernelSpec& spec, const Problem& problem, LaunchPlan plan, const PreparedFor& where) {
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
  }
  HONE_ASSIGN(prepared->loaded, where.device->load(plan.code, plan.passes, problem));
  prepared->device = where.device;
  prepared->memory = where.memory;
  prepared->name = spec.name;
  prepared->parameters = spec.parameters;
  prepared->problem = problem;
  prepared->choice = std::move(plan.choice);
  prepared->configuration = text(spec.parameters, prepared->choice.configuration);
  prepared->range = fmt::format("{} {}", spec.name, prepared->configuration);
  prepared->dtypes = hone::name(problem.dtype);
  prepared->arguments = std::move(plan.arguments);
  describe_arguments(*prepared);
  where.memory->note(prepared->workspace_bytes);
  Choice& choice = prepared->choice;
  prepared->why = choice.why.empty() ? choice.elsewhere : choice.why;
  if (choice.record) {
    prepared->tuned_shape = choice.record->problem.shape;
    prepared->stale = staleness(*choice.record, *where.info);
    choice.record->measurement.samples_us = {};  // nobody asks a handle for them
  }
  return prepared;
}

}  // namespace hone
