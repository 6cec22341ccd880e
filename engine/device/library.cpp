#include "engine/device/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "engine/base/digest.hpp"
#include "engine/kernel/configuration_text.hpp"
#include "engine/kernel/operation.hpp"

namespace hone {
namespace {

/// Of what is passed and returned; raised where a change in Hone makes another result of the same algorithm.
constexpr int kInterface = 1;

std::string hash_of(const LibraryKernel& library, const LibraryVersion& version) {
  return digest(fmt::format("library {} {} {} {}", kInterface, library.operation(), library.name(), version.number));
}

/// What is called with all of the kernel's arguments, in their order. It has a geometry of its own.
Pass call_of(const KernelSpec& spec, std::string_view function) {
  Pass pass;
  pass.function = function;
  for (std::size_t i = 0; i < spec.arguments.size(); ++i) {
    pass.arguments.push_back(static_cast<int>(i));
  }
  pass.grid.fill(Expression::constant(1));
  pass.block.fill(Expression::constant(1));
  pass.cluster.fill(Expression::constant(1));
  pass.shared_bytes = Expression::constant(0);
  pass.cooperative = Expression::constant(false);
  return pass;
}

/// The parameter with those of its values that some configuration has, in their order; its default stays.
void narrow(Parameter& parameter, std::size_t index, const std::vector<Configuration>& configurations) {
  std::erase_if(parameter.values, [&](const Value& value) {
    return !(value == parameter.default_value) &&
           std::ranges::none_of(configurations, [&](const Configuration& one) { return one.values[index] == value; });
  });
}

Expression both(Operator op, Expression a, Expression b) { return Expression::make(op, {std::move(a), std::move(b)}); }

/// c.* is one of these.
Expression one_of(const std::vector<Parameter>& parameters, std::span<const Configuration> configurations) {
  Expression any = Expression::constant(false);
  for (const Configuration& configuration : configurations) {
    Expression all = Expression::constant(true);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const Expression parameter = Expression::variable("c." + parameters[i].name);
      all = both(Operator::kLogicalAnd, std::move(all), both(Operator::kEqual, parameter, Expression::constant(configuration.values[i])));
    }
    any = both(Operator::kLogicalOr, std::move(any), std::move(all));
  }
  return any;
}

}  // namespace

Result<KernelSpec> library_spec(const LibraryKernel& library) {
  HONE_ASSIGN(const LibraryVersion version, library.version());
  HONE_ASSIGN(const Operation operation, find_operation(library.operation()));
  KernelSpec spec = *operation.definition;
  spec.name = library.name();
  spec.summary = fmt::format("{}, version {}", library.summary(), version.number);
  spec.file = library.name();
  spec.library = fmt::format("{} {}", library.name(), version.number);
  spec.operation = library.operation();
  spec.source_hash = hash_of(library, version);
  spec.constraints.clear();
  spec.expectations.clear();
  std::erase_if(spec.arguments, [](const Argument& argument) { return argument.direction == Direction::kWorkspace; });
  library.describe(spec);
  spec.passes = {call_of(spec, library.name())};
  return as_implementation(std::move(spec));
}

Result<KernelSpec> library_spec_for(const LibraryKernel& library, const DeviceInfo& info, const Problem& problem) {
  HONE_ASSIGN(KernelSpec spec, library_spec(library));
  if (!problem_for(spec, problem) || !refusal(spec, problem).empty()) {
    return spec;
  }
  HONE_ASSIGN(LibrarySpace space, library.space(info, problem));
  std::vector<Configuration>& configurations = space.configurations;
  if (const Configuration standard = default_configuration(spec); std::ranges::find(configurations, standard) == configurations.end()) {
    configurations.insert(configurations.begin(), standard);
    ++space.suggested;
  }
  for (const Configuration& configuration : configurations) {
    spec.listed.push_back(text(spec.parameters, configuration));
  }
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    narrow(spec.parameters[i], i, configurations);
  }
  if (space.suggested < configurations.size()) {
    spec.expectations = {{.condition = one_of(spec.parameters, std::span(configurations).first(space.suggested)),
                          .text = "what the library suggests",
                          .line = 0}};
  }
  return spec;
}

}  // namespace hone
