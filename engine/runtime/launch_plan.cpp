#include "engine/runtime/launch_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/kernel/static_fields.hpp"

namespace hone {
namespace {

/// No device holds as many, and their bytes do not overflow.
constexpr std::int64_t kMostElements = 1'000'000'000'000'000;

/// What the store has; nothing also where it cannot be read, and `failure` says why.
std::optional<Compiled> find_kept(const CompiledKey& key, Store* store, std::string& failure) {
  Result<std::optional<Compiled>> kept = store != nullptr ? store->find_compiled(key) : std::optional<Compiled>();
  failure = kept ? failure : kept.error().message;
  return kept ? *std::move(kept) : std::nullopt;
}

Result<Compiled> compile(const KernelSpec& spec, const Problem& problem, const Configuration& configuration, const FoundDevice& device,
                         Store* store) {
  CompiledKey key = compiled_key(spec, problem, text(spec.parameters, configuration), device.info);
  std::string failure;
  if (std::optional<Compiled> kept = find_kept(key, store, failure)) {
    return *std::move(kept);
  }
  const Result<std::unique_ptr<Compiler>> compiler = device.plugin->compiler(device.info);
  if (!compiler) {
    key.compiler.clear();
    if (std::optional<Compiled> kept = find_kept(key, store, failure)) {
      return *std::move(kept);
    }
    return Error{compiler.error().code,
                 failure.empty() ? compiler.error().message : fmt::format("{}; and {}", compiler.error().message, failure)};
  }
  auto compiled = (*compiler)->compile({.spec = &spec, .dtype = problem.dtype, .configurations = {configuration}, .shape = problem.shape});
  if (compiled.front() && store != nullptr) {
    // Keeping it only saves the next process a compilation; a store that is read-only is no reason to fail.
    const Result<void> kept = store->put_compiled(key, *compiled.front());
    static_cast<void>(kept.ok());
  }
  return std::move(compiled.front());
}

/// By the record's artifact, which needs no compiler of the same version, or any compiler at all; where that cannot be had, the
/// configuration is compiled anew.
Result<Compiled> code_of(const KernelSpec& spec, const Problem& problem, const Choice& choice, const FoundDevice& device, Store* store) {
  const bool is_for_it = choice.record && same_code(spec, choice.record->problem.shape, problem.shape);
  if (is_for_it && store != nullptr && !choice.record->artifact.empty() && !choice.record->symbols.empty()) {
    if (Result<Compiled> kept = store->load_code(*choice.record)) {
      return kept;
    }
  }
  return compile(spec, problem, choice.configuration, device, store);
}

}  // namespace

Result<std::vector<LaunchArgument>> launch_arguments(const KernelSpec& spec, const Problem& problem, const Configuration& configuration) {
  Bindings bound = bindings(problem);
  bound.merge(bindings(spec.parameters, configuration));
  std::vector<LaunchArgument> arguments;
  for (const Argument& argument : spec.arguments) {
    LaunchArgument& planned = arguments.emplace_back();
    planned.name = argument.name;
    planned.direction = argument.direction;
    planned.dtype = argument.element(problem.dtype);
    planned.zeroed = argument.zeroed;
    planned.scalar_default = argument.scalar_default;
    planned.bytes = size_of(planned.dtype);
    if (argument.direction != Direction::kScalar) {
      HONE_ASSIGN(const Value elements, argument.extent.evaluate(bound));
      planned.elements = std::max<std::int64_t>(argument.direction == Direction::kWorkspace ? 1 : 0, elements.integer());
      if (planned.elements > kMostElements) {
        return Error{ErrorCode::kInvalidArgument, fmt::format("{}: argument '{}' would have {} elements; at most {} are possible",
                                                              spec.file, argument.name, planned.elements, kMostElements)};
      }
      planned.bytes *= static_cast<std::size_t>(planned.elements);
      planned.zeroed = planned.zeroed && elements.integer() > 0;  // a configuration without use for it does not pay for clearing it
    }
  }
  return arguments;
}

Result<LaunchPlan> make_launch_plan(const KernelSpec& spec, const Problem& problem, Choice choice, const FoundDevice& device,
                                    Store* store) {
  LaunchPlan plan;
  HONE_ASSIGN(plan.passes, plan_launch(spec, problem, choice.configuration, device.info));
  HONE_ASSIGN(plan.arguments, launch_arguments(spec, problem, choice.configuration));
  HONE_ASSIGN(plan.code, code_of(spec, problem, choice, device, store));
  plan.choice = std::move(choice);
  return plan;
}

}  // namespace hone
